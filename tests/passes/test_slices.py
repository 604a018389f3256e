"""Passes that work on slices of their own: which loops are parallel, and what they compute."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as tp


def cholesky(a):
    """In place, each matrix by itself."""
    for b in range(a.shape[0]):
        for i in range(a.shape[1]):
            for j in range(i + 1):
                s = a[b, i, j]
                for k in range(j):
                    s -= a[b, i, k] * a[b, j, k]
                if i == j:
                    a[b, i, j] = np.sqrt(s)
                else:
                    a[b, i, j] = s / a[b, j, j]
    return a


def tridiagonal(low, diagonal, high, right):
    """Systems in columns; two scratch arrays that keep what every column has."""
    n, m = right.shape
    c, x = np.zeros((n, m)), np.zeros((n, m))
    for j in range(m):
        for i in range(n):
            below = diagonal[i] - (low[i] * c[i - 1, j] if i > 0 else 0.0)
            c[i, j] = high[i] / below
            x[i, j] = (right[i, j] - (low[i] * x[i - 1, j] if i > 0 else 0.0)) / below
        for i in range(n - 2, -1, -1):
            x[i, j] -= c[i, j] * x[i + 1, j]
    return x


def bubbles(x):
    """Every row sorted in place."""
    for r in range(x.shape[0]):
        for i in range(x.shape[1]):
            for j in range(x.shape[1] - 1 - i):
                if x[r, j] > x[r, j + 1]:
                    t = x[r, j]
                    x[r, j] = x[r, j + 1]
                    x[r, j + 1] = t
    return x


def next_rows(x):
    """A row that reads the row before, as it is now."""
    for r in range(1, x.shape[0]):
        for i in range(x.shape[1]):
            for j in range(x.shape[1]):
                x[r, i] = 0.5 * x[r, j] + 0.25 * x[r - 1, i]
    return x


def some_rows(x, which):
    """Rows at an index that is not the counter: the same one may come twice."""
    for k in range(which.size):
        r = which[k]
        for i in range(1, x.shape[1]):
            for j in range(i):
                x[r, i] = 0.5 * x[r, i] + x[r, j]
    return x


def same(f, *args):
    want = f(*(np.array(a) for a in args))
    np.testing.assert_allclose(tp.jit(f)(*(np.array(a) for a in args)), want, rtol=1e-12)


@pytest.mark.parametrize("n, m", [(0, 3), (1, 1), (3, 2), (21, 5), (2, 70)])
def test_slices_hold_what_they_would(n, m):
    rng = np.random.default_rng(n)
    a = rng.random((n, m, m))
    same(cholesky, a @ a.transpose(0, 2, 1) + m * np.eye(m))
    same(tridiagonal, rng.random(m), 3 + rng.random(m), rng.random(m), rng.random((m, n)))
    same(bubbles, rng.random((n, m)))
    same(next_rows, rng.random((n, m)))
    if n:
        same(some_rows, rng.random((n, m)), rng.integers(0, n, 9))


def test_a_slice_may_be_anywhere_in_memory():
    rng = np.random.default_rng(0)
    x = rng.random((7, 40))
    for view in (x.T, x[:, ::2], x[::-1]):
        got = view.copy()
        want = bubbles(got.copy())
        whole = np.zeros((*got.shape, 2))
        whole[..., 0] = got
        np.testing.assert_array_equal(tp.jit(bubbles)(whole[..., 0]), want)


def test_passes_that_keep_to_their_slice_are_parallel():
    text = tp.explain(cholesky, np.ones((20, 4, 4))).stages["loops"]
    assert "for simd b" in text
    text = tp.explain(tridiagonal, *[np.ones(4)] * 3, np.ones((4, 20))).stages["loops"]
    assert "for simd j" in text
    assert "each (r" not in tp.explain(next_rows, np.ones((20, 4))).stages["optimised"]
    args = np.ones((20, 4)), np.arange(5)
    assert "each (k <" not in tp.explain(some_rows, *args).stages["optimised"]


def test_slices_known_to_be_small_need_no_test():
    def solve(a: tp.f64["n", 3, 3]):  # noqa: F821, UP037
        return cholesky(a)

    text = tp.explain(solve, np.ones((20, 3, 3))).stages["optimised"]
    assert "small" not in text and "each (b" in text


def test_an_index_out_of_range_is_still_an_error():
    def runs_over(x):
        for r in range(x.shape[0]):
            for i in range(x.shape[1]):
                for j in range(2):
                    x[r, i + 1] = x[r, i] + x[r, j]
        return x

    with pytest.raises(IndexError):
        tp.jit(runs_over)(np.ones((9, 4)))


def test_iterations_called_independent_are():
    def each(a):
        for b in tp.each(a.shape[0]):
            for i in range(1, a.shape[1]):
                for j in range(i):
                    a[b, i] -= a[b, j] * a[b, i]
        return a

    same(each, np.random.default_rng(0).random((30, 5)))
