"""Arrays that change: sizes, choices of whole arrays, parts found at run time"""

from __future__ import annotations

import numpy as np

import tapeless as tp
from tests.ad.torture.program import program

X = np.array([0.7, -1.2, 1.9, 0.4, -0.8, 1.1, 0.3, 0.9])


@program(X)
def halved_until_one_is_left(x):
    """An array that shrinks in every pass of a `while`."""
    while x.size > 1:
        x = np.sin(x[::2]) * x[1::2]
    return x[0]


@program(X[:3], 3)
def grown_by_joining(x, n):
    """An array that doubles in every pass."""
    for _ in range(n):
        x = np.concatenate((x * x, np.cos(x)))
    return np.sum(x)


@program(X)
def list_begun_anew(x):
    """A list that every pass of the outer loop begins anew, of another length."""
    total = 0.0
    for i in range(4):
        found = []
        for v in x:
            if v > 0.25 * i:
                found.append(v * v + total)
        for k in range(len(found)):
            total += found[k] * 0.1 * (k + 1)
    return total


@program(X)
def best_so_far(x):
    """A whole array is kept where it is better than what was kept."""
    best = x.copy()
    y = x.copy()
    for k in range(4):
        y = np.sin(y + 0.3 * k)
        if np.sum(y * y) > np.sum(best * best) * 0.3:
            best = y.copy()
    return np.sum(best**3)


@program(X)
def choice_of_arrays(x):
    """A ternary between arrays of one size."""
    total = 0.0
    for k in range(3):
        y = x if k == 1 else x * x
        total += np.sum(y) * x[k]
    return total


@program(X)
def windows_found_in_data(x):
    """Slices whose bounds are computed from the data."""
    total = 0.0
    for i in range(x.size):
        k = int(abs(x[i]) * 2)
        total += np.sum(x[i : i + k] ** 2) * x[i]
    return total


@program(X, np.array([3, 3, 0, 7, 2]))
def exchanges_with_oneself(x, k):
    """Elements change places, sometimes with themselves."""
    for j in range(k.size):
        x[j], x[k[j]] = x[k[j]] * 2.0, x[j]
    return np.sum(x * np.arange(8.0))


@program(X)
def written_by_an_inner_function(x):
    """Functions that write their parameters, called with one array and with parts of it."""

    def scale(a, by):
        for i in range(a.size):
            a[i] *= by + a[i]

    y = x.copy()
    scale(y, x[0])
    scale(y[2:5], y[0])
    scale(y[::-3], 0.1)
    return np.sum(y)


@program(np.linspace(0.2, 1.5, 12).reshape(3, 4))
def rows_relaxed_in_a_map(m):
    """Every row has a `while` with writes in place."""

    def settle(row):
        y = row.copy()
        while y[0] < 1.5:
            for i in range(y.size - 1):
                y[i] = y[i] + 0.3 * y[i + 1]
        return y[0] * y[1]

    return np.sum(np.array([settle(m[i]) for i in range(m.shape[0])]))


@program(np.array([[0.3, 0.9, 0.9], [1.2, 0.1, 0.5]]),
         truth=lambda m: np.array([[3.0, 1.0, 0.0], [2.0, 4.0, 5.0]]))  # fmt: skip
def extrema_along_axes(m):
    """Ties along an axis go to the first; minima along the other axis."""
    return np.sum(np.max(m, axis=1) * np.array([1.0, 2.0])) + np.sum(
        np.min(m, axis=0) * np.array([3.0, 4.0, 5.0])
    )


@program(np.linspace(-1.0, 1.3, 12).reshape(3, 4))
def mask_of_a_matrix(m):
    """Masks of two axes in writes, and a sum over what they leave."""
    y = np.exp(m)
    y[m < 0] = m[m < 0] ** 2
    y[y > 2.0] *= 0.5
    return np.sum(y**2) * np.sum(np.where(m > 0.5, np.log(m), m))


@program(X)
def early_return_in_a_map(x):
    """A function with several returns, in a map."""

    def g(v, k):
        for j in range(k):
            v = v * v - 0.5
            if v < -0.2:
                return v * j
            if v > 2.0:
                return np.log(v)
        return v + 1.0

    return np.sum(np.array([g(x[i], i) for i in range(x.size)]))


@program(X)
def squared_by_itself(x):
    """a[i] op= a[i]: operand and target are one cell."""
    for i in range(x.size):
        x[i] *= x[i]
        x[i] += x[i]
        x[i] /= 1.0 + x[i]
        x[i] **= 2
    return np.sum(x)


@program(X)
def histogram_in_a_while(x):
    """Cells named by data, in a loop that ends by what was summed."""
    h = np.zeros(3)
    k = 0
    while h[1] < 2.0 and k < 20:
        v = x[k % x.size]
        h[int(abs(v) * 1.4)] += v * v + 0.1 * h[0]
        k += 1
    return np.sum(h * h) * h[1]


@program(X)
def lists_of_arrays(x):
    """A list of arrays, walked backwards."""
    kept = [x, np.sin(x), x * x]
    total = 0.0
    for a in kept[::-1]:
        total = total * 0.5 + np.sum(a * kept[0])
    return total


@program(X, 2, wrt=0)
def matrix_power_by_squaring(x, n):
    """Products of matrices in a loop over bits."""
    m = np.outer(x[:3], x[3:6]) + np.eye(3)
    out = np.eye(3)
    k = 5 * n
    while k > 0:
        if k % 2 == 1:
            out = out @ m
        m = m @ m * 0.5
        k //= 2
    return np.sum(out)


@program(X)
def prefix_then_suffix(x):
    """Two sweeps in opposite directions over shared scratch."""
    n = x.size
    up, down = np.ones(n), np.ones(n)
    for i in range(1, n):
        up[i] = up[i - 1] * x[i - 1]
    for i in range(n - 2, -1, -1):
        down[i] = down[i + 1] * x[i + 1]
    return np.sum(np.sin(up * down))


@program(X, 0.3, wrt=(0, 1))
def stencil_with_wrapping_indices(x, c):
    """Negative indices and remainders name neighbours."""
    y = x.copy()
    for _ in range(3):
        z = np.empty_like(y)
        for i in range(y.size):
            z[i] = y[i] + c * (y[i - 1] - 2 * y[i] + y[(i + 1) % y.size]) * y[-i]
        y = z
    return np.sum(y * y)


@program(X)
def two_loops_share_a_sum(x):
    """An accumulator goes through a map, a reduction and a sequential loop."""
    total = 0.0
    for v in x:
        total += v * v
    for i in range(x.size):
        total = np.cos(total) * x[i]
    for v in x:
        total += v * total
    return total


@program(X, 3)
def loops_by_strategies(x, n):
    """A stored loop in a checkpointed one, which writes in place."""
    for k in tp.loop(n, reverse="checkpoint", slots=1):
        for i in tp.loop(range(1, x.size), reverse="store"):
            x[i] = x[i] + 0.1 * np.sin(x[i - 1]) * (k + 1)
    return np.sum(x * x)
