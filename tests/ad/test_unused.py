"""What a choice leaves unused has no part in the derivative, kept in an array or not."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as tp


def masked_root(x):
    t = np.sqrt(x)
    return np.sum(np.where(x > 0, t * t, 0.0)) + 0.0 * np.max(t)


def filled_in_a_loop(x):
    t = np.empty(x.size)
    for i in range(x.size):
        t[i] = np.log(x[i])
    t = np.sort(t)
    return np.sum(np.where(t > -1e300, t, 0.0))


def permuted_quotients(x):
    t = 1 / x
    k = np.argsort(x)
    t = t[k]
    s = 0.0
    for i in range(x.size):
        if x[k[i]] > 0:
            s += t[i]
    return s


def entropy(x):
    p = x * np.log(x)
    k = np.argsort(-p)
    return np.sum(np.where(x > 0, p, 0.0)) + np.sum(np.where(x[k] > 0, p[k], 1.0))


def power_of_what_is_masked(x):
    t = x**-0.5
    k = np.argsort(x)
    return np.sum([t[k[i]] if x[k[i]] > 0 else 0.0 for i in range(x.size)])


SLOPES = {
    masked_root: lambda x: 1.0,
    filled_in_a_loop: lambda x: 1 / x,
    permuted_quotients: lambda x: -1 / x**2,
    entropy: lambda x: 2 * (np.log(x) + 1),
    power_of_what_is_masked: lambda x: -0.5 * x**-1.5,
}
X = np.array([0.0, 1.0, 4.0])


@pytest.mark.parametrize("f", SLOPES, ids=lambda f: f.__name__)
def test_the_side_not_taken_has_no_part(f):
    truth = np.where(X > 0, SLOPES[f](np.where(X > 0, X, 1.0)), 0.0)
    np.testing.assert_allclose(tp.grad(f)(X), truth, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(tp.jacfwd(f)(X), truth, rtol=1e-14, atol=1e-14)
    assert np.isfinite(tp.hessian(f)(X)).all()


def test_a_zero_seed_still_has_a_derivative():
    """The cotangent of the root is 0 at x = 1, but not its tangent."""

    def f(x):
        t = np.sqrt(x)
        return np.sum(np.where(x > 0, (t - 1) ** 2, 0.0))

    np.testing.assert_array_equal(tp.grad(f)(np.array([1.0, 0.0])), [0.0, 0.0])
    np.testing.assert_allclose(tp.hessian(f)(np.array([1.0])), [[0.5]], rtol=1e-15)


def test_what_is_used_keeps_its_limit():
    np.testing.assert_array_equal(tp.grad(lambda x: np.sum(np.sqrt(x)))(X), [np.inf, 0.5, 0.25])
