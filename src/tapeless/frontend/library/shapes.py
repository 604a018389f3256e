"""The same elements under other shapes: views."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapeless.frontend.intrinsics import (
    as_array,
    broadcast_shapes,
    broadcast_to,
    is_one,
    rank,
    reshape,
    same_size,
    static,
    transpose,
)  # fmt: skip
from tapeless.frontend.library.creation import as_shape
from tapeless.frontend.library.registry import implements
from tapeless.frontend.library.static import (
    inserted,
    many_axes,
    moved,
    one_axis,
    one_of,
    order_of,
    rolled_axis,
    swapped,
    without,
)  # fmt: skip

# Views ------------------------------------------------------------------------------------------


@implements(np.reshape)
def reshape_(a: Any, /, shape: Any, order: str = "C", *, copy: Any = None) -> Any:
    x = as_array(a)
    if one_of(order, ("C", "F"), "order") == "F":
        back = tuple(as_shape(shape)[d] for d in order_of(None, len(as_shape(shape))))
        return np.transpose(np.transpose(x).reshape(back))
    return x.reshape(shape)


@implements(np.ravel)
def ravel(a: Any, order: str = "C") -> Any:
    x = as_array(a)
    if one_of(order, ("C", "F", "A", "K"), "order") == "F":
        x = np.transpose(x)
    return reshape(x, (math.prod(x.shape),))


@implements(np.transpose, np.permute_dims)
def transpose_(a: Any, axes: Any = None) -> Any:
    x = as_array(a)
    return transpose(x, order_of(axes, rank(x)))


@implements(np.matrix_transpose, np.linalg.matrix_transpose)
def matrix_transpose(x: Any, /) -> Any:
    return swapaxes(x, -1, -2)


@implements(np.swapaxes, "swapaxes")
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    x = as_array(a)
    return transpose(x, swapped(axis1, axis2, rank(x)))


@implements(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    x = as_array(a)
    return transpose(x, moved(source, destination, rank(x)))


@implements(np.rollaxis)
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    x = as_array(a)
    return transpose(x, rolled_axis(axis, start, rank(x)))


@implements(np.expand_dims)
def expand_dims(a: Any, axis: Any) -> Any:
    x = as_array(a)
    return reshape(x, tuple(1 if d < 0 else x.shape[d] for d in inserted(axis, rank(x))))


@implements(np.squeeze, "squeeze")
def squeeze(a: Any, axis: Any = None) -> Any:
    x = as_array(a)
    if axis is None:
        return reshape(x, tuple(n for n in x.shape if not is_one(n)))
    axes = many_axes(axis, rank(x))
    for d in axes:
        same_size(x.shape[d], 1, "cannot squeeze an axis whose size is not 1")
    return reshape(x, tuple(x.shape[d] for d in without(axes, rank(x))))


@implements(np.broadcast_to)
def broadcast_to_(array: Any, shape: Any, subok: bool = False) -> Any:
    return broadcast_to(as_array(array), as_shape(shape))


@implements(np.broadcast_arrays)
def broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    shape = broadcast_shapes(*(np.shape(a) for a in args))
    return tuple(broadcast_to(as_array(a), shape) for a in args)


@implements(np.broadcast_shapes)
def broadcast_shapes_(*args: Any) -> Any:
    return broadcast_shapes(*(as_shape(a) for a in args))


@implements(np.atleast_1d)
def atleast_1d(*arys: Any) -> Any:
    out = tuple(at_least(as_array(a), 1) for a in arys)
    return out[0] if len(out) == 1 else out


@implements(np.atleast_2d)
def atleast_2d(*arys: Any) -> Any:
    out = tuple(at_least(as_array(a), 2) for a in arys)
    return out[0] if len(out) == 1 else out


@implements(np.atleast_3d)
def atleast_3d(*arys: Any) -> Any:
    out = tuple(_three(as_array(a)) for a in arys)
    return out[0] if len(out) == 1 else out


def at_least(x: Any, n: int) -> Any:
    """View: axes of size 1 in front, up to rank n."""
    return x if rank(x) >= n else reshape(x, (1,) * (n - rank(x)) + x.shape)


def _three(x: Any) -> Any:
    return reshape(at_least(x, 2), (*at_least(x, 2).shape, 1)) if rank(x) < 3 else x


def from_front(x: Any, axis: int) -> Any:
    """View: `axis` first."""
    return transpose(x, moved(axis, 0, rank(x)))


def to_place(x: Any, axis: int) -> Any:
    """View: the first axis taken to place `axis`."""
    return transpose(x, moved(0, axis, rank(x)))


@implements(np.flip)
def flip(m: Any, axis: Any = None) -> Any:
    x = as_array(m)
    for d in many_axes(axis, rank(x)):
        x = to_place(from_front(x, d)[::-1], d)
    return x


@implements(np.flipud)
def flipud(m: Any) -> Any:
    return flip(m, 0)


@implements(np.fliplr)
def fliplr(m: Any) -> Any:
    return flip(m, 1)


@implements(np.rot90)
def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    x = as_array(m)
    i, j = one_axis(axes[0], rank(x)), one_axis(axes[1], rank(x))
    turns = static(k, "the number of turns") % 4
    if turns == 0:
        return x
    if turns == 1:
        return swapaxes(flip(x, j), i, j)
    return flip(flip(x, i), j) if turns == 2 else flip(swapaxes(x, i, j), j)
