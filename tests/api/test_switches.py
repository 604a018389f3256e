"""Plain Python instead of machine code; threads; forks; pickling."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import textwrap
import threading
from functools import partial

import numpy as np
import pytest

import tapeless as tp


@tp.jit
def smooth(x, steps):
    y = x.copy()
    for _ in range(steps):
        y[1:-1] = 0.5 * (y[:-2] + y[2:])
    return y


calls = []


@tp.jit
def noisy(x):
    calls.append(x)
    return x + 1.0


def test_disable_jit_runs_python():
    with tp.disable_jit():
        assert noisy(1.0) == 2.0
        with tp.disable_jit(False), pytest.raises(tp.errors.CompileError):
            noisy(1.0)
        assert noisy(2.0) == 3.0
    assert calls == [1.0, 2.0]
    with pytest.raises(tp.errors.CompileError):
        noisy(1.0)


def test_disable_jit_after_many_calls():
    @tp.jit
    def kind(x):
        return x / 2.0

    for _ in range(3):
        kind(np.ones(2))
    with tp.disable_jit(), np.errstate(all="raise"), pytest.raises(FloatingPointError):
        kind(np.array([np.inf, 5e-324]))
    kind(np.array([np.inf, 5e-324]))


def run_script(text, **environment):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    path = environment.get("SCRIPT", "script.py")
    with open(path, "w") as file:
        file.write(textwrap.dedent(text))
    done = subprocess.run(
        [sys.executable, path], env=env, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_environment_variable(tmp_path):
    text = """
        import tapeless as tp
        seen = []
        @tp.jit
        def f(x):
            seen.append(x)
            return x
        print(f(2.0), seen)
    """
    got = run_script(text, TAPELESS_DISABLE_JIT="1", SCRIPT=str(tmp_path / "script.py"))
    assert got.strip() == "2.0 [2.0]"


def test_threads():
    @tp.jit
    def work(x, n):
        s = 0.0
        for k in range(n):
            s += np.sum(x) * k
        return s

    results, errors = {}, []
    barrier = threading.Barrier(6)

    def run(k):
        try:
            x = np.full(50 + k, float(k), "f8" if k % 2 else "f4")
            barrier.wait()
            for _ in range(20):
                results[k] = work(x, 10)
        except Exception as error:  # noqa: BLE001  # reported below
            errors.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    assert results == {k: float(k) * (50 + k) * 45 for k in range(6)}
    assert len(work.compilations) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_fork(tmp_path):
    text = """
        import os
        import numpy as np
        import tapeless as tp

        @tp.jit
        def f(x):
            return np.sum(np.sqrt(x))

        @tp.jit
        def g(x):
            return np.max(x) + 1.0

        x = np.ones(1_000_000)
        assert f(x) == 1e6
        child = os.fork()
        if child == 0:
            good = f(x) == 1e6 and g(x) == 2.0
            os._exit(0 if good else 3)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), f(x))
    """
    assert run_script(text, SCRIPT=str(tmp_path / "script.py")).split() == ["0", "1000000.0"]


def test_number_of_threads():
    x = np.random.default_rng(0).random(200_000)
    expected = np.sqrt(x) + x

    @tp.jit
    def f(x):
        return np.sqrt(x) + x

    try:
        for n in (1, 2, 3):
            tp.set_num_threads(n)
            np.testing.assert_allclose(f(x), expected, rtol=1e-15)
        with pytest.raises(ValueError):
            tp.set_num_threads(0)
    finally:
        tp.set_num_threads(None)


def test_pickle():
    again = pickle.loads(pickle.dumps(smooth))
    assert again is smooth


def test_decorator_forms():
    def f(x):
        return x + 1.0

    for compiled in (
        tp.jit(f),
        tp.jit()(f),
        tp.jit(parallel=False, fastmath=True)(f),
        tp.jit(tp.jit(f)),
    ):
        assert compiled(1.0) == 2.0
        assert compiled.python is f
    with pytest.raises(TypeError, match="Python function"):
        tp.jit(np.sin)
    with pytest.raises(TypeError, match="Python function"):
        tp.jit(3)
    with pytest.raises(ValueError, match="overflow"):
        tp.jit(check="all")(f)
    with pytest.raises(ValueError, match="cpu"):
        tp.jit(target="gpu")(f)
    with pytest.raises(TypeError, match="parallel"):
        tp.jit(parallel=1)(f)


def test_recursion_through_a_compiled_function():
    @tp.jit
    def inner(x):
        return x * 2.0

    @tp.jit
    def outer(x):
        return inner(x) + inner(x + 1.0)

    assert outer(1.0) == 6.0


def test_partial():
    @tp.jit
    def f(a, b, c=1.0):
        return a + 10.0 * b + 100.0 * c

    assert tp.jit(partial(f.python, 1.0, c=2.0))(3.0) == 231.0
