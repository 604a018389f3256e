"""`hessian` and `hvp`: second derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as tp
from tests.ad.truth import differences

X = np.array([0.5, 1.0, 2.0])


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def rosenbrock_slope(x):
    out = np.zeros_like(x)
    out[1:] += 200.0 * (x[1:] - x[:-1] ** 2)
    out[:-1] += -400.0 * x[:-1] * (x[1:] - x[:-1] ** 2) - 2.0 * (1.0 - x[:-1])
    return out


def looped(x):
    total = 1.0
    for i in range(x.size):
        if x[i] > 0.75:
            total = total * x[i] ** 2
        else:
            total += np.exp(x[i])
    return total


def test_against_differences_of_the_gradient():
    second = differences(rosenbrock_slope, X)
    np.testing.assert_allclose(tp.hessian(rosenbrock)(X), second, rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(tp.hvp(rosenbrock, (X,), (X,)), second @ X, rtol=1e-9, atol=1e-9)


def test_loops_and_branches():
    second = differences(lambda x: differences(looped, x, 1e-2), X, 1e-2)
    found = tp.hessian(looped)(X)
    np.testing.assert_allclose(found, second, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(found, found.T, rtol=1e-14)
    v = np.array([1.0, -1.0, 0.5])
    np.testing.assert_allclose(tp.hvp(looped, (X,), (v,)), found @ v, rtol=1e-13)


def test_every_road_to_second_order():
    h = tp.hessian(rosenbrock)(X)
    for outer in (tp.jacfwd, tp.jacrev):
        for inner in (tp.grad, tp.jacfwd, tp.jacrev):
            np.testing.assert_allclose(outer(inner(rosenbrock))(X), h, rtol=1e-12, atol=1e-11)


def test_blocks():
    """f = Σ a·b²: ∂²f = [[0, 2b], [2b, 2Σa]]."""
    (aa, ab), (ba, bb) = tp.hessian(lambda a, b: np.sum(a * b**2), argnums=(0, 1))(X, 3.0)
    np.testing.assert_array_equal(aa, np.zeros((3, 3)))
    np.testing.assert_array_equal(ab, 6.0 * np.ones(3))
    np.testing.assert_array_equal(ba, 6.0 * np.ones(3))
    assert bb == pytest.approx(2 * np.sum(X))


def test_products_for_several_arguments():
    a, b = tp.hvp(lambda a, b: np.sum(a * b**2), (X, 3.0), (np.ones(3), 0.5))
    np.testing.assert_allclose(a, 3.0 * np.ones(3))
    assert b == pytest.approx(18.0 + np.sum(X))


def test_trees():
    h = tp.hessian(lambda p: p["a"] ** 3 * p["b"])({"a": 2.0, "b": 5.0})
    assert h["a"]["a"] == 60.0
    assert h["a"]["b"] == h["b"]["a"] == 12.0
    assert h["b"]["b"] == 0.0


def test_newton_inside_compiled_code():
    def f(x):
        return np.sum(np.exp(x) - 2.0 * x)

    @tp.jit
    def solve(x):
        for _ in range(8):
            x = x - np.linalg.solve(tp.hessian(f)(x), tp.grad(f)(x))
        return x

    np.testing.assert_allclose(solve(X), np.log(2.0) * np.ones(3), rtol=1e-14)


def test_products_inside_compiled_code():
    """Of Σ v⁴ along v: 12·v³, whose derivative along 1 is 36·v²."""
    product = tp.jit(lambda v: tp.hvp(lambda u: np.sum(u**4), (v,), (v,)))
    np.testing.assert_allclose(product(X), 12 * X**3)
    np.testing.assert_allclose(tp.jvp(product, (X,), (np.ones(3),))[1], 36 * X**2)
