"""Running sums, differences, integrals, interpolation; histograms and moments."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapeless.frontend.intrinsics import (
    as_array,
    build,
    cast,
    dtype_of,
    element,
    elementwise,
    fail,
    is_complex,
    is_list,
    put_over,
    rank,
    reshape,
    scan_over,
    static,
    unsupported,
    zeros,
)  # fmt: skip
from tapeless.frontend.library.ordering import along, place_of
from tapeless.frontend.library.products import matrix_product
from tapeless.frontend.library.reductions import deliver
from tapeless.frontend.library.registry import implements
from tapeless.frontend.library.shapes import from_front, to_place
from tapeless.frontend.library.static import counted, kind, mean_type, one_axis, one_of, sum_type

# Running sums -----------------------------------------------------------------------------------


def running(op: Callable[[Any, Any], Any], a: Any, axis: Any, dtype: Any, neutral: Any) -> Any:
    """Prefixes along an axis (of the flattened array if None)."""
    x = as_array(a)
    if axis is None:
        x, axis = reshape(x, (math.prod(x.shape),)), 0
    start = cast(neutral, dtype)
    return along(
        x, axis,
        lambda line: scan_over(
            op, line.shape[0], lambda i: cast(element(line, (i,)), dtype), start
        ),
        dtype,
    )  # fmt: skip


@implements(np.cumsum, "cumsum")
def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    t = sum_type(dtype_of(a)) if dtype is None else dtype
    return deliver(running(lambda p, q: p + q, a, axis, t, 0), out)


@implements(np.cumprod, "cumprod")
def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    t = sum_type(dtype_of(a)) if dtype is None else dtype
    return deliver(running(lambda p, q: p * q, a, axis, t, 1), out)


@implements(np.nancumsum)
def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    x = as_array(a)
    return cumsum(np.where(np.isnan(x), cast(0, dtype_of(x)), x), axis, dtype, out)


@implements(np.nancumprod)
def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    x = as_array(a)
    return cumprod(np.where(np.isnan(x), cast(1, dtype_of(x)), x), axis, dtype, out)


# Differences and integrals ----------------------------------------------------------------------


@implements(np.diff)
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    x = as_array(a)
    d = one_axis(axis, rank(x))
    parts: tuple[Any, ...] = (x,)
    if prepend is not None:
        parts = (_as_part(prepend, x, d), *parts)
    if append is not None:
        parts = (*parts, _as_part(append, x, d))
    if len(parts) > 1:
        x = np.concatenate(parts, d)
    for _ in counted(static(n, "the order of the difference")):
        y = from_front(x, d)
        t = dtype_of(y)
        x = to_place(y[1:] != y[:-1] if kind(t) == "b" else y[1:] - y[:-1], d)
    return x


def _as_part(value: Any, x: Any, axis: int) -> Any:
    if rank(value) > 0:
        return as_array(value)
    shape = tuple(1 if d == axis else x.shape[d] for d in counted(rank(x)))
    return np.full(shape, value)


@implements(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    parts: tuple[Any, ...] = (diff(np.ravel(ary)),)
    if to_begin is not None:
        parts = (np.ravel(to_begin), *parts)
    if to_end is not None:
        parts = (*parts, np.ravel(to_end))
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


@implements(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    v = as_array(y)
    v = np.moveaxis(v, axis, -1)
    mid = (v[..., 1:] + v[..., :-1]) / 2.0
    if x is None:
        return np.sum(mid * dx, axis=-1)
    points = as_array(x)
    points = np.moveaxis(points, axis, -1) if rank(points) > 1 else points
    return np.sum((points[..., 1:] - points[..., :-1]) * mid, axis=-1)


@implements(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    x = as_array(f)
    one_of(edge_order, (1, 2), "edge_order")
    axes = counted(rank(x)) if axis is None else tuple(axis) if is_list(axis) else (axis,)
    if len(varargs) not in (0, 1, len(axes)):
        fail("np.gradient takes one spacing, or one for each axis")
    out: list[Any] = []
    for k in counted(len(axes)):
        h = 1.0 if len(varargs) == 0 else varargs[0] if len(varargs) == 1 else varargs[k]
        d = one_axis(axes[k], rank(x))
        out = [
            *out,
            along(x, d, lambda line: _slopes(line, h, edge_order), mean_type(dtype_of(x))),
        ]
    return out[0] if len(out) == 1 else tuple(out)


def _slopes(y: Any, h: Any, edge_order: int) -> Any:
    """Second-order differences of a line inside, one-sided ones at its ends."""
    n = y.shape[0]
    assert n > edge_order, "the array is too small for a numerical gradient"
    out = np.empty(n, mean_type(dtype_of(y)))
    if rank(h) == 0:
        out[1:-1] = (y[2:] - y[:-2]) / (2.0 * h)
        if edge_order == 1:
            out[0], out[-1] = (y[1] - y[0]) / h, (y[-1] - y[-2]) / h
        else:
            out[0] = (-1.5 * y[0] + 2.0 * y[1] - 0.5 * y[2]) / h
            out[-1] = (1.5 * y[-1] - 2.0 * y[-2] + 0.5 * y[-3]) / h
        return out
    gaps = diff(as_array(h))
    left, right = gaps[:-1], gaps[1:]
    a, b = -right / (left * (left + right)), (right - left) / (left * right)
    c = left / (right * (left + right))
    out[1:-1] = a * y[:-2] + b * y[1:-1] + c * y[2:]
    if edge_order == 1:
        out[0], out[-1] = (y[1] - y[0]) / gaps[0], (y[-1] - y[-2]) / gaps[-1]
        return out
    p, q = gaps[0], gaps[1]
    out[0] = (
        -(2 * p + q) / (p * (p + q)) * y[0] + (p + q) / (p * q) * y[1] - p / (q * (p + q)) * y[2]
    )
    p, q = gaps[-2], gaps[-1]
    out[-1] = (
        q / (p * (p + q)) * y[-3] - (q + p) / (p * q) * y[-2] + (2 * q + p) / (q * (p + q)) * y[-1]
    )
    return out


@implements(np.interp)
def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    if period is not None:
        unsupported("np.interp with 'period'", "reduce x by np.mod first")
    points, values = as_array(xp), as_array(fp)
    n = points.shape[0]
    t = np.complex128 if is_complex(values) else np.float64

    def at(v: Any) -> Any:
        below = cast(element(values, (0,)) if left is None else left, t)
        above = cast(element(values, (n - 1,)) if right is None else right, t)
        j = place_of(points, v, "right") - 1
        if j < 0:
            return below
        if j >= n - 1:
            return above if v > points[n - 1] else cast(values[n - 1], t)
        y0, x0 = cast(values[j], t), points[j]
        slope = (cast(values[j + 1], t) - y0) / (points[j + 1] - x0)
        return slope * (v - x0) + y0

    return elementwise(lambda v: cast(v, np.float64) if np.isnan(v) else at(cast(v, np.float64)), x)


# Histograms -------------------------------------------------------------------------------------


@implements(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Any:
    at = as_array(x)
    n = at.shape[0]
    if kind(dtype_of(at)) not in "iub":
        fail("np.bincount takes ints")
    top = int(np.max(at)) + 1 if n > 0 else 0
    size = np.maximum(top, minlength)
    if weights is None:
        out = zeros((size,), np.int64)
        put_over("+", out, (n,), lambda i: element(at, (i,)), lambda i: 1)
        return out
    w = as_array(weights)
    out = zeros((size,), np.float64)
    put_over("+", out, (n,), lambda i: element(at, (i,)), lambda i: element(w, (i,)))
    return out


def _limits(x: Any, range: Any) -> Any:
    if range is not None:
        return range[0] * 1.0, range[1] * 1.0
    n = x.shape[0]
    low = np.min(x) * 1.0 if n > 0 else 0.0
    high = np.max(x) * 1.0 if n > 0 else 1.0
    return (low - 0.5, high + 0.5) if low == high else (low, high)


@implements(np.histogram_bin_edges)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    if rank(bins) > 0:
        return as_array(bins)
    low, high = _limits(np.ravel(a), range)
    return np.linspace(low, high, bins + 1)


@implements(np.histogram)
def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    x = np.ravel(a)
    edges = histogram_bin_edges(a, bins, range)
    n = edges.shape[0] - 1
    wide = cast(edges, np.float64)
    t = np.int64 if weights is None else dtype_of(weights)
    w = x if weights is None else np.ravel(weights)
    counts = zeros((n,), t)
    first, last = wide[0], wide[n]

    def bin_of(i: Any) -> Any:
        v = cast(element(x, (i,)), np.float64)
        if rank(bins) > 0:
            j = place_of(wide, v, "right") - 1
        else:
            j = int((v - first) * (n / (last - first)))
            j = np.minimum(np.maximum(j, 0), n - 1)
            j = j - 1 if v < wide[j] else (j + 1 if v >= wide[j + 1] and j != n - 1 else j)
        return n - 1 if v == last else j

    def is_inside(i: Any) -> Any:
        v = cast(element(x, (i,)), np.float64)
        return (v >= first) & (v <= last)

    put_over(
        "+", counts, (x.shape[0],), bin_of, lambda i: 1 if weights is None else element(w, (i,)),
        "ignore", is_inside,
    )  # fmt: skip
    if density:
        return counts / (np.sum(counts) * np.diff(edges)), edges
    return counts, edges


# Moments ----------------------------------------------------------------------------------------


@implements(np.cov)
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None,
    fweights: Any = None, aweights: Any = None, *, dtype: Any = None,
) -> Any:  # fmt: skip
    if fweights is not None or aweights is not None:
        unsupported("np.cov with weights", "weigh the observations first")
    x = _observations(m, rowvar)
    if y is not None:
        x = np.concatenate((x, _observations(y, rowvar)), 0)
    t = mean_type(dtype_of(x)) if dtype is None else dtype
    x = cast(x, t)
    n = x.shape[1]
    less = (0 if bias else 1) if ddof is None else ddof
    centred = x - np.mean(x, axis=1, keepdims=True)
    product = matrix_product(centred, np.conjugate(centred.T), t)
    out = product / cast(np.maximum(n - less, 0), t)
    return out[0, 0] if rank(m) == 1 and y is None else out


def _observations(m: Any, rowvar: bool) -> Any:
    x = as_array(m)
    if rank(x) == 1:
        return reshape(x, (1, x.shape[0]))
    return x if rowvar else np.transpose(x)


@implements(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    c = cov(x, y, rowvar, dtype=dtype)
    if rank(c) == 0:
        return c / c
    s = np.sqrt(np.real(np.diag(c)))
    return build(
        c.shape,
        lambda i, j: np.minimum(np.maximum(element(c, (i, j)) / s[i] / s[j], -1), 1)
        if not is_complex(c) else element(c, (i, j)) / s[i] / s[j], dtype_of(c),
    )  # fmt: skip
