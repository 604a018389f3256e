"""Folds and scans by operators of the user"""

from __future__ import annotations

import operator

import numpy as np

import tapeless as tp
from tests.ad.torture.program import program

A = np.array([0.9, -0.5, 1.1, 0.7])
B = np.array([0.3, 0.8, -0.6, 1.2])


@program(A, B, wrt=(0, 1))
def scan_of_linear_maps(a, b):
    """x ↦ aᵢ·x + bᵢ composed, a scan of pairs."""

    def after(p, q):
        return p[0] * q[0], p[1] * q[0] + q[1]

    slopes, starts = tp.scan(after, (a, b), (1.0, 0.0))
    return np.sum(slopes**2) + np.sum(starts * np.arange(4.0))


@program(A)
def scan_of_products(a):
    """A scan by multiplication, every prefix used."""
    return np.sum(tp.scan(operator.mul, a, 1.0) ** 2)


@program(np.array([0.5, 0.0, 2.0, 0.0]), truth=lambda a: np.array([1.0, 0.5 + 1.0, 0.0, 0.0]))
def scan_of_products_with_zeros(a):
    """Prefix products with zeros in them."""
    return np.sum(tp.scan(operator.mul, a, 1.0))


@program(np.linspace(0.1, 1.2, 12).reshape(3, 2, 2))
def scan_of_matrix_products(m):
    """Products of 2×2 matrices as tuples of four."""

    def times(p, q):
        return (
            p[0] * q[0] + p[1] * q[2], p[0] * q[1] + p[1] * q[3],
            p[2] * q[0] + p[3] * q[2], p[2] * q[1] + p[3] * q[3],
        )  # fmt: skip

    a, b, c, d = tp.scan(
        times, (m[:, 0, 0], m[:, 0, 1], m[:, 1, 0], m[:, 1, 1]), (1.0, 0.0, 0.0, 1.0)
    )
    return np.sum(a * d - 2 * b) + np.sum(c * c)


@program(A * 30, truth=lambda a: np.exp(a - a.max()) / np.sum(np.exp(a - a.max())))
def fold_by_logsumexp(a):
    """A running maximum and a scaled sum, folded as a pair: the softmax."""

    def join(p, q):
        top = max(p[0], q[0])
        return top, p[1] * np.exp(p[0] - top) + q[1] * np.exp(q[0] - top)

    top, total = tp.reduce(join, (a, np.ones_like(a)), (-1e300, 0.0))
    return top + np.log(total)


@program(A, 0.4, wrt=(0, 1))
def operator_with_a_captured_value(a, c):
    """p ⊕ q = p + q + c·p·q: what the operator captures has a slope too."""
    return tp.reduce(lambda p, q: p + q + c * p * q, a, 0.0)


@program(A, 0.4, wrt=(0, 1))
def scan_with_a_captured_value(a, c):
    """The same as a scan."""
    return np.sum(tp.scan(lambda p, q: p + q + c * p * q, a, 0.0) ** 2)


@program(A, B, wrt=(0, 1))
def argmax_as_a_fold(a, b):
    """The greatest with a companion, by an operator on pairs."""
    best, with_it = tp.reduce(lambda p, q: p if p[0] > q[0] else q, (a, b), (-1e300, 0.0))
    return best * with_it**2


@program(A)
def variance_by_welford(x):
    """Count, mean and spread, joined pairwise."""

    def join(p, q):
        n = p[0] + q[0]
        d = q[1] - p[1]
        if n == 0.0:
            return 0.0, 0.0, 0.0
        return n, p[1] + d * q[0] / n, p[2] + q[2] + d * d * p[0] * q[0] / n

    n, mean, spread = tp.reduce(join, (np.ones_like(x), x, np.zeros_like(x)), (0.0, 0.0, 0.0))
    return spread / n + mean


@program(A)
def running_maximum(a):
    """max as an operator, in a scan; every prefix counts."""
    return np.sum(tp.scan(max, a, -np.inf) * np.arange(1.0, 5.0))


@program(np.linspace(0.1, 1.2, 12).reshape(4, 3))
def folds_inside_a_map(m):
    """A fold for every row, then one over the rows."""
    rows = np.array([tp.reduce(lambda p, q: p * q + p + q, m[i], 0.0) for i in range(m.shape[0])])
    return tp.reduce(operator.mul, rows, 1.0)


@program(A)
def generators(a):
    """min, max, math.prod and any over generators with clauses."""
    low = min(v * v for v in a if v > 0.0)
    high = max(np.sin(v) for v in a)
    return low * high * np.prod(np.array([v + 2.0 for v in a]))
