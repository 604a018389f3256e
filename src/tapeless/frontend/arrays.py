"""Places and arrays: views over bases, elements, broadcasting, generation, assignment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import DType, i64
from tapeless.errors import CompileError, SizeError
from tapeless.frontend.scalars import Scalar, convert
from tapeless.frontend.values import Arr, ArrayObj, Axis, Cx, Known, Num, Reshape, Tup, Value, View
from tapeless.frontend.values import is_number
from tapeless.ir.build import ONE, ZERO
from tapeless.ir.syntax import Acc, Alloc, Each, Index, Put, Update

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


def numpy_dtype(arr: Arr) -> object:
    """The NumPy dtype that the user sees."""
    import numpy as np  # noqa: PLC0415  # placed here to keep the hot path's globals few

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
    t.written.add(obj)
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
    t.stale.update(o for o in t.state.heap if isinstance(o, ArrayObj) and obj in o.cousins)


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
    inside = t.b.prim("and", t.b.prim("le", ZERO, i_now), t.b.prim("lt", i_now, size))
    t.b.check(inside, "IndexError", f"index {{0}} is out of bounds for axis {axis} with size {{1}}",
              i, size)  # fmt: skip
    return i_now


def base_index(t: Tracer, arr: Arr, idx: Indices, modes: str) -> tuple[Indices, str]:
    """Indices into the base array for indices into the view, with their modes."""
    view = arr.view
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
        im = t.b.one(Index(var, (*at, ONE), modes.replace("w", "w") + "p"), f"{hint}_im")
        return Cx(re, im)
    return Num(t.b.one(Index(var, at, modes), f"{hint}_i"))


def put_element(t: Tracer, arr: Arr, idx: Indices, value: Value, modes: str | None = None) -> None:
    """Write one element in place."""
    check_writable(t, arr.obj)
    at, modes = base_index(t, arr, idx, "p" * len(idx) if modes is None else modes)
    x = convert(t, value, numpy_dtype(arr))  # type: ignore[arg-type]  # a NumPy dtype
    var = read_object(t, arr.obj)
    if isinstance(x, Cx):
        var = t.b.one(Update(var, (*at, ZERO), x.re, modes + "p"), var.hint)
        var = t.b.one(Update(var, (*at, ONE), x.im, modes + "p"), var.hint)
    else:
        var = t.b.one(Update(var, at, x.atom, modes), var.hint)
    write_object(t, arr.obj, var)


# Sizes that meet ----------------------------------------------------------------------------


def meet(t: Tracer, a: Atom, b: Atom, what: str = "shapes") -> Atom:
    """Two sizes that must be equal: decided now, or checked at run time."""
    if a == b or t.is_same_size(a, b):
        return a if isinstance(a, Const) else b if isinstance(b, Const) else a
    if isinstance(a, Const) and isinstance(b, Const):
        raise SizeError(f"{what} do not agree: sizes {a.value} and {b.value}", t.loc)
    t.b.check(t.b.prim("eq", a, b), "ValueError", f"{what} do not agree: sizes {{0}} and {{1}}", a, b)
    t.same_sizes(a, b)
    return b if isinstance(b, Const) else a


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
            size = meet(t, size, other, "shapes that are broadcast")
        if wide and len(wide) < len(sizes):
            pass
        out.append(size)
    return tuple(out)


# Generation ---------------------------------------------------------------------------------


def generate(
    t: Tracer, shape: Indices, body: Callable[[Indices], Value], hint: str = "t"
) -> Value:
    """The array, or tree of arrays, of `body(i…)` over the box `shape`."""
    if not shape:
        return body(())
    vars = tuple(map(t.index_var, _index_hints(len(shape))))
    with t.b.scope():
        value = body(vars)
        atoms: list[Atom] = []
        form = _yield_leaves(t, value, atoms)
        inner = t.b.body(tuple(atoms))
    outs = list(t.b.let(Each(vars, shape, (), inner), hint))
    return _collect(t, form, outs)


def _index_hints(rank: int) -> Sequence[str]:
    return ("i", "j", "k", "l", "m", "n")[:rank] if rank <= 6 else [f"i{d}" for d in range(rank)]


def _yield_leaves(t: Tracer, value: Value, atoms: list[Atom]) -> Value:
    """Collects the atoms that an Each returns; gives a skeleton to rebuild the tree."""
    match value:
        case Tup(items, cls):
            return Tup(tuple(_yield_leaves(t, v, atoms) for v in items), cls)
        case Arr():
            atoms.append(materialise(t, value))
            return value
        case _ if is_number(value):
            x = _as_element(t, value)
            if isinstance(x, Cx):
                atoms.append(pair(t, x))
            else:
                atoms.append(x.atom)
            return x
    raise CompileError(
        f"{t.describe(value)} cannot be an element of an array", t.loc, "return numbers or arrays"
    )


def _as_element(t: Tracer, value: Value) -> Scalar:
    from tapeless.frontend.scalars import scalar  # noqa: PLC0415

    return scalar(t, value)


def pair(t: Tracer, x: Cx) -> Var:
    """The row [re, im] that stands for a complex element."""
    row = t.b.one(Alloc("empty", x.dtype, (Const(2, i64),)), "z")
    row = t.b.one(Update(row, (ZERO,), x.re, "p"), "z")
    return t.b.one(Update(row, (ONE,), x.im, "p"), "z")


def _collect(t: Tracer, form: Value, outs: list[Var]) -> Value:
    match form:
        case Tup(items, cls):
            return Tup(tuple(_collect(t, v, outs) for v in items), cls)
        case Arr():
            return new_array(t, outs.pop(0), form.is_complex)
        case _:
            return new_array(t, outs.pop(0), isinstance(form, Cx))


def copy(t: Tracer, arr: Arr, hint: str = "") -> Arr:
    """A new array with the elements of a view."""
    out = generate(t, arr.shape, lambda idx: element(t, arr, idx), hint or arr.obj.name or "t")
    if not isinstance(out, Arr):
        return fill(t, (), out, numpy_dtype(arr))
    return out


def materialise(t: Tracer, arr: Arr) -> Var:
    """The array as one Core variable: its contents if it is whole, else a copy."""
    if arr.view is None:
        return read_object(t, arr.obj)
    return t.state.array(copy(t, arr).obj)


def elementwise(t: Tracer, f: Callable[..., Value], args: Sequence[Value], hint: str = "t") -> Value:
    """`f` on the elements of broadcast operands."""
    arrays = [a for a in args if isinstance(a, Arr)]
    shape = broadcast_shapes(t, [a.shape for a in arrays])
    wide = [broadcast_view(t, a, shape) if isinstance(a, Arr) and a.shape != shape else a for a in args]

    def body(idx: Indices) -> Value:
        return f(*(element(t, a, idx) if isinstance(a, Arr) else a for a in wide))

    return generate(t, shape, body, hint)


def fill(t: Tracer, shape: Indices, value: Value, dtype: object) -> Arr:
    """A new array of one value."""
    x = convert(t, value, dtype)  # type: ignore[arg-type]  # a NumPy dtype
    if not shape:
        return rank0(t, x)
    if isinstance(x, Num) and isinstance(x.atom, Const) and x.atom == Const(0, x.dtype):
        return new_array(t, t.b.one(Alloc("zeros", x.dtype, shape), "zeros"))
    out = generate(t, shape, lambda idx: x)
    assert isinstance(out, Arr)
    return out


def rank0(t: Tracer, x: Scalar) -> Arr:
    """A 0-dimensional array."""
    if isinstance(x, Cx):
        return new_array(t, pair(t, x), is_complex=True)
    cell = t.b.one(Alloc("empty", x.dtype, ()), "cell")
    return new_array(t, t.b.one(Update(cell, (), x.atom, ""), "cell"))


def empty(t: Tracer, shape: Indices, dtype: DType, is_complex: bool, kind: str = "empty") -> Arr:
    sizes = (*shape, Const(2, i64)) if is_complex else shape
    return new_array(t, t.b.one(Alloc(kind, dtype, sizes), "a"), is_complex)


# Assignment ---------------------------------------------------------------------------------


def assign(t: Tracer, target: Arr, value: Value) -> None:
    """target[...] = value, broadcast; the value is read before anything is written."""
    if target.rank == 0:
        put_element(t, target, (), element(t, value, ()) if isinstance(value, Arr) else value)
        return
    if isinstance(value, Arr):
        value = _fitted(t, value, target.shape)
        if value.obj is target.obj:
            value = copy(t, value)
    put_each(t, target, target.shape, lambda idx: idx,
             lambda idx: element(t, value, idx) if isinstance(value, Arr) else value)  # fmt: skip


def _fitted(t: Tracer, value: Arr, shape: Indices) -> Arr:
    """The value stretched to the target's shape; extra leading dims of size 1 are dropped."""
    while value.rank > len(shape) and value.shape[0] == ONE:
        value = compose(t, value.shape[1:], [Axis(ZERO), *full_axes(value.shape[1:])], value)
    if value.rank > len(shape):
        raise SizeError(
            f"a value of rank {value.rank} does not fit a place of rank {len(shape)}", t.loc
        )
    lead = len(shape) - value.rank
    for have, want in zip(value.shape, shape[lead:], strict=True):
        if have != ONE:
            if have != want:
                t.not_one(have)
            meet(t, have, want, "the shapes of value and place")
    return broadcast_view(t, value, shape)


