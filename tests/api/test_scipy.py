"""`tapeless.scipy`: SciPy's solvers find what is known, with derivatives that nobody wrote."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

import tapeless as tp
import tapeless.scipy

START = np.array([-1.2, 1.0, 1.5])


def rosenbrock(x, scale):
    total = 0.0
    for i in range(len(x) - 1):
        total += scale * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return total


@pytest.mark.parametrize(
    "method",
    [
        None, "BFGS", "CG", "L-BFGS-B", "TNC", "SLSQP", "Newton-CG", "trust-ncg", "trust-krylov",
        "trust-exact", "trust-constr", "Nelder-Mead", "Powell",
    ],
)  # fmt: skip
def test_every_method_gets_what_it_takes(method):
    found = tp.scipy.minimize(rosenbrock, START, (10.0,), method)
    assert found.success
    np.testing.assert_allclose(found.x, np.ones(3), atol=2e-3)


def test_the_derivatives_that_scipy_gets(monkeypatch):
    """Compared with those of SciPy's own Rosenbrock function."""
    seen = {}

    def look(target, start, args, method, **options):
        seen.update(options, target=target, start=start)
        return optimize.OptimizeResult(x=start)

    monkeypatch.setattr(tapeless.scipy.optimize, "minimize", look)
    for method in ("newton-cg", "dogleg"):
        tp.scipy.minimize(rosenbrock, [-1.2, 1, 1.5], (100.0,), method)
    value, gradient = seen["target"](START, 100.0)
    assert value == pytest.approx(optimize.rosen(START), rel=1e-14)
    np.testing.assert_allclose(gradient, optimize.rosen_der(START), rtol=1e-13)
    np.testing.assert_allclose(seen["hess"](START, 100.0), optimize.rosen_hess(START), rtol=1e-13)
    v = np.array([0.3, -1.0, 2.0])
    product = seen["hessp"](START, v, 100.0)
    np.testing.assert_allclose(product, optimize.rosen_hess_prod(START, v), rtol=1e-13)
    assert seen["jac"] is True and seen["start"].tolist() == [-1.2, 1.0, 1.5]


def bowl(p):
    return (p["a"] - 3.0) ** 2 + p["n"] * np.sum((p["b"] - np.arange(4.0).reshape(2, 2)) ** 2)


@pytest.mark.parametrize("method", ["BFGS", "Newton-CG", "trust-exact", "Nelder-Mead"])
def test_trees(method):
    start = {"a": 1.0, "b": np.full((2, 2), 0.5), "n": 2, "name": "bowl"}
    found = tp.scipy.minimize(bowl, start, method=method, tol=1e-10).x
    assert isinstance(found["a"], float) and (found["n"], found["name"]) == (2, "bowl")
    assert found["a"] == pytest.approx(3.0, abs=1e-4)
    np.testing.assert_allclose(found["b"], np.arange(4.0).reshape(2, 2), atol=1e-4)
    np.testing.assert_array_equal(start["b"], np.full((2, 2), 0.5))


@pytest.mark.parametrize("start", [0.5, 1, np.array(0.5), np.float32(0.5), (0.5,), [1]])
def test_one_unknown(start):
    def f(x):
        return np.sum((x - 3.0) ** 2)

    assert np.ravel(tp.scipy.minimize(f, start).x) == pytest.approx([3.0], abs=1e-3)


CONSTRAINTS = [  # all give the projection of (1, 2.5) on x + y ≤ 2
    {"type": "ineq", "fun": lambda x: 2.0 - x[0] - x[1]},
    [{"type": "ineq", "fun": lambda x, most: most - x[0] - x[1], "args": (2.0,)}],
    optimize.NonlinearConstraint(lambda x: x[0] + x[1], -np.inf, 2.0),
    optimize.LinearConstraint([[1.0, 1.0]], -np.inf, 2.0),
]


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=["dict", "list", "nonlinear", "linear"])
@pytest.mark.parametrize("method", ["SLSQP", "trust-constr"])
def test_constraints(method, constraint):
    def far(x):
        return (x[0] - 1.0) ** 2 + (x[1] - 2.5) ** 2

    found = tp.scipy.minimize(far, np.zeros(2), method=method, constraints=constraint)
    np.testing.assert_allclose(found.x, [0.25, 1.75], atol=1e-3)


T = np.linspace(0.0, 3.0, 20)
Y = 2.0 * np.exp(-1.3 * T) + 0.5


def misfit(p, t, y):
    return {"low": (p["s"] * np.exp(-p["r"] * t) + p["c"] - y)[:7],
            "high": (p["s"] * np.exp(-p["r"] * t) + p["c"] - y)[7:].reshape(-1, 1)}  # fmt: skip


@pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
def test_least_squares(method):
    start = {"s": 1.0, "r": 1.0, "c": np.zeros(1)}
    found = tp.scipy.least_squares(misfit, start, args=(T, Y), method=method)
    assert found.x["s"] == pytest.approx(2.0)
    assert found.x["r"] == pytest.approx(1.3)
    np.testing.assert_allclose(found.x["c"], [0.5], rtol=1e-6)
    assert found.jac.shape == (20, 3)
    exact = np.c_[np.exp(-1.3 * T), -2.0 * T * np.exp(-1.3 * T), np.ones(20)]
    np.testing.assert_allclose(found.jac, exact, atol=1e-6)


def test_least_squares_by_keywords():
    found = tp.scipy.least_squares(lambda x, scale=1.0: scale * x - 6.0, 1.0, kwargs={"scale": 2.0})
    assert found.x == pytest.approx(3.0)


def crossing(v):
    x, y = v
    return {"circle": x * x + y * y - 2.0, "line": x - y}


@pytest.mark.parametrize("method", ["hybr", "lm", "broyden1", "krylov"])
def test_root(method):
    found = tp.scipy.root(crossing, (1.5, 0.7), method=method)
    np.testing.assert_allclose(found.x, [1.0, 1.0], atol=1e-5)


def test_what_is_refused():
    with pytest.raises(TypeError, match=r"rosenbrock: jac is not needed(.|\n)*Remedy"):
        tp.scipy.minimize(rosenbrock, START, (10.0,), jac="2-point")
    with pytest.raises(tp.errors.CompileError, match="a gradient needs one real number"):
        tp.scipy.minimize(lambda x: x * 2, START)
