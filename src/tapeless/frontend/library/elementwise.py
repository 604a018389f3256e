"""Functions of elements, and the forms of a ufunc: called with keywords, reduce, accumulate,
outer, at, reduceat."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapeless.frontend.intrinsics import (
    as_array,
    as_operand,
    build,
    cast,
    copy,
    dtype_of,
    element,
    elementwise,
    fail,
    fold_over,
    imag,
    is_complex,
    is_list,
    make_complex,
    prim,
    put_over,
    rank,
    real,
    reduce_over,
    reshape,
    result_type,
    select,
    unsupported,
)  # fmt: skip
from tapeless.frontend.library import reductions
from tapeless.frontend.library.calculus import running
from tapeless.frontend.library.reductions import deliver
from tapeless.frontend.library.registry import LIBRARY, implements
from tapeless.frontend.library.static import (
    highest,
    kind,
    lowest,
    one_axis,
    real_type,
    sum_type,
)  # fmt: skip

# Forms of a ufunc -------------------------------------------------------------------------------

PUTS = {np.add: "+", np.multiply: "*", np.minimum: "min", np.maximum: "max"}
NEUTRALS = {
    np.hypot: 0, np.logaddexp: -math.inf, np.logaddexp2: -math.inf, np.bitwise_and: -1,
    np.bitwise_or: 0, np.bitwise_xor: 0, np.fmin: math.inf, np.fmax: -math.inf, np.gcd: 0,
    np.logical_xor: False,
}  # fmt: skip


@implements(("ufunc", "call"))
def call(
    ufunc: Any, *args: Any, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None,
    order: Any = None, subok: bool = True,
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
    ufunc: Any, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False,
    initial: Any = None, where: Any = True,
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
            lambda box, f: fold_over(ufunc, box[0], lambda i: cast(f(i), t), neutral), t, where, neutral
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
    parts = tuple(indices) if is_list(indices) else (indices,)
    places = np.broadcast_arrays(*(as_array(p) for p in parts))
    where = places if is_list(places) else (places,)
    box = where[0].shape
    rest = a.shape[len(where) :]
    n = len(box)
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


# Functions of elements that are no primitive ----------------------------------------------------


@implements(np.round, np.around, "round")
def round_(a: Any, decimals: Any = 0, out: Any = None) -> Any:
    if is_complex(a):
        parts = elementwise(lambda z: make_complex(np.rint(z.real), np.rint(z.imag)), a)
        return deliver(parts, out)
    if kind(dtype_of(a)) in "iub":
        return deliver(as_operand(a), out)
    if decimals == 0:
        return deliver(np.rint(a), out)
    scale = 10.0 ** abs(decimals)
    if decimals > 0:
        return deliver(elementwise(lambda x: np.rint(x * scale) / scale, a), out)
    return deliver(elementwise(lambda x: np.rint(x / scale) * scale, a), out)


@implements(np.fix)
def fix(x: Any, out: Any = None) -> Any:
    return deliver(np.trunc(x), out)


@implements(np.divmod)
def divmod_(x1: Any, x2: Any) -> Any:
    return np.floor_divide(x1, x2), np.remainder(x1, x2)


@implements(np.modf)
def modf(x: Any) -> Any:
    whole = np.trunc(x)
    part = elementwise(
        lambda v, w: np.copysign(select(np.isinf(v), cast(0, dtype_of(w)), v - w), v), x, whole
    )
    return part, whole


@implements(np.frexp)
def frexp(x: Any) -> Any:
    exponent = elementwise(lambda v: cast(prim("exponent", np.positive(v * 1.0)), np.int32), x)
    return ldexp(x, -exponent), exponent


@implements(np.ldexp)
def ldexp(x1: Any, x2: Any) -> Any:
    return elementwise(lambda v, e: _scaled(v * 1.0, cast(e, np.int64)), x1, x2)


def _scaled(x: Any, e: Any) -> Any:
    """x · 2ᵉ in three exact steps."""
    e = np.minimum(np.maximum(e, -2100), 2100)
    third = prim("floordiv", e, cast(3, np.int64))
    t = dtype_of(x)
    step = cast(_power_of_2(third), t)
    return x * step * step * cast(_power_of_2(e - third - third), t)


def _power_of_2(e: Any) -> Any:
    return prim("from_bits", cast((e + 1023) << 52, np.uint64))


@implements(np.gcd)
def gcd(x1: Any, x2: Any) -> Any:
    return elementwise(_gcd, x1, x2)


def _gcd(a: Any, b: Any) -> Any:
    t = result_type(a, b)
    p, q = abs(cast(a, t)), abs(cast(b, t))
    while q != 0:
        p, q = q, p % q
    return p


@implements(np.lcm)
def lcm(x1: Any, x2: Any) -> Any:
    return elementwise(_lcm, x1, x2)


def _lcm(a: Any, b: Any) -> Any:
    g = _gcd(a, b)
    return g if g == 0 else abs(cast(a, dtype_of(g))) // g * abs(cast(b, dtype_of(g)))


@implements(np.bitwise_count)
def bitwise_count(x: Any) -> Any:
    return elementwise(_bits_set, x)


def _bits_set(x: Any) -> Any:
    v = cast(abs(x), np.uint64)
    one, two, four = (cast(k, np.uint64) for k in (1, 2, 4))
    v = v - ((v >> one) & cast(0x5555555555555555, np.uint64))
    v = (v & cast(0x3333333333333333, np.uint64)) + (
        (v >> two) & cast(0x3333333333333333, np.uint64)
    )
    v = (v + (v >> four)) & cast(0x0F0F0F0F0F0F0F0F, np.uint64)
    return cast((v * cast(0x0101010101010101, np.uint64)) >> cast(56, np.uint64), np.uint8)


@implements(np.spacing)
def spacing(x: Any) -> Any:
    return elementwise(lambda v: np.nextafter(v, np.copysign(cast(np.inf, dtype_of(v)), v)) - v, x)


@implements(np.sinc)
def sinc(x: Any) -> Any:
    return elementwise(lambda v: _sinc(v * math.pi), x)


def _sinc(y: Any) -> Any:
    return select(y == 0, cast(1, dtype_of(y)), np.sin(y) / select(y == 0, cast(1, dtype_of(y)), y))


@implements(np.unwrap)
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * math.pi) -> Any:
    if discont is not None:
        unsupported("np.unwrap with 'discont'")
    x = as_array(p)
    d = np.diff(x, axis=axis)
    wrapped = elementwise(lambda v: _wrapped(v, period), d)
    first = np.moveaxis(np.moveaxis(x, axis, 0)[:1], 0, axis)
    return np.cumsum(np.concatenate((first, wrapped), axis), axis=axis)


def _wrapped(v: Any, period: Any) -> Any:
    """The step, moved by whole periods to between −period/2 and period/2."""
    w = np.remainder(v + period / 2, period) - period / 2
    return select((w == -period / 2) & (v > 0), w + period, w)


# Complex numbers and classes of numbers ---------------------------------------------------------


@implements(np.real)
def real_(val: Any) -> Any:
    return real(as_operand(val))


@implements(np.imag)
def imag_(val: Any) -> Any:
    return imag(as_operand(val))


@implements("conj", "conjugate")
def conjugate(x: Any) -> Any:
    return np.conjugate(x)


@implements(np.angle)
def angle(z: Any, deg: bool = False) -> Any:
    v = as_operand(z)
    if is_complex(v):
        a = elementwise(lambda w: np.arctan2(w.imag, w.real), v)
    else:
        a = np.arctan2(v * 0.0, v * 1.0)
    return a * (180 / math.pi) if deg else a


@implements(np.isposinf)
def isposinf(x: Any) -> Any:
    return as_operand(x) == np.inf


@implements(np.isneginf)
def isneginf(x: Any) -> Any:
    return as_operand(x) == -np.inf


@implements(np.isreal)
def isreal(x: Any) -> Any:
    return imag(as_operand(x)) == 0


@implements(np.iscomplex)
def iscomplex(x: Any) -> Any:
    return imag(as_operand(x)) != 0


@implements(np.iscomplexobj)
def iscomplexobj(x: Any) -> bool:
    return is_complex(x)


@implements(np.isrealobj)
def isrealobj(x: Any) -> bool:
    return not is_complex(x)


# Windows ----------------------------------------------------------------------------------------


def _cosines(M: Any, a: Any, b: Any, c: Any) -> Any:
    """a − b cos + c cos of twice the angle, over one period."""
    step = 2 * math.pi / np.maximum(M - 1, 1)
    return build(
        M, lambda k: select(M == 1, 1.0, a - b * np.cos(step * k) + c * np.cos(2 * step * k)), float
    )


@implements(np.hanning)
def hanning(M: Any) -> Any:
    return _cosines(M, 0.5, 0.5, 0.0)


@implements(np.hamming)
def hamming(M: Any) -> Any:
    return _cosines(M, 0.54, 0.46, 0.0)


@implements(np.blackman)
def blackman(M: Any) -> Any:
    return _cosines(M, 0.42, 0.5, 0.08)


@implements(np.bartlett)
def bartlett(M: Any) -> Any:
    half = (M - 1) / 2
    return build(
        M, lambda k: select(M == 1, 1.0, 1 - abs((k - half) / np.maximum(half, 0.5))), float
    )


__all__ = ["LIBRARY", "copy", "real_type", "reshape"]
