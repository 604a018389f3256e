"""Polynomials with integer coefficients over numbered symbols: sums of monomials.

A polynomial is a dict from monomials, sorted tuples of symbol numbers, to nonzero coefficients;
the empty tuple is the constant term. Nothing here mutates its arguments.
"""

from __future__ import annotations

from typing import TypeAlias

Monomial: TypeAlias = tuple[int, ...]
Poly: TypeAlias = dict[Monomial, int]

UNIT: Monomial = ()


def constant(c: int) -> Poly:
    return {UNIT: c} if c else {}


def symbol(v: int) -> Poly:
    return {(v,): 1}


def combine(p: Poly, a: int, q: Poly, b: int) -> Poly:
    """a·p + b·q"""
    out = {m: a * c for m, c in p.items()} if a != 1 else dict(p)
    for m, c in q.items():
        total = out.get(m, 0) + b * c
        if total:
            out[m] = total
        else:
            out.pop(m, None)
    return out


def add(p: Poly, q: Poly) -> Poly:
    return combine(p, 1, q, 1)


def sub(p: Poly, q: Poly) -> Poly:
    return combine(p, 1, q, -1)


def shift(p: Poly, c: int) -> Poly:
    """p + c"""
    return combine(p, 1, {UNIT: c}, 1) if c else p


def scale(p: Poly, c: int) -> Poly:
    return {m: c * x for m, x in p.items()} if c else {}


def multiply(p: Poly, q: Poly) -> Poly:
    out: Poly = {}
    for m, a in p.items():
        for n, b in q.items():
            mn = tuple(sorted(m + n)) if m and n else m or n
            total = out.get(mn, 0) + a * b
            if total:
                out[mn] = total
            else:
                out.pop(mn, None)
    return out


def newest(p: Poly) -> int:
    """The largest symbol number in `p`, -1 if it is constant."""
    return max((m[-1] for m in p if m), default=-1)


def split(p: Poly, v: int) -> tuple[Poly, Poly] | None:
    """(c, r) with p = c·v + r and v in neither; None if v occurs to a higher power."""
    coefficient: Poly = {}
    rest: Poly = {}
    for m, c in p.items():
        if v not in m:
            rest[m] = c
            continue
        k = m.index(v)
        other = m[:k] + m[k + 1 :]
        if v in other:
            return None
        coefficient[other] = c
    return coefficient, rest


def replace(p: Poly, v: int, by: Poly) -> Poly:
    """p with `by` in the place of v."""
    parts = split(p, v)
    if parts is None:
        return p
    coefficient, rest = parts
    return add(multiply(coefficient, by), rest)


def constant_of(p: Poly) -> int | None:
    """The value of a constant polynomial."""
    if not p:
        return 0
    return p.get(UNIT) if len(p) == 1 else None


def key(p: Poly) -> tuple[tuple[Monomial, int], ...]:
    """A hashable form: equal for equal polynomials."""
    return tuple(sorted(p.items()))
