"""The error function, its complement, and their inverses."""

from __future__ import annotations

import math

from tapeless.emit.math import dd
from tapeless.emit.math import special_coefficients as c
from tapeless.emit.math.dd import Pair
from tapeless.emit.math.exponential import exp_of_moderate, exp_of_pair
from tapeless.emit.math.logarithm import log_pair
from tapeless.emit.math.ops import Ops
from tapeless.emit.math.values import Float

HALF_SQRT_PI = 0.8862269254527580137
SQRT2 = (1.4142135623730951, -9.667293313452913e-17)


def _near(o: Ops, x: Float) -> Float:
    """erf x = x + x P(x^2) for |x| <= 1."""
    return o.fma(x, o.poly(x * x, c.ERF[64]), x)


def _scaled(o: Ops, x: Float) -> Pair:
    """e^(x^2) erfc(x) = P(t)/(1 + 2x), t = (x - 4)/(x + 4), for 1/2 <= x <= 28, as a pair."""
    below = x + 4.0
    t = (x - 4.0) / below
    t = t + o.fma(-t, below, x - 4.0) / below
    top = o.horner(t, c.ERFC[64])
    return dd.div(o, dd.pair(o, top), dd.two_sum(o, x + x, 1.0))


def _tail(o: Ops, x: Float) -> Float:
    """erfc x = e^(-x^2) (e^(x^2) erfc x) for 1/2 <= x <= 28, the square exact."""
    hi, lo = dd.two_product(o, x, x)
    scaled = _scaled(o, x)
    factor = exp_of_pair(o, (-hi, -lo))
    return o.fma(factor, scaled[0], factor * scaled[1])


def erf(o: Ops, x: Float) -> Float:
    """erf x; 1 - e^(log erfc |x|) from 1 on, with the sign of x."""
    size = abs(x)
    far = 1.0 - exp_of_moderate(o, o.poly(o.min(size, 6.0) - 1.0, c.LOG_ERFC[64]))
    return o.select(size >= 1.0, o.copysign(far, x), _near(o, x))


def erfc(o: Ops, x: Float) -> Float:
    """erfc x; 1 - erf x below 1/2, 2 - erfc |x| for large negative x."""
    size = abs(x)
    tail = _tail(o, o.min(o.max(size, 0.5), 27.5))
    far = o.select(x < 0.0, 2.0 - tail, tail)
    value = o.select(size < 0.5, 1.0 - _near(o, o.min(o.max(x, -0.5), 0.5)), far)
    return o.select(x.is_nan(), x, value)


def _inverse(o: Ops, a: Float, p: Float) -> Pair:
    """x and a correction with erf x = a = 1 - p, for 0 <= a < 1: a fit, then a step of Halley's.

    The step's residual is erf x - a for a < 0.8, else 1 - p/erfc x, so no digits cancel."""
    hi, lo = log_pair(o, dd.pair(o, o.select(p < 2.0**-1000, p * 2.0**54, p)),
                      o.select(p < 2.0**-1000, -54.0, 0.0))  # fmt: skip
    w = -(hi + o.function("log", _log, 2.0 - p))
    s = o.sqrt(o.max(w, 0.0))
    centre = a * o.poly(w, c.ERFINV_CENTRE[64])
    tail = s * o.select(s < 6.45, o.poly(o.min(s, 6.5), c.ERFINV_TAIL[64]),
                        o.poly(1.0 / o.max(s, 6.4), c.ERFINV_FAR[64]))  # fmt: skip
    x = o.select(w < 5.0, centre, tail)
    square, slack = dd.two_product(o, x, x)
    near = o.min(x, 1.0)
    hi_near, lo_near = dd.two_sum(o, near, near * o.poly(near * near, c.ERF[64]))
    residual = ((a - hi_near) - lo_near) + ((1.0 - a) - p)
    small = residual * HALF_SQRT_PI * exp_of_pair(o, (square, slack))
    scaled, rest = _scaled(o, o.max(x, 0.4))
    scaled = scaled + rest
    ratio_hi, ratio_lo = dd.add(o, (square, slack), (hi, lo))
    inverse_ratio = exp_of_pair(o, (ratio_hi, ratio_lo)) / scaled
    large = HALF_SQRT_PI * scaled * (1.0 - inverse_ratio)
    delta = o.select(a < 0.8, small, large)
    return x, delta / o.fma(-delta, x, 1.0)


def _log(o: Ops, x: Float) -> Float:
    """log x of a number in [1, 2]."""
    hi, lo = log_pair(o, dd.pair(o, x))
    return hi + lo


def erfinv(o: Ops, y: Float) -> Float:
    """x with erf x = y; infinite at 1 and -1, nan beyond."""
    size = abs(y)
    a = o.min(size, 1.0 - 2.0**-53)
    x, delta = _inverse(o, a, 1.0 - a)
    value = o.select(a < 2.0**-30, a * HALF_SQRT_PI, x + delta)
    value = o.select(size.eq(1.0), math.inf, value)
    return o.select(size <= 1.0, o.copysign(value, y), math.nan)


def ndtri(o: Ops, p: Float) -> Float:
    """x with (1 + erf(x / sqrt 2))/2 = p: sqrt 2 times the inverse at 2p - 1."""
    side = o.min(p, 1.0 - p)
    inner = o.select((p > 0.0) & (p < 1.0), side, 0.25)
    q = inner + inner
    x, delta = _inverse(o, 1.0 - q, q)
    hi, lo = dd.times(o, dd.pair(o, *SQRT2), x)
    size = o.fma(delta, SQRT2[0], lo) + hi
    value = o.select(p < 0.5, -size, size)
    value = o.select(p.eq(0.0), -math.inf, value)
    value = o.select(p.eq(1.0), math.inf, value)
    return o.select((p >= 0.0) & (p <= 1.0), value, math.nan)
