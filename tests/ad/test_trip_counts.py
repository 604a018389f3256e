"""The gradient of a loop is a program of one size, however often the loop runs."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as tp
from tapeless.api.inspection import look
from tapeless.ir.walk import statements


def steps(count):
    """A loop over numbers, one inside it, and one that writes in place, of `count` passes each."""

    def f(x):
        y = x.copy()
        s = 0.0
        for _ in range(count):
            for i in range(1, len(x)):
                y[i] = 0.5 * y[i - 1] * x[i] + 0.1 * y[i]
            for j in range(count):
                s = 0.9 * s + np.sin(s + y[0] * j)
        return s + np.sum(y)

    return f


def sizes(count):
    """Statements of the gradient, and lines of the loops that it is lowered to."""
    g, x = tp.grad(steps(count)), np.linspace(0.1, 0.4, 4)
    program = look(g, (x,), {}).optimised
    loops = tp.explain(g, x).stages["loops"]
    return sum(1 for _ in statements(program.body)), loops.count("\n")


@pytest.mark.parametrize("count", [1000, 1_000_000])
def test_long_loops_are_no_longer_programs(count: int):
    assert sizes(count) == sizes(100)
