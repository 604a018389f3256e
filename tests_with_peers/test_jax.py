"""Functions of the language in JAX's programs, against the same functions in JAX."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tapeless as tp
import tapeless.jax


@pytest.fixture(autouse=True, params=[True, False], ids=["x64", "x32"])
def _precision(request):
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", request.param)
    yield
    jax.config.update("jax_enable_x64", before)


def close(found, expected):
    tolerance = 1e-11 if jax.config.jax_enable_x64 else 2e-5
    pairs = zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True)
    for a, b in pairs:
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def w():
    return jnp.linspace(-1.0, 2.0, 5)


def x():
    return jnp.linspace(0.5, 1.5, 5) ** 2


def model(w, x, p, mode="plain", n=3):
    residual = np.sin(w) * x - p["b"]
    extra = {"squares": residual * residual, "n": n, "mode": mode, "best": np.argmax(residual)}
    return np.sum(residual**2) * n, extra


def reference(w, x, p, n=3):
    residual = jnp.sin(w) * x - p["b"]
    return jnp.sum(residual**2) * n, residual * residual


wrapped = tapeless.jax.wrap(model)


def ours(w, b):
    value, extra = wrapped(w, x(), {"b": b})
    return value + jnp.sum(extra["squares"])


def theirs(w, b):
    value, squares = reference(w, x(), {"b": b})
    return value + jnp.sum(squares)


def b():
    return jnp.asarray(0.7)


@pytest.mark.parametrize("run", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_values(run):
    value, extra = wrapped(w(), x(), {"b": b()}, n=2)
    expected, squares = reference(w(), x(), {"b": b()}, n=2)
    close((value, extra["squares"]), (expected, squares))
    assert extra["mode"] == "plain" and int(extra["n"]) == 2
    close(run(ours)(w(), b()), theirs(w(), b()))


@pytest.mark.parametrize("run", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_gradients(run):
    close(run(jax.grad(ours, (0, 1)))(w(), b()), jax.grad(theirs, (0, 1))(w(), b()))
    close(run(jax.value_and_grad(ours))(w(), b()), jax.value_and_grad(theirs)(w(), b()))


def test_derivatives_of_derivatives():
    def norm(f):
        return lambda w: jnp.sum(jax.grad(f)(w, b()) ** 2)

    close(jax.jit(jax.grad(norm(ours)))(w()), jax.grad(norm(theirs))(w()))
    close(jax.jacrev(jax.grad(ours))(w(), b()), jax.hessian(theirs)(w(), b()))


@pytest.mark.parametrize("axes", [(0, None), (1, 0), (None, 0)])
def test_vmap(axes):
    rows = [w(), 2 * w(), -w()]
    many = w() if axes[0] is None else jnp.stack(rows, axis=axes[0])
    biases = b() if axes[1] is None else jnp.stack([b(), 2 * b(), 0 * b()])
    for of in (lambda f: f, lambda f: jax.grad(f, (0, 1))):
        found = jax.jit(jax.vmap(of(ours), axes))(many, biases)
        close(found, jax.vmap(of(theirs), axes)(many, biases))


def test_vmap_of_vmap_and_of_one():
    def table(f):
        return jax.vmap(jax.vmap(jax.grad(f), (None, 0)), (0, None))

    many, biases = jnp.stack([w(), 2 * w(), -w()]), jnp.asarray([0.5, 1.5])
    close(jax.jit(table(ours))(many, biases), table(theirs)(many, biases))
    close(table(ours)(many[:1], biases[:1]), table(theirs)(many[:1], biases[:1]))


def test_in_a_scan():
    def walk(f):
        def step(c, _):
            return c - 0.01 * jax.grad(f)(c, b()), None

        return jax.jit(lambda c: jax.lax.scan(step, c, length=4)[0])

    close(walk(ours)(w()), walk(theirs)(w()))


def test_complex_numbers():
    mine = tapeless.jax.wrap(lambda z: np.sum(z * z * np.conj(z) * np.sin(z)))

    def yours(z):
        return jnp.sum(z * z * jnp.conj(z) * jnp.sin(z))

    z = jax.lax.complex(w(), x())
    value, pull = jax.vjp(mine, z)
    expected, their_pull = jax.vjp(yours, z)
    close(value, expected)
    close(pull(value), their_pull(value))
    close(jax.grad(lambda z: jnp.abs(mine(z)))(z), jax.grad(lambda z: jnp.abs(yours(z)))(z))


def test_constants_are_told_apart():
    f = tapeless.jax.wrap(lambda x, c: np.copysign(x * 1.0, c))
    assert float(f(w()[4], 0.0)) == 2.0
    assert float(f(w()[4], -0.0)) == -2.0
    assert float(f(w()[4], 1)) == 2.0


def test_integers_have_no_derivative():
    f = tapeless.jax.wrap(lambda w, i: np.sum(w[i] ** 2))
    index = jnp.asarray([0, 2, 2])
    found = jax.grad(f)(w(), index)
    close(found, jax.grad(lambda w: jnp.sum(w[index] ** 2))(w()))


def test_results_in_another_precision():
    """np.zeros is float64 whatever JAX works in."""

    def f(w):
        total = np.zeros(3)
        total[0] = np.sum(w * w)
        return total

    g = tapeless.jax.wrap(f)
    expected = 2 * w()
    close(jax.grad(lambda w: g(w)[0])(w()), expected)


@dataclasses.dataclass
class State:
    place: object
    label: str


def test_objects():
    f = tapeless.jax.wrap(lambda s: State(s.place * 2, s.label))
    found = f(State(w(), "here"))
    assert found.label == "here"
    close(found.place, 2 * w())


def test_captured_values_are_read_at_every_call():
    scale = 2.0
    f = tapeless.jax.wrap(lambda w: w * scale)
    close(f(w()), w() * 2)
    scale = 3.0
    close(f(w()), w() * 3)


def positive(w):
    kept = []
    for v in w:
        if v > 0.0:
            kept.append(v)
    return np.array(kept)


def test_lengths_that_depend_on_an_array_without_axes_are_refused():
    f = tapeless.jax.wrap(lambda n: np.zeros(n) + 1.0)
    assert f(3).shape == (3,)
    with pytest.raises(TypeError, match="gives depends on values"):
        f(jnp.asarray(3))


def test_arrays_without_axes_are_numbers():
    def f(angle, speed):
        for _ in range(3):
            speed = speed - 0.1 * np.sin(angle)
            angle = angle + speed
        return angle

    g = tapeless.jax.wrap(f)
    close(jax.jit(g)(b(), 0.0), jnp.asarray(f(np.asarray(b())[()], 0.0)))
    assert jax.jit(jax.vmap(jax.grad(g), (0, None)))(w(), b()).shape == (5,)


def test_lengths_that_depend_on_values_are_refused():
    with pytest.raises(TypeError, match=r"positive gives depends on values(.|\n)*Remedy"):
        tapeless.jax.wrap(positive)(w())


def test_other_refusals():
    with pytest.raises(TypeError, match="the array w holds bfloat16"):
        wrapped(w().astype(jnp.bfloat16), x(), {"b": b()})
    with pytest.raises(tp.errors.CompileError, match=r"print(.|\n)*test_jax"):
        tapeless.jax.wrap(lambda w: print(w * 2))(w())
    with pytest.raises(jax.errors.JaxRuntimeError, match="index 9 is out of bounds"):
        jax.block_until_ready(jax.jit(tapeless.jax.wrap(lambda w: w[9]))(w()))


def test_captured_arrays():
    """One that is differentiated by would have no derivative."""

    def f(scale):
        return tapeless.jax.wrap(lambda x: np.sum(x * scale))(x())

    close(f(w()), jnp.sum(x() * w()))
    for transform in (jax.jit, jax.grad):
        with pytest.raises(tp.errors.CompileError, match=r"pass it as an argument to tapeless"):
            transform(f)(w())
