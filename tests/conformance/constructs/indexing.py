"""Indexing, slicing, masks, index arrays, broadcasting."""

from __future__ import annotations

import numpy as np

from tests.conformance.constructs.registry import ALL, IDX, MASK, A, K, T, X, Y, example

SECTION = "Indexing"


@example(SECTION, "element, negative index", A, 2)
def elements(a, k):
    return a[1, 2], a[-1, -k], a[k][0], a[0][-1]


@example(SECTION, "rows and columns", A, calls=[(A, 1), (A, -1)])
def rows_columns(a, k):
    return a[k], a[:, k], a[k, :], a[k].sum()


@example(SECTION, "slices", X, calls=[(X, 1, 4), (X, -3, -1), (X, 3, 99), (X, 4, 2)])
def slices(x, i, j):
    return x[i:j], x[i:], x[:j], x[:], x[i:j:2]


@example(SECTION, "negative steps", X)
def negative_steps(x):
    return x[::-1], x[3:0:-1], x[::-2], x[-2::-1]


@example(SECTION, "slices of several axes", T)
def slices_of_axes(t):
    return t[0, 1:, ::2], t[..., 1], t[1, ...], t[:, None, 0], t[:, :, 1:3]


@example(SECTION, "None and newaxis", X, Y)
def new_axes(x, y):
    return x[:, None] * y[None, :], x[np.newaxis].shape, x[:, None].shape


@example(SECTION, "out of range raises", calls=[(X, 5), (X, -6), (X, 4), (X, -5)])
def out_of_range(x, k):
    return x[k]


@example(SECTION, "writes to elements", X, over=ALL)
def write_elements(x):
    y = x.copy()
    y[0] = y[1] + y[2]
    y[-1] += y[0]
    y[1] *= 2
    return y


@example(SECTION, "writes out of range raise", calls=[(X, 5), (X, -6), (X, -1)])
def write_out_of_range(x, k):
    y = x.copy()
    y[k] = 1.0
    return y


@example(SECTION, "writes to slices", A)
def write_slices(a):
    b = a.copy()
    b[0] = 1.0
    b[:, 1] = b[:, 0] * 2
    b[1:, 2:] += b[:-1, :2]
    b[::2, ::-1] -= 0.5
    b[..., -1] = np.arange(3)
    return b


@example(SECTION, "overlapping slices read before they are written", X)
def write_overlap(x):
    y = x.copy()
    y[1:] = y[:-1]
    z = x.copy()
    z[:-1] += z[1:]
    w = x.copy()
    w[::-1] = w
    return y, z, w


@example(SECTION, "masks in reductions", X, MASK)
def masks_reduce(x, mask):
    return x[mask].sum(), x[x > 0].max(), np.sum(x[~mask]), x[x > 0].size, np.mean(x[mask])


@example(SECTION, "masks make arrays of run-time length", X, MASK, over=ALL,
         calls=[(X, MASK), (X, ~MASK), (X, MASK & False)])  # fmt: skip
def masked_array(x, mask):
    return x[mask], x[mask] * x[mask], len(x[mask])


@example(SECTION, "masks and index arrays of one axis among several", T)
def masks_of_axes(t):
    return t[:, [True, False, True]], t[:, :, [0, 2]], t[[0, 1], [1, 2]], t[[0, 1], :, [1, 2]]


@example(SECTION, "masks in writes", X)
def masks_write(x):
    y = x.copy()
    y[y < 0] = 0.0
    y[y > 2] *= 10
    y[(y > 0) & (y < 1)] += 5
    return y


@example(SECTION, "masks of whole rows", A, np.array([True, False, True]))
def masks_rows(a, mask):
    b = a.copy()
    b[mask] = 0.0
    return b, a[mask].sum(axis=0)


@example(SECTION, "index arrays", X, IDX, calls=[(X, IDX), (X, -IDX)])
def index_arrays(x, idx):
    return x[idx], x[idx].sum(), x[idx] * 2


@example(SECTION, "index arrays of rows", A, np.array([2, 0, 2]))
def index_rows(a, idx):
    return a[idx], a[:, idx], a[idx, idx], np.take(a, idx, axis=1)


@example(SECTION, "writes by index arrays", X, IDX)
def write_by_index(x, idx):
    y = np.zeros(5)
    y[idx] = x
    z = np.ones(5)
    z[idx] += x
    return y, z


@example(SECTION, "np.add.at accumulates repeated indices", X, IDX)
def add_at(x, idx):
    y = np.zeros(5)
    np.add.at(y, idx, x)
    np.subtract.at(y, idx, 0.5)
    return y


@example(SECTION, "`np.add.at` of lists, single places and rows", X, A[:3, :4])
def add_at_places(x, a):
    y, m = x.copy(), a.copy()
    np.add.at(y, [0, 0, 1], 2.0)
    np.add.at(y, 3, 1.5)
    np.negative.at(y, 2)
    np.add.at(m, (1, 2), 5.0)
    np.add.at(m, ([0, 0], [1, 1]), 1.0)
    np.add.at(m, [0, 0], x[: m.shape[1]])
    np.multiply.at(m, 2, 3.0)
    return y, m


@example(SECTION, "index arrays out of range raise", X, np.array([0, 9]))
def index_array_out_of_range(x, idx):
    return x[idx]


@example(SECTION, "broadcasting", A, A[0], A[:, :1], 2.0)
def broadcasting(a, row, column, s):
    return a + row, a * column, row + column, a - s, row[None] * s


@example(
    SECTION,
    "broadcasting of axes of size 1",
    A,
    calls=[(A, A), (A, A[:1]), (A, A[:, :1]), (A[:1], A)],
)
def broadcasting_ones(a, b):
    return a * b + b


@example(SECTION, "shapes that do not meet raise", X, X[:3])
def shapes_that_differ(x, y):
    return x + y


@example(SECTION, "boolean scalar and comparison of arrays", X, Y)
def where_masks(x, y):
    return np.where(x > y, x, y), np.where(x > 0, 1, 0), (x > y).any(), (x > y).all()


@example(SECTION, "computed indices", X, K)
def computed_indices(x, k):
    s = 0.0
    for i in range(len(k)):
        s += x[k[i] % len(x)] * x[-1 - i] + x[(i * i) % 5]
    return s


@example(SECTION, "zero-dimensional arrays", np.array(2.5))
def zero_dimensional(a):
    return a * 2, a[()], a.item() + 1, a.ndim


@example(SECTION, "empty arrays", np.zeros(0), np.zeros((0, 3)))
def empty_arrays(x, a):
    return x.sum(), x * 2, a.sum(axis=0), a.sum(axis=1), x[1:], len(a)
