"""Arrays joined, split, repeated, shifted, padded."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapeless.frontend.intrinsics import (
    as_array,
    broadcast_to,
    build,
    cast,
    dtype_of,
    element,
    empty,
    fail,
    full,
    is_list,
    is_static,
    prim,
    put_over,
    rank,
    reshape,
    result_type,
    same_size,
    select,
    static,
    unsupported,
)
from tapeless.frontend.library.creation import as_shape
from tapeless.frontend.library.registry import implements
from tapeless.frontend.library.shapes import (
    at_least,
    atleast_1d,
    atleast_2d,
    atleast_3d,
    expand_dims,
    from_front,
    ravel,
    to_place,
)
from tapeless.frontend.library.static import counted, one_axis, one_of, without

# Joining ----------------------------------------------------------------------------------------


@implements(np.concatenate, np.concat)
def concatenate(arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None) -> Any:
    if not is_list(arrays) or not is_static(len(arrays)):
        return _merged(as_array(arrays), axis)
    if axis is None:
        return concatenate([ravel(a) for a in arrays], 0, out, dtype=dtype)
    xs = tuple(as_array(a) for a in arrays)
    at = one_axis(axis, rank(xs[0]))
    t = result_type(*(dtype_of(x) for x in xs)) if dtype is None else dtype
    total = 0
    for x in xs:
        if rank(x) != rank(xs[0]):
            fail("the arrays to join differ in rank")
        for d in without((at,), rank(x)):
            same_size(xs[0].shape[d], x.shape[d], "the arrays to join differ in size")
        total = total + x.shape[at]
    whole = empty((*xs[0].shape[:at], total, *xs[0].shape[at + 1 :]), t) if out is None else out
    start = 0
    for x in xs:
        _put_at(whole, x, at, start)
        start = start + x.shape[at]
    return whole


def _put_at(whole: Any, x: Any, axis: int, start: Any) -> None:
    """whole[…, start : start + n, …] = x"""
    put_over(
        "=", whole, x.shape, lambda *i: (*i[:axis], i[axis] + start, *i[axis + 1 :]),
        lambda *i: element(x, i), "proved",
    )  # fmt: skip


def _merged(x: Any, axis: Any) -> Any:
    """The rows of an array joined along `axis` of the rows."""
    if axis is None:
        return reshape(x, (math.prod(x.shape),))
    at = one_axis(axis, rank(x) - 1)
    y = to_place(x, at)
    return reshape(y, (*y.shape[:at], y.shape[at] * y.shape[at + 1], *y.shape[at + 2 :]))


@implements(np.stack)
def stack(arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None) -> Any:
    if not is_list(arrays) or not is_static(len(arrays)):
        return to_place(as_array(arrays), one_axis(axis, rank(arrays)))
    return concatenate([expand_dims(a, axis) for a in arrays], axis, out, dtype=dtype)


@implements(np.vstack)
def vstack(tup: Any, *, dtype: Any = None) -> Any:
    if not is_list(tup) or not is_static(len(tup)):
        x = as_array(tup)
        return x if rank(x) == 2 else _merged(x, 0)
    return concatenate([atleast_2d(a) for a in tup], 0, dtype=dtype)


@implements(np.hstack)
def hstack(tup: Any, *, dtype: Any = None) -> Any:
    if not is_list(tup) or not is_static(len(tup)):
        x = as_array(tup)
        return x if rank(x) == 1 else _merged(x, 0 if rank(x) == 2 else 1)
    xs = tuple(atleast_1d(a) for a in tup)
    return concatenate(xs, 0 if rank(xs[0]) == 1 else 1, dtype=dtype)


@implements(np.dstack)
def dstack(tup: Any) -> Any:
    return concatenate([atleast_3d(a) for a in tup], 2)


@implements(np.column_stack)
def column_stack(tup: Any) -> Any:
    if not is_list(tup) or not is_static(len(tup)):
        return np.transpose(as_array(tup))
    return concatenate([_column(as_array(a)) for a in tup], 1)


def _column(x: Any) -> Any:
    return reshape(x, (math.prod(x.shape), 1)) if rank(x) < 2 else x


@implements(np.append)
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    if axis is None:
        return concatenate((ravel(arr), ravel(values)), 0)
    return concatenate((as_array(arr), as_array(values)), axis)


@implements(np.block)
def block(arrays: Any) -> Any:
    if not is_list(arrays):
        return as_array(arrays)
    if is_list(arrays[0]):
        return concatenate([hstack([at_least(as_array(a), 2) for a in row]) for row in arrays], 0)
    return concatenate([atleast_1d(a) for a in arrays], -1)


# Splitting --------------------------------------------------------------------------------------


def _cut(x: Any, axis: int, start: Any, stop: Any) -> Any:
    return to_place(from_front(x, axis)[start:stop], axis)


@implements(np.split)
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    x = as_array(ary)
    at = one_axis(axis, rank(x))
    n = x.shape[at]
    if is_list(indices_or_sections):
        return _cuts(x, at, tuple(indices_or_sections))
    parts = static(indices_or_sections, "the number of sections")
    each = n // parts
    same_size(each * parts, n, "the array does not split into equal parts")
    return [_cut(x, at, k * each, (k + 1) * each) for k in counted(parts)]


def _cuts(x: Any, axis: int, cuts: Any) -> Any:
    edges = (0, *cuts, x.shape[axis])
    return [_cut(x, axis, edges[k], edges[k + 1]) for k in counted(len(edges) - 1)]


@implements(np.array_split)
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    x = as_array(ary)
    at = one_axis(axis, rank(x))
    if is_list(indices_or_sections):
        return _cuts(x, at, tuple(indices_or_sections))
    parts = static(indices_or_sections, "the number of sections")
    each, more = x.shape[at] // parts, x.shape[at] % parts
    edges = tuple(k * each + np.minimum(k, more) for k in counted(parts + 1))
    return [_cut(x, at, edges[k], edges[k + 1]) for k in counted(parts)]


@implements(np.vsplit)
def vsplit(ary: Any, indices_or_sections: Any) -> Any:
    return split(ary, indices_or_sections, 0)


@implements(np.hsplit)
def hsplit(ary: Any, indices_or_sections: Any) -> Any:
    return split(ary, indices_or_sections, 0 if rank(ary) == 1 else 1)


# Repeating and moving ---------------------------------------------------------------------------


@implements(np.tile)
def tile(A: Any, reps: Any) -> Any:
    x = as_array(A)
    times = as_shape(reps)
    n = max(rank(x), len(times))
    x = at_least(x, n)
    times = (1,) * (n - len(times)) + times
    shape = tuple(x.shape[d] * times[d] for d in counted(n))
    return build(
        shape,
        lambda *i: element(x, tuple(prim("mod", i[d], x.shape[d]) for d in counted(n))),
        dtype_of(x),
    )  # fmt: skip


@implements(np.repeat, "repeat")
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    if axis is None:
        return repeat(ravel(a), repeats, 0)
    x = from_front(as_array(a), one_axis(axis, rank(a)))
    times = as_array(repeats)
    if rank(times) == 0:
        r = element(times, ())
        rows = build(x.shape[0] * r, lambda k: prim("floordiv", k, r))
    else:
        ends = np.cumsum(broadcast_to(times, (x.shape[0],)))
        total = ends[-1] if x.shape[0] > 0 else 0
        rows = np.searchsorted(ends, np.arange(total), "right")
    out = build(
        (rows.shape[0], *x.shape[1:]),
        lambda *i: element(x, (element(rows, i[:1]), *i[1:])),
        dtype_of(x),
    )
    return to_place(out, one_axis(axis, rank(a)))


@implements(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    x = as_array(a)
    if axis is None:
        return reshape(roll(ravel(x), shift, 0), x.shape)
    if is_list(axis):
        for k in counted(len(axis)):
            x = roll(x, shift[k] if is_list(shift) else shift, axis[k])
        return x
    d = one_axis(axis, rank(x))
    n = x.shape[d]
    by = shift[0] if is_list(shift) else shift
    if not is_static(by) or not -1 <= by <= 1:
        by = prim("mod", by, n)

    def at(*i: Any) -> Any:
        j = i[d] - by
        if is_static(by) and by < 0:
            return element(x, (*i[:d], select(j >= n, j - n, j), *i[d + 1 :]))
        return element(x, (*i[:d], select(j < 0, j + n, j), *i[d + 1 :]))

    return build(x.shape, at, dtype_of(x))


@implements(np.pad)
def pad(array: Any, pad_width: Any, mode: str = "constant", *, constant_values: Any = 0) -> Any:
    x = as_array(array)
    n = rank(x)
    widths = _widths(pad_width, n)
    one_of(mode, ("constant", "edge", "reflect", "symmetric", "wrap", "empty"), "mode")
    shape = tuple(x.shape[d] + widths[d][0] + widths[d][1] for d in counted(n))
    if mode in ("constant", "empty"):
        if is_list(constant_values):
            unsupported("np.pad with several constants", "give one number")
        out = full(shape, cast(constant_values, dtype_of(x)), dtype_of(x))
        put_over(
            "=", out, x.shape, lambda *i: tuple(i[d] + widths[d][0] for d in counted(n)),
            lambda *i: element(x, i), "proved",
        )  # fmt: skip
        return out
    return build(
        shape,
        lambda *i: element(
            x, tuple(_inside(i[d] - widths[d][0], x.shape[d], mode) for d in counted(n))
        ),
        dtype_of(x),
    )  # fmt: skip


def _widths(w: Any, n: int) -> Any:
    """(before, after) per axis."""
    if rank(w) == 0:
        return ((w, w),) * n
    if rank(w) == 1:
        return ((w[0], w[len(w) - 1]),) * n
    if len(w) == 1:
        return ((w[0][0], w[0][len(w[0]) - 1]),) * n
    return tuple((w[d][0], w[d][1]) for d in counted(n))


def _inside(i: Any, n: Any, mode: str) -> Any:
    """The index that stands at `i` when an axis of size n goes on beyond its ends."""
    if mode == "edge":
        return np.minimum(np.maximum(i, 0), n - 1)
    if mode == "wrap":
        return prim("mod", i, n)
    if mode == "symmetric":
        j = prim("mod", i, 2 * n)
        return np.minimum(j, 2 * n - 1 - j)
    period = np.maximum(2 * n - 2, 1)
    j = prim("mod", i, period)
    return np.minimum(j, select(n > 1, period - j, 0))
