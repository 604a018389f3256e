"""Values: element types, promotion, containers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

import tapeless as tp
from tests.conformance.constructs.registry import (
    ALL,
    COMPLEX,
    FLOATS,
    INTS,
    REAL,
    A,
    K,
    X,
    Y,
    Z,
    example,
)

SECTION = "Values"


class Point(NamedTuple):
    x: float
    y: float


@dataclass
class Material:
    stiffness: float
    rows: np.ndarray


@example(SECTION, "element types", X, over=ALL)
def every_element_type(x):
    y = np.zeros(3, dtype=x.dtype)
    y[0] = x[0]
    y[2] = x[-1]
    return y


@example(SECTION, "arithmetic of element types", X, Y, over=REAL)
def arithmetic(x, y):
    return x + y, x - y, x * y, abs(x), +x, x * 2


@example(SECTION, "division", X, over=REAL)
def division(x):
    return x / 4, x // 2, x % 3


@example(SECTION, "negation", X, over=FLOATS + INTS[:4] + COMPLEX)
def negation(x):
    return -x, -x[0]


@example(SECTION, "powers", X, over=REAL)
def powers(x):
    return x**2, x[0] ** 3


@example(SECTION, "bit operations", K, over=INTS)
def bit_operations(k):
    return k & 3, k | 4, k ^ 1, ~k, k << 1, k >> 1


@example(SECTION, "comparisons", X, Y, over=REAL)
def comparisons(x, y):
    return x < y, x <= y, x == y, x != y, x > y, x >= y


@example(SECTION, "booleans", np.array([True, False, True]), np.array([True, True, False]))
def booleans(p, q):
    return p & q, p | q, p ^ q, ~p, p.sum(), p[0] and q[2], not p[1]


@example(SECTION, "complex numbers", Z, 0.5 - 2j, over=COMPLEX, tol=1e-6)
def complex_numbers(z, c):
    return z * c + 1, z.real, z.imag, np.conj(z), abs(z[0]), z[1] / c, -z, z - 1j


@example(SECTION, "complex scalars", 1.5, -2.0)
def complex_scalars(a, b):
    z = complex(a, b)
    w = z * z.conjugate()
    return z, w.real, w.imag, abs(z), z == w


@example(SECTION, "weak Python numbers", X, 3, 0.5, over=FLOATS)
def weak_numbers(x, k, a):
    return x * k + a, x[0] * k, k * a, k + 1


@example(SECTION, "joined type from the start", X, over=REAL)
def joined_from_the_start(x):
    total = 0
    for i in range(len(x)):
        total += x[i]
    return total


@example(
    SECTION,
    "promotion",
    np.arange(3, dtype="i4"),
    np.ones(3, "f4"),
    np.ones(3),
    np.arange(3, dtype="u1"),
)
def promotion(i, f, d, u):
    return i + f, f + d, i + u, u + 1, f * 2.0, i / 2


@example(SECTION, "casts", X * 1.5, 2.75, 3)
def casts(x, a, k):
    return int(a), float(k), bool(k), x.astype(np.int64), np.float32(a), np.int16(k), x.astype("f4")


@example(SECTION, "scalar results", 3, 2.5, True, np.float32(1.5))
def scalar_results(k, a, p, f):
    return k + 1, a * 2, not p, f * 2


@example(SECTION, "NumPy scalars as arguments", np.float32(0.5), np.int8(100), np.uint16(7))
def numpy_scalars(f, i, u):
    return f * 3, i + i, u - 8


@example(SECTION, "tuples", (1.5, (X, 2)), 3)
def tuples(pair, k):
    a, (x, b) = pair
    t = (a * k, x[b])
    return t, (t[0] + t[1], len(t)), pair[1][1]


@example(SECTION, "named tuples", Point(1.0, 2.0))
def named_tuples(p):
    q = Point(p.y, p.x + 1.0)
    return q, q.x, q._replace(x=5.0)


@example(SECTION, "dataclasses", Material(2.0, A.copy()))
def dataclass_values(m):
    n = Material(m.stiffness * 2, m.rows[0] * 1.0)
    return n, n.stiffness + m.rows[1, 1]


@example(SECTION, "dictionaries with fixed keys", {"w": X, "b": 1.0})
def dictionaries(params):
    out = {"sum": params["w"].sum(), "b": params["b"] * 2}
    return out, out["b"], len(params)


@example(SECTION, "dictionary methods", {"u": 1.0, "v": 2.0})
def dictionary_items(d):
    total = 0.0
    for key, value in d.items():
        total += value * (2.0 if key == "u" else 3.0)
    return total, list(d.values()), "u" in d


@example(SECTION, "lists of static length", [X, Y, X * 2])
def lists_of_arrays(layers):
    total = layers[0] * 0.0
    for layer in layers:
        total = total + layer
    return total, len(layers)


@example(SECTION, "element types as functions", 3, X)
def element_types_as_functions(k, x):
    return tp.f32(k), np.zeros(2, tp.i32), x.astype(tp.f32)


@example(SECTION, "special values", np.array([0.0, -0.0, np.inf, -np.inf, np.nan]), over=FLOATS)
def special_values(x):
    return x + 1, x * 0, np.isnan(x), np.isinf(x), np.isfinite(x), np.signbit(x), np.maximum(x, 0.0)


@example(
    SECTION, "wrapping integers", np.array([120, -128, 127], "i1"), np.array([250, 1, 0], "u1")
)
def wrapping(i, u):
    return i + i, u + u, u - 2, i * 2


@example(SECTION, "rounding of integers", calls=[(7, 3), (-7, 3), (7, -3), (-7, -3)])
def rounding_of_integers(a, b):
    return a // b, a % b, divmod(a, b)


@example(SECTION, "constants", 2.0)
def constants(r):
    return np.pi * r, np.e, np.inf, np.nan, np.newaxis is None
