"""Places: arrays on the heap, views over them, their elements, sizes that meet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import i64
from tapeless.errors import CompileError, SizeError
from tapeless.frontend.scalars import as_item
from tapeless.frontend.values import Arr, ArrayObj, Axis, Cx, Num, Reshape, Scalar, Value, View
from tapeless.ir.build import ONE, ZERO
from tapeless.ir.syntax import Index, Update

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer

Indices = tuple[Atom, ...]


# Objects ------------------------------------------------------------------------------------


def new_array(t: Tracer, var: Var, is_complex: bool = False) -> Arr:
    """A heap array whose contents are `var`."""
    shape = tuple(Const(s, i64) if isinstance(s, int) else s for s in var.shape)
    obj = ArrayObj(var.dtype, shape[:-1] if is_complex else shape, is_complex)
    t.state.heap[obj] = var
    return Arr(obj)


def numpy_dtype(arr: Arr | ArrayObj) -> np.dtype[Any]:
    """The NumPy dtype that the user sees."""
    if arr.is_complex:
        return np.dtype("c8" if arr.dtype.bits == 32 else "c16")
    return arr.dtype.numpy


def read_object(t: Tracer, obj: ArrayObj) -> Var:
    """Present contents; an error if another name may have changed them unseen."""
    if obj in t.stale:
        raise CompileError(
            "this array may be the same as one that was written since: which, is decided only at"
            " run time",
            t.loc,
            "take a copy with .copy() where the two names meet",
        )
    return t.state.array(obj)


def write_object(t: Tracer, obj: ArrayObj, content: Var) -> None:
    """Replace the contents of an array in place."""
    check_writable(t, obj)
    t.state.heap[obj] = content


def check_writable(t: Tracer, obj: ArrayObj) -> None:
    if obj.readonly:
        raise CompileError(obj.readonly, t.loc, "write to a copy: a = a.copy()")
    if obj.cousins:
        raise CompileError(
            "this name may stand for different arrays, so it cannot be written",
            t.loc,
            "take a copy with .copy() where the name is bound",
        )
    t.stale.update(t.dependents.get(obj, ()))
    for rival in obj.rivals:
        if rival.origin is not None:
            raise CompileError(
                "this array may be an argument under another name: which, is decided only at run"
                " time",
                t.loc,
                "swap copies: begin with a = a.copy()",
            )
        t.stale.add(rival)


# Views --------------------------------------------------------------------------------------


def full_axes(shape: Indices) -> tuple[Axis, ...]:
    return tuple(Axis(ZERO, d) for d in range(len(shape)))


def whole(arr: Arr) -> View:
    """The array's own view with one axis per dim."""
    match arr.view:
        case View() as view:
            return view
        case Reshape() as reshape:
            return View(reshape.shape, full_axes(reshape.shape), reshape)
        case None:
            return View(arr.obj.shape, full_axes(arr.obj.shape))


def compose(t: Tracer, outer_shape: Indices, outer: Sequence[Axis], arr: Arr) -> Arr:
    """The view of `arr` whose dims relate to arr's dims by `outer` (one Axis per dim of arr)."""
    base = whole(arr)
    axes = []
    for axis in base.axes:
        if axis.dim is None:
            axes.append(axis)
            continue
        over = outer[axis.dim]
        start = t.b.prim("add", axis.start, t.b.prim("mul", axis.step, over.start))
        step = t.b.prim("mul", axis.step, over.step)
        axes.append(Axis(start, over.dim, step))
    return Arr(arr.obj, View(outer_shape, tuple(axes), base.inner))


def transpose(t: Tracer, arr: Arr, order: Sequence[int]) -> Arr:
    """Dims in a new order: result dim k is dim order[k]."""
    shape = tuple(arr.shape[d] for d in order)
    return compose(t, shape, [Axis(ZERO, list(order).index(d)) for d in range(arr.rank)], arr)


