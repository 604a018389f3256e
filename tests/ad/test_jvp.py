"""`jvp`: a value and its derivative along a direction."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as tp
from tests.ad.truth import slope

X = np.array([0.5, 1.0, 2.0])
V = np.array([1.0, -2.0, 0.5])


def swirl(x, k):
    y = np.cumsum(x) * k
    return {"y": np.sin(y), "last": y[-1], "n": x.size}


def test_against_differences():
    out, dot = tp.jvp(swirl, (X, 3.0), (V, -1.0))
    plain = swirl(X, 3.0)
    np.testing.assert_allclose(out["y"], plain["y"], rtol=1e-15)
    assert out["n"] == 3
    for name in ("y", "last"):
        expected = slope(lambda t, name=name: swirl(X + t * V, 3.0 - t)[name])
        np.testing.assert_allclose(dot[name], expected, rtol=1e-9)
    assert dot["n"] is None


def test_none_is_zero():
    assert tp.jvp(lambda x, y: x * y, (2.0, 3.0), (1.0, None)) == (6.0, 3.0)
    assert tp.jvp(lambda x, n: x**n, (2.0, 3), (1.0, None)) == (8.0, 12.0)
    out, dot = tp.jvp(lambda p: p["a"] * p["b"], ({"a": 2.0, "b": 3.0},), ({"a": None, "b": 1.0},))
    assert (out, dot) == (6.0, 2.0)


def test_every_order():
    """Of xᵉ at 1, the derivatives along 1 are e, e·(e − 1), …"""

    def along(f):
        return lambda x: tp.jvp(f, (x,), (1.0,))[1]

    f = along(along(along(lambda x: x**5)))
    assert f(1.0) == 60.0
    assert tp.grad(f)(1.0) == 120.0


def test_perturbations_are_not_confused():
    """d/dx (x · d/dy (x·y)) = 2x."""

    def f(x):
        return x * tp.jvp(lambda y: x * y, (1.0,), (1.0,))[1]

    assert tp.jvp(f, (3.0,), (1.0,)) == (9.0, 6.0)


def test_complex():
    z, dz = 1.0 + 2.0j, 0.5 - 1.0j
    out, dot = tp.jvp(lambda z: z * z, (z,), (dz,))
    assert (out, dot) == (z * z, 2 * z * dz)


def test_agrees_with_reverse_mode():
    """⟨Jv, w⟩ = ⟨v, Jᵀw⟩."""

    def f(x):
        out = np.empty(x.size)
        total = 1.0
        for i in range(x.size):
            total = total * x[i] + np.exp(-x[i])
            out[i] = total / (1.0 + x[i] ** 2)
        return out

    w = np.array([0.3, 1.0, -0.7])
    _, dot = tp.jvp(f, (X,), (V,))
    _, pullback = tp.vjp(f, X)
    assert dot @ w == pytest.approx(V @ pullback(w)[0], rel=1e-13)


def test_the_caller_keeps_its_arrays():
    def f(u):
        u[0] = u[1] * u[2]
        return u

    u = X.copy()
    out, dot = tp.jvp(f, (u,), (V,))
    np.testing.assert_array_equal(u, X)
    np.testing.assert_array_equal(out, [2.0, 1.0, 2.0])
    np.testing.assert_array_equal(dot, [-2.0 * 2.0 + 0.5, -2.0, 0.5])


def test_inside_compiled_code():
    @tp.jit
    def both(x, v):
        return [tp.jvp(lambda a: a * a, (x[i],), (v[i],))[1] for i in range(x.size)]

    np.testing.assert_array_equal(both(X, V), 2 * X * V)


@pytest.mark.parametrize("x", [3.0, np.array(3.0), np.array(3.0, np.float32), np.array(3.0 + 1.0j)])
@pytest.mark.parametrize("of", [lambda v: v * v, lambda v: np.ones(2) * v * v])
def test_arrays_without_axes(x, of):
    dtype = np.asarray(x).dtype
    for step in (np.asarray(2.0, dtype), dtype.type(2.0), 2.0):
        _, slope = tp.jvp(of, (x,), (step,))
        np.testing.assert_allclose(slope, 4.0 * of(np.ones(()))[()] * x)
        _, push = tp.linearize(of, x)
        np.testing.assert_allclose(push(step), slope)
    value, pull = tp.vjp(of, x)
    np.testing.assert_allclose(pull(np.ones_like(value))[0], 2.0 * np.conj(x) * np.size(value))


def test_a_pair_whose_second_part_varies_by_its_first():
    """Third derivatives of a product: tangents of tangents start as constants, then vary."""

    def third(x):
        row = tp.hessian(lambda y: np.sum(np.sin(y)) * np.prod(y))(x)[0]
        return row

    x, h = np.array([0.7, 0.4, 1.1]), 1e-5
    got = tp.jacfwd(third)(x)
    steps = h * np.eye(3)
    expected = np.stack([(third(x + s) - third(x - s)) / (2 * h) for s in steps], axis=1)
    np.testing.assert_allclose(got, expected, atol=1e-8)
