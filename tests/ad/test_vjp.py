"""`vjp`: a value, and cotangents moved back as often as one likes."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest

import tapeless as tp
from tests.ad.truth import differences

X = np.array([0.5, 1.0, 2.0])
SCALE = np.array([2.0])


def chain(x):
    y = np.exp(x)
    for i in range(1, x.size):
        y[i] = y[i - 1] * x[i]
    return y


def test_rows_of_the_jacobian():
    y, pullback = tp.vjp(chain, X)
    np.testing.assert_allclose(y, chain(X), rtol=1e-15)
    rows = np.array([pullback(row)[0] for row in np.eye(3)])
    np.testing.assert_allclose(rows, differences(chain, X), rtol=1e-9)
    np.testing.assert_array_equal(pullback(np.eye(3)[1])[0], rows[1])


def test_it_owns_what_it_reads():
    x, scale = X.copy(), SCALE.copy()
    _, pullback = tp.vjp(lambda x: np.sin(x) * scale[0], x)
    x[:] = 0.0
    scale[:] = 100.0
    np.testing.assert_allclose(pullback(np.ones(3))[0], 2.0 * np.cos(X))
    assert X.nbytes <= pullback.nbytes <= 4 * X.nbytes


def test_memory_is_that_of_what_is_read():
    x = np.ones(1000)
    assert tp.vjp(lambda x: 3.0 * x, x)[1].nbytes == 0
    assert tp.vjp(lambda x: np.sum(x**2), x)[1].nbytes == x.nbytes


class Pair(NamedTuple):
    a: np.ndarray
    b: float


def test_trees():
    def f(p, c):
        return Pair(p.a * c, p.b * c), {"n": 3, "s": np.sum(p.a)}

    _, pullback = tp.vjp(f, Pair(X, 2.0), 5.0)
    p, c = pullback((Pair(np.ones(3), 10.0), {"n": None, "s": 1.0}))
    assert isinstance(p, Pair)
    np.testing.assert_array_equal(p.a, 6.0 * np.ones(3))
    assert p.b == 50.0
    assert c == pytest.approx(np.sum(X) + 20.0)
    zero, none = pullback(None)
    assert (zero.b, none) == (0.0, 0.0)


def test_integers_get_none():
    _, pullback = tp.vjp(lambda x, n: x * n, 2.0, 3)
    assert pullback(1.0) == (3.0, None)


def test_complex():
    z = np.array([1 + 2j, 3.0 - 1j])
    _, pullback = tp.vjp(lambda z: z * z, z)
    ct = np.array([1.0 + 0j, 1j])
    np.testing.assert_allclose(pullback(ct)[0], np.conj(2 * z) * ct)


def test_single_precision():
    x = X.astype(np.float32)
    y, pullback = tp.vjp(lambda x: x * x, x)
    assert y.dtype == np.float32
    bar = pullback(np.ones(3, np.float32))[0]
    assert bar.dtype == np.float32
    np.testing.assert_allclose(bar, 2 * x)


def test_sizes_do_not_compile_again():
    def f(x):
        return np.cumsum(x**2)

    for n in (2, 5, 0, 70):
        x = np.arange(n) + 1.0
        _, pullback = tp.vjp(f, x)
        np.testing.assert_allclose(pullback(np.ones(n))[0], 2 * x * np.arange(n, 0, -1))


def test_inside_compiled_code():
    """The pullback is of the function at the point where it was made."""

    @tp.jit
    def f(x):
        y, pullback = tp.vjp(lambda v: np.sin(v) * v[0], x)
        x[:] = 0.0
        return pullback(y)[0], pullback(np.ones(y.size))[0]

    def jacobian(x):
        j = np.diag(np.cos(x) * x[0])
        j[:, 0] += np.sin(x)
        return j

    by_y, by_one = f(X.copy())
    np.testing.assert_allclose(by_y, (np.sin(X) * X[0]) @ jacobian(X))
    np.testing.assert_allclose(by_one, np.ones(3) @ jacobian(X))


def test_second_order_through_the_pullback():
    """d/dx ⟨w, Jᵀ(x)·ȳ⟩ for f = x³: 6·x·w·ȳ."""
    w, bar = np.array([1.0, 2.0, 3.0]), np.array([3.0, 0.0, 1.0])

    def inner(x):
        return np.sum(w * tp.vjp(lambda v: v**3, x)[1](bar)[0])

    np.testing.assert_allclose(tp.grad(inner)(X), 6 * X * w * bar)


def test_from_the_disk(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import numpy as np\nimport tapeless as tp\n"
        "def f(x): return np.cumsum(x**2)\n"
        "x = np.array([1.0, 2.0])\n"
        "y, pullback = tp.vjp(f, x)\n"
        "g = tp.grad(lambda x: np.sum(x**3))\n"
        "print(pullback(np.ones(2))[0], g(x), g.compilations[0].cached)\n"
    )
    env = {**os.environ, "TAPELESS_CACHE_DIR": str(tmp_path / "cache")}
    runs = [
        subprocess.run(
            [sys.executable, program], env=env, capture_output=True, text=True, check=True
        )
        for _ in range(2)
    ]
    assert [r.stdout.split() for r in runs] == [
        ["[4.", "4.]", "[", "3.", "12.]", "False"], ["[4.", "4.]", "[", "3.", "12.]", "True"]
    ]  # fmt: skip
