"""Statements and expressions."""

from __future__ import annotations

import numpy as np

from tests.conformance.constructs.registry import REAL, A, K, X, Y, example

SECTION = "Statements"
EMPTY = np.zeros(0)


@example(SECTION, "assignment and unpacking", 1.0, (2.0, 3.0))
def unpacking(a, pair):
    b, c = pair
    (d, e), f = (a, b), c
    a, b = b, a
    g = h = a + b
    first, *rest = (a, b, c)
    return a, b, d, e, f, g, h, first, rest[0], len(rest)


@example(SECTION, "augmented assignment", 7.0, 5)
def augmented(a, k):
    a += 1
    a *= 3
    a -= k
    a /= 4
    a //= 1
    a %= 3
    a **= 2
    k <<= 2
    k |= 1
    k ^= 3
    k >>= 1
    k &= 12
    return a, k


@example(SECTION, "for over a range", X, calls=[(X,), (EMPTY,), (X[:1],)], over=REAL)
def for_range(x):
    s = x.dtype.type(0)
    for i in range(len(x)):
        s += x[i] * 2
    return s


@example(SECTION, "ranges with bounds and steps", 3, 10)
def range_steps(a, b):
    s = 0
    for i in range(a, b):
        s += i
    for i in range(b, a, -2):
        s = s * 3 + i
    for i in range(0, b, 4):
        s -= i
    return s, i


@example(SECTION, "for over an array", A)
def for_array(a):
    s = 0.0
    for row in a:
        for v in row:
            s = s * 0.5 + v
    return s


@example(SECTION, "zip and enumerate", X, Y)
def zip_enumerate(x, y):
    s = 0.0
    for i, (a, b) in enumerate(zip(x, y)):
        s += i * a - b
    for i, a in enumerate(x, 2):
        s += i * a
    return s


@example(SECTION, "for over a tuple, which unrolls", X)
def for_tuple(x):
    s = 0.0
    for k, w in ((0, 0.5), (1, 2.0), (-1, 3.0)):
        s += w * x[k]
    return s


@example(SECTION, "reversed and nested loops", X)
def for_reversed(x):
    out = np.zeros((len(x), len(x)))
    for i in reversed(range(len(x))):
        for j in range(i):
            out[i, j] = x[i] - x[j]
    return out


@example(SECTION, "while", calls=[(27,), (1,), (6,)])
def while_loop(k):
    steps = 0
    while k != 1:
        k = 3 * k + 1 if k % 2 else k // 2
        steps += 1
    return steps


@example(SECTION, "break", X, calls=[(X, 2.5), (X, 99.0), (EMPTY, 0.0)])
def break_out(x, limit):
    found = -1
    for i in range(len(x)):
        if x[i] > limit:
            found = i
            break
    return found


@example(SECTION, "continue", X, calls=[(X,), (-X,)])
def continue_on(x):
    s = 0.0
    for v in x:
        if v < 0:
            continue
        s += v
    return s


@example(SECTION, "else of a loop", X, calls=[(X, 99.0), (X, 0.0), (EMPTY, 0.0)])
def loop_else(x, limit):
    for v in x:
        if v < limit - 100:
            r = v
            break
    else:
        r = -1.0
    k = 0
    while k < 3:
        k += 1
    else:
        r += k
    return r


@example(SECTION, "break and continue of inner loops", A, calls=[(A,), (-A,)])
def nested_break(a):
    s = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] < 0:
                continue
            if a[i, j] > 4:
                break
            s += a[i, j] * (i + 1)
        if s > 6:
            break
    return s, i


@example(SECTION, "return inside loops", X, calls=[(X, 2), (X, 9), (EMPTY, 0)])
def return_inside(x, k):
    for i in range(len(x)):
        for j in range(i):
            if i + j == k:
                return i * 10 + j
    return -1


@example(SECTION, "if, elif, else", calls=[(-2.0,), (0.0,), (0.5,), (7.0,)])
def if_elif(a):
    if a < 0:
        r = -a
    elif a == 0:
        r = 1.0
    elif a < 1:
        r = a * a
    else:
        r = a - 1
    return r


@example(SECTION, "early return", calls=[(-2.0,), (0.0,), (2.0,)])
def early_return(a):
    if a < 0:
        return 0.0
    b = a * 2
    if b == 0:
        return 1.0
    return b


@example(SECTION, "assert", calls=[(2.0,), (-1.0,)])
def assertion(a):
    assert a > 0, "a must be positive"
    return a * 2


@example(SECTION, "raise", calls=[(2.0, 3), (-1.0, 3), (2.0, 0)])
def raising(a, k):
    if a < 0:
        raise ValueError(f"a is {a}, which is negative")
    if k == 0:
        raise ZeroDivisionError("no parts")
    return a / k


@example(SECTION, "ternary", calls=[(2.0,), (-3.0,)])
def ternary(a):
    return a if a > 0 else -2 * a


@example(SECTION, "chained comparison", calls=[(1, 2, 3), (3, 2, 1), (1, 1, 2)])
def chained(a, b, c):
    return a < b < c, a <= b != c > 0


@example(SECTION, "and, or, not are lazy", X, calls=[(X, 2), (X, 9)])
def lazy_logic(x, k):
    if k < len(x) and x[k] > 0:
        return 1
    return 2 if k >= len(x) or not x[k] > 0 else 3


@example(SECTION, "walrus", X)
def walrus(x):
    s = 0.0
    while (v := x[0] - s) > 1:
        s += v * 0.5
    return s, v


@example(SECTION, "star-args in calls", (1.0, 2.0))
def star_call(pair):
    def weigh(a, b, c=3.0, *, d=1.0):
        return a + 2 * b + 3 * c + 4 * d

    return weigh(*pair), weigh(*pair, 5.0), weigh(*pair, d=2.0)


@example(SECTION, "star-args and keyword-only parameters", 1.0, 2.0, 3.0)
def star_parameters(a, *rest, scale=2.0):
    total = a
    for r in rest:
        total += r * scale
    return total, len(rest)


@example(SECTION, "docstrings and pass", 1.0)
def documented(a):
    """Text without effect."""
    return a


@example(SECTION, "annotations are ignored", 1.0, X)
def annotated(a: float, x: np.ndarray) -> float:
    b: float = a * 2
    return b + x[0]


@example(SECTION, "global constants", X)
def with_globals(x):
    return x * SCALE + OFFSETS[1], len(OFFSETS)


SCALE = 2.5
OFFSETS = (1, 2, 3)


@example(SECTION, "np.errstate is ignored", X)
def with_errstate(x):
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sqrt(np.abs(x)) / 2


@example(
    SECTION,
    "None, strings and flags as static arguments",
    calls=[(X, None, "sum"), (X, 2.0, "max")],
)
def static_arguments(x, scale, how):
    y = x if scale is None else x * scale
    if how == "sum":
        return y.sum()
    return y.max()


@example(SECTION, "loop variable after the loop", K)
def loop_variable(k):
    for i in range(len(k)):
        last = k[i]
    return i, last


@example(SECTION, "tuples in loops", X)
def tuple_state(x):
    lo, hi = (x[0], 0), (x[0], 0)
    for i in range(1, len(x)):
        if x[i] < lo[0]:
            lo = (x[i], i)
        if x[i] > hi[0]:
            hi = (x[i], i)
    return lo, hi


@example(SECTION, "list built by append", X)
def append_always(x):
    out = []
    for v in x:
        out.append(v * v)
    return np.array(out), len(out)


@example(SECTION, "conditional append", X, calls=[(X,), (-X,), (EMPTY,)])
def append_sometimes(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    return np.array(out), len(out), sum(out)
