"""Constructs that meet: operands of different types, sizes 1 and 0, views, swaps, nested loops."""

from __future__ import annotations

import math

import numpy as np

import tapeless as tp
from tests.conformance.constructs.registry import COMPLEX, IDX, REAL, A, X, Y, Z, example

VALUES, STATEMENTS, PLACES, INDEXING = "Values", "Statements", "Places", "Indexing"
EMPTY = np.zeros(0)
PAIRS = [
    (np.arange(3, dtype="i4"), np.ones(3, "f4")),
    (np.arange(3, dtype="u1"), np.ones(3)),
    (np.ones(3, "f4"), np.array([1, 2, 3])),
    (np.array([True, False, True]), np.arange(3, dtype="i2")),
    (np.arange(3, dtype="u4"), np.arange(3, dtype="i4")),
    (np.arange(3, dtype="u8"), np.array([-1, 1, 5])),
    (np.array([-3, 2, 7]), np.array([2**63, 2, 1], dtype="u8")),
]


@example(VALUES, "operands of different element types", calls=PAIRS)
def mixed_operands(a, b):
    return a + b, a * b, a[0] + b[1], np.maximum(a, b), np.where(a > b, a, b), a / (b + 1)


@example(VALUES, "comparison of different element types", calls=PAIRS)
def mixed_comparison(a, b):
    return a < b, a <= b, a == b, a != b, a > b, a >= b, b[0] < a[0], b > a


@example(VALUES, "floor division and remainder of integers",
         calls=[(7, 3), (-7, 3), (7, -3), (-7, -3), (0, 5), (-1, 2**62)])  # fmt: skip
def floors_of_integers(a, b):
    return a // b, a % b, divmod(a, b), math.fmod(a, b), np.array([a]) // np.array([b]), a % 7


@example(
    VALUES, "floor division and remainder of floats",
    calls=[(7.5, 2.0), (-7.5, 2.0), (7.5, -2.0), (-0.0, 3.0), (5.0, np.inf), (-5.0, np.inf),
           (5.0, -np.inf), (np.inf, 2.0), (np.nan, 1.0), (1e300, 1e-10)],
)  # fmt: skip
def floors_of_floats(a, b):
    return np.floor_divide(a, b), np.mod(a, b), np.array([a]) // b, np.array([a]) % b, a // b, a % b


@example(VALUES, "powers of numbers", calls=[(2, 3), (2, 0), (-2, 3), (0, 0)])
def powers_of_numbers(a, b):
    return a**b, a**2, 2**b, 2.0**a, a**2.0, np.array([a]) ** 2, np.array([a]) ** b, pow(a, b)


@example(VALUES, "powers of arrays", X, over=REAL)
def powers_of_arrays(x):
    return x**2, x**3, x**0, abs(x) ** 0.5, 2 ** abs(x), x**1


@example(VALUES, "complex functions and products", Z, over=COMPLEX, tol=1e-5)
def complex_products(z):
    return (
        z**2, abs(z), np.exp(z), np.sqrt(z), z.sum(), z.mean(), z * 1j, z.real + z.imag,
        np.angle(z), z[0] ** 0.5, 1 / (z + 5), z == z, np.dot(z, z), np.vdot(z, z), z @ z,
    )  # fmt: skip


@example(VALUES, "complex numbers in loops", Z)
def complex_loops(z):
    w = z.copy()
    w[0] = 1.0
    w[1:] *= 1j
    s = 0j
    for v in z:
        s += v * v.conjugate()
    return w, s


@example(VALUES, "Python and NumPy integers", 5, np.int32(5), np.uint8(250))
def kinds_of_integers(n, k, m):
    return (
        k * k, m + m, k + 1.5, n / 2, -n // 2, n % 3, n << 3, n & 6, ~n, n**2, k // 2, k / 2, k**2,
        True + True, -True, abs(-n), round(2.5), round(3.7), round(2.345, 2), int(-3.9),
        math.floor(-0.5), math.ceil(0.2), math.trunc(-2.7), divmod(-n, 3), max(n, 2.5), min(n, 7),
        float(n), bool(n), n and 3, n or 3, not n,
    )  # fmt: skip


@example(
    INDEXING, "negative steps of every kind",
    calls=[(X,), (X[::-1],), (EMPTY,), (X[:1],)], over=("f8", "i4", "?"),
)  # fmt: skip
def negative_step_slices(x):
    return x[::-1], x[::-2], x[3:0:-1], x[-1:-4:-1], x[10:2:-1], x[2:2], x[5:1], x[-10:10:3]


@example(INDEXING, "negative steps of several axes", A)
def negative_steps_of_axes(a):
    return a[::-1, ::-2], a[:, ::-1][1], a[::-1][0], a.T[::-1]


@example(
    INDEXING, "sizes 1 and 0 that are broadcast",
    calls=[(np.ones((1, 4)), np.ones((3, 1))), (np.ones((3, 4)), np.ones((1, 1))),
           (np.ones((1, 1)), np.ones((1, 4))), (np.ones((0, 4)), np.ones((1, 4)))],
)  # fmt: skip
def broadcast_sizes(a, b):
    return a + b, a * b - a, (a + b).sum(axis=0)


@example(INDEXING, "writes by masks and index arrays",
         calls=[(A, np.array([2, 0, -1])), (A, np.array([1, 1, 1]))])  # fmt: skip
def masked_writes(a, idx):
    b = a.copy()
    b[b < 0] = 0
    b[idx] = 5.0
    b[idx, 1] += 1
    b[:, [0, 2]] = b[:, [2, 0]]
    b[b > 4] -= b.mean()
    b[idx[0]] *= 2
    c = a.copy()
    c[[0, 1], [1, 2]] = [7.0, 8.0]
    c[a > 3] = 1.0
    return b, c


