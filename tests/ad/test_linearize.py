"""`linearize`: the derivative at a point, as a function of tangents."""

from __future__ import annotations

import numpy as np

import tapeless as tp

X = np.array([0.5, 1.0, 2.0])


def f(x, c):
    return np.cumsum(np.sin(x)) * c, c**2


def test_it_is_the_derivative_along_tangents():
    out, push = tp.linearize(f, X, 3.0)
    np.testing.assert_allclose(out[0], np.cumsum(np.sin(X)) * 3.0)
    for v, dc in ((np.ones(3), 0.0), (np.array([1.0, -1.0, 2.0]), 0.5)):
        dot = push(v, dc)
        expected = np.cumsum(np.cos(X) * v) * 3.0 + np.cumsum(np.sin(X)) * dc
        np.testing.assert_allclose(dot[0], expected)
        assert dot[1] == 6.0 * dc


def test_it_owns_what_it_reads():
    x = X.copy()
    _, push = tp.linearize(lambda x: x**2, x)
    x[:] = 0.0
    np.testing.assert_array_equal(push(np.ones(3)), 2 * X)
    assert push.nbytes >= X.nbytes


def test_none_is_zero():
    _, push = tp.linearize(lambda x, y: x * y, 2.0, 3.0)
    assert (push(1.0, None), push(None, 1.0)) == (3.0, 2.0)


def test_inside_compiled_code():
    @tp.jit
    def g(x):
        y, push = tp.linearize(lambda v: v * v, x)
        return y, push(np.ones(x.size)), push(x)

    y, one, same = g(X)
    np.testing.assert_array_equal(y, X**2)
    np.testing.assert_array_equal(one, 2 * X)
    np.testing.assert_array_equal(same, 2 * X**2)
