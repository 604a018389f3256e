"""The Gamma function, its logarithm, and the derivatives of that."""

from __future__ import annotations

import math

from tapeless.emit.math import coefficients as k
from tapeless.emit.math import dd
from tapeless.emit.math import special_coefficients as c
from tapeless.emit.math.dd import Pair
from tapeless.emit.math.exponential import exp_pair, ldexp
from tapeless.emit.math.logarithm import log_pair
from tapeless.emit.math.ops import Ops
from tapeless.emit.math.trigonometric import cos_pair, sin_pair
from tapeless.emit.math.values import Float, Int, Mask

SHIFT = 8  # the asymptotic series are used from here on
LARGEST_LGAMMA = 2.5563481638716905e305


def _raised(o: Ops, x: Float) -> tuple[Mask, Pair]:
    """Whether x < 8, and x + 8 there or x elsewhere."""
    small = x < float(SHIFT)
    return small, dd.two_sum(o, x, o.select(small, float(SHIFT), 0.0))


def _rising(o: Ops, x: Float) -> Pair:
    """x (x + 1) ... (x + 7)."""
    total = dd.pair(o, x)
    for n in range(1, SHIFT):
        total = dd.mul(o, total, dd.two_sum(o, x, float(n)))
    return total


def _stirling(o: Ops, z: Pair) -> Pair:
    """log Gamma(z) = (z - 1/2)(log z - 1) - 1/2 + log(2 pi)/2 + P(1/z^2)/z, z >= 8, as a pair."""
    inverse = 1.0 / z[0]
    head = dd.add(o, log_pair(o, z), dd.pair(o, -1.0))
    body = dd.mul(o, dd.add(o, z, dd.pair(o, -0.5)), head)
    rest = o.fma(inverse, o.poly(inverse * inverse, c.STIRLING[64]), k.HALF_LOG_2PI[64][1])
    return dd.add(o, body, dd.two_sum(o, k.HALF_LOG_2PI[64][0] - 0.5, rest))


def _log_gamma(o: Ops, x: Float) -> Float:
    """log Gamma(x) for x > 0: series about the zeros 1 and 2, else Stirling's of a raised x."""
    inner = o.min(o.max(x, 2.0**-100), LARGEST_LGAMMA)
    small, z = _raised(o, inner)
    log_rising = log_pair(o, _rising(o, o.min(inner, float(SHIFT))))
    lower = dd.select(o, small, log_rising, dd.pair(o, 0.0))
    hi, lo = dd.sub(o, _stirling(o, z), lower)
    t, u = x - 1.0, x - 2.0
    value = hi + lo
    value = o.select(abs(t) < 0.25, o.fma(t, o.poly(t, c.LGAMMA_ONE[64]), 0.0), value)
    value = o.select(abs(u) < 0.25, u * o.poly(u, c.LGAMMA_TWO[64]), value)
    return value


def _turn(o: Ops, x: Float) -> tuple[Pair, Pair, Mask]:
    """sin(pi x) and cos(pi x) as pairs, up to one common sign, and whether x is an integer."""
    r = x - o.rint(x)
    size = abs(r)
    near = size <= 0.25
    pi = dd.pair(o, k.PI[64][0], k.PI[64][1])
    angle = dd.times(o, pi, o.select(near, size, 0.5 - size))
    s, t = sin_pair(o, angle), cos_pair(o, angle)
    sine, cosine = dd.select(o, near, s, t), dd.select(o, near, t, s)
    flip = o.copysign(1.0, r)
    return (sine[0] * flip, sine[1] * flip), cosine, size.eq(0.0)


def lgamma(o: Ops, x: Float) -> Float:
    """log |Gamma(x)|; below 0 by log(pi / |x sin(pi x)|) - log Gamma(-x); SciPy's at -inf."""
    size = abs(x)
    value = o.rarely(x < 0.0, _lgamma_negative, _log_gamma(o, size), x)
    value = o.rarely(size < 2.0**-90, _minus_log, value, size)
    value = o.select(size > LARGEST_LGAMMA, math.inf, value)
    return o.select(x.is_nan() | x.eq(-math.inf), x, value)


