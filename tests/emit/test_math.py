"""The elementary functions against mpmath, and docs/math.md against the functions."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from scipy import special

from tapeless.emit.math import FUNCTIONS
from tools.math_reference import DTYPES, exact, ulps
from tools.math_table import DOCUMENT, SPECIAL, compiled, special_section, worst

LIMIT = {"i0": 2.5, "i1": 2.5}  # units of the last place; 2 elsewhere
over_functions = pytest.mark.parametrize("name", sorted(FUNCTIONS))
over_bits = pytest.mark.parametrize("bits", [64, 32])


def figures() -> dict[str, dict[int, float]]:
    """What the page says."""
    rows = re.findall(r"^\| `(\w+)` \| ([\d.]+) \| ([\d.]+) \|$", DOCUMENT.read_text(), re.M)
    return {name: {64: float(double), 32: float(single)} for name, double, single in rows}


def test_the_page_names_every_function():
    assert sorted(figures()) == sorted(FUNCTIONS)
    assert all(max(f.values()) <= LIMIT.get(name, 2.0) for name, f in figures().items())
    assert special_section() in DOCUMENT.read_text()


@over_functions
@over_bits
def test_accuracy_is_what_the_page_says(name, bits):
    error, where = worst(name, bits, 150)
    assert error <= figures()[name][bits], where


@pytest.mark.slow
@over_functions
@over_bits
def test_accuracy_on_all_points(name, bits):
    error, where = worst(name, bits)
    assert error <= figures()[name][bits], where


@pytest.mark.parametrize(
    "name, point",
    [
        ("digamma", (1.2146729518062358,)),  # beside its zero
        ("digamma", (1.711,)),
        ("digamma", (1.2e305,)),
        ("trigamma", (1.2e305,)),
        ("tgamma", (-241.25,)),  # less than any float
        ("tgamma", (-185.5,)),
        ("atan2", (-7.728422095234094e-151, 1.314181353219416e151)),
        ("atan2", (1e-310, 1e307)),
        ("erfinv", (0.5153146347335518,)),
        ("fmod", (1e300, 3.0)),
    ],
)
def test_hard_points(name, point):
    got = compiled(name, 64)(*(np.full(8, x) for x in point))[3]
    assert ulps(float(got), exact(name, point), 64) <= 2.0


REFERENCES = {
    "digamma": special.digamma, "lgamma": special.gammaln, "tgamma": special.gamma,
    "trigamma": lambda x: special.polygamma(1, x), "erf": special.erf, "erfc": special.erfc,
    "erfinv": special.erfinv, "ndtri": special.ndtri, "i0": special.i0, "i1": special.i1,
    "j0": special.j0, "j1": special.j1, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "atan2": np.arctan2,
    "pow": np.power,
}  # fmt: skip
# Where SciPy is not what C and the limits say: (value of ours)
BETTER = {
    ("erfinv", -0.0): -0.0, ("i1", -0.0): -0.0,
    **{("i0", s): math.inf for s in (math.inf, -math.inf)},
    **{("i1", s): s for s in (math.inf, -math.inf)},
}  # fmt: skip


def same(a: float, b: float) -> bool:
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    close = a == b or bool(np.isclose(a, b, rtol=1e-6, atol=0.0))
    return close and (math.copysign(1.0, a) == math.copysign(1.0, b))


@pytest.mark.parametrize("name", sorted(n for n, k in FUNCTIONS.items() if k == 1))
@over_bits
def test_special_values(name, bits):
    x = np.array(SPECIAL, DTYPES[bits])
    with np.errstate(all="ignore"):
        expected = (REFERENCES.get(name) or getattr(np, name))(x)
    for point, got, want in zip(x.tolist(), compiled(name, bits)(x), expected, strict=True):
        if name in ("j0", "j1") and math.isinf(point):
            assert got == 0.0
        else:
            key = next((k for k in BETTER if k[0] == name and same(k[1], point)), None)
            assert same(float(got), float(BETTER[key] if key else want)), (name, point, got, want)


@pytest.mark.parametrize("name", sorted(n for n, k in FUNCTIONS.items() if k == 2))
@over_bits
def test_special_pairs(name, bits):
    values = [s * v for v in (0.0, 0.5, 1.0, 2.0, 3.0, math.inf) for s in (1.0, -1.0)] + [math.nan]
    x, y = np.array([(a, b) for a in values for b in values], DTYPES[bits]).T.copy()
    with np.errstate(all="ignore"):
        expected = (REFERENCES.get(name) or getattr(np, name))(x, y)
    got = compiled(name, bits)(x, y)
    bad = [p for p in zip(x, y, got, expected, strict=True) if not same(float(p[2]), float(p[3]))]
    assert not bad
