"""Nests that write and sum at once, in reverse."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as tp
from tapeless.ad.jvp import jvp
from tapeless.ad.vjp import vjp
from tapeless.ir.interp import interpret
from tapeless.ir.parse import parse
from tapeless.ir.verify import verify

# The column of the second site is the sum of a row, which the nest of the first one makes.
PROGRAM = """
fun f(m: i64, n: i64, wide: i64, k: i64[m, n], a: f64[m, wide]) {
  b: f64[m, wide] = each (i < m) with (acc: f64[m, wide] = a) {
    s: i64 = each (j < n) with (t: i64 += 0) {
      v: i64 = k[i, j]
      put t <- v
      x: f64 = a[i, j]
      w: f64 = sin(x)
      put acc[i, j] <- w
      return
    }
    odd: i64 = s % 2
    at: i64 = n + odd
    y: f64 = a[i, at]
    z: f64 = y * y
    put acc[i, at] <- z
    return
  }
  return b
}
"""


def test_sums_within_are_made_again():
    fun = parse(PROGRAM)
    verify(fun)
    back, forward = vjp(fun, [4]), jvp(fun, [4])
    verify(back)
    rng = np.random.default_rng(0)
    k, a = rng.integers(0, 5, (3, 4)), rng.random((3, 6))
    weight, along = rng.random((3, 6)), rng.random((3, 6))
    bars = interpret(back, 3, 4, 6, k, a, weight)[1]
    dots = interpret(forward, 3, 4, 6, k, a, along)[1]
    assert abs(np.sum(bars * along) - np.sum(dots * weight)) < 1e-13


def rows_added_to(a, w):
    for k in range(a.shape[0]):
        a[k] += w[k]
        a[k] *= a[k]
    return np.sum(a)


def eliminated(a, w):
    for k in range(w.size):
        p = k + np.argmax(np.abs(a[k:, k]))
        row = a[k].copy()
        a[k] = a[p]
        a[p] = row
        for i in range(k + 1, w.size):
            m = a[i, k] / a[k, k]
            a[i, k:] -= m * a[k, k:]
    return np.sum(np.log(np.abs(np.diag(a))))


def eliminated_at_once(a, w):
    for k in range(w.size):
        p = k + np.argmax(np.abs(a[k:, k]))
        if p != k:
            row = a[k].copy()
            a[k] = a[p]
            a[p] = row
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= a[k + 1 :, k][:, None] * a[k, k + 1 :][None, :]
    return np.sum(np.log(np.abs(np.diag(a))))


# Elements that are overwritten, by the number of rows.
OVERWRITTEN = {
    rows_added_to: lambda n: 2 * n * n,
    eliminated: lambda n: n**3 / 3 + 2.5 * n * n,
    eliminated_at_once: lambda n: n**3 / 3 + 2.5 * n * n,
}


@pytest.mark.parametrize("f", OVERWRITTEN, ids=lambda f: f.__name__)
def test_what_is_overwritten_is_kept_and_no_more(f):
    for n in (20, 40):
        rng = np.random.default_rng(n)
        a, w = rng.normal(size=(n, n)), rng.normal(size=n)
        elements = tp.cost(tp.grad(f), a, w).peak_bytes / 8
        assert elements <= OVERWRITTEN[f](n) + 3 * n * n + 40 * n


def test_a_single_element_that_is_read_is_kept_alone():
    """Not all that is added to in each pass."""

    def f(a, w):
        s = 0.0
        for k in range(w.size):
            a += w[k] * a[0, 0]
            s += a[1, 1] ** 2
        return s

    a, w = np.ones((30, 30)), np.full(50, 0.01)
    assert tp.cost(tp.grad(f, argnums=(0, 1)), a, w).peak_bytes / 8 <= 4 * a.size + 10 * w.size


@pytest.mark.parametrize("f", [eliminated, eliminated_at_once])
def test_the_determinant_by_elimination(f):
    a = np.random.default_rng(1).normal(size=(6, 6))
    np.testing.assert_allclose(tp.grad(f)(a, a[0]), np.linalg.inv(a).T, rtol=1e-10)
