"""Derivatives of reductions by operators that read values: minima, maxima, selections, products."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

import tapeless as tp
from tapeless.ad.vjp import vjp
from tapeless.ir.interp import interpret
from tapeless.ir.parse import parse
from tapeless.ir.syntax import Loop, Prim
from tapeless.ir.verify import verify
from tapeless.ir.walk import statements
from tapeless.pipeline import optimise


def test_a_maximum_goes_to_the_first_of_equals():
    x = np.array([1.0, 3.0, -2.0, 3.0])
    np.testing.assert_array_equal(tp.grad(lambda x: 2 * np.max(x))(x), [0, 2, 0, 0])
    np.testing.assert_array_equal(tp.grad(lambda x: 2 * np.min(-x))(x), [0, -2, 0, 0])
    np.testing.assert_array_equal(tp.grad(lambda x: np.max(np.abs(x - 1)))(x), [0, 0, -1, 0])


def test_a_maximum_that_is_not_a_number_comes_from_the_first_nan():
    x = np.array([1.0, np.nan, 5.0, np.nan])
    np.testing.assert_array_equal(tp.grad(np.max)(x), [0, 1, 0, 0])
    np.testing.assert_array_equal(tp.grad(lambda x: np.max(x + 1))(x), [0, 1, 0, 0])


def test_infinite_elements_are_elements():
    x = np.array([-np.inf, -np.inf])
    np.testing.assert_array_equal(tp.grad(np.max)(x), [1, 0])
    np.testing.assert_array_equal(tp.grad(lambda x: np.max(2 * x))(x), [2, 0])


def test_a_running_maximum_may_keep_where_it_starts():
    def f(start, x):
        top = start
        for i in range(x.size):
            top = np.maximum(top, x[i] ** 2)
        return 3 * top

    by_start, by_x = tp.grad(f, argnums=(0, 1))(9.0, np.array([1.0, -3.0, 2.0]))
    assert by_start == 3.0
    np.testing.assert_array_equal(by_x, [0, 0, 0])
    by_start, by_x = tp.grad(f, argnums=(0, 1))(8.0, np.array([1.0, -3.0, 2.0]))
    assert by_start == 0.0
    np.testing.assert_array_equal(by_x, [0, -18, 0])


@pytest.mark.parametrize("axis", [0, 1])
def test_maxima_of_rows_and_columns(axis):
    a = np.array([[1.0, 5.0, 5.0], [4.0, 2.0, 0.0], [4.0, 7.0, 5.0]])
    weight = np.array([1.0, 10.0, 100.0])

    def f(a):
        return np.sum(weight * np.max(a, axis=axis))

    truth = np.zeros((3, 3))
    for k, at in enumerate(np.argmax(a, axis=axis)):
        truth[(at, k) if axis == 0 else (k, at)] = weight[k]
    np.testing.assert_array_equal(tp.grad(f)(a), truth)


@pytest.mark.parametrize("zeros", [0, 1, 2])
def test_a_product_with_zeros(zeros):
    x = np.array([2.0, -3.0, 5.0, 0.5])
    x[:zeros] = 0.0
    truth = [np.prod(np.delete(x, k)) for k in range(4)]
    np.testing.assert_allclose(tp.grad(np.prod)(x), truth, rtol=1e-15)
    np.testing.assert_allclose(
        tp.grad(lambda a: np.sum(np.prod(a, axis=0)))(x[:, None] * [1, 1]),
        np.array(truth)[:, None] * [1, 1], rtol=1e-15,
    )  # fmt: skip


def test_second_order_of_a_product_with_a_zero():
    x = np.array([2.0, 0.0, 5.0])
    truth = [[0, 5, 0], [5, 0, 2], [0, 2, 0]]
    np.testing.assert_array_equal(tp.hessian(np.prod)(x), truth)


CELLS = """
fun cells(n: i64, x: f64[n], y: f64[3]) {
  z: f64[3] = each (i < n) with (a: f64[3] OP= y) {
    k: i64 = mod(i, 3)
    v: f64 = x[i]
    w: f64 = VALUE
    put a[k] <- w
    return
  }
  return z
}
"""


@pytest.mark.parametrize("value", ["v * v", "v * 1.0"])
@pytest.mark.parametrize("op", ["max", "min", "*"])
def test_cells_that_several_passes_combine_into(op, value):
    fun = parse(CELLS.replace("OP", op).replace("VALUE", value))
    x, y = np.array([1.0, -2.0, 3.0, 1.0, 0.0, 4.0, -1.5]), np.array([0.0, 2.0, 9.0])
    seed = np.array([1.0, 10.0, 100.0])

    def at(x, y):
        return float(seed @ interpret(fun, x.size, x, y)[0])

    program = vjp(fun, [1, 2])
    for p in (program, optimise(program, verify=True)):
        verify(p)
        _, by_x, by_y = interpret(p, x.size, x, y, seed)
        for k in range(x.size):
            up, down = x.copy(), x.copy()
            up[k], down[k] = up[k] + 1e-6, down[k] - 1e-6
            slopes = sorted([(at(up, y) - at(x, y)) / 1e-6, (at(x, y) - at(down, y)) / 1e-6])
            assert slopes[0] - 1e-3 <= by_x[k] <= slopes[1] + 1e-3
        for k in range(3):
            up, down = y.copy(), y.copy()
            up[k], down[k] = up[k] + 1e-6, down[k] - 1e-6
            slopes = sorted([(at(x, up) - at(x, y)) / 1e-6, (at(x, y) - at(x, down)) / 1e-6])
            assert slopes[0] - 1e-3 <= by_y[k] <= slopes[1] + 1e-3


SELECTS = """
fun farthest(n: i64, x: f64[n], y: f64[n]) {
  p: f64, q: f64 = fold i < n by op (a: f64, b: f64) (c: f64, d: f64) neutral (-inf, 0.0) {
    less: bool = a < c
    e: f64 = select(less, c, a)
    f: f64 = select(less, d, b)
    return e, f
  } of {
    v: f64 = x[i]
    s: f64 = v * v
    w: f64 = y[i]
    return s, w
  }
  return p, q
}
"""


def test_a_fold_that_selects_stays_parallel():
    program = vjp(parse(SELECTS), [1, 2])
    verify(program)
    assert not any(isinstance(s.exp, Loop) for s in statements(program.body))
    x, y = np.array([1.0, -4.0, 4.0, 2.0]), np.array([5.0, 6.0, 7.0, 8.0])
    p, q, by_x, by_y = interpret(program, 4, x, y, 2.0, 3.0)
    assert (p, q) == (16.0, 6.0)
    np.testing.assert_array_equal(by_x, [0, -16, 0, 0])
    np.testing.assert_array_equal(by_y, [0, 3, 0, 0])


def test_a_maximum_in_a_loop_in_time():
    def f(x):
        s = 0.0
        for _ in range(3):
            s = s + np.max(x)
            x = x * x - 1.0
        return s

    x = np.array([0.5, 1.5, -1.2])
    slope = tp.grad(f)(x)
    for k in range(3):
        d = np.zeros(3)
        d[k] = 1e-6
        assert slope[k] == pytest.approx((f(x + d) - f(x - d)) / 2e-6, rel=1e-6, abs=1e-6)


def test_what_only_sums_runs_once():
    """The rows that a sum is made of are not made again for its return sweep."""

    def f(a):
        s = 0.0
        for i in range(a.shape[0]):
            s += np.log(np.sum(np.exp(a[i])))
        return s

    a = np.array([[0.1, -1.0, 2.0], [0.5, 0.0, 0.25]])
    core = tp.explain(tp.value_and_grad(f), a).stages["optimised"]
    assert core.count("log(") == 1
    value, slope = tp.value_and_grad(f)(a)
    assert value == pytest.approx(np.sum(np.log(np.sum(np.exp(a), axis=1))), rel=1e-14)
    truth = np.exp(a) / np.sum(np.exp(a), axis=1)[:, None]
    np.testing.assert_allclose(slope, truth, rtol=1e-13)


def test_what_only_is_averaged_runs_once():
    """The cotangent of a sum that is divided by its length is known before the sum is; that of a
    sum within too."""

    def f(a, w):
        s = 0.0
        for i in range(a.shape[0]):
            row = 0.0
            for j in range(a.shape[1]):
                row += np.log(np.sum(np.exp(a[i, j] * w)))
            s += 3.0 * row
        return s / a.shape[0]

    a, w = np.linspace(-1.0, 1.0, 12).reshape(2, 3, 2), np.array([0.5, 2.0])
    g = tp.value_and_grad(f, (0, 1))
    core = tp.explain(g, a, w).stages["optimised"]
    assert core.count("log(") == 1
    assert core.count("check ") == 1
    for k, slope in enumerate(g(a, w)[1]):
        for at in np.ndindex(slope.shape):
            ends = []
            for step in (1e-5, -1e-5):
                moved = [a.copy(), w.copy()]
                moved[k][at] += step
                ends.append(f(*moved))
            assert slope[at] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-7)


@pytest.mark.parametrize("op", ["max", "min"])
def test_a_constant_loses_a_tie(op):
    fun = parse(f"fun f(x: f64) {{\n  y: f64 = {op}(0.75, x)\n  return y\n}}")
    assert interpret(vjp(fun, [0]), 0.75, 1.0) == (0.75, 1.0)


SHIFTED = """
fun shifted(n: i64, x: f64[n]) {
  y: f64 = fold i < n by op (a: f64) (b: f64) neutral (0.0) {
    s: f64 = a + b
    p: f64 = a * b
    r: f64 = s + p
    return r
  } of {
    v: f64 = x[i]
    w: f64 = sin(v)
    return w
  }
  return y
}
"""


def test_elements_of_a_fold_are_made_in_parallel():
    """1 + y = Π (1 + sin x): the loop holds the operator alone."""
    program = vjp(parse(SHIFTED), [1])
    verify(program)
    loops = [s.exp for s in statements(program.body) if isinstance(s.exp, Loop)]
    inside = {s.exp.op for e in loops for s in statements(e.body) if isinstance(s.exp, Prim)}
    assert loops
    assert not inside & {"sin", "cos"}
    x = np.array([0.3, -1.2, 2.0, 0.7])
    y, slope = interpret(program, 4, x, 1.0)
    factors = 1 + np.sin(x)
    assert y == pytest.approx(np.prod(factors) - 1, rel=1e-14)
    np.testing.assert_allclose(slope, np.prod(factors) / factors * np.cos(x), rtol=1e-13)


def test_switches_of_library_functions_are_known():
    """logsumexp(a, axis=None, b=None, keepdims=False, return_sign=False)"""
    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(tp.grad(logsumexp)(x), np.exp(x) / np.sum(np.exp(x)), rtol=1e-14)
    np.testing.assert_allclose(tp.vmap(logsumexp)(np.ones((2, 3))), 1.0 + np.log([3.0, 3.0]))
