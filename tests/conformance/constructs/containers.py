"""Containers and objects at work: in loops and branches, compared, changed, collected."""

from __future__ import annotations

import dataclasses
import functools
import math
import operator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

import tapeless as tp
from tests.conformance.constructs.registry import A, X, Y, Z, example

VALUES, FUNCTIONS, PARALLEL = "Values", "Functions", "Parallel forms"
EMPTY = np.zeros(0)


class Pair(NamedTuple):
    x: float
    y: float = 2.0

    def norm(self):
        return math.sqrt(self.x**2 + self.y**2)

    @property
    def total(self):
        return self.x + self.y

    def __add__(self, other):
        return Pair(self.x + other.x, self.y + other.y)


@dataclass
class Vector:
    x: float
    y: float

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, k):
        return Vector(self.x * k, self.y * k)

    __rmul__ = __mul__

    def __neg__(self):
        return Vector(-self.x, -self.y)

    def __getitem__(self, i):
        return (self.x, self.y)[i]

    def __len__(self):
        return 2

    def __abs__(self):
        return math.hypot(self.x, self.y)

    def __matmul__(self, other):
        return self.x * other.x + self.y * other.y

    @staticmethod
    def zero():
        return Vector(0.0, 0.0)

    @classmethod
    def of(cls, a):
        return cls(a, a)

    def scale(self, k):
        self.x *= k
        self.y *= k


@dataclass(frozen=True, order=True)
class Grade:
    level: float
    rank: int = 2


@example(VALUES, "methods and operators of named tuples", Pair(1.0), Pair(3.0, 4.0))
def named_tuple_methods(p, q):
    return p.norm(), q.total, p[0], p + q, p == q, tuple(p), p._asdict()["x"], len(p)


@example(VALUES, "named tuples in loops", X)
def named_tuple_state(x):
    total = Pair(0.0, 0.0)
    for v in x:
        total = total + Pair(v, v * v)
    return total


@example(VALUES, "operators of dataclasses", Vector(1.0, 2.0), Vector(3.0, 4.0))
def dataclass_operators(a, b):
    return (
        a + b,
        a * 2.0,
        2.0 * a,
        -a,
        a @ b,
        Vector.zero() + a,
        Vector.of(3.0),
        a[1],
        abs(b),
        len(a),
    )


@example(VALUES, "fields of dataclasses that are changed", 2.0)
def dataclass_fields(k):
    v = Vector(1.0, 2.0)
    w = v
    v.scale(k)
    w.x += 1
    return v, w.x


@example(VALUES, "dataclasses in loops and branches", Vector(1.0, 2.0), X)
def dataclass_state(v, x):
    s = Vector(0.0, 0.0)
    best = s
    for t in x:
        s = s + Vector(t, 1.0) * 0.5
        if s.x > best.x:
            best = s
    w = v if x[0] > 0 else -v
    return s, best, w


@example(VALUES, "comparison of dataclasses", Vector(1.0, 2.0), Grade(1.0, 3))
def dataclass_comparison(v, g):
    return v == Vector(1.0, 2.0), v != Vector(1.0, 3.0), g < Grade(1.0, 4), g >= Grade(0.5), g == g


@example(VALUES, "order of tuples and lists", calls=[(1.0, 2.0), (2.0, 1.0), (1.0, 1.0)])
def order_of_tuples(a, b):
    return (a, b) < (b, a), (a, 1) <= (b, 0), (a,) > (b, a), [a, b] < [b, a], (a, b) == (b, a)


@example(VALUES, "dicts that are unpacked, changed and built", {"a": 1.0, "b": X})
def dict_changes(d):
    e = {**d, "c": 2.0}
    e["a"] = e["a"] + 1
    e["b"] = e["b"] * 2
    total = 0.0
    for k in e:
        if k != "b":
            total += e[k]
    return e, total, d["a"], e.get("z", 5.0), {k: v * 2 for k, v in e.items()}


@example(VALUES, "dicts in branches", calls=[(1.0,), (-1.0,)])
def dict_branches(a):
    d = {"k": 1.0} if a > 0 else {"k": a}
    return d["k"], d