def _minus_log(o: Ops, x: Float) -> Float:
    """-log x of a tiny x, which may be subnormal; inf at 0."""
    tiny = x < 2.0**-1000
    scaled = o.select(tiny, x * 2.0**54, x)
    hi, lo = log_pair(o, dd.pair(o, o.max(scaled, 2.0**-1022)), o.select(tiny, -54.0, 0.0))
    return o.select(x.eq(0.0), math.inf, -(hi + lo))


def _lgamma_negative(o: Ops, x: Float) -> Float:
    """log |Gamma(x)| for x < 0; infinite at integers."""
    size = o.min(o.max(abs(x), 2.0**-90), 2.0**53)
    sine, _, whole = _turn(o, size)
    safe = dd.select(o, whole, dd.pair(o, 1.0), (abs(sine[0]), sine[1] * o.copysign(1.0, sine[0])))
    pi = dd.pair(o, k.PI[64][0], k.PI[64][1])
    ratio = dd.div(o, pi, dd.mul(o, dd.pair(o, size), safe))
    small, z = _raised(o, size)
    log_rising = log_pair(o, _rising(o, o.min(size, float(SHIFT))))
    lower = dd.select(o, small, log_rising, dd.pair(o, 0.0))
    gamma = dd.sub(o, _stirling(o, z), lower)
    hi, lo = dd.sub(o, log_pair(o, ratio), gamma)
    return o.select(whole, math.inf, hi + lo)


def _gamma_parts(o: Ops, x: Float) -> tuple[Pair, Int]:
    """Gamma(x) = p 2^(n - 2 bias) for 0 < x <= 186."""
    small, z = _raised(o, x)
    p, n = exp_pair(o, _stirling(o, z))
    below = dd.select(o, small, _rising(o, o.min(x, float(SHIFT))), dd.pair(o, 1.0))
    return dd.div(o, p, below), n


def tgamma(o: Ops, x: Float) -> Float:
    """Gamma(x); infinite at either zero, nan at negative integers."""
    inner = o.min(o.max(x, 2.0**-60), 172.0)
    (hi, lo), n = _gamma_parts(o, inner)
    value = o.rarely(x < 0.0, _tgamma_negative, ldexp(o, hi + lo, n), x)
    value = o.select(x > 171.7, math.inf, value)
    value = o.select(abs(x) < 2.0**-60, 1.0 / x, value)
    return o.select(x.is_nan(), x, value)


def _tgamma_negative(o: Ops, x: Float) -> Float:
    """Gamma(-a) = -pi / (a sin(pi a) Gamma(a)); nan at integers."""
    a = o.min(o.max(-x, 2.0**-60), 2.0**53)
    sine, _, whole = _turn(o, a)
    size = o.min(a, 186.0)  # beyond, the value is less than any float
    odd = (o.rint(a) * 0.5).ne(o.trunc(o.rint(a) * 0.5))
    safe = dd.select(o, whole, dd.pair(o, 1.0), sine)
    part, n = _gamma_parts(o, size)
    below = dd.mul(o, dd.mul(o, dd.pair(o, size), safe), part)
    hi, lo = dd.div(o, dd.pair(o, -k.PI[64][0], -k.PI[64][1]), below)
    value = ldexp(o, hi + lo, o.integer(4 * o.format.bias) - n)
    value = o.select(odd, -value, value)
    return o.select(whole | x.eq(-math.inf), math.nan, value)


def digamma(o: Ops, x: Float) -> Float:
    """psi(x): a series about its zero, else log z - 1/2z - P(1/z^2)/z^2 of a raised x."""
    inner = o.max(x, 2.0**-100)
    hi, lo = _psi(o, inner)
    zero = c.DIGAMMA_ZERO[64]
    t = ((x - zero[0]) - zero[1]) - zero[2]
    value = o.select(abs(t) < 0.25, t * o.poly(t, c.DIGAMMA_ROOT[64]), hi + lo)
    value = o.rarely(x < 0.0, _digamma_negative, value, x)
    value = o.select(abs(x) < 2.0**-60, -1.0 / x, value)
    value = o.select(x.eq(math.inf), math.inf, value)
    return o.select(x.is_nan(), x, value)


