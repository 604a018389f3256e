"""The bytes that `tp.cost` predicts are those that compiled code takes, counted one by one."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as tp
from tools.measured_memory import peak_bytes

RNG = np.random.default_rng(3)
X = RNG.random(3000)
MATRIX = RNG.random((60, 50))


def chain(x):
    return np.sqrt(np.exp(-x) * 2.0 + x) / (1.0 + x * x)


def normalised(x):
    y = np.cumsum(x)
    return y / y[-1]


def both_scans(x):
    a, b = np.cumsum(x), np.cumsum(x * x)
    return a[::-1] * b[-1] + b


def stages(x):
    y = np.cumsum(x)
    z = np.cumsum(y[::-1])
    w = np.cumsum(z[::-1])
    return np.max(w) + w[0]


def table(x):
    n = 60
    t = np.zeros((n, n))
    for i in range(1, n):
        for j in range(1, n):
            t[i, j] = max(t[i - 1, j], t[i, j - 1]) + x[i] * x[j]
    return t[n - 1, n - 1]


def layers(x, v, w):
    h = np.tanh(x @ v)
    return h @ w


def pairs(x):
    y = np.sort(x)
    return y[::2] + y[1::2]


def diffused(u):
    for _ in range(4):
        v = u.copy()
        for i in range(1, u.size - 1):
            u[i] = 0.5 * (v[i - 1] + v[i + 1])


def shortest(d):
    for k in range(d.shape[0]):
        for i in range(d.shape[0]):
            for j in range(d.shape[0]):
                d[i, j] = min(d[i, j], d[i, k] + d[k, j])


def rows(a):
    out = np.empty(a.shape[0])
    for i in range(a.shape[0]):
        top = np.max(a[i])
        out[i] = top + np.log(np.sum(np.exp(a[i] - top)))
    return out


def mixture(x, means):
    """Every lane has a row of distances and a point of its own."""
    total = 0.0
    for i in range(x.shape[0]):
        far = np.empty(means.shape[0])
        for c in range(means.shape[0]):
            z = x[i] - means[c]
            far[c] = np.sum(np.cumsum(z) ** 2)
        total += np.log(np.sum(np.exp(-far)))
    return total


CASES = {
    chain: (X,), normalised: (X,), both_scans: (X,), stages: (X,), table: (X,), pairs: (X,),
    layers: (MATRIX, MATRIX.T.copy(), MATRIX), diffused: (X.copy(),),
    shortest: (RNG.random((30, 30)),), rows: (RNG.random((2000, 5)),),
    mixture: (RNG.random((300, 12)), RNG.random((15, 12))),
}  # fmt: skip


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_prediction_is_within_a_tenth(f):
    compiled = tp.jit(f, parallel=False)
    measured = peak_bytes(compiled, *CASES[f])
    assert tp.cost(compiled, *CASES[f]).peak_bytes == pytest.approx(measured, rel=0.1)


def test_a_fused_chain_allocates_its_result_only():
    assert peak_bytes(tp.jit(chain), X) == X.nbytes