def put_each(
    t: Tracer, target: Arr, box: Indices, where: Callable[[Indices], Indices],
    value: Callable[[Indices], Value], op: str = "=", modes: str | None = None,
    keep: Callable[[Indices], Atom] | None = None,
) -> None:  # fmt: skip
    """For every index of `box`: combine a value into the target at `where(index)`."""
    check_writable(t, target.obj)
    before = read_object(t, target.obj)
    acc = before.fresh()
    vars = tuple(map(t.index_var, _index_hints(len(box))))
    with t.b.scope():
        if keep is None:
            _put(t, target, acc, where(vars), value(vars), modes)
        else:
            cond = keep(vars)
            with t.b.scope():
                _put(t, target, acc, where(vars), value(vars), modes)
                then = t.b.body(())
            t.emit_if(cond, then)
        body = t.b.body(())
    out = t.b.one(Each(vars, box, (Acc((acc,), (before,), op),), body), before.hint)
    write_object(t, target.obj, out)


def _put(t: Tracer, target: Arr, acc: Var, idx: Indices, value: Value, modes: str | None) -> None:
    at, modes = base_index(t, target, idx, "p" * len(idx) if modes is None else modes)
    x = convert(t, value, numpy_dtype(target))  # type: ignore[arg-type]  # a NumPy dtype
    if isinstance(x, Cx):
        t.b.run(Put((acc,), (*at, ZERO), (x.re,), modes + "p"))
        t.b.run(Put((acc,), (*at, ONE), (x.im,), modes + "p"))
    else:
        t.b.run(Put((acc,), at, (x.atom,), modes))


def scalar_value(t: Tracer, value: Value) -> Value:
    """A 0-dimensional array as the number in it."""
    return element(t, value, ()) if isinstance(value, Arr) and value.rank == 0 else value


__all__ = [
    "Known", "assign", "base_index", "broadcast_shapes", "broadcast_view", "check_writable",
    "compose", "copy", "count", "element", "elementwise", "empty", "fill", "full_axes", "generate",
    "materialise", "meet", "new_array", "numpy_dtype", "pair", "put_each", "put_element", "rank0",
    "read_object", "reshape", "scalar_value", "settle", "transpose", "whole", "write_object",
]  # fmt: skip
