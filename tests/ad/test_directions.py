"""Jacobians by few numbers: one program, every value once, a tangent only where there is one."""

from typing import NamedTuple

import numpy as np
import pytest

import tapeless as tp

BOTH = pytest.mark.parametrize("jacobian", [tp.jacfwd, tp.jacrev, tp.jacobian])
Three = tp.f64[3]


def turn(a, x):
    """Rodrigues' formula, with the branch for small angles."""
    square = np.sum(a * a)
    if square == 0.0:
        return x + np.cross(a, x)
    t = np.sqrt(square)
    w = a / t
    return x * np.cos(t) + np.cross(w, x) * np.sin(t) + w * (np.dot(w, x) * (1.0 - np.cos(t)))


def differences(f, x, h=1e-6):
    steps = h * np.eye(len(x))
    return np.stack([(f(x + s) - f(x - s)) / (2 * h) for s in steps], axis=-1)


@BOTH
def test_by_two_arguments_in_any_order(jacobian):
    @tp.jit
    def both(a: Three, x: Three):
        return jacobian(turn, (1, 0))(a, x)

    a, x = np.array([0.3, -0.2, 0.9]), np.array([1.0, 2.0, -0.5])
    by_x, by_a = both(a, x)
    np.testing.assert_allclose(by_x, differences(lambda v: turn(a, v), x), atol=1e-8)
    np.testing.assert_allclose(by_a, differences(lambda v: turn(v, x), a), atol=1e-8)


@BOTH
def test_the_other_side_of_a_branch_does_not_count(jacobian):
    @tp.jit
    def at(a: Three, x: Three):
        return jacobian(turn)(a, x)

    x = np.array([1.0, 2.0, -0.5])
    expected = [[0.0, -0.5, -2.0], [0.5, 0.0, 1.0], [2.0, -1.0, 0.0]]
    np.testing.assert_array_equal(at(np.zeros(3), x), expected)


@BOTH
def test_inside_a_loop_over_many(jacobian):
    @tp.jit
    def each(a: tp.f64["n", 3], x: tp.f64["n", 3]):  # noqa: F821
        out = np.empty((len(a), 3, 3))
        for i in range(len(a)):
            out[i] = jacobian(turn)(a[i], x[i])
        return out

    rng = np.random.default_rng(4)
    a, x = rng.standard_normal((2, 19, 3))
    for k, got in enumerate(each(a, x)):
        np.testing.assert_allclose(got, differences(lambda v, k=k: turn(v, x[k]), a[k]), atol=1e-7)


@BOTH
def test_the_function_is_computed_once(jacobian):
    """Not once per direction: nine exponentials would be counted, and three are enough."""

    @tp.jit
    def f(x: Three):
        return np.exp(x) * x[0]

    @tp.jit
    def j(x: Three):
        return jacobian(f)(x)

    x = np.array([1.0, 2.0, 3.0])
    core = tp.explain(j, x).stages["optimised"]
    assert core.count("exp(") == 3
    expected = np.diag(np.exp(x)) * x[0]
    expected[:, 0] += np.exp(x)
    np.testing.assert_allclose(j(x), expected, rtol=1e-14)


@BOTH
def test_what_does_not_depend_is_zero_even_beside_infinity(jacobian):
    @tp.jit
    def j(x: tp.f64[2]):
        return jacobian(lambda x: np.array([x[0] / x[1], x[1]]))(x)

    with np.errstate(all="ignore"):
        got = j(np.array([1.0, 0.0]))
    np.testing.assert_array_equal(got[1], [0.0, 1.0])


def test_many_results_by_few_numbers():
    """Residuals of a fit: a column per parameter, in one pass over the data."""

    def decay(p, t):
        return p[0] * np.exp(-p[1] * t) + p[2]

    @tp.jit
    def j(p: Three, t):
        return tp.jacfwd(decay)(p, t)

    p, t = np.array([2.0, 0.7, 0.1]), np.linspace(0.0, 3.0, 50)
    e = np.exp(-p[1] * t)
    np.testing.assert_allclose(j(p, t), np.stack([e, -p[0] * t * e, np.ones(50)], 1), rtol=1e-13)
    count = [tp.cost(j, p, np.linspace(0.0, 3.0, n)).flops for n in (100, 200)]
    own = [tp.cost(decay, p, np.linspace(0.0, 3.0, n)).flops for n in (100, 200)]
    assert count[1] - count[0] <= 2.5 * (own[1] - own[0])


