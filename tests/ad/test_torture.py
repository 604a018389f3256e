"""Programs on which derivatives go wrong easily, against their truths: reverse mode, forward mode
along a direction, and the caller's arrays as they were."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as tp
from tests.ad.torture import all_programs
from tests.ad.torture.program import Program

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


def test_there_are_enough_of_them():
    assert len({case.name for case in PROGRAMS}) >= 60
