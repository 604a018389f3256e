"""Derivatives of Python functions, against truths known by hand."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as tp


def test_gradient_of_an_array_expression():
    def f(x, y):
        return np.sum(np.sin(x) * y**2)

    x, y = np.arange(1.0, 5.0), np.arange(2.0, 6.0)
    value, (by_x, by_y) = tp.value_and_grad(f, argnums=(0, 1))(x, y)
    assert value == pytest.approx(np.sum(np.sin(x) * y**2), rel=1e-14)
    np.testing.assert_allclose(by_x, np.cos(x) * y**2, rtol=1e-14)
    np.testing.assert_allclose(by_y, 2 * np.sin(x) * y, rtol=1e-14)


def test_every_order():
    def cube(a):
        return a**3

    assert tp.grad(cube)(2.0) == 12.0
    assert tp.grad(tp.grad(cube))(2.0) == 12.0
    assert tp.grad(tp.grad(tp.grad(cube)))(2.0) == 6.0


def test_perturbations_are_not_confused():
    """d/dx (x · d/dy (x + y)) = 1."""

    def f(x):
        return x * tp.grad(lambda y: x + y)(1.0)

    assert tp.grad(f)(3.0) == 1.0


def test_gradient_inside_a_map():
    def square(a):
        return a * a

    @tp.jit
    def slopes(x):
        return np.array([tp.grad(square)(x[i]) for i in range(x.size)])

    np.testing.assert_array_equal(slopes(np.array([1.0, -2.0])), [2.0, -4.0])


def test_while_backwards():
    """Newton's iteration for √c: the derivative of its limit is 1/(2√c)."""

    def root(c):
        x = 1.0
        while abs(x * x - c) > 1e-14 * c:
            x = 0.5 * (x + c / x)
        return x

    assert tp.grad(root)(2.0) == pytest.approx(0.5 / np.sqrt(2.0), rel=1e-12)


def test_the_caller_keeps_its_arrays():
    def f(a, x):
        for i in range(1, a.size):
            a[i] = a[i - 1] * x[i] / 2 + a[i]
        return np.sum(a * a)

    a, x = np.arange(1.0, 5.0), np.arange(2.0, 6.0)
    by_a, by_x = tp.grad(f, argnums=(0, 1))(a, x)
    np.testing.assert_array_equal(a, [1.0, 2.0, 3.0, 4.0])
    step = 1e-6
    for k in range(4):
        e = np.eye(4)[k] * step
        assert by_a[k] == pytest.approx((f(a + e, x) - f(a - e, x)) / (2 * step), rel=1e-7)
        slope = (f(a.copy(), x + e) - f(a.copy(), x - e)) / (2 * step)
        assert by_x[k] == pytest.approx(slope, rel=1e-7, abs=1e-7)


def test_trees():
    def loss(p, x):
        return np.sum((p["w"] * x + p["b"]) ** 2)

    w, x = np.arange(1.0, 4.0), np.arange(2.0, 5.0)
    g = tp.grad(loss)({"w": w, "b": 1.5}, x)
    np.testing.assert_allclose(g["w"], 2 * (w * x + 1.5) * x)
    assert g["b"] == pytest.approx(np.sum(2 * (w * x + 1.5)))


def test_forward():
    def f(x):
        return np.cumsum(x**2)

    x = np.array([1.0, 2.0, 3.0])
    value, dot = tp.jvp(f, (x,), (np.ones(3),))
    np.testing.assert_array_equal(value, [1.0, 5.0, 14.0])
    np.testing.assert_array_equal(dot, [2.0, 6.0, 12.0])
    np.testing.assert_array_equal(tp.jacfwd(f)(x), 2 * x * np.tri(3))


def test_the_branch_not_taken_has_no_part():
    def f(x):
        total = 0.0
        for v in x:
            if v > 0.0:
                total += np.sqrt(v)
        return total

    np.testing.assert_array_equal(tp.grad(f)(np.array([4.0, 0.0, -1.0])), [0.25, 0.0, 0.0])


def test_elimination_in_place():
    """∂ log|det A| / ∂A = A⁻ᵀ."""

    def log_det(a):
        n = a.shape[0]
        for k in range(n):
            for i in range(k + 1, n):
                a[i, k] /= a[k, k]
                for j in range(k + 1, n):
                    a[i, j] -= a[i, k] * a[k, j]
        total = 0.0
        for i in range(n):
            total += np.log(abs(a[i, i]))
        return total

    a = np.random.default_rng(0).random((6, 6)) + 5 * np.eye(6)
    np.testing.assert_allclose(tp.grad(log_det)(a), np.linalg.inv(a).T, rtol=1e-11, atol=1e-13)


def test_needs_a_number():
    with pytest.raises(tp.errors.CompileError, match="a gradient needs one real number"):
        tp.grad(lambda x: x * 2.0)(np.ones(3))


def packed(x, l):
    """Products with a triangle that is stored without its zeros."""
    n = x.shape[0]
    z = np.zeros(n)
    at = 0
    for col in range(n):
        for row in range(col + 1, n):
            z[row] += l[at] * x[col]
            z[col] -= l[at]
            at += 1
    return np.sum(z * z)


