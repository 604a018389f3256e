"""Values that are overwritten after they were read"""

from __future__ import annotations

import numpy as np

from tests.ad.torture.program import program

X = np.array([0.7, -1.2, 1.9, 0.4, -0.8])


@program(2.0, 3.0, wrt=(0, 1), truth=lambda x, b: (4 * b + 600.0, 4 * x))
def read_then_overwritten(x, b):
    """A factor is read in a loop, then changed: each pass has its own."""
    total = 0.0
    for _ in range(4):
        total += x * b
        b = b + 100.0
    return total


@program(np.ones(6), np.linspace(0.5, 1.5, 6), wrt=(0, 1))
def recurrence_in_place(a, x):
    """Each element is read by the next pass after it was written: undone in reverse."""
    for i in range(1, a.size):
        a[i] = a[i - 1] * x[i] / 2 + a[i]
    return np.sum(a * a)


@program(X)
def squared_in_place(x):
    """The same cells are overwritten in every pass by a function of themselves."""
    for _ in range(3):
        for i in range(x.size):
            x[i] = np.sin(x[i]) * x[(i + 1) % x.size]
    return np.sum(x)


@program(np.array([2.3, 0.6, 1.4, 0.1]), 0.9, wrt=(0, 1))
def index_from_the_array_written(a, v):
    """a[int(a[k])] = v: the index is destroyed by the very write that it leads to."""
    for k in range(a.size):
        a[int(a[k])] = v * a[k] + 0.3
    return np.sum(a**3)


@program(X, 0.1, wrt=(0, 1))
def buffers_swapped(u, c):
    """Two buffers change places in every pass, an odd number of times."""
    v = np.zeros_like(u)
    for _ in range(5):
        for i in range(1, u.size - 1):
            v[i] = u[i] + c * (u[i - 1] - 2 * u[i] * u[i] + u[i + 1])
        u, v = v, u
    return np.sum(u * u) + np.sum(v)


@program(1.3)
def rotated_scalars(x):
    """Three names take each other's values in turn."""
    a, b, c = x, x * x, 1.0
    for _ in range(4):
        a, b, c = b * c, c + a, np.sin(a)
    return a + 2 * b + 3 * c


@program(X)
def used_after_the_loop(x):
    """Values of the last pass, the loop variable included, go on living behind the loop."""
    last = 0.0
    for i in range(x.size - 1):
        last = x[i] * x[i + 1]
    return last * i + x[i] ** 2


@program(X)
def one_name_for_many_things(x):
    """One variable counts, then holds an element, then sums."""
    t = 1.5
    for t in x:
        t = t * t
    s = t
    for t in x:
        s = s * np.cos(t)
    t = s + t
    return t * t


@program(X)
def update_behind_a_condition(x):
    """Only some passes write, and what they write decides about later passes."""
    for i in range(1, x.size):
        if x[i - 1] > 0.0:
            x[i] = x[i] * x[i - 1]
        elif x[i] > 0.5:
            x[i] -= x[i - 1] ** 2
    return np.sum(np.exp(x))


@program(np.arange(1.0, 7.0))
def view_written(x):
    """A row bound to a name and written is the matrix written."""
    m = x.copy().reshape(2, 3)
    row = m[1]
    row[0] *= m[0, 2]
    m[0] = row * row
    return np.sum(m * np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))


@program(X)
def reversed_view_written(x):
    """A slice with a negative step is written through, while the array is read."""
    y = x.copy()
    back = y[::-1]
    for i in range(back.size):
        back[i] = back[i] * x[i] + y[0]
    return np.sum(y * y)


@program(np.arange(1.0, 10.0).reshape(3, 3) / 5)
def transposed_view_written(a):
    """The transpose of an array is written row by row."""
    t = a.T
    for i in range(1, 3):
        t[i] += t[i - 1] * a[i]
    return np.sum(a**3)


@program(np.linspace(0.3, 1.3, 12), 0.1, wrt=(0, 1))
def overlapping_slices(u, a):
    """Slices of one array on both sides of an assignment."""
    for _ in range(4):
        u[1:-1] = u[1:-1] - a * u[1:-1] * (u[2:] - u[:-2])
    return np.sum(u * u)


@program(X)
def strided_slices(x):
    """Every second element, forward and backward."""
    y = x.copy()
    y[::2] *= y[::-2]
    y[-2::-2] += np.sin(y[1::2])
    return np.sum(y * np.arange(5.0))


@program(X)
def filled_twice(x):
    """What the first fill wrote is overwritten without having been read."""
    y = np.zeros(x.size)
    for i in range(x.size):
        y[i] = np.exp(x[i])
    for i in range(x.size):
        y[i] = x[i] * x[i]
    return np.sum(y)


@program(X, truth=lambda x: np.where(np.arange(5) == 2, 0.0, 2 * x))
def constant_written_over(x):
    """A cell overwritten by a constant has no derivative any more."""
    x[2] = 5.0
    return np.sum(x * x)


@program(X, 3.0, wrt=(0, 1))
def state_kept_in_one_element_array(x, c):
    """A one-element array used as a variable of a loop."""
    state = np.zeros(1)
    for v in x:
        state[0] = np.tanh(state[0] * c + v)
    return state[0]


@program(X)
def shifted_down_in_place(x):
    """A queue: all move one place, the new one enters."""
    queue = np.zeros(3)
    total = 0.0
    for v in x:
        queue[1:] = queue[:-1].copy()
        queue[0] = v * v
        total += queue[0] * queue[1] * queue[2] + queue[2]
    return total