@example(VALUES, "methods of lists", X)
def list_methods(x):
    m = [1.0, 2.0]
    m.append(3.0)
    m[0] = 9.0
    m.extend([4.0, 5.0])
    q = m.pop()
    m.insert(0, 0.0)
    m.reverse()
    r = [*m, q]
    return (
        m, q, r, list(range(4)), [0.0] * 3, m + [1.0], m[1:3], sum(r), max(m), 4.0 in m,
        m.index(9.0), m.count(1.0), tuple(m), list(reversed(m)),
    )  # fmt: skip


@example(VALUES, "lists of lists", X)
def lists_of_lists(x):
    m = [[0.0] * 3 for _ in range(2)]
    m[0][1] = x[0]
    m[1][2] += x[1]
    g = [[i * j for j in range(3)] for i in range(2)]
    return np.array(m), g[1][2], m


@example(VALUES, "lists of arrays become arrays", X)
def lists_to_arrays(x):
    rows = []
    for v in x:
        rows.append([v, v * 2])
    columns = []
    for k in range(3):
        columns.append(x * k)
    return (
        np.array(rows),
        np.array(columns),
        np.stack(columns),
        np.concatenate(columns),
        sum(columns),
    )


@example(VALUES, "a trajectory: a list that starts with one item", X)
def trajectory(x):
    u = x.copy()
    states, times = [u], [0]
    for k in range(len(x)):
        u = u * 0.5
        states.append(u)
        times.append(times[-1] + 0.25 * k)
    return np.array(states), np.array(times), len(states)


@example(VALUES, "copies of a buffer that is written", X)
def collected_copies(x):
    u = x.copy()
    seen = []
    for _ in range(len(x)):
        u[0] += 1.0
        seen.append(u.copy())
    return np.array(seen)


