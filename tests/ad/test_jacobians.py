"""`jacfwd`, `jacrev`, `jacobian`: the same table, by columns or by rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import tapeless as tp
from tests.ad.truth import differences

X = np.array([0.5, 1.0, 2.0])
BOTH = pytest.mark.parametrize("jacobian", [tp.jacfwd, tp.jacrev, tp.jacobian])


def chain(x):
    return np.cumsum(np.sin(x) * x[0])


@BOTH
def test_against_differences(jacobian):
    np.testing.assert_allclose(jacobian(chain)(X), differences(chain, X), rtol=1e-9, atol=1e-12)


@BOTH
def test_axes_of_the_argument_come_last(jacobian):
    """y = A·x:  ∂yᵢ/∂Aⱼₖ = δᵢⱼ·xₖ."""
    a = np.arange(6.0).reshape(2, 3)
    by_a, by_x = jacobian(lambda a, x: a @ x, argnums=(0, 1))(a, X)
    assert by_a.shape == (2, 2, 3)
    np.testing.assert_array_equal(by_a, np.einsum("ij,k->ijk", np.eye(2), X))
    np.testing.assert_array_equal(by_x, a)


@BOTH
def test_numbers(jacobian):
    assert jacobian(lambda a, b: a * b)(2.0, 3.0) == 3.0
    np.testing.assert_array_equal(jacobian(lambda c: c * X)(2.0), X)
    np.testing.assert_array_equal(jacobian(lambda x: np.sum(x * X))(X), X)


class Pair(NamedTuple):
    u: np.ndarray
    n: int


@BOTH
def test_trees(jacobian):
    def f(p):
        return Pair(p["a"] * p["b"], 3), [p["b"]]

    first, (second,) = jacobian(f)({"a": X, "b": 2.0, "k": 1})
    assert isinstance(first, Pair)
    assert first.n is None
    np.testing.assert_array_equal(first.u["a"], 2.0 * np.eye(3))
    np.testing.assert_array_equal(first.u["b"], X)
    assert first.u["k"] is None
    np.testing.assert_array_equal(second["a"], np.zeros(3))
    assert second["b"] == 1.0


@BOTH
def test_element_types(jacobian):
    """∂y/∂x in the type that holds both."""
    x = X.astype(np.float32)
    by_x, by_y = jacobian(lambda x, y: x * y, argnums=(0, 1))(x, X)
    assert (by_x.dtype, by_y.dtype) == (np.float64, np.float64)
    assert jacobian(lambda x: x * x)(x).dtype == np.float32


@BOTH
def test_complex_results(jacobian):
    np.testing.assert_allclose(
        jacobian(lambda x: x * np.exp(1j * x))(X), np.diag((1 + 1j * X) * np.exp(1j * X))
    )


@BOTH
@pytest.mark.parametrize("n", [0, 1, 7])
def test_sizes(jacobian, n):
    x = np.arange(n) + 1.0
    np.testing.assert_array_equal(jacobian(lambda x: x**2)(x), np.diag(2 * x))


def test_sizes_do_not_compile_again():
    g = tp.jacobian(lambda x: x * np.sum(x))
    for n in (2, 3, 50):
        x = np.arange(n) + 1.0
        np.testing.assert_allclose(g(x), np.sum(x) * np.eye(n) + x[:, None])
    assert len(g.compilations) == 1


def test_forward_or_reverse_by_shape():
    """Few rows go backward, few columns forward: the cost does not grow with the long side."""

    def wide(x):
        return np.array([np.sum(x**2), np.sum(x)])

    def tall(x):
        return np.array([x[0] * i + x[1] ** 2 for i in range(400)])

    x = np.arange(400.0)
    per_row = tp.cost(tp.jacrev(wide), x).flops
    assert tp.cost(tp.jacobian(wide), x).flops < 2 * per_row
    assert tp.cost(tp.jacfwd(wide), x).flops > 10 * per_row
    per_column = tp.cost(tp.jacfwd(tall), x[:2]).flops
    assert tp.cost(tp.jacobian(tall), x[:2]).flops < 2 * per_column
    assert tp.cost(tp.jacrev(tall), x[:2]).flops > 10 * per_column


@BOTH
def test_inside_a_map(jacobian):
    """One small Jacobian per item."""

    def polar(p):
        return np.array([p[0] * np.cos(p[1]), p[0] * np.sin(p[1])])

    @tp.jit
    def each(points):
        return np.array([jacobian(polar)(points[i]) for i in range(points.shape[0])])

    points = np.array([[1.0, 0.5], [2.0, -1.0]])
    expected = [[[np.cos(t), -r * np.sin(t)], [np.sin(t), r * np.cos(t)]] for r, t in points]
    np.testing.assert_allclose(each(points), expected)


@pytest.mark.parametrize("operator", [tp.jacfwd, tp.jacrev, tp.jacobian, tp.hessian])
def test_the_caller_keeps_its_arrays(operator):
    """Every derivative is by the contents that an array begins with."""

    def f(a, w):
        for k in range(w.size):
            a[1:] += w[k] * np.sin(a[1:])
        return np.sum(a * a)

    a, w = np.linspace(-1.0, 1.0, 20), np.array([0.3, -0.5])
    before = a.copy()
    found = operator(f)(a, w)
    np.testing.assert_array_equal(a, before)
    g = tp.grad(f)
    steps = np.eye(20) * 1e-6
    truth = g(a, w)
    if operator is tp.hessian:
        truth = np.array([(g(a + e, w) - g(a - e, w)) / 2e-6 for e in steps])
    np.testing.assert_allclose(found, truth, rtol=1e-8, atol=1e-8)
