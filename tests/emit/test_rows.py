"""Cells side by side that a lane stores go to memory at once."""

import numpy as np
import pytest

import tapeless as tp


def powers(count):
    """A function that gives rows of `count` cells."""

    @tp.jit
    def rows(x):
        return np.array([[(x[i] + x[i]) * k for k in range(count)] for i in range(len(x))])

    return rows


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u1"])
@pytest.mark.parametrize("count", [2, 3, 5, 8, 11, 15])
def test_rows_of_any_length(count, dtype):
    rows = powers(count)
    for size in (1, 7, 8, 37, 64):
        x = np.arange(size).astype(dtype)
        got = rows(x)
        expected = (x + x)[:, None] * np.arange(count).astype(dtype)
        np.testing.assert_array_equal(got, expected)


def test_backwards_strided_and_transposed():
    @tp.jit
    def write(x, y):
        for i in range(len(x)):
            y[i, 2], y[i, 0], y[i, 1], y[i, 3] = x[i], 2.0 * x[i], 3.0 * x[i], -x[i]
        return y

    x = np.arange(21.0)
    expected = np.stack([2 * x, 3 * x, x, -x], axis=1)
    flat, wide = np.zeros((21, 4)), np.zeros((42, 8))
    for y in (flat, flat[::-1], np.zeros((4, 21)).T, wide[::2, ::2]):
        write(x, y)
        np.testing.assert_array_equal(y, expected)


def test_under_a_condition():
    @tp.jit
    def write(x):
        y = np.zeros((len(x), 3))
        for i in range(len(x)):
            if x[i] > 0.0:
                y[i, 0], y[i, 1], y[i, 2] = x[i], x[i] ** 2, np.sqrt(x[i])
        return y

    x = np.cos(np.arange(50.0))
    p = np.maximum(x, 0.0)
    np.testing.assert_allclose(write(x), np.stack([p, p**2, np.sqrt(p)], axis=1), rtol=1e-15)


def test_where_a_row_goes_follows_data():
    @tp.jit
    def write(x, at: tp.i64["n"]):  # noqa: F821
        y = np.zeros((len(x), 4))
        for i in tp.each(len(x)):
            for k in range(4):
                y[at[i], k] = x[i] + k
        return y

    x, at = np.arange(40.0), np.random.default_rng(1).permutation(40)
    expected = np.zeros((40, 4))
    expected[at] = x[:, None] + np.arange(4.0)
    np.testing.assert_array_equal(write(x, at), expected)


def test_stores_that_may_meet_keep_their_order():
    @tp.jit
    def last(x, j):
        y = np.zeros((len(x), 6))
        for i in range(len(x)):
            h = np.zeros(6)
            h[0], h[1], h[2] = x[i], 1.0, 2.0
            h[j], h[j + 1], h[j + 2] = 5.0, 6.0, x[i]
            h[1] = 7.0
            y[i] = h
        return y

    x = np.arange(20.0)
    for j in range(4):
        np.testing.assert_array_equal(last(x, j), last.python(x, j))


def test_no_scatter_is_left():
    @tp.jit
    def rows(x):
        return np.array([[x[i], np.sin(x[i]), x[i] ** 2, 1.0] for i in range(len(x))])

    x = np.linspace(0.0, 3.0, 29)
    np.testing.assert_allclose(rows(x), np.stack([x, np.sin(x), x**2, x**0], axis=1), rtol=1e-15)
    text = tp.explain(rows, x).stages["llvm"]
    assert "call void @llvm.masked.store" in text
    assert "call void @llvm.masked.scatter" not in text


def test_cells_with_gaps_are_no_row():
    @tp.jit
    def write(x, y):
        for i in range(len(x)):
            s = np.sin(x[i])
            y[i, 0], y[i, 1], y[i, 2] = s, s + 1.0, s + 2.0

    x = np.arange(19.0)
    wide, tall = np.zeros((19, 9)), np.zeros((3, 19))
    expected = np.sin(x)[:, None] + np.arange(3.0)
    write(x, wide[:, ::3])
    write(x, tall.T)
    np.testing.assert_allclose(wide[:, ::3], expected, rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(tall.T, expected, rtol=1e-14, atol=1e-15)
    assert not wide[:, 1::3].any()
