"""What is decided at compile time: axes, orders, shapes of indices. Ordinary Python, run then."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tapeless.frontend.intrinsics import fail
from tapeless.frontend.library.registry import compile_time


def _axis(axis: Any, rank: int) -> int:
    try:
        a = operator.index(axis)
    except TypeError:
        fail(f"an axis must be an int, not {axis!r}")
    if not -rank <= a < rank:
        fail(f"axis {a} is out of bounds for an array of rank {rank}")
    return a + rank if a < 0 else a


@compile_time
def one_axis(axis: Any, rank: int) -> int:
    """The axis counted from the front."""
    return _axis(axis, rank)


@compile_time
def many_axes(axis: Any, rank: int) -> tuple[int, ...]:
    """The axes, distinct, counted from the front; None means all."""
    if axis is None:
        return tuple(range(rank))
    given = axis if isinstance(axis, tuple | list) else (axis,)
    axes = tuple(_axis(a, rank) for a in given)
    if len(set(axes)) != len(axes):
        fail("an axis is named twice")
    return tuple(sorted(axes))


@compile_time
def without(axes: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """The other axes, in order."""
    return tuple(d for d in range(rank) if d not in axes)


@compile_time
def axes_last(axes: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """The order of axes that puts `axes` last."""
    return (*(d for d in range(rank) if d not in axes), *axes)


@compile_time
def inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    """The order that undoes `order`."""
    return tuple(order.index(d) for d in range(len(order)))


@compile_time
def swapped(a: Any, b: Any, rank: int) -> tuple[int, ...]:
    """The order that exchanges two axes."""
    order = list(range(rank))
    i, j = _axis(a, rank), _axis(b, rank)
    order[i], order[j] = order[j], order[i]
    return tuple(order)


@compile_time
def moved(source: Any, destination: Any, rank: int) -> tuple[int, ...]:
    """The order of `np.moveaxis`."""
    sources = source if isinstance(source, tuple | list) else (source,)
    targets = destination if isinstance(destination, tuple | list) else (destination,)
    if len(sources) != len(targets):
        fail("source and destination must name as many axes")
    start = [_axis(a, rank) for a in sources]
    end = [_axis(a, rank) for a in targets]
    order = [d for d in range(rank) if d not in start]
    for to, d in sorted(zip(end, start, strict=True)):
        order.insert(to, d)
    return tuple(order)


@compile_time
def rolled_axis(axis: Any, start: Any, rank: int) -> tuple[int, ...]:
    """The order of `np.rollaxis`."""
    a = _axis(axis, rank)
    to = operator.index(start)
    to = to + rank if to < 0 else to
    order = [d for d in range(rank) if d != a]
    order.insert(to - 1 if a < to else to, a)
    return tuple(order)


@compile_time
def order_of(axes: Any, rank: int) -> tuple[int, ...]:
    """The order of `np.transpose`: None reverses."""
    if axes is None:
        return tuple(reversed(range(rank)))
    order = tuple(_axis(a, rank) for a in axes)
    if sorted(order) != list(range(rank)):
        fail(f"{axes} is no order of {rank} axes")
    return order


@compile_time
def inserted(axis: Any, rank: int) -> tuple[int, ...]:
    """For `np.expand_dims`: per axis of the result the axis it was, or -1 for a new one."""
    given = axis if isinstance(axis, tuple | list) else (axis,)
    total = rank + len(given)
    new = {_axis(a, total) for a in given}
    if len(new) != len(given):
        fail("an axis is named twice")
    old = iter(range(rank))
    return tuple(-1 if d in new else next(old) for d in range(total))


@compile_time
def counted(size: int) -> tuple[int, ...]:
    """0, 1, …: to unroll over."""
    return tuple(range(size))


@compile_time
def sum_type(dtype: Any) -> Any:
    """The type that NumPy sums and multiplies in: small integers and bools become 64-bit."""
    t = np.dtype(dtype)
    if t.kind in "bi" and t.itemsize <= 8:
        return np.dtype(np.int64)
    if t.kind == "u":
        return np.dtype(np.uint64)
    return t


@compile_time
def mean_type(dtype: Any) -> Any:
    """The type of means: integers become f64."""
    t = np.dtype(dtype)
    return np.dtype(np.float64) if t.kind in "biu" else t


@compile_time
def real_type(dtype: Any) -> Any:
    """The type of the parts of a complex type; real types as they are."""
    t = np.dtype(dtype)
    return np.empty(0, t).real.dtype


@compile_time
def complex_type(dtype: Any) -> Any:
    """The complex type with parts of this type."""
    return np.result_type(mean_type(dtype), np.complex64)


@compile_time
def lowest(dtype: Any) -> Any:
    """The least value of a type: what `max` of nothing would be."""
    t = np.dtype(dtype)
    if t.kind == "f":
        return t.type(-np.inf)
    return t.type(False if t.kind == "b" else np.iinfo(t).min)


@compile_time
def highest(dtype: Any) -> Any:
    """The greatest value of a type: what `min` of nothing would be."""
    t = np.dtype(dtype)
    if t.kind == "f":
        return t.type(np.inf)
    return t.type(True if t.kind == "b" else np.iinfo(t).max)


@compile_time
def within(value: Any, dtype: Any) -> Any:
    """A Python int, or the nearest one that an integer type holds."""
    t = np.dtype(dtype)
    if type(value) is not int or t.kind not in "iu":
        return value
    return max(int(np.iinfo(t).min), min(value, int(np.iinfo(t).max)))


@compile_time
def epsilon(dtype: Any) -> float:
    """The distance from 1 to the next number of the type."""
    return float(np.finfo(np.dtype(dtype)).eps)


@compile_time
def kind(dtype: Any) -> str:
    """The NumPy kind letter: b i u f c."""
    return str(np.dtype(dtype).kind)


@compile_time
def routine(name: str, dtype: Any) -> str:
    """The callee of this name for an element type: `d…` for f64, `s…` for f32."""
    return ("s" if np.dtype(dtype) == np.float32 else "d") + name


@compile_time
def one_of(value: Any, allowed: tuple[Any, ...], what: str) -> Any:
    """The value, if the language has it."""
    if value not in allowed:
        names = ", ".join(map(repr, allowed))
        fail(f"{what} {value!r} is not supported", f"use one of {names}")
    return value
