"""Functions of elements that are no primitive: rounding, parts, whole numbers, windows."""

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
    elementwise,
    imag,
    is_complex,
    make_complex,
    prim,
    real,
    result_type,
    select,
    unsupported,
)  # fmt: skip
from tapeless.frontend.library.reductions import deliver
from tapeless.frontend.library.registry import implements
from tapeless.frontend.library.static import (
    kind,
)  # fmt: skip

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
