"""Sorting, searching, and what is read off sorted arrays: medians, quantiles, unique values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapeless.frontend.intrinsics import (
    as_array,
    build,
    cast,
    copy,
    dtype_of,
    element,
    elementwise,
    is_complex,
    rank,
    reshape,
    result_type,
    sort_order,
    transpose,
    unsupported,
)  # fmt: skip
from tapeless.frontend.library.reductions import deliver
from tapeless.frontend.library.registry import implements
from tapeless.frontend.library.static import (
    axes_last,
    counted,
    kind,
    many_axes,
    mean_type,
    moved,
    one_axis,
    one_of,
    without,
)  # fmt: skip

KINDS = (None, "quicksort", "mergesort", "heapsort", "stable")


def along(x: Any, axis: Any, f: Callable[[Any], Any], dtype: Any) -> Any:
    """f(line) for every line of `x` along an axis; its result (an array) takes the line's place."""
    if rank(x) == 1:
        return f(x)
    d = one_axis(axis, rank(x))
    y = transpose(x, moved(d, -1, rank(x)))
    out = build(y.shape[:-1], lambda *i: f(y[i]), dtype)
    return transpose(out, moved(-1, d, rank(x)))


def _order(x: Any) -> Any:
    if is_complex(x):
        unsupported("sorting complex numbers", "sort by np.argsort of abs, real or imag")
    return sort_order(x)


def _sorted(x: Any) -> Any:
    order = _order(x)
    return build(x.shape[0], lambda i: element(x, (element(order, (i,)),)), dtype_of(x))


@implements(np.sort)
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    one_of(kind, KINDS, "kind")
    one_of(order, (None,), "order")
    x = as_array(a)
    if axis is None:
        return _sorted(reshape(x, (math.prod(x.shape),)))
    return along(x, axis, _sorted, dtype_of(x))


@implements("sort")
def sort_in_place(
    a: Any, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> None:
    a[...] = sort(a, axis, kind, order)


@implements(np.argsort, "argsort")
def argsort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    one_of(kind, KINDS, "kind")
    one_of(order, (None,), "order")
    x = as_array(a)
    if axis is None:
        return _order(reshape(x, (math.prod(x.shape),)))
    return along(x, axis, _order, np.int64)


@implements(np.partition)
def partition(
    a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None
) -> Any:
    return sort(a, axis, None, order)


@implements(np.argpartition, "argpartition")
def argpartition(
    a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None
) -> Any:
    return argsort(a, axis, None, order)


@implements("partition")
def partition_in_place(a: Any, kth: Any, axis: int = -1, kind: str = "introselect") -> None:
    a[...] = sort(a, axis)


@implements(np.lexsort)
def lexsort(keys: Any, axis: int = -1) -> Any:
    one_of(axis, (-1,), "axis")
    count = len(keys)
    order = sort_order(as_array(keys[0]))
    for k in counted(count)[1:]:
        key = as_array(keys[k])
        order = order[sort_order(key[order])]
    return order


# Searching --------------------------------------------------------------------------------------


def _before(p: Any, q: Any) -> Any:
    """p < q, where NaN comes last."""
    return (p < q) | (np.isnan(q) & ~np.isnan(p))


def place_of(table: Any, x: Any, side: str) -> Any:
    """Where `x` goes into a sorted table: before ("left") or after its equals."""
    low, high = 0, table.shape[0]
    while low < high:
        middle = (low + high) // 2
        y = element(table, (middle,))
        goes_on = _before(y, x) if side == "left" else not _before(x, y)
        if goes_on:
            low = middle + 1
        else:
            high = middle
    return low


@implements(np.searchsorted, "searchsorted")
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    one_of(side, ("left", "right"), "side")
    table = as_array(a) if sorter is None else as_array(a)[sorter]
    t = result_type(table, v)
    if dtype_of(table) != t:
        table = cast(table, t)
    return elementwise(lambda x: cast(place_of(table, cast(x, t), side), np.int64), v)


@implements(np.digitize)
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    edges = as_array(bins)
    n = edges.shape[0]
    falls = edges[0] > edges[n - 1] if n > 0 else False
    if falls:
        return n - searchsorted(copy(edges[::-1]), x, "right" if right else "left")
    return searchsorted(edges, x, "left" if right else "right")


# Quantiles --------------------------------------------------------------------------------------


def _over(a: Any, axis: Any, keepdims: bool, f: Callable[[Any], Any], lead: int) -> Any:
    """f(line) over the named axes flattened to lines; `lead` axes of its results come first."""
    x = as_array(a)
    axes = many_axes(axis, rank(x))
    kept = without(axes, rank(x))
    y = transpose(x, axes_last(axes, rank(x)))
    outer = y.shape[: len(kept)]
    lines = reshape(y, (*outer, math.prod(y.shape[len(kept) :])))
    if len(kept) == 0:
        out = f(lines)
    else:
        out = build(outer, lambda *i: f(lines[i]))
        out = out if lead == 0 else transpose(out, moved(-1, 0, rank(out)))
    if keepdims:
        sizes = tuple(1 if d in axes else x.shape[d] for d in counted(rank(x)))
        out = as_array(out)
        return reshape(out, (*out.shape[:lead], *sizes))
    return out


def _between(line: Any, at: Any, t: Any, method: str) -> Any:
    """The value at a fractional place of a sorted line; NaN if there is one."""
    n = line.shape[0]
    low = np.floor(at)
    part = at - low
    i = int(low)
    a = cast(line[i], t)
    b = cast(line[np.minimum(i + 1, n - 1)], t)
    if method == "lower":
        value = a
    elif method == "higher":
        value = b if part > 0 else a
    elif method == "nearest":
        value = b if (part > 0.5) | ((part == 0.5) & (i % 2 == 1)) else a
    elif method == "midpoint":
        value = (a + b) / 2 if part > 0 else a
    else:
        value = b - (b - a) * (1 - part) if part >= 0.5 else a + (b - a) * part
    last = cast(line[n - 1], t)
    return last if np.isnan(last) else cast(value, t)


def _quantile(a: Any, q: Any, axis: Any, keepdims: bool, method: str, scale: Any) -> Any:
    one_of(method, ("linear", "lower", "higher", "nearest", "midpoint"), "method")
    t = dtype_of(a) if method in ("lower", "higher", "nearest") else mean_type(dtype_of(a))

    def of_line(line: Any) -> Any:
        ordered = _sorted(line)
        n = ordered.shape[0]
        if rank(q) == 0:
            return _between(ordered, _share(q, scale) * (n - 1), t, method)
        return elementwise(lambda p: _between(ordered, _share(p, scale) * (n - 1), t, method), q)

    return _over(a, axis, keepdims, of_line, rank(q))


def _share(q: Any, scale: Any) -> Any:
    share = q / scale
    assert 0 <= share <= 1, "quantiles must be in the range [0, 1], percentiles in [0, 100]"
    return share


@implements(np.quantile)
def quantile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
    method: str = "linear", keepdims: bool = False,
) -> Any:  # fmt: skip
    return deliver(_quantile(a, q, axis, keepdims, method, 1.0), out)


