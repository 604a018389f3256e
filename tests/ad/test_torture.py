"""Programs on which derivatives go wrong easily, against their truths: reverse mode, forward mode
along a direction, and the caller's arrays as they were."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as tp
from tests.ad.torture import all_programs
from tests.ad.torture.program import Program, slope

PROGRAMS = all_programs()


@pytest.mark.parametrize("case", PROGRAMS, ids=lambda p: p.name)
def test_reverse(case: Program):
    args = case.fresh()
    value, grads = tp.value_and_grad(case.run, argnums=case.wrt)(*args)
    np.testing.assert_allclose(value, case.value(*case.fresh()), rtol=1e-12)
    for given, now in zip(case.args, args, strict=True):
        np.testing.assert_array_equal(given, now)
    for found, truth in zip(grads, case.gradient, strict=True):
        size = 1.0 + np.max(np.abs(truth), initial=0.0)
        np.testing.assert_allclose(found, truth, rtol=case.tolerance, atol=case.tolerance * size)


@pytest.mark.parametrize("case", PROGRAMS, ids=lambda p: p.name)
def test_forward(case: Program):
    """The slope along a direction is the gradient times it."""
    rng = np.random.default_rng(1)
    along = [None] * len(case.args)
    slope, size = 0.0, 1.0
    for k, truth in zip(case.wrt, case.gradient, strict=True):
        step = rng.standard_normal(truth.shape).astype(np.asarray(case.args[k]).dtype)
        along[k] = step if truth.ndim else step[()]
        slope += np.sum(truth * step)
        size += np.sum(np.abs(truth * step))
    _, found = tp.jvp(case.run, case.fresh(), tuple(along))
    assert abs(found - slope) <= case.tolerance * size


@pytest.mark.slow
@pytest.mark.parametrize("case", [p for p in PROGRAMS if p.truth is None], ids=lambda p: p.name)
def test_second_order(case: Program):
    """H·v, forward over reverse and reverse over reverse, against differences of the gradient."""
    rng = np.random.default_rng(2)
    along = {k: rng.standard_normal(np.shape(case.args[k]))[()] for k in case.wrt}
    gradient = tp.grad(case.run, argnums=case.wrt)

    def part(h: float, j: int) -> np.ndarray:
        moved = [a + h * along[k] if k in along else a for k, a in enumerate(case.fresh())]
        return gradient(*moved)[j]

    def slope_along(*args):
        return sum(
            np.sum(g * v) for g, v in zip(gradient(*args), tuple(along.values()), strict=True)
        )

    tangents = tuple(along.get(k) for k in range(len(case.args)))
    _, over_reverse = tp.jvp(gradient, case.fresh(), tangents)
    reverse_twice = tp.grad(slope_along, argnums=case.wrt)(*case.fresh())
    for j, (one, two) in enumerate(zip(over_reverse, reverse_twice, strict=True)):
        truth = slope(lambda h, j=j: part(h, j))
        size = 1.0 + np.max(np.abs(truth), initial=0.0)
        np.testing.assert_allclose(one, truth, rtol=1e-6, atol=1e-6 * size)
        np.testing.assert_allclose(two, one, rtol=1e-10, atol=1e-10 * size)


def test_there_are_enough_of_them():
    assert len({case.name for case in PROGRAMS}) >= 60
