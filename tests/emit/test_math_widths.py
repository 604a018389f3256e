"""Elementary functions compute the same numbers in every width; long ones and rare paths have one
copy for all widths."""

from __future__ import annotations

import numpy as np
import pytest

from tapeless.core.types import f64
from tapeless.emit.asm import Asm, Module
from tapeless.emit.foreign_math import call
from tapeless.emit.math import FUNCTIONS, LONG, define
from tapeless.emit.math.ops import BLOCK
from tools.math_reference import DTYPES, Compiled, exact, ulps

RNG = np.random.default_rng(5)
SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 1e-310, -1e-310, 1e9, -1e9, 1e300, -1e300, 172.5,
           -171.5, np.inf, -np.inf, np.nan, 0.25, -0.75, 708.9]  # fmt: skip


def inputs(count: int = 96) -> list[np.ndarray]:
    """Two columns in which rare and usual numbers stand side by side."""
    usual = RNG.normal(0.0, 3.0, (2, count))
    rare = RNG.choice(SPECIAL, (2, count))
    return list(np.where(RNG.random((2, count)) < 0.3, rare, usual))


@pytest.mark.parametrize("bits", [64, 32])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_width_computes_the_same_numbers(name, bits):
    with np.errstate(all="ignore"):
        columns = [x.astype(DTYPES[bits]) for x in inputs()[: FUNCTIONS[name]]]
    one = Compiled(name, bits, 1)(*columns)
    assert np.isfinite(one).any()
    for width in (2, BLOCK, 32):
        np.testing.assert_array_equal(Compiled(name, bits, width)(*columns), one)


@pytest.mark.parametrize("name", sorted(LONG))
def test_wide_calls_of_long_functions_share_one_copy(name):
    narrow, wide = define(name, 64, BLOCK), define(name, 64, 32)
    assert wide.keys() == narrow.keys() | {f"tp.{name}.f64x32"}
    assert len(wide[f"tp.{name}.f64x32"].splitlines()) < 20


def test_rare_paths_share_one_copy():
    rare = {s for w in (1, 4, 32) for s in define("sin", 64, w) if "large" in s}
    assert rare == {f"tp.sin.sin_large.f64x{BLOCK}"}


def test_a_single_value_goes_through_the_copy_for_lanes_that_is_there():
    module = Module()
    a = Asm(module, "define double @f(<32 x double> %v, double %x)")
    call(a, "lgamma", ["%v"], f64, 32)
    call(a, "lgamma", ["%x"], f64, 1)
    assert "tp.lgamma.f64x1" not in module.definitions


@pytest.mark.parametrize("name", ["erf", "exp", "log"])
def test_two_units_in_the_last_place_where_pieces_meet(name):
    columns = [np.concatenate([RNG.uniform(0.9, 1.1, 300), RNG.uniform(1.0, 6.5, 300)])]
    got = Compiled(name, 64, BLOCK)(*columns)
    worst = max(ulps(y, exact(name, [x]), 64) for x, y in zip(columns[0], got, strict=True))
    assert worst <= 2.0