@implements(np.percentile)
def percentile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
    method: str = "linear", keepdims: bool = False,
) -> Any:  # fmt: skip
    return deliver(_quantile(a, q, axis, keepdims, method, 100.0), out)


def _middle(line: Any) -> Any:
    ordered = _sorted(line)
    t = mean_type(dtype_of(line))
    n = ordered.shape[0]
    a, b = cast(ordered[(n - 1) // 2], t), cast(ordered[n // 2], t)
    last = cast(ordered[n - 1], t)
    if np.isnan(last):
        return last
    return a if n % 2 == 1 else (a + b) / 2


@implements(np.median)
def median(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False
) -> Any:
    return deliver(_over(a, axis, keepdims, _middle, 0), out)


def _known_middle(line: Any) -> Any:
    """The median of what is not NaN."""
    ordered = _sorted(line)
    n = np.count_nonzero(~np.isnan(line))
    t = dtype_of(line)
    if n == 0:
        return cast(np.nan, t)
    a, b = ordered[(n - 1) // 2], ordered[n // 2]
    return a if n % 2 == 1 else (a + b) / 2


@implements(np.nanmedian)
def nanmedian(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False
) -> Any:
    if kind(dtype_of(a)) != "f":
        return median(a, axis, out, overwrite_input, keepdims)
    return deliver(_over(a, axis, keepdims, _known_middle, 0), out)


# Unique values ----------------------------------------------------------------------------------


@implements(np.unique)
def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
    axis: Any = None, *, equal_nan: bool = True,
) -> Any:  # fmt: skip
    if axis is not None:
        unsupported("np.unique with 'axis'")
    one_of(equal_nan, (True,), "equal_nan")
    x = reshape(as_array(ar), (math.prod(np.shape(ar)),))
    n = x.shape[0]
    order = _order(x)
    starts = []
    for i in range(n):
        if i == 0 or _differ(x[order[i]], x[order[i - 1]]):
            starts.append(i)
    first = as_array(starts, np.int64)
    out: tuple[Any, ...] = (build(first.shape[0], lambda k: x[order[first[k]]], dtype_of(x)),)
    if return_index:
        out = (*out, build(first.shape[0], lambda k: order[first[k]], np.int64))
    if return_inverse:
        group = np.zeros(n, np.int64)
        group[first] = 1
        rank_of = np.cumsum(group) - 1
        back = np.empty(n, np.int64)
        back[order] = rank_of
        out = (*out, reshape(back, np.shape(ar)))
    if return_counts:
        out = (*out, build(first.shape[0], lambda k: (
            first[k + 1] if k + 1 < first.shape[0] else n) - first[k], np.int64))  # fmt: skip
    return out[0] if len(out) == 1 else out


def _differ(p: Any, q: Any) -> Any:
    return (p != q) & ~(np.isnan(p) & np.isnan(q))


@implements(np.unique_values)
def unique_values(x: Any) -> Any:
    return unique(x)


@implements(np.union1d)
def union1d(ar1: Any, ar2: Any) -> Any:
    return unique(np.concatenate((np.ravel(ar1), np.ravel(ar2))))
