"""`grad` and `value_and_grad`: every kind of function, every kind of argument."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import tapeless as tp
from tests.ad.truth import complex_step, differences

X = np.array([0.3, -1.2, 2.0])


def energy(x):
    return np.sum(np.sin(x) * x**2)


def test_value_and_gradient():
    value, by_x = tp.value_and_grad(energy)(X)
    assert value == pytest.approx(energy(X), rel=1e-15)
    np.testing.assert_allclose(by_x, complex_step(energy, X), rtol=1e-14)


@pytest.mark.parametrize("argnums", [0, 1, -1, (0,), (1, 0), (0, 1), [0, 1]])
def test_argnums(argnums):
    """∂(a·b²) = (b², 2·a·b)."""
    parts = (9.0, 12.0)
    found = tp.grad(lambda a, b: a * b**2, argnums=argnums)(2.0, 3.0)
    if isinstance(argnums, int):
        assert found == parts[argnums]
    else:
        assert isinstance(found, tuple)
        assert found == tuple(parts[k] for k in argnums)


def test_aux():
    def f(x):
        return np.sum(x**2), {"size": x.size, "double": 2.0 * x}

    bars, aux = tp.grad(f, has_aux=True)(X)
    np.testing.assert_allclose(bars, 2 * X)
    assert aux["size"] == 3
    np.testing.assert_array_equal(aux["double"], 2 * X)
    (value, again), bars = tp.value_and_grad(f, has_aux=True)(X)
    assert value == pytest.approx(np.sum(X**2))
    np.testing.assert_array_equal(again["double"], 2 * X)
    np.testing.assert_allclose(bars, 2 * X)


# Functions ---------------------------------------------------------------------------------------

WEIGHT = 3.0
TABLE = np.array([1.0, 2.0, 4.0])


class Model:
    def __init__(self, scale):
        self.scale = scale
        self.shift = np.array([1.0, 0.0, 2.0])

    def loss(self, x):
        return self.scale * np.sum((x - self.shift) ** 2)

    def __call__(self, x):
        return self.loss(x) / 2.0

    @tp.jit
    def compiled(self, x):
        return self.loss(x)


def test_methods_and_callable_objects():
    model = Model(5.0)
    slope = 2 * 5.0 * (X - model.shift)
    np.testing.assert_allclose(tp.grad(model.loss)(X), slope)
    np.testing.assert_allclose(tp.grad(model)(X), slope / 2)
    np.testing.assert_allclose(tp.grad(model.compiled)(X), slope)
    model.scale = 10.0
    np.testing.assert_allclose(tp.grad(model.loss)(X), 2 * slope)


def test_an_object_among_the_arguments_is_read_only():
    model = Model(2.0)
    by_x = tp.grad(lambda m, x: m.scale * np.sum(x * m.shift), argnums=1)(model, X)
    np.testing.assert_array_equal(by_x, 2.0 * model.shift)


def test_partials():
    def f(a, b, c=1.0, *, d=2.0):
        return a * b * c * d

    assert tp.grad(functools.partial(f, 2.0, d=5.0))(3.0) == 10.0
    assert tp.grad(functools.partial(f, c=7.0), argnums=1)(3.0, 4.0) == 42.0


def test_jitted_functions_keep_what_jit_was_told():
    @tp.jit(static_argnames="n")
    def power(x, n):
        total = 1.0
        for _ in range(n):
            total *= x
        return total

    g = tp.grad(power)
    assert g(2.0, 3) == 12.0
    assert g(2.0, n=4) == 32.0
    assert len(g.compilations) == 2


def test_declared_types_are_kept():
    @tp.jit
    def f(x: tp.f64[None, 3]):
        return np.sum(x**2)

    assert tp.grad(f)(np.ones((2, 3))).shape == (2, 3)
    with pytest.raises(tp.errors.ShapeError, match="axis 1 of 'x' has size 4, declared 3"):
        tp.grad(f)(np.ones((2, 4)))


def test_defaults_keywords_and_any_arguments():
    def f(a, b=3.0, *rest, c=2.0, **more):
        return a * b * c * sum(rest) * more["d"]

    g = tp.grad(f, argnums=(0, 2))
    assert g(2.0, 5.0, 7.0, 1.0, d=11.0) == (5.0 * 2.0 * 8.0 * 11.0, 2.0 * 5.0 * 2.0 * 11.0)
    assert tp.grad(f)(2.0, 5.0, 1.0, d=1.0, c=4.0) == 20.0
    assert tp.grad(lambda x, y=4.0: x * y)(2.0) == 4.0
    assert tp.grad(lambda x, y=4.0: x * y)(x=2.0, y=5.0) == 5.0
    assert tp.grad(lambda x, kind="a": x if kind == "a" else 2.0 * x)(1.0, kind="b") == 2.0


def test_functions_of_numpy():
    assert tp.grad(np.sin)(0.0) == 1.0
    assert tp.grad(np.sum)(X).tolist() == [1.0, 1.0, 1.0]


def test_captured_values_are_read_at_each_call():
    global WEIGHT
    factor = 2.0
    g = tp.grad(lambda x: np.sum(x * TABLE) * WEIGHT * factor)
    np.testing.assert_array_equal(g(X), 6.0 * TABLE)
    WEIGHT, factor = 1.0, 10.0
    TABLE[0] = 5.0
    np.testing.assert_array_equal(g(X), 10.0 * TABLE)
    WEIGHT, TABLE[0] = 3.0, 1.0
    assert len(g.compilations) == 1


def test_a_function_that_changed_its_meaning():
    """A captured function is under a guard: other code is another program."""

    def make(op):
        return tp.grad(lambda x: op(x) * 2.0)

    assert make(lambda x: x)(3.0) == 2.0
    assert make(lambda x: x * x)(3.0) == 12.0
    assert make(np.exp)(0.0) == 2.0


# Arguments ---------------------------------------------------------------------------------------


class Pair(NamedTuple):
    first: np.ndarray
    second: float


@dataclass(frozen=True)
class Params:
    w: np.ndarray
    b: float
    steps: int = 3

    def __post_init__(self):
        if self.w is None or self.b is None:
            raise ValueError("made without checks")


def test_trees_come_back_as_they_are():
    def f(tree):
        p, (q, d), rest = tree
        return np.sum(p.first * p.second) + q.b * np.sum(q.w) * d["k"] + rest[0]

    tree = (Pair(X, 2.0), (Params(X, 4.0), {"k": 5.0, "n": 1}), [7.0, "name", None])
    p, (q, d), rest = tp.grad(f)(tree)
    assert isinstance(p, Pair)
    np.testing.assert_array_equal(p.first, 2.0 * np.ones(3))
    assert p.second == pytest.approx(np.sum(X))
    assert isinstance(q, Params)
    np.testing.assert_array_equal(q.w, 20.0 * np.ones(3))
    assert q.b == pytest.approx(5.0 * np.sum(X))
    assert q.steps is None
    assert d["k"] == pytest.approx(4.0 * np.sum(X))
    assert d["n"] is None
    assert rest[0] == 1.0
    assert len(rest) == 3


def test_an_object_is_made_without_its_init():
    by = tp.grad(lambda p: np.sum(p.w) * p.steps)(Params(X, 1.0, 2))
    assert by.b == 0.0
    assert by.steps is None
    np.testing.assert_array_equal(by.w, [2.0, 2.0, 2.0])


def test_integers_get_none():
    assert tp.grad(lambda x, n: x * n, argnums=(0, 1))(2.0, 3) == (3.0, None)
    by = tp.grad(lambda d: np.sum(d["x"][d["at"]]))({"x": X, "at": np.array([0, 0, 2])})
    np.testing.assert_array_equal(by["x"], [2.0, 0.0, 1.0])
    assert by["at"] is None


def test_complex_gradient():
    """∂|z|²/∂Re + i·∂|z|²/∂Im = 2z."""
    assert tp.grad(lambda z: abs(z) ** 2)(1 + 2j) == pytest.approx(2 + 4j)
    z = np.array([1 + 2j, -3j])
    w = np.array([2 - 1j, 0.5 + 1j])
    found = tp.grad(lambda z: np.sum(z * w).real)(z)
    np.testing.assert_allclose(found, np.conj(w))
    assert found.dtype == np.complex128


def test_single_precision():
    x = X.astype(np.float32)
    by = tp.grad(lambda x, y: np.sum(x * y), argnums=(0, 1))(x, X)
    assert (by[0].dtype, by[1].dtype) == (np.float32, np.float64)
    np.testing.assert_allclose(by[0], X, rtol=1e-6)
    np.testing.assert_allclose(by[1], x)
    assert tp.grad(lambda a: a * a)(np.float32(3.0)).dtype == np.float32


def test_layouts_and_views():
    a = np.arange(12.0).reshape(3, 4)
    for view in (a, a.T, a[::-1, ::2], np.asfortranarray(a), np.broadcast_to(X, (2, 3))):
        np.testing.assert_allclose(tp.grad(lambda v: np.sum(v**2))(view), 2 * view)


@pytest.mark.parametrize("n", [0, 1, 2, 100])
def test_sizes_do_not_compile_again(n):
    g = tp.grad(lambda x: np.sum(x**3))
    before = len(g.compilations)
    np.testing.assert_allclose(g(np.arange(n) + 1.0), 3 * (np.arange(n) + 1.0) ** 2)
    assert len(g.compilations) <= max(before, 1)


def test_one_array_twice():
    np.testing.assert_array_equal(tp.grad(lambda a, b: np.sum(a * b))(X, X), X)


def test_arguments_that_are_written():
    """Initial contents count, and the caller's arrays stay as they are."""

    def f(u, steps):
        for _ in range(steps):
            u[1:] += 0.5 * u[:-1] * u[1:]
        return np.sum(u**2)

    u = X.copy()
    found = tp.grad(f)(u, 3)
    np.testing.assert_array_equal(u, X)
    np.testing.assert_allclose(found, differences(lambda v: f(v.copy(), 3), X, 1e-3), rtol=1e-8)


