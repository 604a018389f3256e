"""The forms of a ufunc: called with keywords, reduce, accumulate, outer, at, reduceat."""

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
    fail,
    fold_over,
    is_list,
    put_over,
    rank,
    reduce_over,
    unsupported,
)
from tapeless.frontend.library import reductions
from tapeless.frontend.library.calculus import running
from tapeless.frontend.library.reductions import deliver
from tapeless.frontend.library.registry import implements
from tapeless.frontend.library.static import highest, lowest, one_axis, one_of, sum_type

# Forms of a ufunc -------------------------------------------------------------------------------

PUTS = {np.add: "+", np.multiply: "*", np.minimum: "min", np.maximum: "max"}
NEUTRALS = {
    np.hypot: 0, np.logaddexp: -math.inf, np.logaddexp2: -math.inf, np.bitwise_and: -1,
    np.bitwise_or: 0, np.bitwise_xor: 0, np.fmin: math.inf, np.fmax: -math.inf, np.gcd: 0,
    np.logical_xor: False,
}  # fmt: skip


@implements(("ufunc", "call"))
def call(
    ufunc: Any, *args: Any, out: Any = None, where: Any = True, dtype: Any = None,
    casting: Any = None, order: Any = None, subok: bool = True,
) -> Any:  # fmt: skip
    target = out[0] if is_list(out) else out
    xs = args if dtype is None else tuple(_cast_operand(a, dtype) for a in args)
    value = ufunc(*xs)
    if where is True:
        return deliver(value, target)
    if target is None:
        fail("a ufunc with 'where' needs 'out': the other cells have no value")
    return deliver(np.where(where, value, target), target)


def _cast_operand(a: Any, dtype: Any) -> Any:
    return cast(as_operand(a), dtype)


@implements(("ufunc", "reduce"))
def reduce(
    ufunc: Any, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None,
    keepdims: bool = False, initial: Any = None, where: Any = True,
) -> Any:  # fmt: skip
    if ufunc is np.add:
        return reductions.sum(array, axis, dtype, out, keepdims, initial, where)
    if ufunc is np.multiply:
        return reductions.prod(array, axis, dtype, out, keepdims, initial, where)
    if ufunc is np.minimum:
        return reductions.min(array, axis, out, keepdims, initial, where)
    if ufunc is np.maximum:
        return reductions.max(array, axis, out, keepdims, initial, where)
    if ufunc is np.logical_and:
        return reductions.all(array, axis, out, keepdims, where=where)
    if ufunc is np.logical_or:
        return reductions.any(array, axis, out, keepdims, where=where)
    if ufunc not in NEUTRALS:
        unsupported("'reduce' of this ufunc", "write tp.reduce(op, xs, neutral)")
    x = as_array(array)
    t = dtype_of(x) if dtype is None else dtype
    neutral = cast(NEUTRALS[ufunc], t)
    axes = one_axis(axis, rank(x)) if axis is not None else None
    return deliver(
        reductions.over_axes(
            x, axes, keepdims,
            lambda box, f: fold_over(ufunc, box[0], lambda i: cast(f(i), t), neutral),
            t, where, neutral,
        ),
        out,
    )  # fmt: skip


@implements(("ufunc", "accumulate"))
def accumulate(ufunc: Any, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
    natural = dtype_of(array)
    if ufunc is np.add or ufunc is np.multiply:
        t = sum_type(natural) if dtype is None else dtype
        return deliver(running(ufunc, array, axis, t, 0 if ufunc is np.add else 1), out)
    t = natural if dtype is None else dtype
    if ufunc is np.minimum or ufunc is np.fmin:
        return deliver(running(ufunc, array, axis, t, highest(t)), out)
    if ufunc is np.maximum or ufunc is np.fmax:
        return deliver(running(ufunc, array, axis, t, lowest(t)), out)
    if ufunc is np.logical_and or ufunc is np.logical_or:
        return deliver(running(ufunc, array, axis, bool, ufunc is np.logical_and), out)
    if ufunc not in NEUTRALS:
        unsupported("'accumulate' of this ufunc", "write tp.scan(op, xs, neutral)")
    return deliver(running(ufunc, array, axis, t, NEUTRALS[ufunc]), out)


@implements(("ufunc", "outer"))
def outer(ufunc: Any, A: Any, B: Any) -> Any:
    x, y = as_array(A), as_array(B)
    n = rank(x)
    if n + rank(y) == 0:
        return ufunc(A, B)
    return build((*x.shape, *y.shape), lambda *i: ufunc(element(x, i[:n]), element(y, i[n:])))


@implements(("ufunc", "at"))
def at(ufunc: Any, a: Any, indices: Any, b: Any = None, /) -> None:
    parts = indices if isinstance(indices, tuple) else (indices,)
    places: Any = np.broadcast_arrays(*(as_array(p) for p in parts))
    where = places if is_list(places) else (places,)
    box = where[0].shape
    rest = a.shape[len(where) :]
    n = len(box)
    if n == 0:  # one cell, or one row
        place = tuple(element(w, ()) for w in where)
        a[place] = ufunc(a[place]) if b is None else ufunc(a[place], b)
        return
    if b is None or (ufunc not in PUTS and ufunc is not np.subtract):
        _at_in_order(ufunc, a, where, b)
        return
    t = dtype_of(a)
    values = np.broadcast_to(as_array(b), (*box, *rest))
    sign = -1 if ufunc is np.subtract else 1
    put_over(
        "+" if ufunc is np.subtract else PUTS[ufunc], a, (*box, *rest),
        lambda *i: (*(element(w, i[:n]) for w in where), *i[n:]),
        lambda *i: cast(element(values, i) if sign > 0 else -element(values, i), t), "wrap",
    )  # fmt: skip


def _at_in_order(ufunc: Any, a: Any, where: Any, b: Any) -> None:
    """Element after element: for operators that do not commute."""
    if rank(where[0]) != 1:
        unsupported("this 'at' with index arrays of more than one axis", "ravel them first")
    for k in range(where[0].shape[0]):
        place = tuple(w[k] for w in where)
        if b is None:
            a[place] = ufunc(a[place])
        else:
            v = as_array(b)
            a[place] = ufunc(a[place], v[k] if rank(v) > 0 else element(v, ()))


@implements(("ufunc", "reduceat"))
def reduceat(
    ufunc: Any, array: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None
) -> Any:
    x, starts = as_array(array), as_array(indices)
    one_of(axis, (0, -1), "axis")
    if ufunc is not np.add or rank(x) != 1:
        unsupported(
            "'reduceat' other than np.add.reduceat of a rank-1 array", "loop over the pieces"
        )
    t = sum_type(dtype_of(x)) if dtype is None else dtype
    n, m = x.shape[0], starts.shape[0]

    def piece(k: Any) -> Any:
        low = starts[k]
        high = starts[k + 1] if k + 1 < m else n
        return reduce_over("+", np.maximum(high - low, 1), lambda p: cast(x[low + p], t))

    return deliver(build(m, piece, t), out)
