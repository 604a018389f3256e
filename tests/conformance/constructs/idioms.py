"""Programs as people write them: aliases, exchanges, loops, functions in functions."""

from __future__ import annotations

import functools

import numpy as np

import tapeless as tp
from tests.conformance.constructs.registry import A, K, X, Y, example


@example("Places", "in-place operators through aliases", X)
def aliases_and_operators(x):
    a = x.copy()
    b = a
    b += 1
    c = a
    c = c + 1
    d = b[1:]
    d *= 2
    d = d * 3
    return (a, b, c, d)


@example("Places", "elements that change places", X, 1, 3)
def swapped_elements(x, i, j):
    a = x.copy()
    a[i], a[j] = (a[j], a[i])
    a[i + 1], a[i] = (a[i], a[i + 1])
    i, a[i] = (2, 5.0)
    return (a, i)


@example("Places", "rows that change places", A, 0, 2)
def swapped_rows(a, i, j):
    b = a.copy()
    b[i], b[j] = (b[j], b[i])
    c = a.copy()
    c[[i, j]] = c[[j, i]]
    d = a.copy()
    t = d[i].copy()
    d[i] = d[j]
    d[j] = t
    return (b, c, d)


@example("Places", "an array assigned to itself, moved", X)
def assigned_to_itself(x):
    a = x.copy()
    a[:] = a[::-1]
    b = x.copy()
    b[1:] = b[:-1]
    c = x.copy()
    c[:-1] += c[1:]
    d = x.copy()
    d[...] = d + d[::-1]
    e = x.copy()
    e[::2] = e[1::2].sum()
    return (a, b, c, d, e)


@example("Places", "reshaped, raveled and transposed views that are written", A)
def reshaped_views(a):
    b = a.copy()
    f = b.reshape(-1)
    f[3] = 99
    r = b.ravel()
    r[0] = -7
    t = b.T
    t[2] += 1
    v = b.reshape(2, 6)
    v[1, 0] = 5
    w = b[:, ::2].reshape(-1)
    w[0] = 1000.0
    g = b.flatten()
    g[1] = 8
    return (b, f, t, v, w, g)


@example("Places", "masks, index arrays and elements give copies", X)
def copies_by_indexing(x):
    a = x.copy()
    y = a[a > 0]
    y[0] = 100.0
    z = a[[0, 1]]
    z[0] = 7.0
    s = a[0]
    s += 1
    return (a, y, z, s)


@example("Places", "arrays in dicts, lists and tuples are places", {"w": X, "b": A})
def arrays_in_containers(d):
    e = {"w": d["w"].copy()}
    e["w"][0] = 5.0
    q = e["w"]
    q += 1
    l = [e["w"], e["w"] * 2]
    l[0][1] = 7.0
    t = (l[1],)
    t[0][2] = 3.0
    l[1] *= 2
    return (e["w"], q, l[0], t[0])


@example("Places", "nested functions write arrays", X)
def functions_that_write(x):
    a = x.copy()

    def put(i, v):
        a[i] = v

    def grow(b):
        b *= 2
        return b

    put(0, 5.0)
    c = grow(a)
    d = grow(a[1:3])
    put(-1, 0.0)
    return (a, c, d)


@example("Places", "an array as default argument", X)
def default_arrays(x):
    y = x.copy()

    def f(v, acc=y):
        acc[0] += v
        return acc

    f(1.0)
    f(2.0)
    return y


@example("Places", "two arrays written in branches", X)
def written_in_branches(x):
    a = x.copy()
    b = x.copy()
    for i in range(len(x)):
        if x[i] > 0:
            a[i] = 0
        elif x[i] < -2:
            b[i] = 1
        else:
            a[i], b[i] = (b[i], i)
    return (a, b)


@example("Places", "arrays written in while loops", X)
def written_in_while(x):
    a = x.copy()
    i = 0
    while i < len(a) and a[i] != 0.25:
        a[i] = i
        i += 1
    j = len(a)
    while True:
        j -= 1
        if j < 0 or a[j] < 0:
            break
        a[j] += 10
    return (a, i, j)


