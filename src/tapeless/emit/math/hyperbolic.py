"""Hyperbolic functions and their inverses."""

from __future__ import annotations

import math

from tapeless.emit.math import coefficients as c
from tapeless.emit.math import dd
from tapeless.emit.math.dd import Pair
from tapeless.emit.math.exponential import exp_pair, expm1_pair, ldexp
from tapeless.emit.math.logarithm import log1p_pair, log_pair
from tapeless.emit.math.ops import Ops
from tapeless.emit.math.values import Float


def tanh(o: Ops, x: Float) -> Float:
    """tanh x = t / (t + 2), t = e^(2|x|) - 1; 1 from |x| = 22 on."""
    size = o.min(abs(x), 22.0)
    t = expm1_pair(o, dd.pair(o, size + size))
    bottom = dd.two_sum(o, t[0], 2.0)
    hi, lo = dd.div(o, t, (bottom[0], bottom[1] + t[1]))
    return o.copysign(o.select(size < 2.0**-30, size, hi + lo), x)


def _large(o: Ops, size: Float) -> Float:
    """e^size / 2 where e^-size no longer counts."""
    size = o.min(size, 720.0)
    (hi, lo), n = exp_pair(o, dd.pair(o, size))
    return ldexp(o, hi + lo, n - 1)


def sinh(o: Ops, x: Float) -> Float:
    """sinh x = (e^x - e^-x)/2 in pairs; x + x^3 P(x^2) for |x| < 0.35."""
    size = abs(x)
    square = size * size
    near = o.fma(square * size, o.poly(square, c.SINH[o.bits]), size)
    hi, lo = _both(o, o.min(size, 22.0), -1.0)
    value = o.select(size < 0.35, near, hi + lo)
    return o.copysign(o.rarely(size > 22.0, _large, value, size), x)


def cosh(o: Ops, x: Float) -> Float:
    """cosh x = (e^x + e^-x)/2 in pairs."""
    size = abs(x)
    hi, lo = _both(o, o.min(size, 22.0), 1.0)
    return o.rarely(size > 22.0, _large, hi + lo, size)


def _both(o: Ops, size: Float, sign: float) -> Pair:
    """(e^size + sign e^-size) / 2 for size <= 22, as a pair."""
    p, n = exp_pair(o, dd.pair(o, size))
    grow = dd.scale(o, p, o.power_of_two(n - o.format.bias - 1))
    return dd.add(o, grow, dd.div(o, dd.pair(o, 0.25 * sign), grow))


def asinh(o: Ops, x: Float) -> Float:
    """asinh x = log(1 + t), t = |x| + x^2 / (1 + sqrt(1 + x^2)); log 2|x| when |x| is large."""
    size = abs(x)
    inner = o.min(size, 2.0**30)
    square = dd.two_product(o, inner, inner)
    hi, lo = dd.two_sum(o, 1.0, square[0])
    root = dd.sqrt(o, dd.fast_two_sum(o, hi, lo + square[1]))
    hi, lo = dd.two_sum(o, 1.0, root[0])
    t = dd.add(o, dd.pair(o, inner), dd.div(o, square, dd.fast_two_sum(o, hi, lo + root[1])))
    near = log1p_pair(o, t)
    value = o.select(size < 2.0**-28, size, near[0] + near[1])
    return o.copysign(o.rarely(~(size <= 2.0**30), _log_twice, value, size), x)


def _log_twice(o: Ops, x: Float) -> Float:
    """log 2x for a large x."""
    hi, lo = log_pair(o, dd.pair(o, x), 1.0)
    return o.select(x < math.inf, hi + lo, x)


def acosh(o: Ops, x: Float) -> Float:
    """acosh x = log(1 + t), t = (x - 1) + sqrt((x - 1)(x + 1)); log 2x when x is large."""
    inner = o.min(o.max(x, 1.0), 2.0**30)
    t = dd.two_sum(o, inner, -1.0)
    over = dd.two_sum(o, inner, 1.0)
    root = dd.sqrt(o, dd.mul(o, t, over))
    hi, lo = log1p_pair(o, dd.add(o, t, root))
    value = o.rarely(~(x <= 2.0**30), _log_twice, hi + lo, x)
    return o.select(x < 1.0, math.nan, value)


def atanh(o: Ops, x: Float) -> Float:
    """atanh x = log(1 + t)/2, t = 2|x| / (1 - |x|); infinite at 1."""
    size = abs(x)
    inner = o.min(size, 1.0 - 2.0**-53)
    t = dd.div(o, dd.pair(o, inner + inner), dd.two_sum(o, 1.0, -inner))
    hi, lo = log1p_pair(o, t)
    value = o.select(inner < 2.0**-28, size, (hi + lo) * 0.5)
    value = o.select(size.eq(1.0), math.inf, value)
    return o.copysign(o.select(size > 1.0, math.nan, value), x)
