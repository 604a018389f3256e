"""Calls that enter many parallel regions: the same numbers, errors and signals as on one thread."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tapeless as tp
from tapeless.runtime.threads import openmp_library

needs_openmp = pytest.mark.skipif(openmp_library() is None, reason="no OpenMP runtime")
counts = pytest.mark.parametrize("count", [2, 3, 7])


@pytest.fixture(autouse=True)
def _restore() -> Iterator[None]:
    yield
    tp.set_num_threads(None)


def heat(u, v, steps):
    n, m = u.shape
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                v[i, j] = 0.2 * (u[i, j] + u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                u[i, j] = 0.2 * (v[i, j] + v[i - 1, j] + v[i + 1, j] + v[i, j - 1] + v[i, j + 1])


def plate(n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    u = np.random.default_rng(0).standard_normal((n, m))
    return u, u.copy()


@needs_openmp
@counts
@pytest.mark.parametrize("shape", [(300, 310), (2, 50_000), (3, 90_000), (0, 4)])
def test_a_loop_over_time(count: int, shape: tuple[int, int]):
    f = tp.jit(heat)
    tp.set_num_threads(1)
    expected = plate(*shape)
    f(*expected, 20)
    tp.set_num_threads(count)
    found = plate(*shape)
    f(*found, 20)
    assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))


def delayed(x, idx, steps):
    y = np.zeros_like(x)
    for t in range(steps):
        for i in range(x.size):
            y[i] = math.sin(y[i]) + math.exp(-x[idx[i] + t])
    return y


@needs_openmp
@counts
def test_an_error_in_a_later_region(count: int):
    """The first place in the program's order that fails is the one that is reported."""
    n = 60_000
    idx = np.zeros(n, np.int64)
    idx[[20_000, 59_000]] = n - 5
    f = tp.jit(delayed)
    for threads in (1, count):
        tp.set_num_threads(threads)
        with pytest.raises(IndexError, match=f"index {n} is out of bounds"):
            f(np.ones(n), idx, 9)
        assert np.allclose(f(np.ones(n), idx, 4), delayed(np.ones(5), np.zeros(5, int), 4)[0])


@needs_openmp
def test_several_python_threads_with_teams():
    f = tp.jit(heat)
    tp.set_num_threads(1)
    expected = plate(200, 210)
    f(*expected, 30)
    tp.set_num_threads(3)
    found = [plate(200, 210) for _ in range(4)]
    threads = [threading.Thread(target=f, args=(*pair, 30)) for pair in found]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(np.array_equal(pair[0], expected[0]) for pair in found)


@needs_openmp
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_after_teams():
    f = tp.jit(heat)
    tp.set_num_threads(2)
    expected = plate(200, 210)
    f(*expected, 5)
    child = os.fork()
    if child == 0:
        found = plate(200, 210)
        f(*found, 5)
        os._exit(0 if np.array_equal(found[0], expected[0]) else 1)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    pytest.fail("the child hangs")


@needs_openmp
def test_a_signal_among_regions():
    """A handler that calls compiled code itself, and one that ends the call."""
    f, inner = tp.jit(heat), plate(200, 210)
    tp.set_num_threads(2)
    heard: list[int] = []

    def handler(*_: object) -> None:
        f(*inner, 3)
        heard.append(1)
        if len(heard) == 2:
            raise TimeoutError

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
    try:
        with pytest.raises(TimeoutError):
            f(*plate(400, 410), 10_000_000)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert heard == [1, 1]
    found, expected = plate(200, 210), plate(200, 210)
    f(*found, 6)
    heat_numpy(*expected, 6)
    assert np.allclose(found[0], expected[0], rtol=1e-12)


@needs_openmp
def test_products_are_called_outside_of_regions(tmp_path: Path):
    """Where OpenBLAS can ask OpenMP, it writes a warning when it is called inside a region."""
    script = tmp_path / "script.py"
    script.write_text(PRODUCTS)
    command = [sys.executable, str(script), str(openmp_library())]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("True\n", "")


PRODUCTS = """
import ctypes, sys
ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
import numpy as np
import tapeless as tp

def settle(a, b, steps):
    x = a.copy()
    for _ in range(steps):
        x = np.tanh(x @ b) * a
        y = np.exp(-x * x)
        x = x + y @ b
    return x

tp.set_num_threads(2)
a, b = np.random.default_rng(0).standard_normal((2, 96, 96)) / 10
print(np.allclose(tp.jit(settle)(a, b, 20), settle(a, b, 20)))
"""


def heat_numpy(u, v, steps):
    for _ in range(steps):
        for new, old in ((v, u), (u, v)):
            near = old[1:-1, 1:-1] + old[:-2, 1:-1] + old[2:, 1:-1]
            new[1:-1, 1:-1] = 0.2 * (near + old[1:-1, :-2] + old[1:-1, 2:])