@BOTH
def test_through_loops_that_write(jacobian):
    def fibonacci(x):
        a = np.zeros(8)
        a[0], a[1] = x[0], x[1]
        for k in range(2, 8):
            a[k] = a[k - 1] * x[2] + a[k - 2]
        return a[6:]

    @tp.jit
    def j(x: Three):
        return jacobian(fibonacci)(x)

    x = np.array([1.0, 0.5, 0.9])
    np.testing.assert_allclose(j(x), differences(fibonacci, x), atol=1e-7)


class Pose(NamedTuple):
    at: np.ndarray
    angle: float


@BOTH
def test_trees(jacobian):
    def seen(pose, p):
        c, s = np.cos(pose.angle), np.sin(pose.angle)
        d = p - pose.at
        return {"x": c * d[0] + s * d[1], "y": np.array([c * d[1] - s * d[0], d[0]])}

    @tp.jit
    def j(pose, p: tp.f64[2]):
        return jacobian(seen)(Pose(p * 0.5, pose), p)

    got = j(0.25, np.array([2.0, 4.0]))
    c, s = np.cos(0.25), np.sin(0.25)
    np.testing.assert_allclose(got["x"].at, [-c, -s])
    np.testing.assert_allclose(got["x"].angle, -s * 1.0 + c * 2.0)
    np.testing.assert_allclose(got["y"].at, [[s, -c], [-1.0, 0.0]])
    np.testing.assert_allclose(got["y"].angle, [-s * 2.0 - c * 1.0, 0.0])


def test_second_order_and_perturbations_apart():
    """∂/∂x of x·(∂/∂y of (x + y)): the inner direction is not the outer one."""

    @tp.jit
    def mixed(x: tp.f64[2]):
        def outer(x):
            inner = tp.jacfwd(lambda y: np.array([x[0] * y[0] + y[1], x[1] * y[0]]))(x)
            return np.array([inner[0, 0] * x[1], inner[1, 0] * x[0]])

        return tp.jacfwd(outer)(x)

    np.testing.assert_array_equal(mixed(np.array([2.0, 3.0])), [[3.0, 2.0], [3.0, 2.0]])


def test_hessian_of_few_numbers_runs_once():
    def f(x):
        return np.exp(x[0] * x[1]) + x[2] ** 3

    @tp.jit
    def h(x: Three):
        return tp.hessian(f)(x)

    x = np.array([0.5, 2.0, 3.0])
    e = np.exp(1.0)
    expected = [[4 * e, 2 * e, 0], [2 * e, 0.25 * e, 0], [0, 0, 18.0]]
    np.testing.assert_allclose(h(x), expected, rtol=1e-14)
    assert tp.explain(h, x).stages["optimised"].count("exp(") == 1


@pytest.mark.parametrize("operator", [tp.jacfwd, tp.jacrev, tp.jacobian])
@pytest.mark.parametrize("z", [1.0 + 2.0j, np.array([1.0 + 2.0j, 0.5])])
def test_complex_by_complex_has_no_jacobian(operator, z):
    """∂/∂Re + i·∂/∂Im of z² would be 0."""
    with pytest.raises(tp.errors.CompileError, match="use jvp or vjp"):
        operator(lambda z: z * z)(z)


def test_hessian_by_a_complex_number_is_refused():
    with pytest.raises(tp.errors.CompileError, match="use jvp or vjp"):
        tp.hessian(lambda z: abs(z) ** 2)(1.0 + 2.0j)


@pytest.mark.parametrize("operator", [tp.jacfwd, tp.jacrev])
def test_real_by_complex_is_a_gradient(operator):
    z = np.array([1.0 + 2.0j, 0.5])
    np.testing.assert_allclose(operator(lambda z: np.abs(z) ** 2)(z), np.diag(2 * z))