@example("Statements", "a sort by exchange", X)
def bubble_sort(x):
    a = x.copy()
    n = len(a)
    for i in range(n):
        for j in range(n - 1 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = (a[j + 1], a[j])
    return a


@example("Statements", "elimination with exchange of rows", A)
def elimination(a):
    b = a[:, :3].copy() + 5 * np.eye(3)
    n = 3
    for k in range(n - 1):
        p = k + np.argmax(np.abs(b[k:, k]))
        if p != k:
            b[[k, p]] = b[[p, k]]
        b[k + 1 :, k] /= b[k, k]
        b[k + 1 :, k + 1 :] -= np.outer(b[k + 1 :, k], b[k, k + 1 :])
    return b


@example("Statements", "a sieve with slices of run-time step", X, K)
def sieve(x, k):
    n = 30
    s = np.ones(n + 1, bool)
    s[:2] = False
    for i in range(2, int(n**0.5) + 1):
        if s[i]:
            s[i * i :: i] = False
    return (np.nonzero(s)[0], s.sum(), np.flatnonzero(s)[:3])


@example("Statements", "a search by bisection", X)
def bisection(x):
    a = np.sort(x)
    lo, hi = (0, len(a))
    v = 1.0
    while lo < hi:
        m = (lo + hi) // 2
        if a[m] < v:
            lo = m + 1
        else:
            hi = m
    return (lo, np.searchsorted(a, v))


@example("Statements", "simultaneous assignment of what depends on itself", 5)
def simultaneous(n):
    a, b = (0, 1)
    for _ in range(n):
        a, b = (b, a + b)
    f = np.zeros(n + 2, dtype=np.int64)
    f[1] = 1
    for i in range(2, n + 1):
        f[i] = f[i - 1] + f[i - 2]
    return (a, f)


@example("Places", "views that are returned", X)
def views_returned(x):
    return (x[1:3], x[::-1], x.reshape(5, 1).T, x)


@example("Statements", "strings that choose", X, calls=[(X, "a"), (X, "b"), (X, None)])
def string_options(x, m):
    if m is None:
        return x
    if m == "a":
        return x.sum()
    if m in ("b", "c"):
        return (x[:2], m.upper())
    raise ValueError(m)


@example("Statements", "ranges as values", X, calls=[(X, 3), (X, 0), (X, -2)])
def ranges(x, n):
    return (
        [i for i in range(n)], list(range(n, 0, -1)), sum(range(n)), len(range(0, n, 2)),
        np.arange(n), n in range(5), [i * j for i in range(n) for j in range(2)],
    )  # fmt: skip


@example(
    "Statements",
    "bounds and steps of ranges of run time",
    X,
    calls=[(X, 0, 5, 2), (X, 5, 0, -2), (X, 3, 3, 1), (X, 0, 5, -1)],
)
def range_bounds(x, a, b, s):
    t = 0
    for i in range(a, b, s):
        t = t * 10 + i
    return (t, np.arange(a, b, s), len(range(a, b, s)))


@example("Parallel forms", "clauses of nested generators", X, Y)
def nested_brackets(x, y):
    return (
        sum(x[i] * y[j] for i in range(len(x)) for j in range(len(y)) if i != j if x[i] > 0),
        sum((1.0 if a > b else 0.5 if a == b else 0 for a, b in zip(x, y))),
        max(a * b for a in x for b in y if a < b),
        sum(sum(b for b in y if b < a) for a in x), min(abs(a - b) for a in x for b in y),
    )  # fmt: skip


@example("Parallel forms", "any, all, sum and max of everything", X)
def tests_of_generators(x):
    return (
        any(v > 2 and v < 5 for v in x), all(x[i] <= x[i + 1] for i in range(len(x) - 1)),
        not any(np.isnan(x)), any([v > 0 for v in x]), all([]), any(()), sum([]), sum(()),
        max([1, 2]), any(x > 2), all(x < 9),
    )  # fmt: skip


@example("Functions", "names that hide builtins, nearly", X, 3)
def hidden_names(x, n):
    sum_ = 0
    for x_ in x:
        sum_ += x_
    list_ = [n] * 2
    n = n + 1
    max_ = max(list_)

    def len_(q):
        return 99

    return (sum_, max_, n, len_(x))


@example("Functions", "names that hide builtins", X)
def hidden_builtins(x):
    sum = lambda q: 7.0
    abs = np.cos
    return (sum(x), abs(x[0]))


@example("Statements", "branches of different number types", X)
def joined_branches(x):
    a = 1 if x[0] > 0 else 2.5
    b = x[0] if x[0] < 0 else 0
    c = 0
    if x[1] > 0:
        c = x[1]
    d = np.float32(1) if x[0] > 0 else 2.0
    e = True if x[0] > 0 else 0
    return (a, b, c, d, e)


@example("Functions", "functions in functions", A, X)
def functions_in_functions(a, x):

    def outer(u):
        w = u * 2

        def inner(v):
            return v * w + u

        return [inner(t) for t in x][1]

    r = np.array([outer(t) for t in x])
    return (
        r, tp.map(lambda row: tp.map(lambda v: v * row[0], row), a),
        (lambda *z: z[-1])(1, 2, x[0]), (lambda: x.sum())(), functools.partial(outer, u=2.0)(),
    )  # fmt: skip


@example("Statements", "augmented assignment of items", X)
def augmented_items(x):
    d = {"s": 0.0, "v": x.copy()}
    l = [0.0, 1.0]
    for i, v in enumerate(x):
        d["s"] += v
        d["v"][i] *= 2
        l[0] += v
        l[i % 2 if False else 1] -= v
    return (d, l)


@example("Statements", "containers as state of loops", X)
def containers_as_state(x):
    p = (0.0, (1, 0.0))
    q = [0.0, 0]
    d = {"n": 0}
    for v in x:
        p = (p[0] + v, (p[1][0] * 2, v))
        q = [q[1] + v, q[0]]
        d = {"n": d["n"] + 1}
    return (p, q, d)


@example("Values", "slices of lists", X, 2)
def sliced_lists(x, k):
    twice = [2 * v for v in x]
    pairs = [(v, i) for i, v in enumerate(x)]
    rows = [x * v for v in x]
    total = sum(twice[1:]) - sum(twice[:-k])
    for v, i in pairs[::-2]:
        total += v * i
    for row in rows[:k]:
        total += row[0]
    return total, np.array(twice[k:]), len(rows[-2:]), twice[9:]


@example("Values", "brackets of slices, of one length each", A[:, :4])
def brackets_of_slices(a):
    h = a.shape[1] // 2
    left, right = (a[:, k * h : (k + 1) * h] for k in range(2))
    heads = [a[0, :k] for k in range(1, 4)]
    return left * right, heads[2], sum(r.sum() for r in heads)