@example(VALUES, "items of the type of the widest", X)
def widest_items(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
        else:
            out.append(0)
    other = []
    for v in x:
        if v > 0:
            other.append(1)
        else:
            other.append(2.5)
    return np.array(out), np.array(other)


@example(VALUES, "several lists that grow", calls=[(X,), (-X,), (EMPTY,)])
def several_lists(x):
    out, idx = [], []
    for i, v in enumerate(x):
        if v > 0:
            out.append(v * 2)
        elif v < -2:
            out.append(v)
            idx.append(i)
    return np.array(out), len(idx), sum(out)


@example(VALUES, "lists of tuples that grow", calls=[(X,), (EMPTY,)])
def growing_tuples(x):
    out = []
    for v in x:
        if v > 0:
            out.append((v, v * v))
    s = 0.0
    for a, b in out:
        s += a * b
    return s, len(out)


@example(VALUES, "lists that grow in a while loop", 5)
def growing_while(n):
    out = []
    k = n
    while k != 1:
        out.append(k)
        k = 3 * k + 1 if k % 2 else k // 2
    return np.array(out)


@example(VALUES, "filters known at compile time", X)
def static_filters(x):
    pairs = [(i, j) for i in range(3) for j in range(i + 1)]
    return [i for i in range(6) if i % 2], pairs, [v for v in (1, 2, 3) if v != 2]


@example(VALUES, "zip and enumerate in brackets", X, A)
def zipped_lists(x, a):
    return (
        [p * q for p, q in zip(x, x[2:])], sum(p * q for p, q in zip(x[:-1], x[2:])),
        [i + v for i, v in enumerate(x, 3)], [v for v in reversed(x)],
        [v * 2 for row in a for v in row],
    )  # fmt: skip


@example(VALUES, "unpacking of generators and nested targets", X)
def nested_targets(x):
    a, b, c = (v * 2 for v in x[:3])
    (d, e), *f = [(1.0, 2.0), 3.0, 4.0]
    for (i, j), k in zip([(1, 2), (3, 4)], (5, 6)):
        d += i * j * k
    return a, b, c, d, e, f


@example(FUNCTIONS, "star-arguments everywhere", 1.0, 2.0, 3.0)
def stars_everywhere(*a):
    first, *middle = a

    def g(*p, **k):
        return sum(p) + k.get("w", 0.0)

    return first, g(*a), g(*middle, w=10.0), g(1, *middle, *middle), max(*a), [*a, *middle]


@example(FUNCTIONS, "positional-only and keyword-only parameters", 1.0)
def parameter_kinds(a):
    def f(a, /, b, *, c=2.0, **k):
        return a + b * c + sum(k.values())

    return f(a, 2.0), f(a, b=3.0, c=4.0), f(a, 2.0, z=5.0), f(*[a, 2.0], c=9.0)


@example(FUNCTIONS, "closures read a variable when they are called", 2.0, X)
def late_closures(a, x):
    b = a

    def f(u):
        return u * b

    b = 5.0
    g = lambda u, k=b: f(u) + k
    b = 7.0
    fs = []
    for k in range(3):
        fs.append(lambda v, k=k: v * k)
    gs = [lambda v: v * k for k in range(3)]  # noqa: B023  # that is the point
    return f(1.0), g(2.0), np.array([g(v) for v in x]), fs[0](1.0), fs[2](2.0), gs[0](1.0)


@example(FUNCTIONS, "nonlocal variables in branches and loops", X)
def nonlocal_state(x):
    n = 0
    acc = np.zeros(2)

    def bump(k=1):
        nonlocal n
        n += k
        if n > 2:
            acc[0] += 1
        return n

    for v in x:
        if v > 0:
            bump()
        else:
            bump(2)
    return n, bump(), acc


@example(FUNCTIONS, "functools.reduce", X)
def functools_reduce(x):
    return (
        functools.reduce(lambda a, b: a + b, [1.0, 2.0, 3.0]),
        functools.reduce(lambda a, b: a * 0.5 + b, x, 0.0), functools.reduce(operator.mul, x),
    )  # fmt: skip


@example(FUNCTIONS, "names of comprehensions are their own", X)
def comprehension_scopes(x):
    i = 10
    a = [i for i in range(3)]
    y = [v * i for v in x]
    for i in range(2):
        pass
    return i, a, y


@example(PARALLEL, "operators that may raise", X)
def operators_that_raise(x):
    def op(a, b):
        assert a == a, "nan"
        return a + b

    return tp.reduce(op, x, 0.0), tp.scan(op, x, 0.0)


@example(PARALLEL, "permutations that are composed", np.array([[1, 2, 0], [0, 2, 1], [2, 1, 0]]))
def composed_permutations(ps):
    return tp.reduce(lambda p, q: q[p], ps, np.arange(3))


@example(PARALLEL, "tp.scan of tuples and rows", X, Y)
def scans_of_tuples(x, y):
    return (
        tp.scan(lambda a, b: (a[0] + b[0], a[1] * b[1]), (x, y), (0.0, 1.0)),
        tp.scan(operator.mul, x, 1.0), tp.reduce(operator.add, np.ones((3, 2)), np.zeros(2)),
        tp.scan(operator.add, np.ones((3, 2)), np.zeros(2)),
    )  # fmt: skip


@example(PARALLEL, "reductions and scans of complex numbers", Z)
def complex_reductions(z):
    return (
        tp.reduce(operator.add, z, 0j), tp.scan(operator.mul, z, 1 + 0j), sum(z), np.cumsum(z),
        sum(v * v for v in z), np.prod(z),
    )  # fmt: skip


@example(PARALLEL, "tp.each with every accumulation", X)
def each_accumulates(x):
    h = np.zeros(3, np.int64)
    out = np.zeros((len(x), len(x)))
    m, p, c = np.inf, 1.0, 0
    for i in tp.each(len(x)):
        h[i % 3] += 1
        m = min(m, x[i])
        p *= x[i]
        if x[i] > 0:
            c += 1
        for j in range(i):
            out[i, j] = x[i] - x[j]
    for i in tp.each(1, 5, 2):
        out[i, 0] = -1.0
    return h, m, p, c, out


@dataclass
class Scaled:
    values: np.ndarray
    factor: float = dataclasses.field(default=1.0)

    def __post_init__(self):
        self.values = self.values * self.factor


@example(VALUES, "__post_init__ and replace", X)
def post_init(x):
    s = Scaled(x, 2.0)
    return s.values, dataclasses.replace(Grade(1.0), rank=7)
