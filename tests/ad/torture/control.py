"""Control flow in reverse"""

from __future__ import annotations

import numpy as np

import tapeless as tp
from tests.ad.torture.program import program

X = np.array([0.7, -1.2, 1.9, 0.4, -0.8])


@program(1.3)
def while_doubling(x):
    """A scalar grows until it is large: the number of passes depends on it."""
    c = 1.0
    while c < 10.0:
        c = c * x
    return c


@program(2.0, truth=lambda c: 0.5 / np.sqrt(c))
def newton(c):
    """Newton's iteration: the derivative of its limit."""
    x = 1.0
    while abs(x * x - c) > 1e-14 * c:
        x = 0.5 * (x + c / x)
    return x


@program(X)
def skipping_with_continue(x):
    """Passes end early."""
    total = 1.0
    for v in x:
        if v < 0.0:
            continue
        total *= v + 1.0
        if total > 3.0:
            continue
        total += v * v
    return total


@program(X)
def stopping_with_break(x):
    """A loop ends early, in the middle of a pass."""
    total = 0.0
    for v in x:
        total += v * v
        if total > 2.0:
            break
        total = np.sin(total)
    return total * 2


@program(np.linspace(0.1, 1.2, 12).reshape(3, 4))
def returning_from_nested_loops(a):
    """A return inside two loops."""
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            total += a[i, j] ** 2
            if total > 1.5:
                return total * a[i, j]
        total = total * a[i, 0]
    return total


@program(np.linspace(0.1, 1.2, 12).reshape(3, 4))
def break_and_continue_in_nested_loops(a):
    """Inner loops end early, their outer loops skip."""
    total = 1.0
    for i in range(a.shape[0]):
        part = 0.0
        for j in range(a.shape[1]):
            if j == i:
                continue
            part += a[i, j] * total
            if part > 1.0:
                break
        else:
            total += part
            continue
        total = np.tanh(part * total)
    return total


@program(5.3)
def collatz_like(x):
    """A `while` with two arms and a condition on both."""
    k = 0
    while x > 1.1 and k < 40:
        x = x / 2.0 if x > 3.0 else np.log(x) * x + 0.1
        k += 1
    return x * k


@program(0.8, 0.3, wrt=(0, 1))
def while_inside_while(x, y):
    """Trip counts of inner loops change from pass to pass."""
    total = 0.0
    while x < 6.0:
        z = y
        while z < x:
            z = z * 1.7 + 0.1 * x
            total += np.sin(z)
        x = x + y + 0.5 * z
    return total


@program(np.array([0.5, 3.5, 1.2, 7.1]))
def while_inside_a_map(x):
    """Every element has its own number of passes."""

    def halve(v):
        while v > 1.0:
            v = v * 0.5 * np.cos(v * 0.1)
        return v

    return np.sum(np.array([halve(x[i]) for i in range(x.size)]))


@program(np.linspace(0.2, 1.4, 7))
def triangle(x):
    """The trip count of the inner loop is the counter of the outer one."""
    total = 0.0
    for i in range(x.size):
        p = 1.0
        for j in range(i):
            p *= x[j] + x[i]
        total += p
    return total


@program(np.linspace(0.25, 1.3, 6))
def three_deep_with_changing_sizes(x):
    """Three loops deep, sizes known only to the loop around, a `while` at the bottom."""
    total = 0.0
    for i in range(x.size):
        for j in range(i + 1):
            s = x[j]
            for k in range(j, i + 1):
                s = np.sin(s + x[k])
            while s < x[i]:
                s = s * 1.3 + 0.2
                total += s * s
        total = total * 0.9
    return total


@program(X, 0, truth=lambda x, n: np.array([1.0, 0, 0, 0, 0]))
def loop_of_no_pass(x, n):
    """A loop that does not run."""
    t = x[0]
    for i in range(n):
        t = t * x[i]
    while t > 100.0:
        t = t / x[1]
    return t


@program(X, 3.4, wrt=(0, 1))
def trip_count_from_data(x, c):
    """The number of passes is computed from a differentiated value."""
    total = 0.0
    for i in range(int(c) + 1):
        total += x[i] * c**i
    return total


@program(1.0 + 1e-6, 100_000, truth=lambda x, n: n * x ** (n - 1))
def long_loop(x, n):
    """10⁵ passes of one multiplication."""
    p = 1.0
    for _ in range(n):
        p = p * x
    return p


@program(0.5, 2000)
def long_chaotic_while(x, n):
    """A long `while` with a counter, contracting."""
    k = 0
    while k < n:
        x = np.cos(x) * 0.9 + 0.1 * x
        k += 1
    return x


@program(X)
def conditional_append(x):
    """A list of run-time length, read afterwards."""
    kept = []
    for v in x:
        if v > 0.0:
            kept.append(v * v)
    total = 0.0
    for i in range(len(kept)):
        total += kept[i] * (i + 1)
    return total


@program(X)
def first_that_fits(x):
    """A search with a loop's `else`."""
    for i in range(x.size):
        if x[i] * x[i] > 2.0:
            found = x[i] * i
            break
    else:
        found = x[0]
    return np.exp(found) + x[1] * found


@program(X)
def flags_and_walrus(x):
    """A flag from an earlier pass, an assignment in a condition, chained comparisons."""
    seen = False
    total = 0.0
    for v in x:
        if 0.0 < (w := v * v - 0.2) < 2.0 and not seen:
            total += w * v
        seen = w > 1.3
        total = total + (v if seen else -v * w)
    return total


@program(np.array([0.9, 0.2]), 40)
def checkpointed(x, n):
    """A loop that keeps three states and runs again."""
    a, b = x[0], x[1]
    for _ in tp.loop(n, reverse="checkpoint", slots=3):
        a, b = a + 0.1 * b, b - 0.1 * np.sin(a)
    return a * b


@program(np.array([0.9, 0.2]), 12)
def recomputed(x, n):
    """A loop that keeps nothing, with a stored one inside."""
    a = x[0]
    for i in tp.loop(n, reverse="recompute"):
        for _ in tp.loop(i + 1, reverse="store"):
            a = np.sin(a + x[1])
    return a


@program(np.linspace(0.2, 1.0, 5), 9)
def strip_mined(x, n):
    """Checkpoints in two levels around writes in place."""
    for k in tp.loop(n, levels=2, reverse="checkpoint"):
        x[k % 5] = x[(k + 2) % 5] * np.cos(x[k % 5])
    return np.sum(x**2)