def test_read_only_arguments_may_be_written_by_the_function():
    def f(u):
        u *= 2.0
        return np.sum(u)

    u = X.copy()
    u.flags.writeable = False
    np.testing.assert_array_equal(tp.grad(f)(u), [2.0, 2.0, 2.0])


# Nesting -----------------------------------------------------------------------------------------


def test_inside_compiled_code():
    @tp.jit
    def newton(x):
        def f(v):
            return v**3 - 2.0

        for _ in range(20):
            x = x - f(x) / tp.grad(f)(x)
        return x

    assert newton(1.0) == pytest.approx(2.0 ** (1 / 3), rel=1e-15)


def test_made_outside_and_called_inside():
    g = tp.value_and_grad(lambda v, c: np.sum(c * v**2))

    @tp.jit
    def descend(x, steps):
        for _ in range(steps):
            _, by_x = g(x, 0.5)
            x = x - 0.5 * by_x
        return x

    np.testing.assert_allclose(descend(X, 2), X / 4)


def test_inside_maps_and_loops():
    @tp.jit
    def slopes(x):
        rows = np.array([tp.grad(lambda a, b: a * a * b, argnums=(0, 1))(v, 2.0) for v in x])
        total = np.zeros(2)
        for i in range(x.size):
            total += rows[i]
        return rows, total

    rows, total = slopes(X)
    np.testing.assert_allclose(rows, np.stack([4 * X, X**2], 1))
    np.testing.assert_allclose(total, rows.sum(0))


