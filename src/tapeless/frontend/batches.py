"""`vmap`: a function over an axis of its arguments, as one nest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tapeless.core.names import Atom
from tapeless.errors import CompileError
from tapeless.frontend.arrays import generate
from tapeless.frontend.derivatives import returned
from tapeless.frontend.iteration import row
from tapeless.frontend.join import spelled
from tapeless.frontend.leaves import every_leaf, on_leaves
from tapeless.frontend.places import meet
from tapeless.frontend.rule import known
from tapeless.frontend.values import Arr, DictObj, InstanceObj, Known, Ref, Tup, Value

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer

NO_AXES = "every axis is None: there is nothing to map over"


def batch_rule(
    t: Tracer, f: Value, in_axes: Value, optional: Value, out_axes: Value, args: Value,
    kwargs: Value,
) -> Value:  # fmt: skip
    """f(x[i], …) for every i, in an Each: its arrays are stacked at `out_axes`. `optional`: the
    positions and names of parameters that have a default."""
    args = spelled(args)
    assert isinstance(args, Tup) and isinstance(kwargs, Ref)
    whole = Tup((args, kwargs))
    named = t.state.heap[kwargs.obj]
    with_default = known(t, optional, "optional")
    flat = [
        *axes_of_args(t, args, known(t, in_axes, "in_axes"), with_default),
        *(a for key, value in named.items() for a in axes_of_one(t, value, 0, key in with_default)),
    ]
    moved, size = in_front(t, whole, flat)

    def at(idx: tuple[Atom, ...]) -> Value:
        left = iter(flat)

        def item(leaf: Value) -> Value:
            axis = next(left)
            return leaf if axis is None else row(t, leaf, idx[0])  # type: ignore[arg-type]  # an array

        one = on_leaves(t, moved, item, item)
        assert isinstance(one, Tup) and isinstance(one.items[0], Tup)
        assert isinstance(one.items[1], Ref)
        names = t.state.heap[one.items[1].obj]
        leaves = gathered(t, t.rules.call(t, f, one.items[0].items, names), shapes)
        heap.update(t.state.heap)
        return leaves

    shapes: list[Value] = []
    heap: dict[Any, Any] = {}  # with the containers of one item's result
    table = generate(t, (size,), at)
    for obj, content in heap.items():
        t.state.heap.setdefault(obj, content)
    stacked = iter(table.items if isinstance(table, Tup) else (table,))
    places = axes_of(t, shapes[0], known(t, out_axes, "out_axes"), "out_axes")
    left = iter(places)

    def back(leaf: Value) -> Value:
        array, axis = next(stacked), next(left)
        if axis is None:
            raise CompileError("out_axes: None is for in_axes; results differ from item to item",
                               t.loc, "name an axis")  # fmt: skip
        return array if axis == 0 else t.library(np.moveaxis, array, Known(0), Known(axis))

    return on_leaves(t, shapes[0], back, back)


def gathered(t: Tracer, out: Value, shapes: list[Value]) -> Value:
    """The leaves of one item's result; its structure goes to `shapes`."""
    out = returned(t, out)
    shapes[:] = [out]
    leaves: list[Value] = []
    every_leaf(t, out, leaves.append)
    if not leaves:
        raise CompileError(f"vmap: the function gives {t.describe(out)}", t.loc,
                           "return numbers, arrays, or trees of these")  # fmt: skip
    return Tup(tuple(leaves))


def in_front(t: Tracer, tree: Value, axes: list[int | None]) -> tuple[Value, Atom]:
    """The tree with the mapped axes in front, and their common size."""
    left = iter(axes)
    size: Atom | None = None

    def move(leaf: Value) -> Value:
        nonlocal size
        axis = next(left)
        if axis is None:
            return leaf
        if not isinstance(leaf, Arr) or not -leaf.rank <= axis < leaf.rank:
            raise CompileError(f"in_axes: {t.describe(leaf)} has no axis {axis}", t.loc,
                               "None is the axis of what is the same for all")  # fmt: skip
        count = leaf.shape[axis]
        size = count if size is None else meet(t, size, count, "vmap: the mapped axes differ")
        if axis % leaf.rank == 0:
            return leaf
        return t.library(np.moveaxis, leaf, Known(axis), Known(0))

    moved = on_leaves(t, tree, move, move)
    if size is None:
        raise CompileError(NO_AXES, t.loc, "name an axis, or call the function without vmap")
    return moved, size


def axes_of_args(t: Tracer, args: Tup, axes: Any, optional: Sequence[Any]) -> list[int | None]:
    """An axis per leaf of the arguments. Parameters that have a default need not be mentioned."""
    if axes is None or isinstance(axes, int):
        rows = [axes] * len(args.items)
    else:
        rows = [*axes] if isinstance(axes, tuple | list) else [axes]
        missing = range(len(rows), len(args.items))
        if any(k not in optional or has_axes(t, args.items[k]) for k in missing):
            return axes_of(t, args, axes, "in_axes")
        rows += [None] * len(missing)
    if len(rows) != len(args.items):
        return axes_of(t, args, axes, "in_axes")
    triples = zip(args.items, rows, range(len(rows)), strict=True)
    return [a for arg, row, k in triples for a in axes_of_one(t, arg, row, k in optional)]


def axes_of_one(t: Tracer, arg: Value, axes: Any, is_optional: bool) -> list[int | None]:
    """An axis per leaf of an argument: a default that has no axes is the same for all."""
    if is_optional and isinstance(axes, int) and not has_axes(t, arg):
        axes = None
    return axes_of(t, arg, axes, "in_axes")


def has_axes(t: Tracer, tree: Value) -> bool:
    found: list[Value] = []
    every_leaf(t, tree, found.append)
    return any(isinstance(leaf, Arr) and leaf.rank for leaf in found)


def axes_of(t: Tracer, tree: Value, axes: Any, what: str) -> list[int | None]:
    """An axis per leaf, for axes that are a tree over the upper part of `tree`."""
    tree = spelled(tree)
    if axes is None or isinstance(axes, int):
        leaves: list[Value] = []
        every_leaf(t, tree, leaves.append)
        return [axes] * len(leaves)
    parts: list[tuple[Value, Any]] | None = None
    content = t.state.heap[tree.obj] if isinstance(tree, Ref) else None
    items = tree.items if isinstance(tree, Tup) else content
    if isinstance(axes, tuple | list) and isinstance(items, tuple) and len(axes) == len(items):
        parts = list(zip(items, axes, strict=True))
    elif isinstance(content, dict) and isinstance(tree, Ref):
        fields = axes if isinstance(tree.obj, DictObj) else vars(axes)
        if isinstance(tree.obj, DictObj | InstanceObj) and fields.keys() == content.keys():
            parts = [(v, fields[k]) for k, v in content.items()]
    if parts is None:
        raise CompileError(f"{what} is {axes!r}, which does not fit {t.describe(tree)}", t.loc,
                           "give one axis, or a tree of axes like what it is for")  # fmt: skip
    return [axis for part, sub in parts for axis in axes_of(t, part, sub, what)]
