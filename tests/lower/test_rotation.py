"""State that takes turns between buffers, made inside an arm: where it ends is not known before."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as tp


def powers(m, x, passes, forward):
    def run(shift):
        at = np.zeros(3) + shift
        if forward:
            for _ in range(passes):
                at = m @ at + x
        else:
            for _ in range(passes):
                at = m @ at - x
        return at

    first = run(0.0)
    second = run(1.0)
    return first * 2.0 - second, first


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("passes", range(5))
def test_what_took_turns_is_kept(passes: int, forward: bool):
    m, x = np.linspace(-1.0, 1.0, 9).reshape(3, 3), np.array([1.0, 2.0, 3.0])
    found = tp.jit(powers)(m, x, passes, forward)
    for a, b in zip(found, powers(m, x, passes, forward), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)
