"""Powers, roots and exact remainders: pow, cbrt, hypot, fmod."""

from __future__ import annotations

import math

from tapeless.emit.math import coefficients as c
from tapeless.emit.math import dd
from tapeless.emit.math.exponential import exp_of_pair
from tapeless.emit.math.logarithm import log_pair, not_normal, split
from tapeless.emit.math.ops import Ops
from tapeless.emit.math.values import Float, Mask


def pow(o: Ops, x: Float, y: Float) -> Float:
    """x^y = e^(y log x), the logarithm and the product as pairs."""
    usual = _power(o, x, y, o.number(0.0))
    return o.rarely(not_normal(o, x) | ~(abs(y) < 2.0**500), _pow_any, usual, x, y)


def _power(o: Ops, x: Float, y: Float, shift: Float) -> Float:
    """(x 2^shift)^y for a positive normal x."""
    return exp_of_pair(o, dd.times(o, log_pair(o, dd.pair(o, x), shift), y))


def _is_odd(o: Ops, y: Float) -> Mask:
    """Whether y is an odd integer."""
    half = y * 0.5
    return y.eq(o.trunc(y)) & half.ne(o.trunc(half)) & (abs(y) < 2.0**53)


def _pow_any(o: Ops, x: Float, y: Float) -> Float:
    """x^y for all x and y, as in IEEE 754: x^0 = 1^y = 1, zeros and infinities, signs by parity."""
    size, tiny = abs(x), abs(x) < 2.0**-1022
    size = o.select(tiny, size * 2.0**54, size)
    moderate = o.copysign(o.min(abs(y), 2.0**100), y)
    base = o.select(size.eq(0.0) | ~(size < math.inf), 1.0, size)
    value = _power(o, base, moderate, o.select(tiny, -54.0, 0.0))
    grows = y > 0.0
    value = o.select(x.eq(0.0), o.select(grows, 0.0, math.inf), value)
    value = o.select(size.eq(math.inf), o.select(grows, math.inf, 0.0), value)
    negative = o.bits_of(x) < 0
    value = o.select(negative & _is_odd(o, y), -value, value)
    fractional = y.ne(o.trunc(y))
    value = o.select((x < 0.0) & fractional & (size < math.inf), math.nan, value)
    value = o.select(x.is_nan() | y.is_nan(), math.nan, value)
    value = o.select(x.eq(-1.0) & abs(y).eq(math.inf), 1.0, value)
    return o.select(x.eq(1.0) | y.eq(0.0), 1.0, value)


def cbrt(o: Ops, x: Float) -> Float:
    """The cube root y = a w^2 with w = a^(-1/3), and a last step of Newton's method.

    |x| = 2^(3q + j) m; w starts from a polynomial in m and doubles its digits twice."""
    size = abs(x)
    tiny = size < 2.0**-1022
    normal = o.select(tiny, size * 2.0**54, size)
    field, m = split(o, normal)
    k = o.small_int(field) + o.select(tiny, -54.0 - 1023, -1023.0)
    q = o.floor(o.fma(k, 1 / 3, 1 / 6))
    j = k - q * 3.0
    a = m * o.select(j.eq(1.0), 2.0, o.select(j.eq(2.0), 4.0, 1.0))
    w = o.poly(m, c.CBRT[64])
    w = w * o.select(j.eq(1.0), 0.5 ** (1 / 3), o.select(j.eq(2.0), 0.25 ** (1 / 3), 1.0))
    for _ in range(2):
        error = o.fma(-a * w, w * w, 1.0)
        w = o.fma(w * error, o.fma(error, 2 / 9, 1 / 3), w)
    y = a * w * w
    square = dd.two_product(o, y, y)
    cube, slack = dd.times(o, square, y)
    y = o.fma((a - cube) - slack, w * w * (1 / 3), y)
    value = y * o.power_of_two(o.bits_of(q + (1.5 * 2.0**52 + 1023)))
    return o.select(x.eq(0.0) | ~(size < math.inf), x, o.copysign(value, x))


def hypot(o: Ops, x: Float, y: Float) -> Float:
    """sqrt(x^2 + y^2), the squares, their sum and the root as pairs, of scaled arguments."""
    largest = o.max(abs(x), abs(y))
    usual = (largest < 2.0**500) & (largest > 2.0**-400) & ~(x + y).is_nan()
    return o.rarely(~usual, _hypot_any, _hypot(o, x, y), x, y)


def _hypot(o: Ops, x: Float, y: Float) -> Float:
    """hypot of moderate numbers."""
    hi, lo = dd.sqrt(o, dd.add(o, dd.two_product(o, x, x), dd.two_product(o, y, y)))
    return hi + lo


def _hypot_any(o: Ops, x: Float, y: Float) -> Float:
    """hypot of any numbers; infinite if either is, even beside a nan."""
    up = o.max(abs(x), abs(y)) < 1.0
    scale = o.select(up, 2.0**600, 2.0**-600)
    value = _hypot(o, x * scale, y * scale) * o.select(up, 2.0**-600, 2.0**600)
    value = o.select(x.is_nan() | y.is_nan(), math.nan, value)
    return o.select(abs(x).eq(math.inf) | abs(y).eq(math.inf), math.inf, value)


def fmod(o: Ops, x: Float, y: Float) -> Float:
    """x - trunc(x/y) y exactly, with the sign of x: one step if |x/y| < 2^52, else several."""
    top, bottom = abs(x), abs(y)
    rest = _remainder(o, top, bottom)
    ratio = top / bottom
    usual = (ratio < 2.0**52) & (top < math.inf) & (bottom < math.inf)
    return o.copysign(o.rarely(~usual, _fmod_any, rest, top, bottom), x)


def _remainder(o: Ops, x: Float, y: Float) -> Float:
    """x mod y for x/y < 2^53: the quotient may be one off, the remainder is exact."""
    rest = o.fma(-o.trunc(x / y), y, x)
    rest = o.select(rest < 0.0, rest + y, rest)
    return o.select(rest >= y, rest - y, rest)


def _fmod_any(o: Ops, x: Float, y: Float) -> Float:
    """x mod y of any non-negative numbers, by remainders of y times ever smaller powers of 2."""
    valid = (x < math.inf) & (y > 0.0)
    divisor = o.select(valid, y, 1.0)
    rest = o.repeat(
        lambda rest: _remainder(o, rest, _near(o, rest, divisor)),
        o.select(valid, x, 0.0),
        lambda rest: rest >= divisor,
    )
    rest = o.select(y.eq(math.inf), x, rest)
    return o.select(valid, rest, math.nan)


def _near(o: Ops, x: Float, y: Float) -> Float:
    """y times a power of 2, not less than y, with a quotient x / that below 2^52."""

    def exponent(v: Float) -> Float:
        tiny = v < 2.0**-960
        field = o.bits_of(o.select(tiny, v * 2.0**60, v)) >> 52
        return o.small_int(field) + o.select(tiny, -60.0, 0.0)

    n = o.max(exponent(x) - exponent(y) - 51.0, 0.0)
    half = o.floor(n * 0.5)
    for part in (half, n - half):
        y = y * o.power_of_two(o.bits_of(part + (1.5 * 2.0**52 + 1023)))
    return y
