"""Names and views: what is bound to a part of an array reads and writes the array."""

from __future__ import annotations

import numpy as np

from tests.conformance.constructs.registry import A, X, Y, example

SECTION = "Places"


@example(SECTION, "a name for an array is the array", X)
def alias(x):
    y = x.copy()
    z = y
    z[0] = 9.0
    y[1] = 8.0
    return y, z


@example(SECTION, "a slice bound to a name is a view", X)
def slice_view(x):
    y = x.copy()
    inner = y[1:-1]
    inner += 10.0
    y[2] = 0.0
    return y, inner.sum()


@example(SECTION, "a row bound to a name is a view", A)
def row_view(a):
    b = a.copy()
    row = b[1]
    row[0] = 7.0
    b[1, 2] = 5.0
    return b, row


@example(SECTION, "a transpose is a view", A)
def transpose_view(a):
    b = a.copy()
    t = b.T
    t[0, 1] = 3.0
    t[1] += 1.0
    return b, t


@example(SECTION, "parts of a complex array are written by assignment", X)
def complex_parts(x):
    z = x + 1j * x[::-1]
    z.real = 2.0 * x
    z[1:].imag = 3.0
    z.real += x
    return z


@example(SECTION, "views of views", A)
def views_of_views(a):
    b = a.copy()
    rows = b[1:]
    column = rows[:, ::2]
    column[0] = -1.0
    return b, column, rows


@example(SECTION, "a view in a loop", A)
def view_in_loop(a):
    b = a.copy()
    for i in range(1, b.shape[0]):
        row, before = b[i], b[i - 1]
        row += before * 0.5
    return b


@example(SECTION, "iteration gives views of rows", A)
def iteration_views(a):
    b = a.copy()
    for row in b:
        row[0] = row.sum()
    return b


@example(SECTION, "assignment of a name does not write", X)
def rebinding(x):
    y = x
    y = y * 2
    return x, y


@example(SECTION, "in-place operators write", X)
def in_place(x):
    y = x.copy()
    z = y
    z *= 2
    y -= 1
    return y, z


@example(SECTION, "swapped buffers", X)
def swapped(x):
    a = x.copy()
    b = np.zeros_like(x)
    for _ in range(3):
        for i in range(1, len(x) - 1):
            b[i] = 0.5 * (a[i - 1] + a[i + 1])
        a, b = b, a
    return a, b


@example(SECTION, "copies are arrays of their own", X)
def copies(x):
    y = x.copy()
    z = x[1:].copy()
    w = np.array(x)
    y[0] = z[0] = w[0] = 100.0
    return x, y, z, w


@example(SECTION, "functions write their arguments", X)
def written_by_function(x):
    def fill(a, v):
        a[:2] = v

    y = x.copy()
    fill(y, 3.0)
    fill(y[3:], 4.0)
    return y


@example(SECTION, "arguments are written in place", X, A)
def written_arguments(x, a):
    x[0] = 10.0
    x[1:] *= 2
    a[:, 0] += x[:3]


@example(SECTION, "written and returned", X)
def written_and_returned(x):
    x += 1
    return x


@example(SECTION, "a written argument under a condition", calls=[(X, True), (X, False)])
def written_sometimes(x, p):
    if p:
        x[0] = 1.0
    return x.sum()


@example(SECTION, "a view of an argument is written", A)
def written_view(a):
    inner = a[1:, 1:]
    for i in range(inner.shape[0]):
        inner[i, 0] = i
    inner[...] += 0.5


@example(SECTION, "two arguments written in one loop", X, Y)
def written_both(x, y):
    for i in range(len(x)):
        x[i], y[i] = y[i], x[i] + y[i]


@example(SECTION, "an array in a loop's state", X)
def array_state(x):
    y = x
    for _ in range(4):
        y = y * 0.5 + np.roll(y, 1)
    return y


@example(
    SECTION, "an array chosen by a condition, copied", X, Y, calls=[(X, Y, True), (X, Y, False)]
)
def chosen_array(x, y, p):
    z = x.copy() if p else y.copy()
    z[0] = 99.0
    return z, x, y


@example(SECTION, "reshape and ravel", A)
def reshaped(a):
    b = a.copy()
    flat = b.ravel()
    return flat * 2, b.reshape(4, 3), b.reshape(2, -1)[0], b.reshape(-1).sum()
