"""Choices between two values, in reverse."""

from __future__ import annotations

import numpy as np

import tapeless as tp


def test_the_side_of_where_that_is_not_taken_has_no_part():
    """Nor at the edge, where its slope is infinite."""
    x = np.array([4.0, 0.0, -1.0])

    def where(x):
        return np.sum(np.where(x > 0.0, np.sqrt(x), 0.0) + np.where(x != 0.0, 1.0 / x, x))

    for f in (
        where,
        lambda x: sum(np.where(v > 0.0, v**0.5, 0.0) + np.where(v, 1.0 / v, v) for v in x),
    ):
        np.testing.assert_array_equal(tp.grad(f)(x), [0.25 - 0.0625, 1.0, -1.0])
    second = tp.grad(lambda x: np.sum(tp.grad(lambda y: np.sum(np.where(y > 0, y**1.5, 0)))(x)))
    np.testing.assert_array_equal(second(x), [0.375, 0.0, 0.0])
