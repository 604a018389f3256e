"""Parallel forms."""

from __future__ import annotations

import math
import operator

import numpy as np

import tapeless as tp
from tests.conformance.constructs.registry import FLOATS, IDX, REAL, A, K, X, Y, example

SECTION = "Parallel forms"
EMPTY = np.zeros(0)


@example(SECTION, "map by comprehension", X, calls=[(X,), (EMPTY,)], over=FLOATS, tol=1e-6)
def map_comprehension(x):
    return np.array([x[i] * i + np.sin(x[i]) for i in range(len(x))])


@example(SECTION, "map over elements", X, Y)
def map_elements(x, y):
    return np.array([a * b for a, b in zip(x, y)]), np.array([v if v > 0 else 0.0 for v in x])


@example(SECTION, "nested brackets make a matrix", X, Y)
def map_nested(x, y):
    return np.array([[a - b for b in y] for a in x])


@example(SECTION, "several for in one bracket make one axis", X[:3], Y[:2])
def map_flat(x, y):
    return np.array([a * b for a in x for b in y])


@example(SECTION, "rows", A)
def map_rows(a):
    return np.array([row * 2 - row[0] for row in a])


@example(SECTION, "tp.map", X, Y, over=REAL)
def tp_map(x, y):
    return tp.map(lambda a, b: a * b + 1, x, y)


@example(SECTION, "tp.map of tuples", X)
def tp_map_tuples(x):
    doubled, signs = tp.map(lambda v: (v * 2, v > 0), x)
    return doubled, signs


@example(SECTION, "a bare comprehension is a list", X)
def lists(x):
    squares = [v * v for v in x]
    total = 0.0
    for s in squares:
        total += s
    return squares, len(squares), squares[2], sum(squares), max(squares), total


@example(SECTION, "sum, min, max, any, all over generators", X)
def generators(x):
    n = len(x)
    return (
        sum(v * v for v in x), max(abs(v) for v in x), min(x[i] * i for i in range(n)),
        any(v > 2 for v in x), all(v < 9 for v in x), sum(x), max(x), min(x),
    )  # fmt: skip


@example(SECTION, "math.prod, math.fsum and sum with a start", X)
def products_of_generators(x):
    return math.prod(x), math.prod(v + 1 for v in x), sum((v for v in x), 10.0), sum(x, 2.5)


@example(SECTION, "nested generators", A)
def nested_generators(a):
    m, n = a.shape
    return sum(a[i, j] * (i - j) for i in range(m) for j in range(n)), max(sum(row) for row in a)


@example(SECTION, "argmax and argmin", X, calls=[(X,), (np.array([1.0, 3.0, 3.0, -1.0, -1.0]),)])
def argmax(x):
    return np.argmax(x), x.argmin(), np.argmax(-x)


@example(SECTION, "tp.reduce", X, calls=[(X,), (EMPTY,)])
def tp_reduce(x):
    return tp.reduce(operator.add, x, 0.0), tp.reduce(lambda a, b: max(a, b), x, -np.inf)


@example(SECTION, "tp.reduce of tuples", X)
def tp_reduce_tuples(x):
    def best(a, b):
        return a if a[0] >= b[0] else b

    return tp.reduce(best, (x, np.arange(len(x))), (-np.inf, -1))


@example(SECTION, "tp.reduce of matrices", np.stack([np.eye(2), 2 * np.ones((2, 2)), np.tri(2)]))
def tp_reduce_matrices(ms):
    return tp.reduce(lambda a, b: a @ b, ms, np.eye(2))


@example(SECTION, "tp.scan", X, calls=[(X,), (X[:1],)])
def tp_scan(x):
    return tp.scan(operator.add, x, 0.0), tp.scan(lambda a, b: max(a, b), x, -np.inf)


@example(SECTION, "tp.scan of a recurrence", X, Y)
def tp_scan_recurrence(a, b):
    def compose(f, g):
        return f[0] * g[0], f[1] * g[0] + g[1]

    return tp.scan(compose, (a, b), (1.0, 0.0))[1]


@example(SECTION, "the if clause of a reduction is Iverson's bracket", X)
def iverson_clause(x):
    n = len(x)
    return sum(x[i] * x[i + 1] for i in range(n) if i + 1 < n), sum(1 for v in x if v > 0)


@example(SECTION, "tp.iverson", X)
def tp_iverson(x):
    total = 0.0
    for v in x:
        total += tp.iverson(v > 0) * np.sqrt(v)
    return total, tp.iverson(x[0] > 0) * x[1]


@example(SECTION, "excluded terms are not evaluated", X)
def iverson_lazy(x):
    n = len(x)
    return np.array([sum(x[i + k] for k in range(-1, 2) if 0 <= i + k < n) for i in range(n)])


@example(SECTION, "min and max of nothing raise", calls=[(X, 2.0), (X, 99.0)])
def empty_max(x, limit):
    return max(v for v in x if v > limit)


