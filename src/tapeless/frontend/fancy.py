"""Masks and index arrays: a[mask], a[idx, 1:], a[idx] = v, as NumPy defines them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tapeless.core.names import Atom
from tapeless.core.types import INDEX, i64
from tapeless.errors import CompileError
from tapeless.frontend.arrays import copy, empty, generate, put_each
from tapeless.frontend.places import (
    Indices,
    base_index,
    broadcast_shapes,
    broadcast_view,
    check_writable,
    compose,
    element,
    meet,
    new_array,
    numpy_dtype,
    read_object,
    settle,
    write_object,
)  # fmt: skip
from tapeless.frontend.scalars import convert, index_atom
from tapeless.frontend.slices import slice_parts
from tapeless.frontend.values import Arr, Axis, Cx, Known, Num, Slice, Value
from tapeless.ir.build import ONE, ZERO
from tapeless.ir.syntax import Acc, Body, Each, For, If, Loop, Put, Update

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer


def is_mask(p: Value) -> bool:
    return isinstance(p, Arr) and p.dtype.is_bool


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """What an advanced index selects: a shape, and where in the array its cells are.

    `lead` axes of the result come from basic parts before the index arrays, then `wide` (their
    broadcast shape), then the rest.
    """

    shape: Indices
    where: Callable[[Indices], Indices]


def gather(t: Tracer, arr: Arr, parts: Sequence[Value]) -> Value:
    """arr[parts] where some parts are masks or index arrays: a new array."""
    arr, parts = _without_newaxes(t, arr, parts)
    selection = select(t, arr, spread_masks(t, arr, parts))
    return generate(t, selection.shape, lambda idx: element(t, arr, selection.where(idx)))


def _without_newaxes(t: Tracer, arr: Arr, parts: Sequence[Value]) -> tuple[Arr, list[Value]]:
    """None among advanced indices: an axis of size 1 that a full slice takes."""
    out: list[Value] = []
    axis = 0
    for part in parts:
        if isinstance(part, Known) and part.value is None:
            shape = (*arr.shape[:axis], ONE, *arr.shape[axis:])
            outer = [Axis(ZERO, d if d < axis else d + 1) for d in range(arr.rank)]
            arr = compose(t, shape, outer, arr)
            out.append(Slice(Known(None), Known(None), Known(None)))
            axis += 1
            continue
        out.append(part)
        axis += part.rank if isinstance(part, Arr) and is_mask(part) else 1
    return arr, out


def spread_masks(t: Tracer, arr: Arr, parts: Sequence[Value]) -> list[Value]:
    """Masks as the index arrays of their true cells, one per axis."""
    out: list[Value] = []
    axis = 0
    for part in parts:
        if isinstance(part, Arr) and is_mask(part):
            for d, size in enumerate(part.shape):
                meet(t, size, arr.shape[axis + d], "the shapes of mask and array do not agree")
            out += true_cells(t, part)
            axis += part.rank
        else:
            out.append(part)
            axis += 1
    return out


def true_cells(t: Tracer, mask: Arr) -> list[Value]:
    """np.nonzero of a mask: positions in row-major order, by running counts of each row."""
    mask = copy(t, mask) if mask.view is not None else mask
    size: Atom = ONE
    for s in mask.shape:
        size = t.b.prim("mul", size, s)

    def at(flat: Atom) -> Indices:
        idx: list[Atom] = []
        for s in reversed(mask.shape[1:]):
            idx.insert(0, t.b.prim("mod", flat, s))
            flat = t.b.prim("floordiv", flat, s)
        return (flat, *idx)

    def is_set(flat: Atom) -> Atom:
        x = element(t, Arr(mask.obj), at(flat))
        assert isinstance(x, Num)
        return x.atom

    total = _count_true(t, size, is_set, t.index_var("k"))
    t.nonnegative.add(total)
    cells = [empty(t, (total,), INDEX.dtype, False) for _ in mask.shape]
    counter = t.index_var("k")
    count = t.fresh(INDEX, "count")
    params = [t.fresh(read_object(t, c.obj).type, "cells") for c in cells]
    with t.b.scope():
        cond = is_set(counter)
        with t.b.scope():
            atoms: list[Atom] = [t.b.prim("add", count, ONE)]
            for param, i in zip(params, at(counter), strict=True):
                atoms.append(t.b.one(Update(param, (count,), i, "p"), "cells"))
            then = t.b.body(tuple(atoms))
        t.b.let(If(cond, then, Body((), (count, *params))), "count", *("cells" for _ in cells))
        results = t.b.scopes[-1][-1].outs
        body = t.b.body(results)
    inits: tuple[Atom, ...] = (ZERO, *(read_object(t, c.obj) for c in cells))
    outs = t.b.let(Loop(For(counter, size), (count, *params), inits, body), "count",
                   *("cells" for _ in cells))  # fmt: skip
    return [new_array(t, out) for out in outs[1:]]


def _count_true(t: Tracer, size: Atom, is_set: Callable[[Atom], Atom], var: Any) -> Atom:
    acc = t.fresh(INDEX, "count")
    with t.b.scope():
        t.b.run(Put((acc,), (), (t.b.cast(is_set(var), i64),), ""))
        body = t.b.body(())
    return t.b.one(Each((var,), (size,), (Acc((acc,), (ZERO,), "+"),), body), "count")


def select(t: Tracer, arr: Arr, parts: Sequence[Value]) -> Selection:
    """The cells that basic and advanced parts select together."""
    advanced = [k for k, p in enumerate(parts) if isinstance(p, Arr) or not isinstance(p, Slice)]
    wide = broadcast_shapes(t, [p.shape for p in parts if isinstance(p, Arr)])
    together = advanced == list(range(advanced[0], advanced[-1] + 1))
    slices = {
        k: slice_parts(t, p, arr.shape[k]) for k, p in enumerate(parts) if isinstance(p, Slice)
    }
    before = [k for k in slices if together and k < advanced[0]]
    after = [k for k in slices if k not in before]
    shape = (*(slices[k][1] for k in before), *wide, *(slices[k][1] for k in after))

    def where(idx: Indices) -> Indices:
        own = idx[len(before) : len(before) + len(wide)]
        rest = dict(zip(before, idx, strict=False))
        rest.update(zip(after, idx[len(before) + len(wide) :], strict=True))
        out: list[Atom] = []
        for k, part in enumerate(parts):
            if k in slices:
                start, _, step = slices[k]
                scaled = t.b.prim("mul", rest[k], step)
                out.append(t.b.prim("add", start, scaled))
                continue
            if isinstance(part, Arr):
                _refuse_floats(t, part)
                stretched = broadcast_view(t, part, wide) if part.shape != wide else part
                x = index_atom(t, element(t, stretched, own))
            else:
                x = index_atom(t, part)
            out.append(settle(t, x, arr.shape[k], "w", k))
        return tuple(out)

    return Selection(shape, where)


def _refuse_floats(t: Tracer, part: Arr) -> None:
    if part.is_complex or part.dtype.is_float:
        raise CompileError("arrays used as indices must be of integers or bools", t.loc,
                           "convert with .astype(int)")  # fmt: skip


def scatter_store(t: Tracer, place: Arr, parts: Sequence[Value], value: Value) -> None:
    """place[parts] = value with masks or index arrays: later values win."""
    masks = [p for p in parts if isinstance(p, Arr) and is_mask(p)]
    if len(masks) == 1 and all(p is masks[0] or _is_full(p) for p in parts) and _is_one(t, value):
        _masked_fill(t, place, parts, masks[0], value)
        return
    place, parts = _without_newaxes(t, place, parts)
    selection = select(t, place, spread_masks(t, place, parts))
    if isinstance(value, Arr):
        target = Arr(place.obj, None)
        value = copy(t, value) if value.obj is target.obj else value
        value = _stretched(t, value, selection.shape)
    update_loop(t, place, selection, value)


def _is_full(p: Value) -> bool:
    return isinstance(p, Slice) and all(
        isinstance(s, Known) and s.value is None for s in (p.start, p.stop, p.step))  # fmt: skip


def _is_one(t: Tracer, value: Value) -> bool:
    return not isinstance(value, Arr) or value.rank == 0


def _stretched(t: Tracer, value: Arr, shape: Indices) -> Arr:
    while value.rank > len(shape) and value.shape[0] == ONE:
        value = compose(
            t, value.shape[1:], [Axis(ZERO), *(Axis(ZERO, d) for d in range(value.rank - 1))], value
        )
    if value.rank > len(shape):
        raise CompileError("the value has more axes than the place", t.loc)
    for have, want in zip(value.shape, shape[len(shape) - value.rank :], strict=True):
        if have != ONE:
            meet(t, have, want, "the shapes of value and place do not agree")
    return broadcast_view(t, value, shape)


def _masked_fill(t: Tracer, place: Arr, parts: Sequence[Value], mask: Arr, value: Value) -> None:
    """One value wherever a mask is true: each cell decides for itself."""
    axis = next(k for k, p in enumerate(parts) if p is mask)
    for d, size in enumerate(mask.shape):
        meet(t, size, place.shape[axis + d], "the shapes of mask and array do not agree")
    x = element(t, value, ()) if isinstance(value, Arr) else value
    if mask.obj is place.obj:
        mask = copy(t, mask)

    def keep(idx: Indices) -> Atom:
        bit = element(t, mask, idx[axis : axis + mask.rank])
        assert isinstance(bit, Num)
        return bit.atom

    put_each(t, place, place.shape, lambda idx: idx, lambda idx: x, keep=keep)


def update_loop(t: Tracer, place: Arr, selection: Selection, value: Value) -> None:
    """Cells written one after the other, so that the last of equal indices wins."""
    check_writable(t, place.obj)
    before = read_object(t, place.obj)
    counter = t.index_var("k")
    param = t.fresh(before.type, before.hint)
    size: Atom = ONE
    for s in selection.shape:
        size = t.b.prim("mul", size, s)
    with t.construct(), t.b.scope():
        idx: list[Atom] = []
        flat: Atom = counter
        for s in reversed(selection.shape[1:]):
            idx.insert(0, t.b.prim("mod", flat, s))
            flat = t.b.prim("floordiv", flat, s)
        here = (flat, *idx) if selection.shape else ()
        at, modes = base_index(t, place, selection.where(here), "p" * place.rank)
        x = convert(
            t, element(t, value, here) if isinstance(value, Arr) else value, numpy_dtype(place)
        )
        if isinstance(x, Cx):
            half = t.b.one(Update(param, (*at, ZERO), x.re, modes + "p"), before.hint)
            out = t.b.one(Update(half, (*at, ONE), x.im, modes + "p"), before.hint)
        else:
            out = t.b.one(Update(param, at, x.atom, modes), before.hint)
        body = t.b.body((out,))
    after = t.b.one(Loop(For(counter, size), (param,), (before,), body), before.hint)
    write_object(t, place.obj, after)
