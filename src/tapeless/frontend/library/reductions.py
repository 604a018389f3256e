"""Sums, products, extrema, tests and counts over axes; NumPy's `axis`, `keepdims`, `where`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapeless.frontend.intrinsics import (
    as_array,
    best_over,
    broadcast_to,
    build,
    cast,
    dtype_of,
    element,
    fail,
    fold_over,
    is_complex,
    is_number,
    rank,
    real,
    reduce_over,
    reshape,
    select,
    transpose,
    unsupported,
)  # fmt: skip
from tapeless.frontend.library.registry import implements
from tapeless.frontend.library.static import (
    counted,
    highest,
    kind,
    lowest,
    many_axes,
    mean_type,
    one_axis,
    real_type,
    sum_type,
    without,
)  # fmt: skip

Element = Callable[..., Any]


def over_axes(
    x: Any, axis: Any, keepdims: bool, inner: Callable[[Any, Element], Any], dtype: Any,
    where: Any = True, neutral: Any = None,
) -> Any:  # fmt: skip
    """inner(shape, f) over the named axes of `x`, where f(*idx) is an element (`neutral` where
    `where` is false), for every place of the other axes; elements of the result are `dtype`."""
    axes = many_axes(axis, rank(x))
    kept = without(axes, rank(x))
    y = transpose(x, (*kept, *axes))
    outer, box = y.shape[: len(kept)], y.shape[len(kept) :]
    if where is True:
        out = _over(outer, box, inner, lambda *i: element(y, i), dtype)
    else:
        w = transpose(broadcast_to(as_array(where), x.shape), (*kept, *axes))
        off = cast(neutral, dtype_of(x))
        out = _over(outer, box, inner, lambda *i: select(element(w, i), element(y, i), off), dtype)
    if keepdims:
        sizes = tuple(1 if d in axes else x.shape[d] for d in counted(rank(x)))
        return reshape(as_array(out), sizes)
    return out


def _over(outer: Any, box: Any, inner: Callable[..., Any], f: Element, dtype: Any) -> Any:
    if len(outer) == 0:
        return inner(box, f)
    return build(outer, lambda *o: inner(box, lambda *r: f(*o, *r)), dtype)


def deliver(value: Any, out: Any) -> Any:
    """The value, written to `out` if there is one."""
    if out is None:
        return value
    out[...] = value
    return out


@implements(np.sum, "sum")
def sum(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False,
    initial: Any = None, where: Any = True,
) -> Any:  # fmt: skip
    x = as_array(a)
    t = sum_type(dtype_of(x)) if dtype is None else dtype
    total = over_axes(
        x, axis, keepdims, lambda box, f: reduce_over("+", box, lambda *r: cast(f(*r), t)), t,
        where, 0,
    )  # fmt: skip
    return deliver(total if initial is None else total + initial, out)


@implements(np.prod, "prod")
def prod(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False,
    initial: Any = None, where: Any = True,
) -> Any:  # fmt: skip
    x = as_array(a)
    t = sum_type(dtype_of(x)) if dtype is None else dtype
    product = over_axes(
        x, axis, keepdims, lambda box, f: _product(box, lambda *r: cast(f(*r), t), t), t, where, 1
    )
    return deliver(product if initial is None else product * initial, out)


def _product(box: Any, f: Element, dtype: Any) -> Any:
    if kind(dtype) != "c":
        return reduce_over("*", box, f)
    if len(box) == 1:
        return fold_over(lambda p, q: p * q, box[0], f, cast(1, dtype))
    return fold_over(
        lambda p, q: p * q, box[0], lambda i: _product(box[1:], lambda *r: f(i, *r), dtype),
        cast(1, dtype),
    )  # fmt: skip


def _extremum(
    op: str, a: Any, axis: Any, keepdims: bool, initial: Any, where: Any, edge: Any
) -> Any:
    x = as_array(a)
    t = dtype_of(x)
    if is_complex(x):
        unsupported(f"{op} of complex numbers", "compare their abs, real or imag")
    if where is not True and initial is None:
        fail(f"np.{op} with 'where' needs 'initial'", "give the value for nothing: initial=...")
    if initial is None:
        _need_one(x, axis, op)
    out = over_axes(x, axis, keepdims, lambda box, f: _best(op, box, f, initial, t), t, where, edge)
    return out


def _need_one(x: Any, axis: Any, op: str) -> None:
    """The axes that are reduced have an element, even if the result has none."""
    if math.prod(x.shape[d] for d in many_axes(axis, rank(x))) == 0:
        raise ValueError(f"zero-size array to reduction operation {op}imum which has no identity")


def _best(op: str, box: Any, f: Element, initial: Any, dtype: Any) -> Any:
    if initial is None:
        return reduce_over(op, box, f)
    start = cast(initial, dtype)
    n = math.prod(box)
    if op == "min":
        return np.minimum(start, reduce_over(op, box, f) if n > 0 else start)
    return np.maximum(start, reduce_over(op, box, f) if n > 0 else start)


@implements(np.min, np.amin, "min")
def min(
    a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None,
    where: Any = True,
) -> Any:  # fmt: skip
    edge = highest(dtype_of(a)) if where is not True else 0
    return deliver(_extremum("min", a, axis, keepdims, initial, where, edge), out)


@implements(np.max, np.amax, "max")
def max(
    a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None,
    where: Any = True,
) -> Any:  # fmt: skip
    edge = lowest(dtype_of(a)) if where is not True else 0
    return deliver(_extremum("max", a, axis, keepdims, initial, where, edge), out)


@implements(np.ptp)
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    return deliver(max(a, axis, None, keepdims) - min(a, axis, None, keepdims), out)


def _quantified(op: str, a: Any, axis: Any, keepdims: bool, where: Any, neutral: int) -> Any:
    return over_axes(
        as_array(a), axis, keepdims,
        lambda box, f: reduce_over(op, box, lambda *r: cast(f(*r), bool)), bool, where, neutral,
    )  # fmt: skip


@implements(np.any, "any")
def any(
    a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True
) -> Any:
    return deliver(_quantified("or", a, axis, keepdims, where, 0), out)


@implements(np.all, "all")
def all(
    a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True
) -> Any:
    return deliver(_quantified("and", a, axis, keepdims, where, 1), out)


@implements(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return over_axes(
        as_array(a), axis, keepdims,
        lambda box, f: reduce_over("+", box, lambda *r: cast(cast(f(*r), bool), np.int64)),
        np.int64,
    )  # fmt: skip


def _arg(op: str, a: Any, axis: Any, keepdims: bool) -> Any:
    x = as_array(a)
    if is_complex(x):
        unsupported(f"arg{op} of complex numbers", "compare their abs, real or imag")
    if axis is None:
        flat = reshape(x, (math.prod(x.shape),))
        at = best_over(op, flat.shape[0], lambda i: element(flat, (i,)))[1]
        return reshape(as_array(at), (1,) * rank(x)) if keepdims else cast(at, np.int64)
    return over_axes(
        x, one_axis(axis, rank(x)), keepdims,
        lambda box, f: cast(best_over(op, box[0], f)[1], np.int64), np.int64,
    )  # fmt: skip


@implements(np.argmin, "argmin")
def argmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Any:
    return deliver(_arg("min", a, axis, keepdims), out)


@implements(np.argmax, "argmax")
def argmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Any:
    return deliver(_arg("max", a, axis, keepdims), out)


@implements(np.mean, "mean")
def mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, *,
    where: Any = True,
) -> Any:  # fmt: skip
    x = as_array(a)
    t = mean_type(dtype_of(x)) if dtype is None else dtype
    if where is True:
        return deliver(over_axes(x, axis, keepdims, lambda box, f: _mean(box, f, t), t), out)
    counts = sum(broadcast_to(as_array(where), x.shape), axis, keepdims=keepdims)
    return deliver(
        sum(x, axis, t, keepdims=keepdims, where=where) / cast(counts, real_type(t)), out
    )


def _mean(box: Any, f: Element, dtype: Any) -> Any:
    return reduce_over("+", box, lambda *r: cast(f(*r), dtype)) / math.prod(box)


def _variance(box: Any, f: Element, dtype: Any, ddof: Any) -> Any:
    """The mean square distance from the mean, in two passes."""
    m = _mean(box, f, dtype)
    n = math.prod(box)
    total = reduce_over("+", box, lambda *r: _square(cast(f(*r), dtype) - m))
    left = n - ddof
    return total / (left if left > 0 else 0)


def _square(z: Any) -> Any:
    """|z|²"""
    return z.real * z.real + z.imag * z.imag if is_complex(z) else z * z


@implements(np.var, "var")
def var(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
    keepdims: bool = False, *, where: Any = True, mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    if mean is not None:
        unsupported("np.var with 'mean'", "write np.mean(np.abs(a - mean) ** 2)")
    x = as_array(a)
    t = mean_type(dtype_of(x)) if dtype is None else dtype
    less = ddof if correction is None else correction
    if where is True:
        return deliver(
            over_axes(x, axis, keepdims, lambda box, f: _variance(box, f, t, less), real_type(t)),
            out,
        )
    counts = sum(broadcast_to(as_array(where), x.shape), axis, keepdims=True)
    m = sum(x, axis, t, keepdims=True, where=where) / cast(counts, real_type(t))
    squares = sum(_squares(x - m), axis, keepdims=keepdims, where=where)
    n = sum(broadcast_to(as_array(where), x.shape), axis, keepdims=keepdims)
    return deliver(squares / cast(np.maximum(n - less, 0), real_type(t)), out)


def _squares(x: Any) -> Any:
    return real(x * np.conjugate(x)) if is_complex(x) else x * x


@implements(np.std, "std")
def std(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
    keepdims: bool = False, *, where: Any = True, mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    variance = var(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean,
                   correction=correction)  # fmt: skip
    return deliver(np.sqrt(variance), out)


@implements(np.average)
def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    x = as_array(a)
    if weights is None:
        m = mean(x, axis, keepdims=keepdims)
        if returned:
            n = math.prod(x.shape) if axis is None else x.shape[one_axis(axis, rank(x))]
            return m, np.full(np.shape(m), n, dtype_of(m))[()] if is_number(m) else m * 0 + n
        return m
    w = as_array(weights)
    if rank(w) != rank(x):
        axis = one_axis(axis, rank(x))
        w = reshape(w, tuple(w.shape[0] if d == axis else 1 for d in counted(rank(x))))
    w = broadcast_to(w, x.shape)
    total = sum(w, axis, mean_type(dtype_of(w)), keepdims=keepdims)
    m = sum(x * w, axis, keepdims=keepdims) / total
    return (m, total) if returned else m


# Sums that leave NaN out ------------------------------------------------------------------------


@implements(np.nansum)
def nansum(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
) -> Any:
    x = as_array(a)
    return sum(x, axis, dtype, out, keepdims, where=~np.isnan(x))


@implements(np.nanprod)
def nanprod(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
) -> Any:
    x = as_array(a)
    return prod(x, axis, dtype, out, keepdims, where=~np.isnan(x))


@implements(np.nanmean)
def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
) -> Any:
    x = as_array(a)
    return mean(x, axis, dtype, out, keepdims, where=~np.isnan(x))


@implements(np.nanvar)
def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: bool = False,
) -> Any:
    x = as_array(a)
    return var(x, axis, dtype, out, ddof, keepdims, where=~np.isnan(x))


@implements(np.nanstd)
def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: bool = False,
) -> Any:
    return deliver(np.sqrt(nanvar(a, axis, dtype, None, ddof, keepdims)), out)


def _nan_best(op: str, a: Any, axis: Any, keepdims: bool, edge: Any) -> Any:
    x = as_array(a)
    if kind(dtype_of(x)) != "f":
        return _extremum(op, x, axis, keepdims, None, True, 0)
    known = any(~np.isnan(x), axis, keepdims=keepdims)
    best = _extremum(op, np.where(np.isnan(x), edge, x), axis, keepdims, None, True, 0)
    return np.where(known, best, cast(np.nan, dtype_of(x)))[()]


@implements(np.nanmin)
def nanmin(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    return deliver(_nan_best("min", a, axis, keepdims, np.inf), out)


@implements(np.nanmax)
def nanmax(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    return deliver(_nan_best("max", a, axis, keepdims, -np.inf), out)


@implements(np.nanargmin)
def nanargmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Any:
    x = as_array(a)
    return deliver(_arg("min", np.where(np.isnan(x), np.inf, x), axis, keepdims), out)


@implements(np.nanargmax)
def nanargmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Any:
    x = as_array(a)
    return deliver(_arg("max", np.where(np.isnan(x), -np.inf, x), axis, keepdims), out)
