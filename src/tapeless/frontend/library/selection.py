"""Choosing, comparing and moving elements: where, clip, take, put, nonzero."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapeless.frontend.intrinsics import (
    as_array,
    as_operand,
    build,
    cast,
    dtype_of,
    element,
    elementwise,
    is_list,
    is_static,
    rank,
    reshape,
    result_type,
    same_size,
    select,
    transpose,
    unsupported,
)  # fmt: skip
from tapeless.frontend.library.reductions import deliver
from tapeless.frontend.library.registry import implements
from tapeless.frontend.library.static import counted, kind, moved, one_axis, one_of, within


def _refuses() -> bool:
    """Whether this NumPy refuses Python ints that the other operand's type does not hold: since
    2.5 np.where does, before it wrapped them."""
    try:
        np.where(True, np.uint8(0), 300)
    except OverflowError:
        return True
    return False


REFUSES = _refuses()


@implements(np.where)
def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    if x is None and y is None:
        return nonzero(condition)
    if REFUSES:
        return elementwise(lambda c, a, b: select(cast(c, bool), a, b), condition, x, y)
    return _chosen(condition, x, y)


def _chosen(condition: Any, x: Any, y: Any) -> Any:
    """Elements of x or y; Python ints wrap."""
    t = result_type(as_operand(x), as_operand(y))
    return elementwise(
        lambda c, a, b: select(cast(c, bool), cast(a, t), cast(b, t)), condition, x, y
    )


@implements(np.select)
def select_(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    out = default
    for k in counted(len(condlist))[::-1]:
        out = _chosen(condlist[k], choicelist[k], out)
    return out


@implements(np.choose, "choose")
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    one_of(mode, ("raise",), "mode")
    if not is_list(choices):
        unsupported("np.choose from an array", "give a list of choices")
    picked = choices[0]
    for k in counted(len(choices))[1:]:
        picked = _chosen(as_operand(a) == k, choices[k], picked)
    return deliver(picked, out)


@implements(np.clip, "clip")
def clip(
    a: Any,
    a_min: Any = None,
    a_max: Any = None,
    out: Any = None,
    *,
    min: Any = None,
    max: Any = None,
) -> Any:
    low = _bound(a, a_min if min is None else min)
    high = _bound(a, a_max if max is None else max)
    if low is None:
        return deliver(a if high is None else np.minimum(a, high), out)
    if high is None:
        return deliver(np.maximum(a, low), out)
    return deliver(
        elementwise(lambda x, lo, hi: np.minimum(np.maximum(x, lo), hi), a, low, high), out
    )


def _bound(x: Any, end: Any) -> Any:
    """An end of a range; np.clip takes Python ints beyond the type of x, too."""
    return within(end, dtype_of(x)) if end is not None and is_static(end) else end


# Taking and putting by index --------------------------------------------------------------------


@implements(np.take, "take")
def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    one_of(mode, ("raise", "wrap", "clip"), "mode")
    x = as_array(a)
    if axis is None:
        return take(reshape(x, (math.prod(x.shape),)), indices, 0, out, mode)
    d = one_axis(axis, rank(x))
    n = x.shape[d]
    at = as_array(indices)
    if mode == "wrap":
        at = elementwise(lambda i: i % n, at)
    if mode == "clip":
        at = elementwise(lambda i: np.minimum(np.maximum(i, 0), n - 1), at)
    if rank(x) == 1:
        return deliver(elementwise(lambda i: x[i], at), out)
    rows = transpose(x, moved(d, 0, rank(x)))
    if rank(at) == 0:
        return deliver(rows[element(at, ())], out)
    taken = build(at.shape, lambda *i: rows[element(at, i)])
    axes, places = counted(rank(at)), tuple(d + k for k in counted(rank(at)))
    return deliver(transpose(taken, moved(axes, places, rank(taken))), out)


@implements(np.compress, "compress")
def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    return deliver(take(a, flatnonzero(condition), axis), out)


@implements(np.extract)
def extract(condition: Any, arr: Any) -> Any:
    return take(arr, flatnonzero(condition))


@implements(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    x, at = as_array(arr), as_array(indices)
    if axis is None:
        x, axis = reshape(x, (math.prod(x.shape),)), 0
    d = one_axis(axis, rank(x))
    y = transpose(x, moved(d, -1, rank(x)))
    i_last = transpose(at, moved(d, -1, rank(at)))
    taken = build(i_last.shape, lambda *i: y[(*i[:-1], element(i_last, i))], dtype_of(x))
    return transpose(taken, moved(-1, d, rank(x)))


@implements(np.put_along_axis)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    d = one_axis(axis, rank(arr))
    at = as_array(indices)
    v = np.broadcast_to(values, at.shape)
    for i in np.ndindex(*at.shape):
        arr[(*i[:d], at[i], *i[d + 1 :])] = v[i]


@implements(np.put, "put")
def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    one_of(mode, ("raise",), "mode")
    flat = reshape(a, (math.prod(a.shape),))
    at, values = np.ravel(ind), np.ravel(v)
    for k in range(at.shape[0]):
        flat[at[k]] = values[k % values.shape[0]]


@implements(np.putmask, np.place)
def putmask(a: Any, mask: Any, values: Any) -> None:
    if rank(values) == 0:
        a[...] = where(mask, cast(values, dtype_of(a)), a)
    else:
        flat, on, v = np.ravel(a), np.ravel(mask), np.ravel(values)
        for k in range(flat.shape[0]):
            if on[k]:
                flat[k] = v[k % v.shape[0]]


# Which are not zero -----------------------------------------------------------------------------


@implements(np.flatnonzero)
def flatnonzero(a: Any) -> Any:
    x = np.ravel(a)
    found = []
    for i in range(x.shape[0]):
        if element(x, (i,)) != 0:
            found.append(i)
    return as_array(found, np.int64)


@implements(np.nonzero, "nonzero")
def nonzero(a: Any) -> Any:
    x = as_array(a)
    flat = flatnonzero(x)
    if rank(x) == 1:
        return (flat,)
    return np.unravel_index(flat, x.shape)


@implements(np.argwhere)
def argwhere(a: Any) -> Any:
    return np.transpose(np.stack(nonzero(a)))


@implements(np.unravel_index)
def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    one_of(order, ("C",), "order")
    sizes = shape if is_list(shape) else (shape,)
    rest = as_operand(indices)
    out: tuple[Any, ...] = ()
    for d in counted(len(sizes))[::-1]:
        out = (rest % sizes[d] if d > 0 else rest, *out)
        rest = rest // sizes[d] if d > 0 else rest
    return out


@implements(np.ravel_multi_index)
def ravel_multi_index(multi_index: Any, dims: Any, mode: str = "raise", order: str = "C") -> Any:
    one_of(order, ("C",), "order")
    one_of(mode, ("raise",), "mode")
    flat = multi_index[0]
    for d in counted(len(dims))[1:]:
        flat = flat * dims[d] + multi_index[d]
    return flat


# Comparison of whole arrays ---------------------------------------------------------------------


def _close(a: Any, b: Any, rtol: Any, atol: Any, equal_nan: bool) -> Any:
    near = (abs(a - b) <= atol + rtol * abs(b)) & np.isfinite(b) | (a == b)
    return near | (np.isnan(a) & np.isnan(b)) if equal_nan else near


@implements(np.isclose)
def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    t = np.result_type(result_type(as_operand(a), as_operand(b)), np.float32)
    return elementwise(lambda x, y: _close(cast(x, t), cast(y, t), rtol, atol, equal_nan), a, b)


@implements(np.allclose)
def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> bool:
    return bool(np.all(isclose(a, b, rtol, atol, equal_nan)))


@implements(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    x, y = as_array(a1), as_array(a2)
    if rank(x) != rank(y):
        return False
    for d in counted(rank(x)):
        if x.shape[d] != y.shape[d]:
            return False
    return bool(np.all(elementwise(lambda p, q: _same(p, q, equal_nan), x, y)))


def _same(p: Any, q: Any, equal_nan: bool) -> Any:
    return (p == q) | (np.isnan(p) & np.isnan(q)) if equal_nan else p == q


@implements(np.array_equiv)
def array_equiv(a1: Any, a2: Any) -> bool:
    return bool(np.all(as_array(a1) == as_array(a2)))


@implements(np.nan_to_num)
def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    one_of(copy, (True,), "copy")
    v = as_operand(x)
    t = dtype_of(v)
    if kind(t) == "c":
        unsupported("np.nan_to_num of complex numbers", "treat .real and .imag apart")
    if kind(t) != "f":
        return v
    high = np.finfo(t).max if posinf is None else posinf
    low = np.finfo(t).min if neginf is None else neginf
    return elementwise(
        lambda e: select(np.isnan(e), cast(nan, t), select(
            e == np.inf, cast(high, t), select(e == -np.inf, cast(low, t), e))), v
    )  # fmt: skip


@implements(np.real_if_close, np.asarray_chkfinite)
def as_it_is(a: Any) -> Any:
    return as_array(a)


# Membership -------------------------------------------------------------------------------------


@implements(np.isin)
def isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: Any = None,
) -> Any:
    table = np.sort(np.ravel(test_elements))
    n = table.shape[0]

    def among(x: Any) -> Any:
        at = np.searchsorted(table, x)
        found = table[at] == x if at < n else False
        return not found if invert else found

    return elementwise(among, element)


@implements(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    v = as_array(x)
    sizes = window_shape if is_list(window_shape) else (window_shape,)
    axes = counted(rank(v)) if axis is None else axis if is_list(axis) else (axis,)
    same_size(len(axes), len(sizes), "a window size per axis is needed")
    where_ = tuple(one_axis(d, rank(v)) for d in axes)
    shape = tuple(
        v.shape[d] - (sizes[where_.index(d)] - 1) if d in where_ else v.shape[d]
        for d in counted(rank(v))
    )
    n = rank(v)
    return build(
        (*shape, *sizes),
        lambda *i: element(v, tuple(
            i[d] + i[n + where_.index(d)] if d in where_ else i[d] for d in counted(n))),
        dtype_of(v),
    )  # fmt: skip
