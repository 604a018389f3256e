"""How exactly a float is known: what keeps branches of a random program the same on every road.

Sums may be re-associated, so two roads may differ by rounding, and a comparison of such values may
then go either way. A program therefore decides only on *exact* values: multiples of 2**-g below
2**m, with g + m within the mantissa, for which + - * have no rounding in any order. All else is
*rough* (None): it may be computed with and returned, but never decides.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias


class Exact(NamedTuple):
    """A multiple of 2**-g, less than 2**m in magnitude."""

    g: int
    m: int


Quality: TypeAlias = "Exact | None"
ROUGH: Quality = None
LEAF = Exact(2, 3)  # what arguments hold
STEPS = 7  # log2 of how often the innermost statement of nested loops runs
CARRIED = Exact(8, 14)  # floats that loops carry
CARRIED_SINGLE = Exact(3, 9)
CARRIED_INT = Exact(0, 30)


def join(a: Quality, b: Quality) -> Quality:
    """Either of two values."""
    return None if a is None or b is None else Exact(max(a.g, b.g), max(a.m, b.m))


def add(a: Quality, b: Quality) -> Quality:
    both = join(a, b)
    return None if both is None else Exact(both.g, both.m + 1)


def mul(a: Quality, b: Quality) -> Quality:
    return None if a is None or b is None else Exact(a.g + b.g, a.m + b.m)


def many(a: Quality, log: int = STEPS) -> Quality:
    """A sum of up to 2**log such values."""
    return None if a is None else Exact(a.g, a.m + log)


def within(a: Quality, bits: int) -> Quality:
    """The value if the mantissa holds it, else a rough one."""
    return a if a is not None and a.g + a.m <= bits else None
