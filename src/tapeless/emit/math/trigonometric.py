"""Sine, cosine and tangent of any argument, however large."""

from __future__ import annotations

import math
from functools import cache

from tapeless.emit.math import coefficients as c
from tapeless.emit.math import dd
from tapeless.emit.math.dd import Pair
from tapeless.emit.math.exponential import nearest
from tapeless.emit.math.ops import Ops
from tapeless.emit.math.values import Float, Int

MODERATE = {64: 2.0**28, 32: 2.0**14}
STEP = 16


def sin(o: Ops, x: Float) -> Float:
    """sin x = (-1)^k sin(|x| - k pi) with the sign of x."""
    size = abs(x)
    k, parity = nearest(o, size, c.INV_PI[o.bits][0])
    r = subtract(o, size, k, c.PI[o.bits])
    flip = (parity << (o.bits - 1)) ^ (o.bits_of(x) & o.format.sign)
    fast = o.from_bits(o.bits_of(_sin_half_turn(o, r)) ^ flip)
    return o.rarely(~(size <= MODERATE[o.bits]), _sin_large, fast, x)


def cos(o: Ops, x: Float) -> Float:
    """cos x = (-1)^k sin((2k + 1) pi/2 - |x|)."""
    size = abs(x)
    shift = 1.5 * 2.0**o.format.mantissa
    shifted = o.fma(size, c.INV_PI[o.bits][0], -0.5) + shift
    odd = o.fma(shifted - shift, 2.0, 1.0)
    r = subtract(o, size, odd, c.HALF_PI[o.bits])
    flip = (o.bits_of(shifted) << (o.bits - 1)) ^ o.format.sign
    fast = o.from_bits(o.bits_of(_sin_half_turn(o, r)) ^ flip)
    return o.rarely(~(size <= MODERATE[o.bits]), _cos_large, fast, x)


def tan(o: Ops, x: Float) -> Float:
    """tan x = sin r / cos r or -cos r / sin r, r = x - k pi/2, as k is even or odd."""
    k, parity = nearest(o, x, c.TWO_OVER_PI[o.bits][0])
    fast = _tan_quarter(o, subtract_pair(o, x, k), parity)
    fast = o.select(abs(x) < 2.0**-30, x, fast)
    return o.rarely(~(abs(x) <= MODERATE[o.bits]), _tan_large, fast, x)


def subtract(o: Ops, x: Float, k: Float, period: tuple[float, ...]) -> Float:
    """x - k period: the first product cancels exactly, so the error is half an ulp."""
    for part in period[:3]:
        x = o.fma(-k, part, x)
    return x


def subtract_pair(o: Ops, x: Float, k: Float) -> Pair:
    """x - k pi/2 as a pair."""
    first, second, third = c.HALF_PI[o.bits][:3]
    product, slack = dd.two_product(o, k, second)
    hi, lo = dd.two_sum(o, o.fma(-k, first, x), -product)
    return dd.fast_two_sum(o, hi, o.fma(-k, third, lo - slack))


def _sin_half_turn(o: Ops, r: Float) -> Float:
    """sin r = r + r^3 P(r^2) for |r| <= pi/2."""
    square = r * r
    return o.fma(square * r, o.poly(square, c.SIN[o.bits]), r)


def sin_pair(o: Ops, r: Pair) -> Pair:
    """sin(hi + lo) for |hi| <= pi/4, as a pair."""
    square = r[0] * r[0]
    cubic = o.fma(square * r[0], o.poly(square, c.SIN_QUARTER[o.bits]), r[1])
    return dd.fast_two_sum(o, r[0], o.fma(square * -0.5, r[1], cubic))


def cos_pair(o: Ops, r: Pair) -> Pair:
    """cos(hi + lo) for |hi| <= pi/4, as a pair."""
    half, slack = dd.two_product(o, r[0] * 0.5, r[0])
    square = r[0] * r[0]
    quartic = o.fma(square * square, o.poly(square, c.COS_QUARTER[o.bits]), -slack)
    hi, lo = dd.fast_two_sum(o, 1.0, -half)
    return dd.fast_two_sum(o, hi, lo + o.fma(-r[0], r[1], quartic))


