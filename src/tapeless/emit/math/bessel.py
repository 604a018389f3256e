"""Bessel functions of orders 0 and 1: j0, j1, i0, i1."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tapeless.emit.math import dd
from tapeless.emit.math import special_coefficients as c
from tapeless.emit.math.exponential import exp_pair, ldexp
from tapeless.emit.math.ops import Ops
from tapeless.emit.math.trigonometric import cos, sin
from tapeless.emit.math.values import Float

TOP = 10.0  # Hankel's expansion is used from here on
INV_PI = 0.3183098861837907


def i0(o: Ops, x: Float) -> Float:
    """I0(x) = P(x^2/4) up to 8, e^x P(1/x)/sqrt x beyond."""
    size = abs(x)
    inner = o.min(size, 8.0)
    small = _of_square(o, inner, c.I0[64])
    value = o.rarely(~(size <= 8.0), _i0_large, small, size)
    return o.select(x.is_nan(), x, value)


def i1(o: Ops, x: Float) -> Float:
    """I1(x) = x/2 P(x^2/4) up to 8, e^x P(1/x)/sqrt x beyond; odd."""
    size = abs(x)
    inner = o.min(size, 8.0)
    small = inner * _of_square(o, inner, c.I1[64]) * 0.5
    value = o.rarely(~(size <= 8.0), _i1_large, small, size)
    return o.select(x.is_nan(), x, o.copysign(value, x))


def _of_square(o: Ops, x: Float, coefficients: Sequence[float]) -> Float:
    """P(x^2/4): at the rounded square, and by P' what the rounding leaves."""
    square, slack = dd.two_product(o, x, x)
    z = square * 0.25
    slope = o.horner(z, [n * a for n, a in enumerate(coefficients)][1:])
    return o.fma(slope, slack * 0.25, o.horner(z, coefficients))


def _i0_large(o: Ops, x: Float) -> Float:
    """I0(x) for x >= 8."""
    return _i_large(o, x, c.I0_LARGE[64])


def _i1_large(o: Ops, x: Float) -> Float:
    """I1(x) for x >= 8."""
    return _i_large(o, x, c.I1_LARGE[64])


def _i_large(o: Ops, x: Float, coefficients: Sequence[float]) -> Float:
    """e^x P(1/x) / sqrt x, infinite from where it overflows."""
    x = o.min(o.max(x, 8.0), 720.0)
    factor = dd.div(o, dd.pair(o, o.poly(1.0 / x, coefficients)), dd.sqrt(o, dd.pair(o, x)))
    p, n = exp_pair(o, dd.pair(o, x))
    hi, lo = dd.mul(o, p, factor)
    return ldexp(o, hi + lo, n)


def j0(o: Ops, x: Float) -> Float:
    """J0(x): pieces about its zeros up to 10, then Hankel's expansion."""
    size = abs(x)
    inner = o.min(size, TOP)
    value = o.poly(inner * inner, c.J0_START[64])
    for piece, start in ((0, 1.5), (1, 4.0), (2, 7.0)):
        value = o.select(inner < start, value, _piece(o, inner, 0, piece))
    value = o.rarely(size > TOP, _j0_large, value, size)
    return o.select(x.is_nan(), x, value)


def j1(o: Ops, x: Float) -> Float:
    """J1(x): pieces about its zeros up to 10, then Hankel's expansion; odd."""
    size = abs(x)
    inner = o.min(size, TOP)
    value = inner * o.poly(inner * inner, c.J1_START[64])
    for piece, start in ((0, 2.3), (1, 5.4), (2, 8.6)):
        value = o.select(inner < start, value, _piece(o, inner, 1, piece))
    value = o.rarely(size > TOP, _j1_large, value, size)
    value = o.select(x < 0.0, -value, value)
    return o.select(x.is_nan() | x.eq(0.0), x, value)


def _piece(o: Ops, x: Float, order: int, number: int) -> Float:
    """t P(t), t = x - z, about the zero z of J."""
    high, low = getattr(c, f"J{order}_ZERO_{number}")[64]
    t: Float = (x - high) - low
    return t * o.poly(t, getattr(c, f"J{order}_PIECE_{number}")[64])


def _waves(o: Ops, x: Float) -> tuple[Float, Float, Float, Float]:
    """1/x^2, 1/sqrt(pi x), sin x, cos x; all 0 at infinity."""
    inner = o.min(x, 2.0**1000)
    inverse = 1.0 / inner
    scale = o.select(x < math.inf, o.sqrt(inverse * INV_PI), 0.0)
    s = o.function("sin", sin, inner)
    return inverse * inverse, scale, s, o.function("cos", cos, inner)


def _j0_large(o: Ops, x: Float) -> Float:
    """(P (cos x + sin x) + Q/x (cos x - sin x)) / sqrt(pi x)."""
    v, scale, s, t = _waves(o, o.max(x, TOP))
    q = o.poly(v, c.J0_Q[64]) / o.max(x, TOP)
    return scale * o.fma(o.poly(v, c.J0_P[64]), t + s, q * (t - s))


def _j1_large(o: Ops, x: Float) -> Float:
    """(P (sin x - cos x) + Q/x (sin x + cos x)) / sqrt(pi x)."""
    v, scale, s, t = _waves(o, o.max(x, TOP))
    q = o.poly(v, c.J1_Q[64]) / o.max(x, TOP)
    return scale * o.fma(o.poly(v, c.J1_P[64]), s - t, q * (s + t))
