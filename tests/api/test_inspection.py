"""tp.source, tp.explain, tp.cost."""

from __future__ import annotations

import linecache
from typing import NamedTuple

import numpy as np
import pytest

import tapeless as tp


class Stats(NamedTuple):
    mean: object
    spread: object


def axpy(a, x, y):
    for i in range(len(x)):
        y[i] += a * x[i]


def normalise(x):
    m = np.max(x)
    e = np.exp(x - m)
    return e / np.sum(e)


def stencil(u, steps):
    for _ in range(steps):
        u[1:-1] = 0.5 * (u[:-2] + u[2:])
    return np.sum(u)


def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def histogram(idx, w, bins):
    h = np.zeros(bins)
    for i in range(len(idx)):
        if w[i] > 0.25:
            h[idx[i]] += w[i]
    return h


def stats(x):
    m = np.mean(x)
    return Stats(m, np.sqrt(np.mean((x - m) ** 2))), {"n": x.size, "first": x[0]}


def rotated(z, w):
    return z * w, np.abs(z), z[0] * w


def singles(x):
    return x * np.float32(0.5) + 1


def checked(x, k):
    assert k > 0, f"k must be positive, not {k}"
    if k > 100:
        raise ValueError("too big")
    return x[k]


def matmul(a, b):
    c = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    return c


def prefix(x):
    return tp.scan(lambda a, b: a + b, x, 0.0), np.cumsum(x)


def best(x):
    return np.argmax(x), np.sort(x)


def grown(x):
    out = []
    for v in x:
        if v > 0.5:
            out.append(v * 2.0)
    return np.array(out)


RNG = np.random.default_rng(5)
CASES = {
    axpy: lambda: (2.0, RNG.random(6), RNG.random(6)),
    normalise: lambda: (RNG.random(6),),
    stencil: lambda: (RNG.random(7), 3),
    collatz: lambda: (27,),
    histogram: lambda: (RNG.integers(0, 4, 9), RNG.random(9), 4),
    stats: lambda: (RNG.random(6),),
    rotated: lambda: (RNG.random(4) + 1j * RNG.random(4), 2.0 - 1.0j),
    singles: lambda: (RNG.random(5).astype("f4"),),
    checked: lambda: (RNG.random(5), 2),
    matmul: lambda: (RNG.random((3, 4)), RNG.random((4, 2))),
    prefix: lambda: (RNG.random(5),),
    best: lambda: (RNG.random(6),),
    grown: lambda: (RNG.random(8),),
}
over_cases = pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)


def loaded(text, name):
    """The function that a source text defines, with the text where the compiler finds it."""
    file = f"<source of {name} {len(linecache.cache)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names = {"Stats": Stats}
    exec(compile(text, file, "exec"), names)
    return names[name]


def copies(args):
    return tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)


def assert_close(got, expected):
    if isinstance(expected, dict):
        assert list(got) == list(expected)
        got, expected = tuple(got.values()), tuple(expected.values())
    if isinstance(expected, tuple):
        assert type(got) is type(expected) and len(got) == len(expected)
        for g, e in zip(got, expected, strict=True):
            assert_close(g, e)
    elif expected is None:
        assert got is None
    else:
        np.testing.assert_allclose(
            got, expected, rtol=1e-6 if np.asarray(got).dtype == "f4" else 1e-12
        )
        assert np.asarray(got).dtype == np.asarray(expected).dtype


@over_cases
def test_source_runs_and_compiles_to_the_same_function(function):
    args = CASES[function]()
    text = tp.source(function, *copies(args))
    again = loaded(text, function.__name__)
    expected_args, plain_args, compiled_args = copies(args), copies(args), copies(args)
    expected = function(*expected_args)
    assert_close(again(*plain_args), expected)
    assert_close(tp.jit(again)(*compiled_args), expected)
    for a, b, c in zip(expected_args, plain_args, compiled_args, strict=True):
        if isinstance(a, np.ndarray):
            np.testing.assert_allclose(b, a, rtol=1e-12)
            np.testing.assert_allclose(c, a, rtol=1e-12)


def test_source_of_a_source_is_a_fixed_point():
    x = RNG.random(5)
    once = tp.source(axpy, 2.0, x, x.copy())
    twice = tp.source(loaded(once, "axpy"), 2.0, x, x.copy())
    assert once == twice


def test_source_keeps_checks():
    text = tp.source(checked, RNG.random(5), 2)
    again = loaded(text, "checked")
    with pytest.raises(AssertionError, match="not -1"):
        again(RNG.random(5), -1)
    with pytest.raises(ValueError, match="too big"):
        again(RNG.random(500), 101)
    with pytest.raises(IndexError):
        again(RNG.random(5), 7)


def test_cost_counts():
    def scaled_sum(x, k):
        s = 0.0
        for i in range(len(x)):
            s += k * x[i]
        return s

    small, large = tp.cost(scaled_sum, np.ones(10), 2.0), tp.cost(scaled_sum, np.ones(1010), 2.0)
    assert large.flops - small.flops == 2000
    assert large.reads - small.reads == 1000
    assert (small.writes, small.peak_bytes) == (0, 0)
    made = tp.cost(normalise, np.ones(100))
    assert made.peak_bytes >= 800
    assert made.writes >= 100


def test_explain_names_lines_and_decisions():
    u = RNG.random(9)
    seen = tp.explain(stencil, u, 3)
    text = str(seen)
    assert "stencil" in text
    assert "sequential" in text
    assert "u[1:-1] = 0.5 * (u[:-2] + u[2:])" in text
    assert {"core", "optimised", "loops", "llvm"} <= seen.stages.keys()
    assert "define" in seen.stages["llvm"]
    assert "sequential, steps passes" in text
    assert "parallel over u.shape[0] - 2" in text
    page = seen._repr_html_()
    assert "<table>" in page and "&lt;" in page


def test_methods_can_be_inspected():
    class Gain:
        value = 3.0

        def times(self, x):
            return self.value * x

    assert "value" in tp.source(Gain().times, 2.0)
    assert tp.cost(Gain().times, 2.0).flops == 1


def test_errors_of_inspection_are_those_of_calls():
    def bad(x):
        print(x)

    for tool in (tp.source, tp.explain, tp.cost):
        with pytest.raises(tp.errors.CompileError, match="print"):
            tool(bad, 1.0)
