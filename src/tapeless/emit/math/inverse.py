"""Inverse trigonometric functions."""

from __future__ import annotations

import math

from tapeless.emit.math import coefficients as c
from tapeless.emit.math import dd
from tapeless.emit.math.dd import Pair
from tapeless.emit.math.ops import Ops
from tapeless.emit.math.values import Float, Mask

TAN_EIGHTH_TURN = math.sqrt(2) - 1


def _arcsine(o: Ops, size: Float) -> tuple[Mask, Pair]:
    """asin |x| where |x| <= 1/2, and elsewhere asin sqrt((1 - |x|)/2), as a pair.

    asin s = s + s^3 P(s^2); the root's own rounding error is recovered."""
    large = size > 0.5
    half = o.fma(size, -0.5, 0.5)
    square = o.select(large, half, size * size)
    root = o.sqrt(half)
    slack = o.fma(-root, root, half) / o.select(half.eq(0.0), 1.0, root + root)
    s = o.select(large, root, size)
    cubic = o.fma(square * s, o.poly(square, c.ASIN[o.bits]), o.select(large, slack, 0.0))
    return large, dd.fast_two_sum(o, s, cubic)


def asin(o: Ops, x: Float) -> Float:
    """asin x for |x| <= 1/2, else pi/2 - 2 asin sqrt((1 - |x|)/2), with the sign of x."""
    size = abs(x)
    large, (hi, lo) = _arcsine(o, size)
    turn, turn_low = c.HALF_PI[o.bits][:2]
    top, rest = dd.fast_two_sum(o, turn, hi * -2.0)
    value = o.select(large, top + (o.fma(lo, -2.0, rest) + turn_low), hi + lo)
    return o.copysign(o.select(size > 1.0, math.nan, value), x)


def acos(o: Ops, x: Float) -> Float:
    """acos x = pi/2 - asin x; 2 asin sqrt((1 - x)/2) beyond 1/2, its supplement below -1/2."""
    large, (hi, lo) = _arcsine(o, abs(x))
    hi, lo = o.copysign(hi, x), o.select(x < 0.0, -lo, lo)
    turn, turn_low = c.HALF_PI[o.bits][:2]
    top, rest = dd.fast_two_sum(o, turn, -hi)
    middle = top + ((rest - lo) + turn_low)
    base = o.select(x < 0.0, 2 * turn, 0.0)
    base_low = o.select(x < 0.0, 2 * turn_low, 0.0)
    top, rest = dd.two_sum(o, base, hi + hi)
    edge = top + (o.fma(lo, 2.0, rest) + base_low)
    return o.select(abs(x) > 1.0, math.nan, o.select(large, edge, middle))


def _arctangent(o: Ops, y: Float, x: Float) -> Pair:
    """atan(y / x) as a pair, for y >= 0 and x >= 0 not both zero and of moderate size.

    The quotient that is expanded is y/x, (y - x)/(y + x) or -x/y, whichever is small; the angle
    is 0, pi/4 or pi/2 more.  atan t = t + t^3 P(t^2)."""
    low, high = y <= x * TAN_EIGHTH_TURN, x < y * TAN_EIGHTH_TURN
    top, bottom = dd.two_sum(o, y, -x), dd.two_sum(o, y, x)
    zero = o.number(0.0)
    top = dd.select(o, low, (y, zero), dd.select(o, high, (-x, zero), top))
    bottom = dd.select(o, low, (x, zero), dd.select(o, high, (y, zero), bottom))
    t, slack = dd.div(o, top, bottom)
    square = t * t
    cubic = o.fma(square * t, o.poly(square, c.ATAN[o.bits]), slack)
    turn, turn_low = c.HALF_PI[o.bits][:2]
    angle = o.select(low, 0.0, o.select(high, turn, 0.5 * turn))
    angle_low = o.select(low, 0.0, o.select(high, turn_low, 0.5 * turn_low))
    hi, lo = dd.fast_two_sum(o, angle, t)
    return dd.fast_two_sum(o, hi, lo + (angle_low + cubic))


def atan(o: Ops, x: Float) -> Float:
    """atan x = atan(|x| / 1) with the sign of x."""
    size = abs(x)
    hi, lo = _arctangent(o, o.min(size, 2.0**70), o.number(1.0))
    return o.copysign(o.select(size < 2.0**-30, size, hi + lo), x)


def atan2(o: Ops, y: Float, x: Float) -> Float:
    """The angle of (x, y): atan(|y| / |x|), its supplement for negative x, the sign of y."""
    largest = o.max(abs(x), abs(y))
    usual = (largest > 2.0**-500) & (largest < 2.0**500) & ~(x + y).is_nan()
    return o.rarely(~usual, _atan2_any, _atan2(o, y, x), y, x)


def _atan2(o: Ops, y: Float, x: Float) -> Float:
    """atan2(y, x) where the larger coordinate is of moderate size."""
    hi, lo = _arctangent(o, abs(y), abs(x))
    half_turn, half_turn_low = c.PI[o.bits][:2]
    top, rest = dd.fast_two_sum(o, half_turn, -hi)
    negative = o.bits_of(x) < 0
    return o.copysign(o.select(negative, top + ((rest - lo) + half_turn_low), hi + lo), y)


def _atan2_any(o: Ops, y: Float, x: Float) -> Float:
    """atan2 of any pair: infinities count as 1 beside 0, zeros as 0 beside 1, the rest is scaled.

    atan2(+-0, x) is +-0 or +-pi after the sign bit of x."""
    scale = o.number(2.0**-600)
    scale = o.select(o.max(abs(x), abs(y)) < 1.0, 2.0**600, scale)
    infinite = abs(x).eq(math.inf) | abs(y).eq(math.inf)

    def shrink(v: Float) -> Float:
        mark = o.copysign(o.select(abs(v).eq(math.inf), 1.0, 0.0), v)
        return o.select(infinite, mark, v * scale)

    across = shrink(x)
    both_zero = x.eq(0.0) & y.eq(0.0)
    value = _atan2(o, shrink(y), o.select(both_zero, o.copysign(1.0, x), across))
    tiny = (abs(y) < abs(x) * 2.0**-100) & (x > 0.0)  # its scaled value might be 0
    value = o.select(tiny, y / x, value)
    return o.select(x.is_nan() | y.is_nan(), math.nan, value)
