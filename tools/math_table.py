"""Writes docs/math.md: how exact the elementary functions are, measured against mpmath.

`python -m tools.math_table` measures again and writes the page; the tests check what it says.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

from tapeless.emit.math import FUNCTIONS
from tools.math_reference import DTYPES, Array, Compiled, exact, ulps

DOCUMENT = Path(__file__).parents[1] / "docs" / "math.md"
POINTS = 4000  # of each function and precision
WIDTH = {64: 8, 32: 16}

# Where each function is interesting. Half of the points are spread over these, half over all bit
# patterns of the precision (all magnitudes alike).
INTERVALS: dict[str, list[tuple[float, float]]] = {
    "exp": [(-1, 1), (-745, 710)], "exp2": [(-1, 1), (-1075, 1024)],
    "expm1": [(-1, 1), (-40, 710)], "log": [(0.5, 2), (0, 10)], "log2": [(0.5, 2), (0, 10)],
    "log10": [(0.5, 2), (0, 10)], "log1p": [(-1, 1), (-0.1, 0.1)], "sin": [(-7, 7), (-1e5, 1e5)],
    "cos": [(-7, 7), (-1e5, 1e5)], "tan": [(-7, 7), (-1e5, 1e5)], "tanh": [(-1, 1), (-20, 20)],
    "sinh": [(-1, 1), (-710, 710)], "cosh": [(-1, 1), (-710, 710)],
    "asinh": [(-2, 2), (-100, 100)], "acosh": [(1, 2), (1, 100)], "atanh": [(-1, 1), (-0.1, 0.1)],
    "asin": [(-1, 1)], "acos": [(-1, 1)], "atan": [(-2, 2), (-50, 50)], "atan2": [(-2, 2)],
    "erf": [(-1, 1), (-6, 6)], "erfc": [(-1, 2), (-6, 27)], "erfinv": [(-1, 1)],
    "ndtri": [(0, 1), (0, 0.01)], "lgamma": [(0, 4), (0, 200)], "tgamma": [(0, 4), (-170, 171)],
    "digamma": [(0, 4), (0, 100)], "trigamma": [(0, 4), (-30, 100)], "i0": [(-8, 8), (-700, 700)],
    "i1": [(-8, 8), (-700, 700)], "j0": [(-2, 2)], "j1": [(-3, 3)], "pow": [(0, 2), (0, 30)],
    "cbrt": [(-8, 8)], "hypot": [(-2, 2)], "fmod": [(-50, 50)],
}  # fmt: skip

# Near a zero that no float hits, a relative error has no bound: there the error is counted in units
# of the last place of this value instead, where it is larger than the function.
FLOOR = {"lgamma": 1.0, "digamma": 1.0, "j0": 0.5, "j1": 0.5}
LIMIT = {"j0": 1e6, "j1": 1e6}  # beyond, the reference takes too long

SPECIAL = (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan)


@cache
def compiled(name: str, bits: int) -> Compiled:
    return Compiled(name, bits, WIDTH[bits])


def points(name: str, bits: int, count: int) -> Iterator[tuple[float, ...]]:
    """The first `count` of the function's points."""
    rng = np.random.default_rng(sum(map(ord, name)) + bits)
    integer = np.dtype(f"i{bits // 8}")
    low, high = np.iinfo(integer).min, np.iinfo(integer).max
    intervals, arity, k = INTERVALS[name], FUNCTIONS[name], 0
    while k < count:
        if k % 2:
            low_x, high_x = intervals[k // 2 % len(intervals)]
            point = rng.uniform(low_x, high_x, arity).astype(DTYPES[bits])
        else:
            point = rng.integers(low, high, arity, integer, endpoint=True).view(DTYPES[bits])
        if np.all(np.isfinite(point)) and np.all(np.abs(point) <= LIMIT.get(name, math.inf)):
            yield tuple(map(float, point))
            k += 1


def worst(name: str, bits: int, count: int = POINTS) -> tuple[float, tuple[float, ...]]:
    """The largest error in units of the last place, and where."""
    spots = list(points(name, bits, count))
    columns: list[Array] = [np.array(c, DTYPES[bits]) for c in zip(*spots, strict=True)]
    got = compiled(name, bits)(*columns)
    errors = (
        (ulps(float(g), exact(name, spot), bits, FLOOR.get(name, 0.0)), spot)
        for g, spot in zip(got, spots, strict=True)
    )
    return max(errors, key=lambda e: e[0])


def special_values(name: str, bits: int = 64) -> list[float]:
    """The values of a function of one argument at SPECIAL."""
    return [float(v) for v in compiled(name, bits)(np.array(SPECIAL))]


# The page ---------------------------------------------------------------------------------------

HEAD = f"""\
# Elementary functions

<!-- Written by `python -m tools.math_table`. -->

The functions that compiled programs call are tapeless's own, so that they vectorise. They are built
from IEEE operations alone: every machine and every number of lanes computes the same bits.

## Accuracy

The largest error found, in units of the last place, against mpmath: {POINTS} points for each
function and precision, half of them spread over all floats, half over where the function is
interesting.

| function | double | single |
|---|---|---|
"""
FLOORS = """
Close to a zero that no float hits, no function of floats has a bounded relative error. The errors
of `lgamma` and `digamma` are therefore counted in units of the last place of the value or of 1,
those of `j0` and `j1` of the value or of 0.5, whichever is larger.
"""
SPECIALS = """
## Special values

They are those of C and of NumPy, signs of zeros included. Where SciPy gives nan at infinity, these
are the limits.

"""
PAIRS = """
`pow`, `atan2`, `hypot` and `fmod` agree with NumPy at all pairs of ±0, ±½, ±1, ±2, ±3, ±∞ and nan.
"""


def page() -> str:
    rows = [f"| `{n}` | {shown(n, 64)} | {shown(n, 32)} |\n" for n in sorted(FUNCTIONS)]
    return HEAD + "".join(rows) + FLOORS + special_section()


def special_section() -> str:
    rows = [["x", *map(_number, SPECIAL)], ["---"] * (len(SPECIAL) + 1)]
    for name in sorted(FUNCTIONS):
        if FUNCTIONS[name] == 1:
            rows.append([f"`{name}(x)`", *map(_number, special_values(name))])
    return SPECIALS + "".join(f"| {' | '.join(row)} |\n" for row in rows) + PAIRS


def shown(name: str, bits: int) -> str:
    """The figure on the page: rounded up."""
    return f"{math.ceil(worst(name, bits)[0] * 100) / 100:.2f}"


def _number(value: float) -> str:
    if math.isinf(value) or math.isnan(value):
        return str(value).replace("inf", "∞")
    return "-0" if value == 0.0 and math.copysign(1.0, value) < 0 else f"{value:.6g}"


if __name__ == "__main__":
    DOCUMENT.write_text(page())