def test_a_packed_triangle_backwards():
    rng = np.random.default_rng(1)
    x, l = rng.standard_normal(5), rng.standard_normal(10)
    by_x, by_l = tp.grad(packed, argnums=(0, 1))(x, l)
    for k in range(5):
        d = 1e-6 * np.eye(5)[k]
        slope = (packed(x + d, l) - packed(x - d, l)) / 2e-6
        assert by_x[k] == pytest.approx(slope, rel=1e-7, abs=1e-8)
    for k in range(10):
        d = 1e-6 * np.eye(10)[k]
        slope = (packed(x, l + d) - packed(x, l - d)) / 2e-6
        assert by_l[k] == pytest.approx(slope, rel=1e-7, abs=1e-8)


def test_indices_with_a_closed_form_are_not_recorded():
    x, l = np.ones(5), np.ones(10)
    core = tp.explain(tp.grad(packed, argnums=(0, 1)), x, l).stages["optimised"]
    assert "empty i64" not in core
    assert "select" not in core


def test_derivatives_by_rows_of_arrays():
    """∂(Σ_k c_k x_k · (d, e))/∂(c, d, e), at rows that a map walks over."""

    def f(row, x):
        return np.sum(row[:3] * x) * row[3:5]

    @tp.jit
    def by_rows(rows, points):
        return np.array([tp.jacfwd(f)(rows[i], points[i]) for i in range(len(points))])

    rng = np.random.default_rng(0)
    rows, points = rng.random((4, 5)), rng.random((4, 3))
    for got, row, x in zip(by_rows(rows, points), rows, points, strict=True):
        expected = np.c_[np.outer(row[3:], x), (row[:3] @ x) * np.eye(2)]
        np.testing.assert_allclose(got, expected, rtol=1e-13)


def nearest(centroids, values, columns, starts):
    """Σᵢ minⱼ |xᵢ − cⱼ|² of sparse rows xᵢ."""
    squares = np.sum(centroids * centroids, axis=1)
    total = 0.0
    for i in range(len(starts) - 1):
        least = np.inf
        for j in range(len(centroids)):
            far = squares[j]
            for e in range(starts[i], starts[i + 1]):
                far += values[e] * (values[e] - 2 * centroids[j, columns[e]])
            least = min(least, far)
        total += least
    return total


@pytest.mark.parametrize("n", [1, 6, 70])
def test_gradient_of_sparse_clusters(n: int):
    """∂/∂cⱼ = Σᵢ 2 (cⱼ − xᵢ) over the rows whose nearest centroid is j."""
    rng = np.random.default_rng(n)
    points = rng.random((n, 7)) * (rng.random((n, 7)) < 0.4)
    rows, columns = np.nonzero(points)
    starts = np.searchsorted(rows, np.arange(n + 1))
    centroids = rng.random((5, 7))
    apart = centroids[None] - points[:, None]
    at = np.argmin((apart**2).sum(axis=2), axis=1)
    expected = np.zeros_like(centroids)
    np.add.at(expected, at, 2 * apart[np.arange(n), at])
    got = tp.grad(nearest)(centroids, points[rows, columns], columns, starts)
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


def lstm(W, U, b, inputs, target):
    """A cell whose gates are slices of one product: sizes that only arithmetic shows to agree."""
    hidden = U.shape[0] // 4
    h, c = np.zeros((len(target), hidden)), np.zeros((len(target), hidden))
    for t in range(inputs.shape[1]):
        gates = inputs[:, t] @ W.T + h @ U.T + b
        i, f = (
            1 / (1 + np.exp(-gates[:, :hidden])),
            1 / (1 + np.exp(-gates[:, hidden : 2 * hidden])),
        )
        o = 1 / (1 + np.exp(-gates[:, 3 * hidden :]))
        c = f * c + i * np.tanh(gates[:, 2 * hidden : 3 * hidden])
        h = o * np.tanh(c)
    return np.sum((h - target) ** 2)


def test_sliced_gates_of_a_recurrence():
    rng = np.random.default_rng(0)
    W, U, b = (0.3 * rng.standard_normal(s) for s in ((12, 2), (12, 3), 12))
    inputs, target = rng.standard_normal((4, 5, 2)), rng.standard_normal((4, 3))
    assert tp.jit(lstm)(W, U, b, inputs, target) == pytest.approx(lstm(W, U, b, inputs, target))
    gradients = tp.grad(lstm, argnums=(0, 1, 2))(W, U, b, inputs, target)
    way = tuple(rng.standard_normal(a.shape) for a in (W, U, b))

    def at(s: float) -> float:
        return lstm(*(a + s * d for a, d in zip((W, U, b), way, strict=True)), inputs, target)

    slope = (8 * (at(1e-3) - at(-1e-3)) - at(2e-3) + at(-2e-3)) / 12e-3
    assert sum(map(np.vdot, gradients, way)) == pytest.approx(slope, rel=1e-9)
    along = tp.hvp(lambda w: lstm(w, U, b, inputs, target), (W,), (way[0],))
    eps = 1e-4 * way[0]
    left, right = (tp.grad(lstm)(W + d, U, b, inputs, target) for d in (-eps, eps))
    np.testing.assert_allclose(along, (right - left) / 2e-4, rtol=1e-5, atol=1e-7)