@example(PLACES, "views that are written, one under another", X, A)
def views_written(x, a):
    y = x.copy()
    v = y[1:4]
    w = v[::-1]
    w[0] = 100.0
    v += 1
    y[2] = 7.0
    b = a.copy()
    r, c, d = b[1], b[:, 2], b.T
    r[:] = 0
    c *= 2
    d[0, 0] = 9
    return y, v, w, b, r, c, d


@example(PLACES, "buffers that are swapped and read afterwards", X)
def swapped_buffers(x):
    a = x.copy()
    b = np.zeros_like(x)
    for _ in range(5):
        b[1:-1] = 0.5 * (a[:-2] + a[2:])
        a, b = b, a
    return a, b


@example(PLACES, "three buffers that go round", X)
def rotated_buffers(x):
    a, b, c = x.copy(), x * 2, x * 3
    for t in range(4):
        a, b, c = b, c, a
        a[0] += t
    return a, b, c


@example(PLACES, "in-place operators of matrices", X, A)
def in_place_matrices(x, a):
    y = a @ x[:4]
    a = a.copy()
    a[1] += y[0]
    a /= 2
    a //= 1
    a %= 3
    a **= 2
    a[:, 0] = -a[:, 1]
    return a, a.T @ a, np.outer(x, x)[1:, ::2], (a > 1) & (a < 2) | ~(a == 0)


@example(STATEMENTS, "else of loops that break", calls=[(X, 99.0), (X, 2.5), (EMPTY, 0.0)])
def loops_that_break(x, limit):
    for i, v in enumerate(x):
        if v > limit:
            r = i
            break
    else:
        r = -1
    k = 0
    while k < len(x):
        if x[k] < -3:
            break
        k += 1
    else:
        k = 100
    return r, k


@example(STATEMENTS, "return, break and continue in nested loops",
         calls=[(A, 2.0), (A, 5.0), (A, 99.0)])  # fmt: skip
def returns_in_nests(a, limit):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] > limit:
                return i, j, a[i, j]
            if a[i, j] == 0:
                break
        if i == 5:
            return -2, -2, 0.0
    return -1, -1, -1.0


@example(STATEMENTS, "return from a loop without end", A)
def return_from_endless(a):
    k = 0
    while True:
        for v in a[k]:
            if v > 4:
                return k, v
        k += 1


@example(STATEMENTS, "walrus in comprehensions and tests", X)
def walrus_everywhere(x):
    out = np.array([y * y if (y := v + 1) > 0 else 0.0 for v in x])
    if (n := len(x)) > 3:
        m = n
    else:
        m = 0
    return out, n, m, (z := 3.0) + z


@example(STATEMENTS, "chains of comparisons", calls=[(1, 2, 3), (3, 2, 1), (2, 2, 2)])
def chains(a, b, c):
    return a < b <= c, a == b == c, a < b > c, not a < b < c, (a < b) + (b < c), a < b or b < c < a


@example(STATEMENTS, "each operand of a chain is evaluated once", X)
def chains_once(x):
    n = 0

    def count():
        nonlocal n
        n += 1
        return x[n]

    r = 5 < count() < 7
    return r, n


@example(STATEMENTS, "nested np.errstate", X)
def nested_errstate(x):
    with np.errstate(all="ignore"):
        y = x / 0.0
    with np.errstate(divide="ignore"), np.errstate(invalid="ignore"):
        z = np.log(x)
    return y, z


@example(STATEMENTS, "messages of errors", calls=[(X,), (-X,)])
def messages(x):
    assert len(x) > 2, f"short {len(x)}"
    if x[0] < 0:
        raise ValueError(f"bad {x[0]:.3f} and {len(x)}")
    return x[2]


@example(
    "Parallel forms", "brackets of what is not a number", np.array([1.0, np.nan, -2.0, np.inf])
)
def iverson_of_nan(x):
    s = 0.0
    for v in x:
        s += tp.iverson(v == v) * v
    return s, tp.iverson(x[0] < 0) * x[1], x[1] * tp.iverson(False), tp.iverson(x > 0) * x


@example(INDEXING, "reductions of nothing", calls=[(X,), (EMPTY,), (X[:1],)])
def reductions_of_nothing(x):
    return (
        np.sum(x), np.prod(x), x.any(), x.all(), sum(v for v in x), any(v > 9 for v in x),
        all(v < 9 for v in x), np.count_nonzero(x > 0), math.prod(x), np.linalg.norm(x),
        x.cumsum(), np.dot(x, x), np.sort(x), x[x > 0].sum(), len(x), x + Y[:0].sum(),
    )  # fmt: skip


@example(INDEXING, "maximum of an empty array raises", EMPTY)
def maximum_of_nothing(x):
    return max(x)


@example(INDEXING, "x.max() of an empty array raises", EMPTY)
def method_of_nothing(x):
    return x.max()


@example(INDEXING, "np.argmin of an empty array raises", EMPTY)
def position_of_nothing(x):
    return np.argmin(x)


@example("Parallel forms", "indices outside in every form", X, IDX,
         calls=[(X, IDX), (X, np.array([5, -1, 0, 99, 0]))])  # fmt: skip
def indices_outside(x, i):
    return (
        tp.scatter(np.zeros(5), i, x), tp.reduce_by_index(np.zeros(5), i, x),
        tp.reduce_by_index(np.full(5, -np.inf), i, x, max, -np.inf),
        tp.reduce_by_index(np.zeros((5, 2)), i, np.ones((5, 2))),
    )  # fmt: skip
