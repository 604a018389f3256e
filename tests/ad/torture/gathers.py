"""Indices: gather, scatter, histograms, masks, shapes"""

from __future__ import annotations

import operator

import numpy as np

import tapeless as tp
from tests.ad.torture.program import program

X = np.array([0.7, -1.2, 1.9, 0.4, -0.8])
K = np.array([3, 0, 3, 1, 0, 3])
V = np.array([0.5, 1.5, -0.7, 0.9, 1.1, 2.0])


@program(X, K)
def gather_with_repeats(x, k):
    """One element is read many times."""
    return np.sum(np.sin(x[k]) * np.arange(6.0))


@program(X, V, K, wrt=(0, 1), truth=lambda x, v, k: (
    np.array([0.0, 0.0, 2 * x[2], 0.0, 2 * x[4]]), np.array([0, 0, 0, 2 * v[3], 2 * v[4], 2 * v[5]])
))  # fmt: skip
def scatter_with_duplicates(x, v, k):
    """The last of several values for one cell is the one that stays."""
    return np.sum(tp.scatter(x, k, v) ** 2)


@program(X, V, np.array([4, -1, 0, 5, 7, 2]), wrt=(0, 1))
def scatter_out_of_range(x, v, k):
    """Indices out of range are ignored, and so are their slopes."""
    return np.sum(np.exp(tp.scatter(x, k, v)))


@program(X, V, K, wrt=(0, 1))
def histogram_by_sum(x, v, k):
    """Sums into cells that data name."""
    return np.sum(tp.reduce_by_index(x, k, v * v) ** 3)


@program(X, V, K, wrt=(0, 1))
def histogram_by_product(x, v, k):
    """Products into cells that data name."""
    return np.sum(tp.reduce_by_index(x, k, v, operator.mul, 1.0) ** 2)


@program(X, V, K, wrt=(0, 1))
def histogram_by_minimum(x, v, k):
    """The least of what falls into each cell."""
    return np.sum(tp.reduce_by_index(x, k, v, min, np.inf) * np.arange(1.0, 6.0))


@program(X, V, K, wrt=(0, 1))
def histogram_by_maximum(x, v, k):
    """The greatest of what falls into each cell."""
    return np.sum(tp.reduce_by_index(x, k, v, max, -np.inf) ** 3)


@program(X, V, K, wrt=(0, 1))
def histogram_by_an_operator(x, v, k):
    """An operator of the user: the cells by logsumexp."""
    op = np.logaddexp
    return np.sum(tp.reduce_by_index(x, k, v, op, -np.inf) ** 2)


@program(X, V, K, wrt=(0, 1))
def add_at(x, v, k):
    """np.add.at with repeats, twice, the second time with what the first gave."""
    y = x.copy()
    np.add.at(y, k, v)
    np.add.at(y, k, v * y[k])
    return np.sum(y * y)


@program(V, K)
def bincount_with_weights(v, k):
    """np.bincount of weights."""
    return np.sum(np.bincount(k, weights=v * v, minlength=5) ** 2)


@program(X)
def masks(x):
    """Masks in sums and writes."""
    y = np.cos(x)
    y[x > 0] = x[x > 0] ** 2
    return np.sum(y[y > 0.6] ** 3) + np.sum(x[x < 0])


@program(np.linspace(0.1, 2.4, 24))
def shapes(x):
    """reshape, transpose, ravel, swapped axes."""
    a = x.reshape(2, 3, 4)
    b = a.transpose(2, 0, 1)
    return np.sum(b[1:, :, ::-1].reshape(3, 6).T * np.arange(18.0).reshape(6, 3)) + np.sum(
        np.ravel(a[:, 1]) ** 2
    )


@program(np.linspace(0.1, 0.9, 4).reshape(4, 1), np.linspace(1.0, 2.0, 3).reshape(1, 3), wrt=(0, 1))
def broadcast_with_size_one(a, b):
    """Axes of size 1 meet longer ones: slopes are summed back."""
    return np.sum(np.exp(a * b) / (a + b))


@program(X)
def cumulative(x):
    """cumsum, cumprod and maximum.accumulate of one array."""
    return (
        np.sum(np.cumsum(x) ** 2)
        + np.sum(np.cumprod(x))
        + np.sum(np.maximum.accumulate(x) * np.arange(5.0))
    )


@program(
    np.linspace(0.1, 0.6, 6).reshape(2, 3), np.linspace(0.2, 1.3, 12).reshape(3, 4), wrt=(0, 1)
)
def einsum_with_a_repeated_operand(a, b):
    """One array twice in a product."""
    return np.sum(np.einsum("ij,jk,ij->ik", a, b, a) ** 2)


@program(np.linspace(0.1, 0.9, 9).reshape(3, 3))
def traces_and_diagonals(a):
    """trace, diag and triangles of one matrix."""
    return np.trace(a @ a @ a) + np.sum(np.diag(a) ** 2) * np.sum(np.tril(a) * np.triu(a.T))


@program(X, V, wrt=(0, 1))
def joined(x, v):
    """concatenate, stack, roll, flip, pad, diff."""
    c = np.concatenate((x, v[::-1], x[1:3]))
    s = np.stack((x, np.roll(x, 2), np.flip(x)))
    return np.sum(np.diff(c) ** 3) + np.sum(s[0] * s[1] * s[2]) + np.sum(np.pad(v, 1) ** 2)


@program(np.zeros(0), truth=lambda x: np.zeros(0))
def empty(x):
    """No element at all."""
    return np.sum(np.sin(x)) + np.prod(x)


@program(np.array([1.5]), truth=lambda x: np.array([2 * x[0] + 2.0]))
def one_element(x):
    """One element: all reductions are it."""
    return np.sum(x * x) + np.max(x) + np.prod(x) + np.sum(np.diff(x))


@program(
    np.array([1.0, 2.0, 4.0]), np.array([0.0, 1.0, 3.0]), np.array([0.4, 2.9, 1.1]), wrt=(0, 1, 2)
)
def interpolated(y, t, at):
    """Linear interpolation by a search in sorted knots."""
    total = 0.0
    for a in at:
        k = min(max(np.searchsorted(t, a, side="right") - 1, 0), t.size - 2)
        w = (a - t[k]) / (t[k + 1] - t[k])
        total += (1 - w) * y[k] ** 2 + w * y[k + 1] ** 2
    return total


@program(np.linspace(0.3, 1.4, 8), np.array([0, 2, 5, 5, 8]))
def rows_of_changing_length(x, start):
    """Rows one after the other in one array, one of them empty."""
    total = 1.0
    for r in range(start.size - 1):
        s = 0.0
        for k in range(start[r], start[r + 1]):
            s += x[k] * x[k]
        total += s * total
    return total