def test_a_derivative_in_a_differentiated_loop():
    """d/dx Σ aᵢ with a ← a − h·f'(a), f = a⁴/4, against differences."""

    def end(x):
        a = x
        for _ in range(5):
            a = a - 0.1 * tp.grad(lambda v: v**4 / 4.0)(a)
        return a

    def plain(x):
        a = x
        for _ in range(5):
            a = a - 0.1 * a**3
        return a

    assert tp.grad(end)(0.8) == pytest.approx(differences(plain, 0.8), rel=1e-10)


def test_third_order_through_arrays():
    third = tp.grad(lambda x: np.sum(tp.grad(lambda y: np.sum(tp.grad(energy)(y)))(x)))
    exact = 6 * np.cos(X) - 6 * X * np.sin(X) - X**2 * np.cos(X)
    np.testing.assert_allclose(third(X), exact, rtol=1e-12)


def test_as_plain_python():
    with tp.disable_jit():
        np.testing.assert_allclose(tp.grad(energy)(X), complex_step(energy, X))


def test_leaves_that_are_no_floats_get_none():
    def f(p):
        return p["a"] ** 2 * p["n"] + np.sum(p["b"])

    p = {"a": 1.5, "b": np.ones(2), "n": 2, "name": "here", "of": np.sin, "none": None}
    expected = {"a": 6.0, "b": [1.0, 1.0], "n": None, "name": None, "of": None, "none": None}
    for found in (tp.grad(f)(p), tp.vjp(f, p)[1](1.0)[0], tp.jacfwd(f)(p), tp.jacrev(f)(p)):
        assert {k: v.tolist() if k in "ab" else v for k, v in found.items()} == expected
    assert tp.hessian(f)(p)["a"]["a"] == 4.0
    dots = dict.fromkeys(p) | {"a": 1.0}
    assert tp.jvp(f, (p,), (dots,))[1] == 6.0
