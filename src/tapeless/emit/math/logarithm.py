"""Logarithms: a fast log by one polynomial, and a table-driven log to about 68 bits."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from functools import cache

from tapeless.emit.math import coefficients as c
from tapeless.emit.math import dd
from tapeless.emit.math.dd import Pair
from tapeless.emit.math.ops import Ops
from tapeless.emit.math.values import Float, Format, Int, Mask

CELLS = 128


def least(f: Format) -> int:
    """The bits of the least m, about sqrt(1/2), so that 1 falls in the middle of a cell."""
    return f.one - (151 << (f.mantissa - 8))


def split(o: Ops, x: Float) -> tuple[Int, Float]:
    """k + bias and m with x = 2^k m and m in [0.705, 1.41), for a positive normal x."""
    f = o.format
    offset = o.bits_of(x) + (f.one - least(f))
    mantissa = offset & ((1 << f.mantissa) - 1)
    return offset >> f.mantissa, o.from_bits(mantissa + least(f))


def not_normal(o: Ops, x: Float) -> Mask:
    """The lanes where x is zero, negative, subnormal, infinite or nan."""
    least_normal = 1 << o.format.mantissa
    return (o.bits_of(x) - least_normal).above(o.format.infinity - least_normal)


def for_all(o: Ops, x: Float, core: Callable[[Ops, Float, Float], Float]) -> Float:
    """core(o, x, 0) for normal x; log 0 = -inf, log inf = inf, log of a negative number is nan.

    A subnormal is scaled first, which core's last argument, added to the exponent, takes back."""

    def special(o: Ops, x: Float) -> Float:
        digits = o.format.mantissa + 2
        subnormal = x < 2.0 ** (1 - o.format.bias)
        scaled = o.select(subnormal, x * 2.0**digits, x)
        value = core(o, scaled, o.select(subnormal, -float(digits), 0.0))
        value = o.select(x.eq(math.inf), math.inf, value)
        value = o.select(x.eq(0.0), -math.inf, value)
        return o.select((x < 0.0) | x.is_nan(), math.nan, value)

    return o.rarely(not_normal(o, x), special, core(o, x, o.number(0.0)), x)


def log(o: Ops, x: Float) -> Float:
    """log x = k ln 2 + log(1 + f), log(1 + f) = f - f^2/2 + f^3 P(f)."""
    return for_all(o, x, _log)


def _log(o: Ops, x: Float, shift: Float) -> Float:
    """log x for a normal x, with `shift` added to its exponent."""
    field, m = split(o, x)
    k = (o.small_int(field) - float(o.format.bias)) + shift
    f = m - 1.0
    low = o.fma(f * f * f, o.poly(f, c.LOG[o.bits]), k * c.LN2[o.bits][1])
    return o.fma(k, c.LN2[o.bits][0], f + o.fma(f * -0.5, f, low))


@cache
def log_table() -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
    """Of each cell of [0.705, 1.41): 1/centre, and -log of that as a 42-bit part and the rest."""
    inverses, highs, lows = [], [], []
    with localcontext() as context:
        context.prec = 40
        for cell in range(CELLS):
            units = cell - 75
            centre = 1 + units / (256 if units < 0 else 128)
            inverses.append(1 / centre)
            exact = -Decimal(1 / centre).ln()
            highs.append(round(float(exact) * 2**42) / 2**42)
            lows.append(float(exact - Decimal(highs[-1])))
    return tuple(inverses), tuple(highs), tuple(lows)


def log_pair(o: Ops, x: Pair, shift: Float | float = 0.0) -> Pair:
    """log(hi + lo) to about 68 bits, for a normal hi, with `shift` added to its exponent.

    x = 2^k m, m = c (1 + f) with 1/c from a table and |f| < 1/250; all of k ln 2 - log(1/c) + f
    is exact in its leading parts.  Near 1 the table holds c = 1, so that f stays exact too."""
    field, m = split(o, x[0])
    k = (o.small_int(field) - float(o.format.bias)) + shift
    cell = ((o.bits_of(m) - least(o.format)) >> (o.format.mantissa - 7)) & (CELLS - 1)
    inverse, high, low = (
        o.table(f"log_{name}", column, cell)
        for name, column in zip(("inverse", "high", "low"), log_table(), strict=True)
    )
    product, slack = dd.two_product(o, m, inverse)
    rest = (x[1] * 0.5) * o.power_of_two(o.integer(2 * o.format.bias + 1) - field)
    f, f_low = dd.fast_two_sum(o, product - 1.0, o.fma(rest, inverse, slack))
    square, square_low = dd.two_product(o, f * 0.5, f)
    hi, e1 = dd.fast_two_sum(o, o.fma(k, c.LN2_SHORT[o.bits][0], high), f)
    hi, e2 = dd.fast_two_sum(o, hi, -square)
    tail = o.fma(f * f * f, o.poly(f, c.LOG_NEAR[o.bits]), o.fma(-f, f_low, f_low) - square_low)
    return dd.fast_two_sum(o, hi, (e1 + e2) + (tail + o.fma(k, c.LN2_SHORT[o.bits][1], low)))


def log2(o: Ops, x: Float) -> Float:
    """log2 x = log(x) / ln 2, in pairs."""
    return for_all(o, x, lambda o, x, shift: _times(o, x, shift, c.LOG2E[o.bits]))


def log10(o: Ops, x: Float) -> Float:
    """log10 x = log(x) / ln 10, in pairs."""
    return for_all(o, x, lambda o, x, shift: _times(o, x, shift, c.LOG10E[o.bits]))


def _times(o: Ops, x: Float, shift: Float, factor: tuple[float, ...]) -> Float:
    """log(x) times a constant."""
    hi, lo = dd.mul(o, log_pair(o, dd.pair(o, x), shift), dd.pair(o, factor[0], factor[1]))
    return hi + lo


def log1p_pair(o: Ops, x: Pair) -> Pair:
    """log(1 + x) for x > -1 and not huge."""
    hi, lo = dd.two_sum(o, 1.0, x[0])
    return log_pair(o, (hi, lo + x[1]))


def log1p(o: Ops, x: Float) -> Float:
    """log(1 + x), with 1 + x as an exact pair; log1p(-0) = -0."""
    hi, lo = dd.two_sum(o, 1.0, x)
    high, low = log_pair(o, (hi, lo))
    value = o.select(abs(x) < 2.0**-60, x, high + low)
    value = o.select(x < math.inf, value, x)
    value = o.select(x.eq(-1.0), -math.inf, value)
    return o.select(x < -1.0, math.nan, value)
