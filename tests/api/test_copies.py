"""Threads that add to the same arrays: the numbers, errors and gradients of one thread."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator

import numpy as np
import pytest

import tapeless as tp
from tapeless.runtime.threads import openmp_library

needs_openmp = pytest.mark.skipif(openmp_library() is None, reason="no OpenMP runtime")
rng = np.random.default_rng(3)
N = 60_000


@pytest.fixture(autouse=True)
def _restore() -> Iterator[None]:
    yield
    tp.set_num_threads(None)


def counted(x, bins):
    count = np.zeros(bins, dtype=np.int64)
    for v in x:
        count[int(v * bins)] += 1
    return count


def weighted(x, w, out):
    total = 0.0
    for i in range(x.size):
        e = math.exp(w[i])
        out[int(x[i] * out.shape[0]), 1] += e
        total += e
    return total


def products(x, k, m):
    return tp.reduce_by_index(np.ones(m), k, 1.0 + 1e-3 * np.sin(x), op=operator.mul, neutral=1.0)


def latest(x, k, m):
    """By an operator that keeps the second operand where it is positive."""
    start = np.zeros(m)
    return tp.reduce_by_index(start, k, x, op=lambda a, b: b if b > 0.0 else a, neutral=0.0)


def mixture(x, means, scales):
    """A sum over points of a log of a sum over components."""
    total = 0.0
    for i in range(x.shape[0]):
        s = 0.0
        for k in range(means.shape[0]):
            d = 0.0
            for j in range(x.shape[1]):
                d += (x[i, j] - means[k, j]) ** 2
            s += math.exp(-d * scales[k])
        total += math.log(s)
    return total


def gathered(table, idx):
    return sum(math.sin(table[i]) * table[i] for i in idx)


def on(threads: int, f, *args):
    tp.set_num_threads(threads)
    return f(*args)


@needs_openmp
@pytest.mark.parametrize("n", [0, 1, 3, N])
@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_counts(n: int, threads: int):
    x = rng.random(n)
    found = on(threads, tp.jit(counted), x, 100)
    assert np.array_equal(found, np.bincount((x * 100).astype(int), minlength=100))


@needs_openmp
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("threads", [2, 3, 7])
def test_sums_beside_a_scalar_into_part_of_an_argument(order: str, threads: int):
    x, w = rng.random(N), rng.standard_normal(N)
    out = np.asarray(rng.standard_normal((50, 3)), order=order)
    expected = out.copy()
    np.add.at(expected[:, 1], (x * 50).astype(int), np.exp(w))
    total = on(threads, tp.jit(weighted), x, w, out)
    assert np.allclose(out, expected, rtol=1e-12)
    assert np.isclose(total, np.exp(w).sum(), rtol=1e-12)


@needs_openmp
@pytest.mark.parametrize("f", [products, latest])
def test_operators(f):
    x, k = rng.standard_normal(N), rng.integers(-1, 40, N)
    expected = on(1, tp.jit(f), x, k, 39)
    plain = f(x[-4000:], k[-4000:], 39)
    for threads in (2, 3, 7):
        assert np.allclose(on(threads, tp.jit(f), x, k, 39), expected, rtol=1e-12)
        assert np.allclose(on(threads, tp.jit(f), x[-4000:], k[-4000:], 39), plain, rtol=1e-12)


@needs_openmp
def test_the_same_bits():
    """For the same number of threads; if asked for, for any number."""
    x, w = rng.random(N), rng.standard_normal(N)

    def run(threads: int, f) -> bytes:
        out = np.zeros((50, 3))
        total = on(threads, f, x, w, out)
        return out.tobytes() + np.float64(total).tobytes()

    for threads in (2, 3):
        assert len({run(threads, tp.jit(weighted)) for _ in range(5)}) == 1
    assert len({run(n, tp.jit(weighted, deterministic=True)) for n in (1, 2, 3, 7)}) == 1


@needs_openmp
@pytest.mark.parametrize("threads", [2, 7])
def test_an_index_out_of_range(threads: int):
    x = rng.random(N)
    x[N // 2] = 1.5
    f = tp.jit(counted)
    with pytest.raises(IndexError, match="index 150 is out of bounds"):
        on(threads, f, x, 100)
    x[N // 2] = 0.0
    assert f(x, 100).sum() == N


@needs_openmp
@pytest.mark.parametrize("threads", [2, 3])
def test_gradients(threads: int):
    x, means, scales = rng.standard_normal((3_000, 4)), rng.standard_normal((5, 4)), rng.random(5)
    g = tp.grad(mixture, argnums=(0, 1, 2))
    for a, b in zip(on(1, g, x, means, scales), on(threads, g, x, means, scales), strict=True):
        assert np.allclose(a, b, rtol=1e-11, atol=1e-13)
    table, idx = rng.standard_normal(30), rng.integers(0, 30, N)
    expected = np.bincount(idx, minlength=30) * (np.cos(table) * table + np.sin(table))
    assert np.allclose(on(threads, tp.grad(gathered), table, idx), expected, rtol=1e-10)


@needs_openmp
def test_copies_are_not_worth_it_for_big_arrays():
    """Few sums into many cells: the first block alone works, in the array itself."""
    before = on(1, tp.jit(counted), rng.random(10), 3_000_000).sum()
    found = on(7, tp.jit(counted), np.full(2_000, 0.5), 3_000_000)
    assert before == 10 and found[1_500_000] == 2_000


def test_the_plan_is_told():
    text = str(tp.explain(tp.jit(counted), rng.random(N), 100))
    assert "on threads, each adding to copies of its own" in text
