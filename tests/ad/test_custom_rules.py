"""`custom_vjp`, `custom_jvp` and `stop_gradient`: derivatives that the user gives.

The rules are wrong on purpose, by a factor, so that it shows whether they are used."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as tp

X = np.array([0.5, 1.0, 2.0])


@tp.custom_vjp
def logs(x):
    return np.log(x)


logs.defvjp(lambda x: (np.log(x), x), lambda x, ct: (10.0 * ct / x,))


@tp.custom_jvp
def power(x, n):
    return x**n


@power.defjvp
def power_rule(primals, tangents):
    x, n = primals
    return x**n, 10.0 * n * x ** (n - 1) * tangents[0]


def test_values_are_those_of_the_function():
    np.testing.assert_array_equal(logs(X), np.log(X))
    np.testing.assert_array_equal(tp.jit(lambda x: logs(x) + power(x, 2))(X), np.log(X) + X**2)
    assert logs.__name__ == "logs"


def test_reverse_mode_uses_the_rule():
    np.testing.assert_allclose(tp.grad(lambda x: np.sum(logs(x)))(X), 10.0 / X)
    assert tp.grad(logs)(4.0) == 2.5
    np.testing.assert_allclose(tp.vjp(logs, X)[1](np.ones(3))[0], 10.0 / X)
    np.testing.assert_allclose(tp.jacrev(logs)(X), np.diag(10.0 / X))


def test_inside_loops_branches_and_maps():
    def f(x):
        total = 0.0
        for i in range(x.size):
            total += logs(x[i]) * x[i] if x[i] < 1.5 else power(x[i], 2)
        return total

    def g(x):
        return sum(logs(v) * v if v < 1.5 else power(v, 2) for v in x)

    expected = np.where(X < 1.5, np.log(X) + 10.0, 20.0 * X)
    np.testing.assert_allclose(tp.grad(f)(X), expected)
    np.testing.assert_allclose(tp.grad(g)(X), expected)


def test_a_rule_for_tangents_serves_both_modes():
    out, dot = tp.jvp(lambda x: power(x, 3), (X,), (np.ones(3),))
    np.testing.assert_allclose(out, X**3)
    np.testing.assert_allclose(dot, 30.0 * X**2)
    np.testing.assert_allclose(tp.grad(lambda x: np.sum(power(x, 3)))(X), 30.0 * X**2)
    assert tp.grad(power)(2.0, 3) == 120.0


def test_second_order_differentiates_the_rule():
    np.testing.assert_allclose(
        tp.jacrev(tp.grad(lambda x: np.sum(logs(x))))(X), np.diag(-10.0 / X**2)
    )
    np.testing.assert_allclose(tp.hessian(lambda x: np.sum(power(x, 3)))(X), np.diag(60.0 * X))


def test_forward_mode_of_a_rule_for_reverse_mode_is_an_error():
    with pytest.raises(tp.errors.CompileError, match="logs has a rule for reverse mode only"):
        tp.jvp(lambda x: 2.0 * logs(x), (X,), (X,))
    np.testing.assert_array_equal(  # no tangent goes through it here
        tp.jvp(lambda x, y: logs(x) * y, (X, X), (None, X))[1], np.log(X) * X
    )


def test_trees_and_none():
    @tp.custom_vjp
    def f(p, k):
        return {"u": p["a"] * k, "n": 2}

    def bwd(res, ct):
        return {"a": ct["u"] * 7.0, "b": None}, None

    f.defvjp(lambda p, k: ({"u": p["a"] * k, "n": 2}, (k, p["a"])), bwd)
    p, k = tp.grad(lambda p, k: np.sum(f(p, k)["u"]), argnums=(0, 1))({"a": X, "b": 1.0}, 3.0)
    np.testing.assert_array_equal(p["a"], 7.0 * np.ones(3))
    assert (p["b"], k) == (0.0, 0.0)


def test_implicit_differentiation():
    """The rule of a solver: x(a) with x² = a has x' = 1/(2x), whatever the iteration."""

    @tp.custom_jvp
    def root(a):
        x = 1.0
        for _ in range(30):
            x = 0.5 * (x + a / x)
        return x

    @root.defjvp
    def rule(primals, tangents):
        x = root(primals[0])
        return x, tangents[0] / (2.0 * x)

    assert tp.grad(root)(4.0) == pytest.approx(0.25)
    assert tp.grad(tp.grad(root))(4.0) == pytest.approx(-0.25 * 4.0**-1.5)


def test_what_a_rule_says_nothing_about_is_an_error():
    @tp.custom_vjp
    def apply(f, x):
        return f(x)

    apply.defvjp(lambda f, x: (f(x), None), lambda r, ct: (None, ct))
    assert tp.grad(lambda x: apply(lambda v: v * 2.0, x))(3.0) == 1.0
    with pytest.raises(tp.errors.CompileError, match="the rule of apply says nothing about 'w'"):
        tp.grad(lambda w, x: apply(lambda v: v * w, x))(2.0, 3.0)


def test_rules_that_do_not_fit():
    def make(fwd, bwd):
        f = tp.custom_vjp(lambda x: x * 2.0)
        f.defvjp(fwd, bwd)
        return tp.grad(lambda x: np.sum(f(x)))

    for fwd, bwd, message in (
        (lambda x: x, lambda r, ct: (ct,), "it has to give .result, residuals."),
        (lambda x: (x, x), lambda r, ct: ct, "it has to give a tuple of 1"),
        (lambda x: (x, x), lambda r, ct: (ct, ct), "it has to give a tuple of 1"),
        (lambda x: (x, x), lambda r, ct: (1.0,), "the cotangent of argument 0 of"),
    ):
        with pytest.raises(tp.errors.CompileError, match=message):
            make(fwd, bwd)(X)
    nothing = tp.custom_vjp(lambda x: x * 2.0)
    with pytest.raises(tp.errors.CompileError, match="has no rule to differentiate it by"):
        tp.grad(nothing)(1.0)


def test_stop_gradient():
    np.testing.assert_array_equal(tp.grad(lambda x: np.sum(x * tp.stop_gradient(x) ** 2))(X), X**2)
    assert tp.jvp(lambda x: x * tp.stop_gradient(x), (3.0,), (1.0,)) == (9.0, 3.0)
    assert tp.grad(lambda p: p["a"] * tp.stop_gradient(p)["b"])({"a": 2.0, "b": 3.0}) == {
        "a": 3.0, "b": 0.0
    }  # fmt: skip
    assert tp.grad(tp.grad(lambda x: x**2 * tp.stop_gradient(x)))(3.0) == 6.0
    assert tp.stop_gradient(2.0) == 2.0
    again = tp.stop_gradient(X)
    assert again is not X
    np.testing.assert_array_equal(again, X)
