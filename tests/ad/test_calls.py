"""How derivatives are called: by the fast entry, from the disk, compiled no more than needed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import types

import numpy as np
import pytest

import tapeless as tp

X = np.array([1.0, 2.0, 4.0])


def f(a, b, c):
    return np.sum(a * b + c)


def is_fast(g) -> bool:
    """Whether calls of a compiled function run no Python code."""
    return isinstance(type(g).__call__, types.BuiltinFunctionType)


@pytest.mark.parametrize(
    "make",
    [
        lambda: tp.grad(f), lambda: tp.grad(f, argnums=(0, 1, 2)), lambda: tp.value_and_grad(f),
        lambda: tp.grad(tp.jit(f)), lambda: tp.jacfwd(f), lambda: tp.jacrev(f),
        lambda: tp.hessian(f), lambda: tp.grad(tp.grad(lambda a, b, c: a * b * c * a)),
        lambda: tp.vmap(lambda a, b, c: a * b + c),
    ],
)  # fmt: skip
def test_calls_go_by_the_fast_entry(make):
    g = make()
    args = (2.0, 3.0, 4.0) if "grad_of_grad" in g.__name__ else (X, X, X)
    first = g(*args)
    g(*args)
    assert is_fast(g)
    assert repr(g(*args)) == repr(first)


def test_a_function_made_anew_each_step_compiles_once():
    def make(scale):
        return tp.grad(lambda x: scale * np.sum(x**2))

    for k in range(6):
        g = make(float(k))
        np.testing.assert_array_equal(g(X), 2.0 * k * X)
    assert len(g.compilations) == 1


def test_captured_values_change_under_the_fast_entry():
    scale = 1.0
    g = tp.grad(lambda x: scale * np.sum(x**2))
    for scale in (1.0, 3.0, 5.0):
        np.testing.assert_array_equal(g(X), 2.0 * scale * X)
    assert is_fast(g)
    assert len(g.compilations) == 1


def test_a_captured_function_changes_under_the_fast_entry():
    op = np.sin
    g = tp.grad(lambda x: op(x) + 0.0)
    for other, slope in ((np.sin, 1.0), (lambda x: 7.0 * x, 7.0), (np.cosh, 0.0), (np.sin, 1.0)):
        op = other
        assert g(0.0) == slope
        assert g(0.0) == slope


def test_threads():
    g = tp.grad(lambda x: np.sum(np.sin(x) ** 3))
    results = [None] * 8

    def call(k):
        results[k] = g(X * k)

    threads = [threading.Thread(target=call, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k, found in enumerate(results):
        np.testing.assert_allclose(found, 3 * np.sin(X * k) ** 2 * np.cos(X * k), atol=1e-15)
    assert len(g.compilations) == 1


PROGRAM = """
import numpy as np
import tapeless as tp

{body}

def loss(x):
    return np.sum(inner(x) * 2.0)

x = np.array([1.0, 2.0])
g, h = tp.grad(loss), tp.grad(lambda x: inner(x[0]))
print(g(x).tolist(), h(x).tolist(), tp.jacfwd(inner)(x).tolist(), g.compilations[0].cached)
"""
BODIES = {
    "def inner(x): return x**2": "[4.0, 8.0] [2.0, 0.0] [[2.0, 0.0], [0.0, 4.0]]",
    "def inner(x): return x**3": "[6.0, 24.0] [3.0, 0.0] [[3.0, 0.0], [0.0, 12.0]]",
    "K = 3\ndef inner(x): return K * x": "[6.0, 6.0] [3.0, 0.0] [[3.0, 0.0], [0.0, 3.0]]",
    "K = 4\ndef inner(x): return K * x": "[8.0, 8.0] [4.0, 0.0] [[4.0, 0.0], [0.0, 4.0]]",
    "def inner(x): return np.exp(0.0 * x)": "[0.0, 0.0] [0.0, 0.0] [[0.0, 0.0], [0.0, 0.0]]",
}


def test_the_disk_never_confuses_two_functions(tmp_path):
    """One file whose text changes, run again and again."""
    program = tmp_path / "program.py"
    env = {**os.environ, "TAPELESS_CACHE_DIR": str(tmp_path / "cache")}

    def run(body):
        program.write_text(PROGRAM.format(body=body))
        done = subprocess.run(
            [sys.executable, program], env=env, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    for body, numbers in BODIES.items():
        assert run(body) == f"{numbers} False"
        assert run(body) == f"{numbers} True"
    for body, numbers in BODIES.items():
        assert run(body).startswith(numbers)