def broadcast_view(t: Tracer, arr: Arr, shape: Indices) -> Arr:
    """The array stretched to `shape`: dims of size 1 repeat."""
    lead = len(shape) - arr.rank
    outer = []
    for d, size in enumerate(arr.shape):
        stretched = size == ONE and shape[lead + d] != ONE
        outer.append(Axis(ZERO) if stretched else Axis(ZERO, lead + d))
    return compose(t, shape, outer, arr)


def reshape(t: Tracer, arr: Arr, shape: Indices) -> Arr:
    """Elements in row-major order under another shape of the same size."""
    before, after = count(t, arr.shape), count(t, shape)
    if before != after:
        message = "cannot reshape: the sizes differ"
        if isinstance(before, Const) and isinstance(after, Const):
            raise SizeError(f"{message} ({before.value} and {after.value} elements)", t.loc)
        t.b.check(t.b.prim("eq", before, after), "ValueError", message + " ({0} and {1} elements)",
                  before, after)  # fmt: skip
    if len(shape) == arr.rank and all(a == b for a, b in zip(shape, arr.shape, strict=True)):
        return arr
    inner = None if arr.view is None else whole(arr)
    return Arr(arr.obj, Reshape(shape, arr.shape, inner))


def count(t: Tracer, shape: Indices) -> Atom:
    """The number of elements of a shape."""
    total: Atom = ONE
    for size in shape:
        total = t.b.prim("mul", total, size)
    return total


# Elements -----------------------------------------------------------------------------------


def settle(t: Tracer, i: Atom, size: Atom, mode: str, axis: int) -> Atom:
    """An index made safe here and now: wrapped if negative, then checked."""
    if mode == "p":
        return i
    if mode == "w" and not t.is_nonnegative(i):
        wrapped = t.b.prim("add", i, size)
        i_now = t.b.prim("select", t.b.prim("lt", i, ZERO), wrapped, i)
    else:
        i_now = i
    if not t.checks:
        return i_now
    inside = t.b.prim("and", t.b.prim("le", ZERO, i_now), t.b.prim("lt", i_now, size))
    t.b.check(inside, "IndexError", f"index {{0}} is out of bounds for axis {axis} with size {{1}}",
              i, size)  # fmt: skip
    return i_now


def base_index(t: Tracer, arr: Arr, idx: Indices, modes: str) -> tuple[Indices, str]:
    """Indices into the base array for indices into the view, with their modes."""
    view = arr.view
    if not t.checks:
        idx = tuple(
            settle(t, i, size, mode, axis)
            for axis, (i, size, mode) in enumerate(zip(idx, arr.shape, modes, strict=True))
        )
        modes = modes.replace("w", "p").replace("c", "p")
    if view is None:
        return idx, modes
    if isinstance(view, Reshape):
        return _through_reshape(t, arr.obj, view, idx, modes)
    under = arr.obj.shape if view.inner is None else view.inner.shape
    at, out = [], ""
    for axis, size in zip(view.axes, under, strict=True):
        if axis.dim is None:
            at.append(axis.start)
            out += "p"
            continue
        i, mode = idx[axis.dim], modes[axis.dim]
        if mode != "p" and axis.start == ZERO and axis.step == ONE and view.shape[axis.dim] == size:
            at.append(i)
            out += mode
            continue
        i = settle(t, i, view.shape[axis.dim], mode, axis.dim)
        at.append(t.b.prim("add", axis.start, t.b.prim("mul", axis.step, i)))
        out += "p"
    if view.inner is None:
        return tuple(at), out
    return _through_reshape(t, arr.obj, view.inner, tuple(at), out)


def _through_reshape(
    t: Tracer, obj: ArrayObj, view: Reshape, idx: Indices, modes: str
) -> tuple[Indices, str]:
    safe = tuple(
        settle(t, i, size, mode, axis)
        for axis, (i, size, mode) in enumerate(zip(idx, view.shape, modes, strict=True))
    )
    at = _regroup(t, safe, view.shape, view.old)
    inner = Arr(obj, view.inner)
    return base_index(t, inner, at, "p" * len(at))


