"""Programs that are made for points of three coordinates and the like: which ones, and that they
mean the same."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as tp
from tapeless.api.inspection import look
from tapeless.api.sizes import VARIANTS
from tapeless.api.store import Store
from tests.runtime.processes import output

RNG = np.random.default_rng(5)


def lengths():
    """A function with programs of its own."""

    @tp.jit
    def lengths(x):
        out = np.empty(len(x))
        for i in range(len(x)):
            square = 0.0
            for k in range(x.shape[1]):
                square += x[i, k] * x[i, k]
            out[i] = np.sqrt(square)
        return out

    lengths.store = Store(lengths.settings)
    return lengths


def known(function, *args):
    """The sizes of array parameters, None where they are passed."""
    params = look(function, args, {}).traced.params
    return [tuple(s if isinstance(s, int) else None for s in p.shape) for p in params if p.is_array]


def test_a_short_axis_behind_a_long_one_is_known():
    jitted = lengths()
    assert known(jitted, np.ones((9, 3))) == [(None, 3)]
    for shape in ((8, 3), (9, 9), (9, 0)):
        assert known(jitted, np.ones(shape)) == [(None, None)]


def test_all_short_axes_of_a_call_are_known_together():
    @tp.jit
    def turned(points, matrix, shifts):
        return points @ matrix + shifts[0]

    args = RNG.random((20, 3)), RNG.random((3, 3)), RNG.random((2, 3))
    assert known(turned, *args) == [(None, 3)] * 3
    np.testing.assert_allclose(turned(*args), args[0] @ args[1] + args[2][0], rtol=1e-14)


@pytest.mark.parametrize("shape", [lambda n: (n, n), lambda n: (n, 3), lambda n: (3, n)])
def test_new_lengths_never_compile(shape):
    @tp.jit
    def total(x):
        return np.sum(x * x)

    for n in range(2, 201):
        assert total(np.ones(shape(n))) == np.prod(shape(n))
    assert len(total.compilations) == 1
    total(np.ones(shape(1)))
    assert len(total.compilations) <= 2


def test_there_are_few_variants():
    jitted = lengths()
    for n in (*range(2, 30), *range(2, 30)):
        x = RNG.random((40, n))
        np.testing.assert_allclose(jitted(x), np.linalg.norm(x, axis=1), rtol=1e-14)
    assert len(jitted.compilations) == VARIANTS + 1
    assert {c.why for c in jitted.compilations} == {"first call", "other small sizes"}


def test_calls_keep_their_program():
    """One call gives the same bits before and after the program for any sizes is made."""
    jitted = lengths()
    x = RNG.random((50, 3))
    before = jitted(x)
    for shape in ((4, 7), (50, 3), (50, 9)):
        jitted(RNG.random(shape))
    assert len(jitted.compilations) == 2
    assert before.tobytes() == jitted(x).tobytes()


def test_sizes_that_do_not_agree_raise_as_ever():
    @tp.jit
    def add(x, y):
        return x + y

    for rows in (5, 50):
        with pytest.raises(ValueError, match="do not agree"):
            add(np.ones((rows, 3)), np.ones((rows, 4)))
    np.testing.assert_array_equal(add(np.ones((50, 3)), np.ones((50, 3))), np.full((50, 3), 2.0))


def test_leaves_of_trees_and_written_arguments():
    @tp.jit
    def move(state, dt):
        for i in range(len(state["x"])):
            state["x"][i] += dt * state["v"][i]

    x, v = RNG.random((30, 2)), RNG.random((30, 2))
    expected = x + 0.5 * v
    move({"x": x, "v": v}, 0.5)
    np.testing.assert_allclose(x, expected, rtol=1e-15)


def test_derivatives_of_points():
    def energy(x):
        e = 0.0
        for i in range(len(x)):
            for j in range(i):
                d = x[i] - x[j]
                e += 1.0 / np.sqrt(np.sum(d * d) + 0.1)
        return e

    x = RNG.random((12, 3))
    d = x[:, None] - x[None]
    expected = np.sum(-d * (np.sum(d * d, axis=-1) + 0.1)[..., None] ** -1.5, axis=1)
    np.testing.assert_allclose(tp.grad(energy)(x), expected, rtol=1e-12, atol=1e-12)


def test_another_process_finds_them(tmp_path):
    program = (
        "import numpy as np\n"
        "from tests.api.test_small_axes import lengths\n"
        "f = lengths()\n"
        "for shape in ({}): f(np.ones(shape))\n"
        "print([c.cached for c in f.compilations])\n"
    )
    cached = [
        output(program.format(shapes), TAPELESS_CACHE_DIR=str(tmp_path))
        for shapes in ("(4, 3), (40, 3)", "(40, 3), (40, 9)", "(40, 3), (40, 9)", "(40, 2),")
    ]
    assert cached == ["[False]", "[False, True]", "[True, True]", "[False]"]