@example(SECTION, "tp.scatter", X, IDX, calls=[(X, IDX), (X, np.array([9, -1, 0, 0, 3]))])
def tp_scatter(x, idx):
    return tp.scatter(np.zeros(5), idx, x)


@example(SECTION, "tp.reduce_by_index", X, IDX, calls=[(X, IDX), (X, np.array([9, -1, 0, 0, 3]))])
def tp_reduce_by_index(x, idx):
    counts = tp.reduce_by_index(np.zeros(5, np.int64), idx, np.ones(5, np.int64))
    return tp.reduce_by_index(np.ones(5), idx, x), counts


@example(SECTION, "tp.reduce_by_index with an operator", X, IDX)
def tp_histogram_max(x, idx):
    top = tp.reduce_by_index(np.full(5, -np.inf), idx, x, lambda a, b: max(a, b), -np.inf)
    return top, tp.reduce_by_index(np.ones(5), idx, x, operator.mul, 1.0)


@example(SECTION, "np.bincount", IDX, X)
def bincount(idx, x):
    return np.bincount(idx), np.bincount(idx, weights=x), np.bincount(idx, minlength=8)


@example(SECTION, "tp.each", X, K)
def tp_each(x, k):
    y = np.zeros(len(x))
    total = 0.0
    for i in tp.each(len(x)):
        y[i] = x[i] * 2
        total += x[i]
    return y, total


@example(SECTION, "tp.each with accumulations", X, IDX)
def tp_each_accumulate(x, idx):
    h = np.zeros(5)
    top = -np.inf
    for i in tp.each(len(x)):
        h[idx[i]] += x[i]
        top = max(top, x[i])
    return h, top


PERM = np.array([3, 0, -1, 1, 2])


@example(SECTION, "tp.each that writes where an array says", X, PERM)
def tp_each_permuted(x, perm):
    y = np.zeros(len(x))
    count = 0
    for i in tp.each(len(x)):
        if x[i] > 0:
            y[perm[i]] = x[i]
            count += 1
    for i in tp.each(len(x)):
        x[perm[i]] = x[perm[i]] * 2 + y[perm[i]]
    return y, count, x


@example(SECTION, "tp.each that writes an element twice", X, PERM)
def tp_each_twice(x, perm):
    y = x * 0.5
    for i in tp.each(len(x)):
        k = perm[i]
        y[k] = x[k] - 1
        if y[k] > 0:
            y[k] = y[k] * 3
        y[k] += x[i]
    return y


@example(SECTION, "tp.each over rows that an array names", calls=[(A, IDX[[4, 1]]), (A, IDX[:0])])
def tp_each_rows(a, which):
    for k in tp.each(len(which)):
        for j in range(1, a.shape[1]):
            a[which[k], j] -= a[which[k], j - 1] * a[which[k], j]
    return a


@example(SECTION, "tp.each that reads far away", calls=[(X, 2), (X, 0)])
def tp_each_far(x, m):
    for i in tp.each(m):
        x[i] = x[i + m] + x[i]
    return x


@example(SECTION, "an ordinary loop that fills", X)
def loop_that_fills(x):
    y = np.empty(len(x))
    for i in range(len(x)):
        y[i] = x[i] * x[i] - 1
    return y


@example(SECTION, "an ordinary loop that accumulates", A)
def loop_that_accumulates(a):
    sums = np.zeros(a.shape[1])
    top = a[0, 0]
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            sums[j] += a[i, j]
            top = max(top, a[i, j])
    return sums, top


@example(SECTION, "stateless random numbers", 7, 4)
def random_numbers(seed, n):
    u = np.array([tp.random.uniform(seed, i) for i in range(n)])
    z = tp.random.normal(seed, 1, 2)
    return u, z, tp.random.bits(seed, n)


@example(SECTION, "forms inside forms", A, X[:4])
def nested_forms(a, x):
    return tp.map(lambda row: tp.reduce(operator.add, row * x, 0.0), a), np.array(
        [max(v * w for v, w in zip(row, x)) for row in a]
    )


LOOPS = "Sequential loops"


@example(LOOPS, "tp.loop counts", X)
def loop_counts(x):
    s = 0.0
    for t in tp.loop(len(x)):
        s = s * 0.5 + x[t]
    return s


@example(LOOPS, "tp.loop over what can be iterated", X, A)
def loop_over(x, a):
    s = 0.0
    for v in tp.loop(x):
        s = s * 0.5 + v
    for t in tp.loop(range(1, 4)):
        s += t * x[t]
    for row in tp.loop(a):
        s -= row[0]
    return s


@example(LOOPS, "tp.loop keeps its strategy for derivatives", X, 3)
def loop_strategies(x, slots):
    s = x[0]
    for t in tp.loop(4, reverse="checkpoint", slots=slots):
        s = s * 1.5 - x[t]
    for t in tp.loop(4, reverse="checkpoint", levels=2):
        s = s * 0.5 + x[t]
    for _ in tp.loop(3, reverse="store"):
        s = s + 1.0
    for _ in tp.loop(2, reverse="recompute", memory=1000):
        s = s * 2.0
    return s
