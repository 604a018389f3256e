"""Pairs: a number as an unevaluated sum hi + lo with |lo| <= ulp(hi)/2, about twice the digits."""

from __future__ import annotations

from tapeless.emit.math.ops import Ops
from tapeless.emit.math.values import Float, Mask, Number

Pair = tuple[Float, Float]


def fast_two_sum(o: Ops, a: Float | Number, b: Float | Number) -> Pair:
    """a + b exactly, given |a| >= |b| or a = 0."""
    a, b = o.number(a), o.number(b)
    total = a + b
    return total, b - (total - a)


def two_sum(o: Ops, a: Float | Number, b: Float | Number) -> Pair:
    """a + b exactly."""
    a, b = o.number(a), o.number(b)
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def two_product(o: Ops, a: Float | Number, b: Float | Number) -> Pair:
    """a b exactly."""
    product = o.number(a) * b
    return product, o.fma(a, b, -product)


def pair(o: Ops, hi: Float | Number, lo: Float | Number = 0.0) -> Pair:
    """The pair of two numbers that already are one."""
    return o.number(hi), o.number(lo)


def add(o: Ops, x: Pair, y: Pair) -> Pair:
    """x + y, accurate also when the leading parts cancel."""
    s, e = two_sum(o, x[0], y[0])
    t, f = two_sum(o, x[1], y[1])
    s, e = fast_two_sum(o, s, e + t)
    return fast_two_sum(o, s, e + f)


def sub(o: Ops, x: Pair, y: Pair) -> Pair:
    """x - y."""
    return add(o, x, (-y[0], -y[1]))


def mul(o: Ops, x: Pair, y: Pair) -> Pair:
    """x y."""
    p, e = two_product(o, x[0], y[0])
    return fast_two_sum(o, p, o.fma(x[0], y[1], o.fma(x[1], y[0], e)))


def scale(o: Ops, x: Pair, factor: Float | Number) -> Pair:
    """x times a power of two."""
    return x[0] * factor, x[1] * factor


def times(o: Ops, x: Pair, y: Float | Number) -> Pair:
    """x y for a single y."""
    p, e = two_product(o, x[0], y)
    return fast_two_sum(o, p, o.fma(x[1], y, e))


def div(o: Ops, x: Pair, y: Pair) -> Pair:
    """x / y: a quotient, and the remainder over y."""
    inverse = 1.0 / y[0]
    q = x[0] * inverse
    rest = o.fma(-q, y[0], x[0]) + o.fma(-q, y[1], x[1])
    return fast_two_sum(o, q, rest * inverse)


def sqrt(o: Ops, x: Pair) -> Pair:
    """sqrt(x): a root r, and (x - r^2) / 2r."""
    root = o.sqrt(x[0])
    rest = o.fma(-root, root, x[0]) + x[1]
    zero = x[0].eq(0.0)
    return fast_two_sum(o, root, o.select(zero, 0.0, rest / (root + root)))


def select(o: Ops, mask: Mask, x: Pair, y: Pair) -> Pair:
    """x in the lanes of the mask, y elsewhere."""
    return o.select(mask, x[0], y[0]), o.select(mask, x[1], y[1])
