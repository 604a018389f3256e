"""New arrays: filled, counted, and the matrices with a name."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapeless.frontend.intrinsics import (
    as_array,
    broadcast_to,
    build,
    cast,
    copy,
    diagonal,
    dtype_of,
    element,
    empty,
    fail,
    full,
    is_array,
    is_list,
    put_over,
    rank,
    reshape,
    result_type,
    select,
    zeros,
)  # fmt: skip
from tapeless.frontend.library.registry import implements
from tapeless.frontend.library.static import counted, kind, mean_type, one_axis, one_of

ORDERS = (None, "C", "F", "A", "K")


def as_shape(shape: Any) -> Any:
    """A shape given as an int or a sequence, as a tuple."""
    return tuple(shape) if is_list(shape) or is_array(shape) else (shape,)


@implements(np.zeros)
def zeros_(shape: Any, dtype: Any = float, order: Any = "C") -> Any:
    one_of(order, ORDERS, "order")
    return zeros(as_shape(shape), float if dtype is None else dtype)


@implements(np.empty)
def empty_(shape: Any, dtype: Any = float, order: Any = "C") -> Any:
    one_of(order, ORDERS, "order")
    return empty(as_shape(shape), float if dtype is None else dtype)


@implements(np.ones)
def ones(shape: Any, dtype: Any = float, order: Any = "C") -> Any:
    one_of(order, ORDERS, "order")
    return full(as_shape(shape), 1, float if dtype is None else dtype)


@implements(np.full)
def full_(shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C") -> Any:
    one_of(order, ORDERS, "order")
    t = dtype_of(fill_value) if dtype is None else dtype
    if rank(fill_value) == 0:
        return full(as_shape(shape), fill_value, t)
    return cast(broadcast_to(as_array(fill_value), as_shape(shape)), t)


@implements(np.zeros_like)
def zeros_like(
    a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None
) -> Any:
    t = dtype_of(a) if dtype is None else dtype
    return zeros(np.shape(a) if shape is None else as_shape(shape), t)


@implements(np.empty_like)
def empty_like(
    a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None
) -> Any:
    t = dtype_of(a) if dtype is None else dtype
    return empty(np.shape(a) if shape is None else as_shape(shape), t)


@implements(np.ones_like)
def ones_like(
    a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None
) -> Any:
    t = dtype_of(a) if dtype is None else dtype
    return full(np.shape(a) if shape is None else as_shape(shape), 1, t)


@implements(np.full_like)
def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
) -> Any:
    t = dtype_of(a) if dtype is None else dtype
    return full_(np.shape(a) if shape is None else shape, fill_value, t)


@implements(np.copy)
def copy_(a: Any, order: Any = "K", subok: bool = False) -> Any:
    return copy(as_array(a))


@implements(np.ascontiguousarray, np.asfortranarray, np.asanyarray, np.require)
def contiguous(a: Any, dtype: Any = None) -> Any:
    return as_array(a, dtype)


@implements(np.copyto)
def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    if where is True:
        dst[...] = src
    else:
        dst[...] = np.where(where, src, dst)


# Ranges -----------------------------------------------------------------------------------------


@implements(np.arange)
def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Any:
    if stop is None:
        return arange(0, start, step, dtype)
    natural = result_type(start, stop, step)
    t = natural if dtype is None else dtype
    if kind(natural) in "iub":
        return build(len(range(start, stop, step)), lambda i: start + i * step, t)
    n = int(np.ceil((stop - start) / step))
    delta = (start + step) - start
    return build(n if n > 0 else 0, lambda i: start + i * delta, t)


@implements(np.linspace)
def linspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, retstep: bool = False,
    dtype: Any = None, axis: int = 0,
) -> Any:  # fmt: skip
    gaps = num - 1 if endpoint else num
    a = as_array(start) * 1.0 if rank(start) > 0 else start * 1.0
    b = as_array(stop) * 1.0 if rank(stop) > 0 else stop * 1.0
    step = (b - a) / np.maximum(gaps, 1)
    natural = mean_type(result_type(a, b))
    t = natural if dtype is None else dtype
    is_whole = kind(t) in "iu"

    def at(i: Any) -> Any:
        value = a + i * step
        if endpoint and rank(step) == 0:
            value = select((i == gaps) & (gaps > 0), b, value)
        elif endpoint:
            value = np.where((i == gaps) & (gaps > 0), b, value)
        return np.floor(value) if is_whole else value

    out = build(num, at, t)
    if axis != 0:
        out = np.moveaxis(out, 0, axis)
    if retstep:
        return out, step if gaps > 0 else step * np.nan
    return out


@implements(np.logspace)
def logspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, base: Any = 10.0,
    dtype: Any = None, axis: int = 0,
) -> Any:  # fmt: skip
    out = np.power(base, linspace(start, stop, num, endpoint, axis=axis))
    return out if dtype is None else cast(out, dtype)


@implements(np.geomspace)
def geomspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Any:
    one_of(axis, (0, -1), "axis")
    if rank(start) > 0 or rank(stop) > 0:
        fail("np.geomspace takes numbers here", "use np.exp(np.linspace(...))")
    sign = np.sign(start)
    low, high = np.log10(start / sign), np.log10(stop / sign)
    gaps = num - 1 if endpoint else num
    step = (high - low) / np.maximum(gaps, 1)

    def at(i: Any) -> Any:
        inner = sign * np.power(10.0, low + i * step)
        return select(i == 0, start * 1.0, select(i == gaps and endpoint, stop * 1.0, inner))

    return build(num, at, dtype)


# Matrices ---------------------------------------------------------------------------------------


@implements(np.eye)
def eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = float, order: Any = "C") -> Any:
    m = N if M is None else M
    return build((N, m), lambda i, j: j - i == k, float if dtype is None else dtype)


@implements(np.identity)
def identity(n: Any, dtype: Any = None) -> Any:
    return eye(n, None, 0, dtype)


@implements(np.tri)
def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = float) -> Any:
    return build((N, N if M is None else M), lambda i, j: j - i <= k, dtype)


def _as_matrix(m: Any) -> Any:
    x = as_array(m)
    return broadcast_to(x, (x.shape[0], x.shape[0])) if rank(x) == 1 else x


@implements(np.tril)
def tril(m: Any, k: Any = 0) -> Any:
    x = _as_matrix(m)
    t = dtype_of(x)
    return build(x.shape, lambda *i: select(i[-1] - i[-2] <= k, element(x, i), cast(0, t)), t)


@implements(np.triu)
def triu(m: Any, k: Any = 0) -> Any:
    x = _as_matrix(m)
    t = dtype_of(x)
    return build(x.shape, lambda *i: select(i[-1] - i[-2] >= k, element(x, i), cast(0, t)), t)


@implements(np.diag)
def diag(v: Any, k: Any = 0) -> Any:
    x = as_array(v)
    if rank(x) == 2:
        return diagonal(x, k)
    if rank(x) != 1:
        fail("np.diag takes an array of rank 1 or 2")
    n = x.shape[0]
    right, down = (k, 0) if k >= 0 else (0, -k)
    out = zeros((n + right + down, n + right + down), dtype_of(x))
    put_over("=", out, (n,), lambda i: (i + down, i + right), lambda i: element(x, (i,)), "proved")
    return out


@implements(np.diagflat)
def diagflat(v: Any, k: Any = 0) -> Any:
    x = as_array(v)
    return diag(reshape(x, (math.prod(x.shape),)), k)


@implements(np.fill_diagonal)
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    if wrap:
        fail("np.fill_diagonal with 'wrap' is not supported")
    n = min(a.shape)
    v = as_array(val)
    if rank(v) == 0:
        x = element(v, ())
        put_over("=", a, (n,), lambda i: (i,) * rank(a), lambda i: x, "proved")
    else:
        flat = reshape(v, (math.prod(v.shape),))
        m = flat.shape[0]
        put_over("=", a, (n,), lambda i: (i,) * rank(a), lambda i: flat[i % m], "proved")


@implements(np.vander)
def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    v = as_array(x)
    n = v.shape[0] if N is None else N
    t = result_type(dtype_of(v), int)
    return build(
        (v.shape[0], n), lambda i, j: element(v, (i,)) ** (j if increasing else n - 1 - j), t
    )


# Grids of indices -------------------------------------------------------------------------------


@implements(np.meshgrid)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    one_of(indexing, ("xy", "ij"), "indexing")
    n = len(xi)
    xs = tuple(reshape(as_array(x), (math.prod(np.shape(x)),)) for x in xi)
    place = tuple(1 - d if indexing == "xy" and d < 2 and n > 1 else d for d in counted(n))
    sizes = tuple(xs[place[d]].shape[0] for d in counted(n))
    if sparse:
        return tuple(_along(xs[d], place[d], n) for d in counted(n))
    return tuple(build(sizes, lambda *i, d=d: element(xs[d], (i[place[d]],))) for d in counted(n))


def _along(x: Any, axis: int, n: int) -> Any:
    """The array as the only long axis among n."""
    return reshape(x, tuple(x.shape[0] if d == axis else 1 for d in counted(n)))


@implements(np.ix_)
def ix_(*args: Any) -> Any:
    return tuple(_along(as_array(args[d]), d, len(args)) for d in counted(len(args)))


@implements(np.indices)
def indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    n = len(dimensions)
    if sparse:
        return tuple(_along(arange(dimensions[d], None, 1, dtype), d, n) for d in counted(n))
    grids = tuple(build(dimensions, lambda *i, d=d: i[d], dtype) for d in counted(n))
    return np.stack(grids)


@implements(np.fromfunction)
def fromfunction(function: Any, shape: Any, *, dtype: Any = float) -> Any:
    grids = tuple(build(as_shape(shape), lambda *i, d=d: i[d], dtype) for d in counted(len(shape)))
    return function(*grids)


@implements(np.triu_indices)
def triu_indices(n: Any, k: Any = 0, m: Any = None) -> Any:
    rows, columns = [], []
    for i in range(n):
        for j in range(n if m is None else m):
            if j - i >= k:
                rows.append(i)
                columns.append(j)
    return as_array(rows, np.int64), as_array(columns, np.int64)


@implements(np.tril_indices)
def tril_indices(n: Any, k: Any = 0, m: Any = None) -> Any:
    rows, columns = [], []
    for i in range(n):
        for j in range(n if m is None else m):
            if j - i <= k:
                rows.append(i)
                columns.append(j)
    return as_array(rows, np.int64), as_array(columns, np.int64)


@implements(np.triu_indices_from)
def triu_indices_from(arr: Any, k: Any = 0) -> Any:
    return triu_indices(arr.shape[0], k, arr.shape[1])


@implements(np.tril_indices_from)
def tril_indices_from(arr: Any, k: Any = 0) -> Any:
    return tril_indices(arr.shape[0], k, arr.shape[1])


@implements(np.diag_indices)
def diag_indices(n: Any, ndim: int = 2) -> Any:
    return tuple(arange(n) for _ in counted(ndim))


# Diagonals --------------------------------------------------------------------------------------


@implements(np.diagonal, "diagonal")
def diagonal_(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    x = as_array(a)
    i, j = one_axis(axis1, rank(x)), one_axis(axis2, rank(x))
    return diagonal(np.moveaxis(x, (i, j), (-2, -1)), offset)


@implements(np.trace, "trace")
def trace(
    a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
) -> Any:
    return np.sum(diagonal_(a, offset, axis1, axis2), axis=-1, dtype=dtype, out=out)
