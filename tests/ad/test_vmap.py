"""`vmap`: a function over an axis, against a loop in plain Python."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import tapeless as tp

A = np.arange(12.0).reshape(3, 4)
X = np.array([0.5, 1.0, 2.0])


def newton(c):
    x = 1.0
    while abs(x * x - c) > 1e-14 * c:
        x = 0.5 * (x + c / x)
    return x


def test_rows():
    np.testing.assert_array_equal(tp.vmap(lambda row: np.sum(row**2))(A), [np.sum(r**2) for r in A])
    np.testing.assert_array_equal(tp.vmap(np.cumsum)(A), np.cumsum(A, axis=1))


def test_branches_and_while_per_item():
    np.testing.assert_allclose(tp.vmap(newton)(X), np.sqrt(X), rtol=1e-14)


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_axes(axis):
    v = np.arange(A.shape[1 - axis % 2])
    found = tp.vmap(lambda row, v: row @ v, in_axes=(axis, None))(A, v)
    np.testing.assert_array_equal(found, (A.T if axis % 2 else A) @ v)


def test_axes_of_results():
    outer, total = tp.vmap(lambda a: (a * X, {"s": a}), out_axes=(1, 0))(A[0])
    np.testing.assert_array_equal(outer, np.outer(X, A[0]))
    np.testing.assert_array_equal(total["s"], A[0])


def scaled(a, by=2.0, mode="plain", *, plus=1):
    return a * by + plus


@pytest.mark.parametrize("axes", [0, (0,), (0, None), [0]])
def test_defaults_need_no_axis(axes):
    np.testing.assert_array_equal(tp.vmap(scaled, axes)(X), X * 2.0 + 1)


def test_what_has_a_default_may_be_mapped():
    np.testing.assert_array_equal(tp.vmap(scaled)(X, X), X * X + 1)
    np.testing.assert_array_equal(tp.vmap(scaled)(X, plus=X), X * 3)
    np.testing.assert_array_equal(tp.vmap(scaled, (0, None))(X, 3.0), X * 3.0 + 1)


def test_an_array_needs_an_axis_whether_or_not_there_is_a_default():
    with pytest.raises(tp.errors.CompileError, match=r"in_axes is \(0,\), which does not fit"):
        tp.vmap(scaled, (0,))(X, X)


class Pair(NamedTuple):
    x: np.ndarray
    k: float


def test_trees():
    def f(p, d):
        return Pair(p.x * p.k, d["n"] + 1)

    n = np.array([5, 6, 7])
    found = tp.vmap(f, in_axes=(Pair(0, None), 0))(Pair(A, 2.0), {"n": n})
    assert isinstance(found, Pair)
    np.testing.assert_array_equal(found.x, 2.0 * A)
    np.testing.assert_array_equal(found.k, n + 1)


def test_nested():
    table = tp.vmap(tp.vmap(lambda a, b: a * b, in_axes=(None, 0)), in_axes=(0, None))(X, A[0])
    np.testing.assert_array_equal(table, np.outer(X, A[0]))


def test_keywords_are_mapped_over_their_first_axis():
    np.testing.assert_array_equal(tp.vmap(lambda a, b: a - b)(X, b=2 * X), -X)


def test_of_a_derivative_and_the_derivative_of_it():
    each = tp.vmap(tp.grad(lambda a, c: c * a**3), in_axes=(0, None))
    np.testing.assert_allclose(each(X, 2.0), 6 * X**2)
    np.testing.assert_allclose(tp.grad(lambda x: np.sum(tp.vmap(lambda a: a**3)(x)))(X), 3 * X**2)
    c = np.array([0.5, 2.0, 9.0])
    np.testing.assert_allclose(tp.grad(lambda c: np.sum(tp.vmap(newton)(c)))(c), 0.5 / np.sqrt(c))


def test_nothing_to_map_over():
    np.testing.assert_array_equal(tp.vmap(lambda a: a + 1.0)(np.zeros(0)), np.zeros(0))


def test_inside_compiled_code():
    np.testing.assert_array_equal(tp.jit(lambda a: tp.vmap(np.sum)(a) + 1.0)(A), A.sum(1) + 1)


@pytest.mark.parametrize(
    ("f", "axes", "args", "message"),
    [
        (lambda a: a, 2, (X,), "in_axes: an array of f64 and rank 1 has no axis 2"),
        (lambda a, b: a * b, 0, (X, 2.0), "in_axes: a Python float has no axis 0"),
        (lambda a: a, None, (X,), "every axis is None"),
        (lambda a, b: a, (0,), (X, X), "in_axes is .0,., which does not fit a tuple of 2"),
    ],
)
def test_errors(f, axes, args, message):
    with pytest.raises(tp.errors.CompileError, match=message):
        tp.vmap(f, in_axes=axes)(*args)


def test_sizes_must_agree():
    with pytest.raises(ValueError, match="the mapped axes differ"):
        tp.vmap(lambda a, b: a * b)(X, np.ones(4))