def _tan_quarter(o: Ops, r: Pair, k: Int) -> Float:
    """tan(r + k pi/2) by one accurate division."""
    sine, cosine = sin_pair(o, r), cos_pair(o, r)
    odd = (k & 1).eq(1)
    hi, lo = dd.div(o, dd.select(o, odd, cosine, sine), dd.select(o, odd, sine, cosine))
    sum_ = hi + lo
    return o.from_bits(o.bits_of(sum_) ^ (k << (o.bits - 1)))


# Large arguments -----------------------------------------------------------------------------


@cache
def turns_table() -> tuple[tuple[float, ...], ...]:
    """Of E = -32, -16, ..., 976: the fraction 2^E / pi mod 2, as a sum of four floats."""
    columns: tuple[list[float], ...] = ([], [], [], [])
    for exponent in range(-32, 977, STEP):
        left = (c.INV_PI_BITS << (exponent + 32)) % (2 << (1280 + 32))
        for column in columns:
            digits = max(left.bit_length() - 53, 0)
            column.append(math.ldexp(left >> digits, digits - 1312))
            left -= left >> digits << digits
    return tuple(map(tuple, columns))


def reduce_large(o: Ops, x: Float) -> tuple[Pair, Int]:
    """x - k pi/2 as a pair, and k, for any x >= 2^20 (Payne and Hanek's reduction).

    x = M 2^E with an integer M, so that x/pi mod 2 = M (2^E/pi mod 2) mod 2: of that fraction
    four floats come from a table, and of each exact product whole multiples of 2 are dropped."""
    field = (o.bits_of(x) >> 52) & 2047
    row = (field - (1075 - 32)) >> 4
    row = o.select_int(row.above(64), 0, row)
    whole = x * o.power_of_two(o.integer(1023 + 32) - (row << 4))
    terms: list[Float] = []
    for i, column in enumerate(turns_table()):
        for term in dd.two_product(o, whole, o.table(f"turns{i}", column, row)):
            terms.append(o.fma(o.rint(term * 0.5), -2.0, term))
    terms = distil(o, distil(o, terms))
    quarter = o.rint(terms[0] * 2.0)
    rest = distil(o, distil(o, [o.fma(quarter, -0.5, terms[0]), *terms[1:]]))
    fraction = dd.fast_two_sum(o, rest[0], rest[1] + rest[2])
    k = o.bits_of(quarter + 1.5 * 2.0**52)
    return dd.mul(o, fraction, dd.pair(o, *c.PI[64][:2])), k


def distil(o: Ops, terms: list[Float]) -> list[Float]:
    """The same sum, exactly, with its most significant part moved to the front."""
    total, rest = terms[-1], []
    for term in reversed(terms[:-1]):
        total, slack = dd.two_sum(o, term, total)
        rest.append(slack)
    return [total, *reversed(rest)]


def _circular(o: Ops, x: Float, turn: int) -> Float:
    """sin(x + turn pi/2) of a large positive x; nan of an infinite one."""
    r, k = reduce_large(o, x)
    k = k + turn
    hi, lo = dd.select(o, (k & 1).eq(1), cos_pair(o, r), sin_pair(o, r))
    value = o.from_bits(o.bits_of(hi + lo) ^ ((k & 2) << 62))
    return o.select(x < math.inf, value, x - x)


def _sin_large(o: Ops, x: Float) -> Float:
    """sin x for a large x."""
    if o.bits == 32:
        return o.widened("sin", sin, x)
    return o.from_bits(o.bits_of(_circular(o, abs(x), 0)) ^ (o.bits_of(x) & o.format.sign))


def _cos_large(o: Ops, x: Float) -> Float:
    """cos x for a large x."""
    return o.widened("cos", cos, x) if o.bits == 32 else _circular(o, abs(x), 1)


def _tan_large(o: Ops, x: Float) -> Float:
    """tan x for a large x."""
    if o.bits == 32:
        return o.widened("tan", tan, x)
    value = _tan_quarter(o, *reduce_large(o, abs(x)))
    value = o.from_bits(o.bits_of(value) ^ (o.bits_of(x) & o.format.sign))
    return o.select(abs(x) < math.inf, value, x - x)
