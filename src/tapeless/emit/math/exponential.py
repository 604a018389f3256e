"""Exponentials: e^x, 2^x, e^x - 1, and the e^(hi + lo) that the other functions build upon."""

from __future__ import annotations

from tapeless.emit.math import coefficients as c
from tapeless.emit.math import dd
from tapeless.emit.math.dd import Pair
from tapeless.emit.math.ops import Ops
from tapeless.emit.math.values import Float, Int, Number

SAFE = {64: 708.0, 32: 87.0}
LOWEST = {64: -750.0, 32: -104.5}
HIGHEST = {64: 711.0, 32: 90.0}


def nearest(o: Ops, x: Float, factor: Number, offset: int = 0) -> tuple[Float, Int]:
    """k = round(factor x) as a number, and an integer whose low bits hold k + offset.

    Adding 1.5 2^mantissa leaves no room for a fraction: the sum's last bits are the integer."""
    shift = 1.5 * 2.0**o.format.mantissa + offset
    shifted = o.fma(x, factor, shift)
    return shifted - shift, o.bits_of(shifted)


def ldexp(o: Ops, x: Float, n: Int) -> Float:
    """x 2^(n - 2 bias), in two exact steps and a last one that rounds a subnormal result."""
    half = (n & (4 * o.format.bias + 3)) >> 1
    return x * o.power_of_two(half) * o.power_of_two(n - half)


def reduce(o: Ops, x: Float, k: Float) -> Pair:
    """x - k ln 2: the first product cancels exactly, the second rounds once."""
    high, low = c.LN2[o.bits][:2]
    r = o.fma(-k, high, x)
    return dd.fast_two_sum(o, r, k * -low)


def exp(o: Ops, x: Float) -> Float:
    """e^x, by a longer way where it may not be a normal number."""
    extreme = ~(abs(x) <= SAFE[o.bits])
    return o.rarely(extreme, _wide, exp_of_moderate(o, x), x)


def exp_of_moderate(o: Ops, x: Float) -> Float:
    """e^x = 2^k e^r, k = round(x / ln 2), |r| <= ln(2)/2, e^r = 1 + r + r^2 P(r); |x| <= SAFE."""
    k, n = nearest(o, x, c.LOG2E[o.bits][0])
    r = o.fma(-k, c.LN2[o.bits][1], o.fma(-k, c.LN2[o.bits][0], x))
    significand = o.bits_of(1.0 + o.fma(r * r, o.poly(r, c.EXP[o.bits]), r))
    return o.from_bits(significand + (n << o.format.mantissa))


def _wide(o: Ops, x: Float) -> Float:
    """e^x where 2^k or e^x may leave the range of normal numbers."""
    x = o.min(o.max(x, LOWEST[o.bits]), HIGHEST[o.bits])
    k, n = nearest(o, x, c.LOG2E[o.bits][0], 2 * o.format.bias)
    r = o.fma(-k, c.LN2[o.bits][1], o.fma(-k, c.LN2[o.bits][0], x))
    return ldexp(o, 1.0 + o.fma(r * r, o.poly(r, c.EXP[o.bits]), r), n)


def exp2(o: Ops, x: Float) -> Float:
    """2^x = 2^k 2^r, k = round(x), 2^r = 1 + r P(r)."""
    limit = o.format.bias
    x = o.min(o.max(x, -1.5 * limit), limit + 2.0)
    k, n = nearest(o, x, 1.0, 2 * o.format.bias)
    r = x - k
    return ldexp(o, o.fma(r, o.poly(r, c.EXP2[o.bits]), 1.0), n)


def expm1_parts(o: Ops, x: Pair) -> tuple[Pair, Int]:
    """e^r - 1 as a pair, and n = k + 2 bias, where x = k ln 2 + r.

    e^r - 1 = r + (r^2/2 + r^3 Q(r)), the leading term and the square exact."""
    k, n = nearest(o, x[0], c.LOG2E[o.bits][0], 2 * o.format.bias)
    r, rest = reduce(o, x[0], k)
    r, rest = dd.fast_two_sum(o, r, rest + x[1])
    half = r * 0.5
    square, slack = dd.two_product(o, half, r)
    cubic = o.fma(r * r * r, o.poly(r, c.EXP[o.bits][1:]), o.fma(rest, r, slack))
    hi, lo = dd.fast_two_sum(o, r, square)
    hi, more = dd.fast_two_sum(o, hi, cubic + (lo + rest))
    return (hi, more), n


def exp_pair(o: Ops, x: Pair) -> tuple[Pair, Int]:
    """e^(hi + lo) as a pair in [0.7, 1.42] and n = k + 2 bias."""
    (hi, lo), n = expm1_parts(o, x)
    hi, more = dd.fast_two_sum(o, 1.0, hi)
    return (hi, more + lo), n


def exp_of_pair(o: Ops, x: Pair) -> Float:
    """e^(hi + lo), rounded; any finite argument."""
    wide = o.min(o.max(x[0], LOWEST[o.bits]), HIGHEST[o.bits])
    lo = o.select(abs(x[0]) < HIGHEST[o.bits], x[1], 0.0)
    (hi, lo), n = exp_pair(o, (wide, lo))
    return ldexp(o, hi + lo, n)


def expm1_pair(o: Ops, x: Pair) -> Pair:
    """e^x - 1 = 2^k (e^r - 1) + (2^k - 1) as a pair, for |x| <= 700."""
    small, n = expm1_parts(o, x)
    power = o.power_of_two(n - o.format.bias)
    hi, lo = dd.scale(o, small, power)
    whole, slack = dd.two_sum(o, power, -1.0)
    hi, more = dd.two_sum(o, whole, hi)
    return dd.fast_two_sum(o, hi, more + (lo + slack))


def expm1(o: Ops, x: Float) -> Float:
    """e^x - 1 = 2^k (e^r - 1) + (2^k - 1); by e^x itself from x = 60 on, where 1 is lost."""
    inner = o.min(o.max(x, -60.0), 60.0)
    hi, lo = expm1_pair(o, dd.pair(o, inner))
    small = o.select(x.eq(0.0), x, hi + lo)
    return o.rarely(x > 60.0, _wide, small, x)
