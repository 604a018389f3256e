"""What a pass of a nest keeps for its return sweep, inside of a pass of another nest."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as tp
from tapeless.ad.residuals import dear_results
from tapeless.ir.parse import parse


def rows(a):
    """Σᵢ log Σⱼ tanh(|aᵢⱼ|²)²: the cotangent of a tanh is known only when all of them are."""
    s = 0.0
    for i in range(a.shape[0]):
        row = np.empty(a.shape[1])
        for j in range(a.shape[1]):
            row[j] = np.tanh(np.sum(a[i, j] * a[i, j]))
        s += np.log(np.sum(row * row))
    return s


def slope_of_rows(a):
    row = np.tanh(np.sum(a * a, axis=2))
    bar = 2.0 * row / np.sum(row * row, axis=1, keepdims=True) * (1.0 - row * row)
    return bar[:, :, None] * 2.0 * a


def newton(a):
    """Σᵢ (Σⱼ √aᵢⱼ)², each root by Newton's method until it stands still."""
    s = 0.0
    for i in range(a.shape[0]):
        row = 0.0
        for j in range(a.shape[1]):
            x, last = 1.0, 0.0
            while abs(x - last) > 1e-12:
                x, last = 0.5 * (x + a[i, j] / x), x
            row += x
        s += row * row
    return s


A = np.random.default_rng(5).uniform(0.2, 1.5, (3, 4, 5))


def test_what_is_dear_is_not_made_again():
    g = tp.value_and_grad(rows)
    assert tp.explain(g, A).stages["optimised"].count("tanh(") == 1
    value, slope = g(A)
    assert value == pytest.approx(rows(A), rel=1e-14)
    np.testing.assert_allclose(slope, slope_of_rows(A), rtol=1e-8)


def log_sums(a):
    """sin Σᵢ sin Σⱼ log Σₖ exp aᵢⱼₖ"""
    s = 0.0
    for i in range(a.shape[0]):
        t = 0.0
        for j in range(a.shape[1]):
            t += np.log(np.sum(np.exp(a[i, j])))
        s += np.sin(t)
    return np.sin(s)


def test_each_nest_around_costs_no_further_run():
    a = np.random.default_rng(6).uniform(0.2, 1.5, (3, 4, 12))
    ratio = tp.cost(tp.value_and_grad(log_sums), a).flops / tp.cost(tp.jit(log_sums), a).flops
    assert ratio < 3.2
    slope = tp.grad(log_sums)(a)
    along = np.random.default_rng(7).standard_normal(a.shape)
    ends = (log_sums(a + 1e-5 * along) - log_sums(a - 1e-5 * along)) / 2e-5
    assert np.sum(slope * along) == pytest.approx(ends, rel=1e-6)


def test_numbers_are_kept_out_of_nests_too():
    """One number for each row; no row."""

    def f(a):
        s = 0.0
        for i in range(a.shape[0]):
            s += np.sqrt(np.sum(np.tanh(a[i])))
        return s * s

    g = tp.value_and_grad(f)
    big, wide = np.full((50, 20), 0.5), np.full((50, 200), 0.5)
    for a in (big, wide):
        kept = tp.cost(g, a).peak_bytes - a.nbytes
        assert kept <= 8 * a.shape[0] + 64
    root = np.sqrt(20 * np.tanh(0.5))
    truth = 2.0 * (50 * root) / (2.0 * root) * (1.0 - np.tanh(0.5) ** 2)
    np.testing.assert_allclose(g(big)[1], truth, rtol=1e-12)


def test_what_a_loop_records_is_recorded_where_it_runs_again():
    """A loop that must run again for its return sweep keeps nothing."""
    a = A[:, :, 0]
    value, slope = tp.value_and_grad(newton)(a)
    assert value == pytest.approx(np.sum(np.sum(np.sqrt(a), axis=1) ** 2), rel=1e-12)
    truth = np.sum(np.sqrt(a), axis=1)[:, None] / np.sqrt(a)
    np.testing.assert_allclose(slope, truth, rtol=1e-9)


DEAR = """
fun dear(n: i64, x: f64[n], a: f64) {
  t: f64 = a * a
  e: f64 = exp(t)
  y: f64[n], s: f64 = each (i < n) with (acc: f64 += 0.0) {
    v: f64 = x[i]
    put acc <- v
    return v
  }
  z: f64[n] = each (k < n) {
    w: f64 = x[k]
    r: f64 = exp(w)
    return r
  }
  return t, e, y, s, z
}
"""


def test_what_is_dear():
    """A sum, but not the row that is made along with it; elementary functions."""
    stms = parse(DEAR).body.stms
    assert [[o.hint for o in dear_results(s)] for s in stms] == [[], ["e"], ["s"], ["z"]]


@pytest.mark.parametrize(("coordinates", "bound"), [(3, 4.0), (10, 2.0)])
def test_what_a_minimum_is_of_is_kept_to_find_where_it_comes_from(coordinates, bound):
    """Distances are computed once, their least is found among what was kept; those of three
    coordinates, which are a few operations then, may be computed again."""

    def cost(points, centres):
        total = 0.0
        for p in points:
            total += min(np.sum((p - c) ** 2) for c in centres)
        return total

    rng = np.random.default_rng(8)
    points, centres = rng.random((30, coordinates)), rng.random((4, coordinates))
    ratio = (
        tp.cost(tp.value_and_grad(cost, 1), points, centres).flops
        / tp.cost(tp.jit(cost), points, centres).flops
    )
    assert ratio < bound
    nearest = np.argmin(np.sum((points[:, None] - centres) ** 2, axis=2), axis=1)
    truth = np.zeros_like(centres)
    np.add.at(truth, nearest, 2.0 * (centres[nearest] - points))
    np.testing.assert_allclose(tp.grad(cost, 1)(points, centres), truth, rtol=1e-12)


def test_the_first_of_equal_minima_wins():
    def cost(points, centres):
        total = 0.0
        for p in points:
            total += min(np.sum((p - c) ** 2) for c in centres)
        return total

    points, centres = np.array([[0.0, 1.0]]), np.array([[1.0, 1.0], [-1.0, 1.0], [0.0, 2.0]])
    slope = tp.grad(cost, 1)(points, centres)
    np.testing.assert_array_equal(slope, [[2.0, 0.0], [0.0, 0.0], [0.0, 0.0]])


def test_what_has_run_both_ways_is_not_left_out():
    """A sum that has given its cotangents on is needed for them, though what it adds up to is kept
    already."""

    def f(x, b):
        out = np.empty(x.size)
        for i in range(x.size):
            total = 0.0
            for j in range(b.size):
                if x[j] <= 0.5:
                    total += np.tanh(b[j])
            out[i] = total
        return np.sum(np.cumsum(out) * x)

    x, b = np.array([0.1, 0.9, -0.4, 0.3]), np.array([0.2, -0.7, 1.1, 0.5])
    slope = tp.grad(f, 1)(x, b)
    weight = np.sum(np.cumsum(x[::-1])[::-1])
    truth = np.where(x <= 0.5, weight * (1.0 - np.tanh(b) ** 2), 0.0)
    np.testing.assert_allclose(slope, truth, rtol=1e-12)