def _regroup(t: Tracer, idx: Indices, new: Indices, old: Indices) -> Indices:
    """Indices under `old` of the element at `idx` under `new`, both row-major.

    Leading and trailing dims that agree are passed through; the middle goes by its flat position.
    """
    head = 0
    while head < min(len(new), len(old)) and new[head] == old[head]:
        head += 1
    tail = 0
    limit = min(len(new), len(old)) - head
    while tail < limit and new[len(new) - 1 - tail] == old[len(old) - 1 - tail]:
        tail += 1
    flat: Atom = ZERO
    for i, size in zip(idx[head : len(new) - tail], new[head : len(new) - tail], strict=True):
        flat = t.b.prim("add", t.b.prim("mul", flat, size), i)
    middle: list[Atom] = []
    sizes = list(old[head : len(old) - tail])
    while len(sizes) > 1:
        size = sizes.pop()
        if size == ONE:
            middle.insert(0, ZERO)
            continue
        middle.insert(0, t.b.prim("mod", flat, size))
        flat = t.b.prim("floordiv", flat, size)
    if sizes:
        middle.insert(0, flat)
    return (*idx[:head], *middle, *(idx[len(new) - tail :] if tail else ()))


def element(t: Tracer, arr: Arr, idx: Indices, modes: str | None = None) -> Scalar:
    """One element of a view; indices are in range unless `modes` says otherwise."""
    var = read_object(t, arr.obj)
    at, modes = base_index(t, arr, idx, "p" * len(idx) if modes is None else modes)
    hint = arr.obj.name or "x"
    if arr.is_complex:
        re = t.b.one(Index(var, (*at, ZERO), modes + "p"), f"{hint}_re")
        im = t.b.one(Index(var, (*at, ONE), modes + "p"), f"{hint}_im")
        return Cx(re, im)
    return Num(t.b.one(Index(var, at, modes), f"{hint}_i"))


def put_element(t: Tracer, arr: Arr, idx: Indices, value: Value, modes: str | None = None) -> None:
    """Write one element in place."""
    check_writable(t, arr.obj)
    at, modes = base_index(t, arr, idx, "p" * len(idx) if modes is None else modes)
    x = as_item(t, value, numpy_dtype(arr))
    var = read_object(t, arr.obj)
    if isinstance(x, Cx):
        var = t.b.one(Update(var, (*at, ZERO), x.re, modes + "p"), var.hint)
        var = t.b.one(Update(var, (*at, ONE), x.im, modes + "p"), var.hint)
    else:
        var = t.b.one(Update(var, at, x.atom, modes), var.hint)
    write_object(t, arr.obj, var)


# Sizes that meet ----------------------------------------------------------------------------


def meet(t: Tracer, a: Atom, b: Atom, what: str = "the shapes do not agree") -> Atom:
    """Two sizes that must be equal, decided now or checked at run time; the one that stands for
    both from here on."""
    p, q = t.root(a), t.root(b)
    if isinstance(p, Const) and isinstance(q, Const) and p != q:
        raise SizeError(f"{what}: sizes {p.value} and {q.value}", t.loc)
    if p != q:
        t.b.check(t.b.prim("eq", a, b), "ValueError", f"{what}: sizes {{0}} and {{1}}", a, b)
    return t.same_sizes(p, q)


def broadcast_shapes(t: Tracer, shapes: Sequence[Indices]) -> Indices:
    """NumPy's rule; being 1 is known at compile time, other sizes are equal."""
    rank = max((len(s) for s in shapes), default=0)
    out: list[Atom] = []
    for d in range(rank):
        sizes = [s[d - rank] for s in shapes if d - rank >= -len(s)]
        wide = [s for s in sizes if s != ONE]
        size: Atom = wide[0] if wide else ONE
        for other in wide[1:]:
            if other != size:
                t.not_one(size)
                t.not_one(other)
            size = meet(t, size, other, "shapes that are broadcast do not agree")
        out.append(size)
    return tuple(out)
