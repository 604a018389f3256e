"""`check_grads` passes what is right and stops what is wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import tapeless as tp

X = np.array([0.5, 1.0, 2.0])


@dataclass
class Params:
    w: np.ndarray
    n: int


def wrong():
    @tp.custom_jvp
    def f(x):
        return np.sin(x)

    f.defjvp(lambda primals, tangents: (np.sin(primals[0]), tangents[0] * 1.001))
    return f


def test_right_derivatives_pass():
    tp.check_grads(lambda x: np.sum(np.exp(-x) * x), (X,))
    tp.check_grads(lambda p, d: {"y": p.w**p.n * d["c"]}, (Params(X, 3), {"c": 2.0}))
    tp.check_grads(lambda z: z * z * (1 + 2j), (X + 1j,), order=1)
    tp.check_grads(lambda x: x * x, (X.astype(np.float32),), order=1)


@pytest.mark.parametrize("modes", [("fwd",), ("rev",), ("fwd", "rev")])
def test_wrong_derivatives_do_not(modes):
    with pytest.raises(AssertionError, match="differs from differences"):
        tp.check_grads(wrong(), (X,), order=1, modes=modes)
    tp.check_grads(wrong(), (X,), order=1, modes=modes, rtol=0.9, atol=0.9)


def test_second_order_is_looked_at():
    @tp.custom_jvp
    def f(x):
        return x**3

    @f.defjvp
    def rule(primals, tangents):
        x = tp.stop_gradient(primals[0])
        return x**3, 3.0 * x**2 * tangents[0]

    tp.check_grads(f, (2.0,), order=1)
    with pytest.raises(AssertionError, match="of"):
        tp.check_grads(f, (2.0,), order=2)


def test_modes_have_names():
    with pytest.raises(ValueError, match="'fwd' and 'rev', not 'forward'"):
        tp.check_grads(np.sin, (1.0,), modes=("forward",))


def test_arguments_that_are_written_stay():
    x = X.copy()

    def f(u):
        u *= u[0]
        return np.sum(u)

    tp.check_grads(f, (x,), order=1)
    np.testing.assert_array_equal(x, X)