def _psi(o: Ops, x: Float) -> Pair:
    """psi(x) for x > 0 as a pair: psi(x + 8) - 1/x - ... - 1/(x + 7)."""
    inner = o.min(x, 2.0**1000)
    small, z = _raised(o, x)
    one = dd.pair(o, 1.0)
    inverse = dd.div(o, one, dd.select(o, x < 2.0**1000, z, dd.pair(o, 2.0**1000)))
    square = inverse[0] * inverse[0]
    main = dd.sub(o, log_pair(o, z), dd.scale(o, inverse, 0.5))
    main = dd.add(o, main, dd.pair(o, -(square * o.poly(square, c.DIGAMMA[64]))))
    total = dd.pair(o, 0.0)
    low = o.min(inner, float(SHIFT))
    for n in range(SHIFT - 1, -1, -1):
        total = dd.add(o, total, dd.div(o, one, dd.two_sum(o, low, float(n))))
    return dd.sub(o, main, dd.select(o, small, total, dd.pair(o, 0.0)))


def _digamma_negative(o: Ops, x: Float) -> Float:
    """psi(x) = psi(1 - x) - pi / tan(pi x); nan at integers."""
    inner = o.max(x, -(2.0**53))
    sine, cosine, whole = _turn(o, inner)
    safe = dd.select(o, whole, dd.pair(o, 1.0), sine)
    pi = dd.pair(o, k.PI[64][0], k.PI[64][1])
    # psi(1 + a) = psi(a) + 1/a, a = -x
    a = o.max(-inner, 2.0**-60)
    mirrored = dd.add(o, _psi(o, a), dd.div(o, dd.pair(o, 1.0), dd.pair(o, a)))
    hi, lo = dd.sub(o, mirrored, dd.div(o, dd.mul(o, pi, cosine), safe))
    return o.select(whole | x.eq(-math.inf), math.nan, hi + lo)


def trigamma(o: Ops, x: Float) -> Float:
    """psi'(x): 1/z + 1/2z^2 + P(1/z^2)/z^3 of a raised x."""
    hi, lo = _psi_prime(o, o.max(x, 2.0**-300))
    value = o.rarely(x < 0.0, _trigamma_negative, hi + lo, x)
    inverse = 1.0 / x
    value = o.select(abs(x) < 2.0**-300, inverse * inverse, value)
    value = o.select(x > 2.0**1000, inverse, value)
    value = o.select(x.eq(math.inf), 0.0, value)
    return o.select(x.is_nan(), x, value)


def _psi_prime(o: Ops, x: Float) -> Pair:
    """psi'(x) for x > 0 as a pair."""
    inner = o.min(x, 2.0**1000)
    small, z = _raised(o, inner)
    one = dd.pair(o, 1.0)
    inverse = dd.div(o, one, z)
    square = dd.mul(o, inverse, inverse)
    tail = square[0] * inverse[0] * o.poly(square[0], c.TRIGAMMA[64])
    main = dd.add(o, dd.add(o, inverse, dd.scale(o, square, 0.5)), dd.pair(o, tail))
    total = dd.pair(o, 0.0)
    low = o.min(inner, float(SHIFT))
    for n in range(SHIFT - 1, -1, -1):
        part = dd.div(o, one, dd.two_sum(o, low, float(n)))
        total = dd.add(o, total, dd.mul(o, part, part))
    return dd.add(o, main, dd.select(o, small, total, dd.pair(o, 0.0)))


def _trigamma_negative(o: Ops, x: Float) -> Float:
    """psi'(x) = (pi / sin(pi x))^2 - psi'(1 - x); infinite at integers."""
    inner = o.max(x, -(2.0**53))
    sine, _, whole = _turn(o, inner)
    safe = dd.select(o, whole, dd.pair(o, 1.0), sine)
    ratio = dd.div(o, dd.pair(o, k.PI[64][0], k.PI[64][1]), safe)
    a = o.max(-inner, 2.0**-300)
    inverse = dd.div(o, dd.pair(o, 1.0), dd.pair(o, a))
    mirrored = dd.sub(o, _psi_prime(o, a), dd.mul(o, inverse, inverse))
    hi, lo = dd.sub(o, dd.mul(o, ratio, ratio), mirrored)
    return o.select(whole, math.inf, o.select(x.eq(-math.inf), math.nan, hi + lo))
