"""Aliases, closures, trees, element types"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

import tapeless as tp
from tests.ad.torture.program import program

X = np.array([0.7, -1.2, 1.9, 0.4])
W = np.array([1.0, 0.5, -0.3, 2.0])  # captured


@program(1.7)
def one_argument_twice(x):
    """f(x, x): both uses count."""

    def f(a, b):
        return a * np.sin(b)

    return f(x, x) + f(x, 2 * x)


@program(X)
def one_array_for_two_parameters(x):
    """An inner function takes the same array twice, and reads what the caller wrote."""

    def dot(a, b):
        s = 0.0
        for i in range(a.size):
            s += a[i] * b[a.size - 1 - i]
        return s

    y = x * x
    first = dot(y, y)
    y[0] = first
    return dot(y, y) + first


@program(1.1)
def state_that_starts_equal(x):
    """Two variables of a loop start from one value and part."""
    a, b = x, x
    for _ in range(3):
        a, b = a * b, a + b
    return a + b


@program(X)
def argument_returned(x):
    """The argument itself comes back from an inner function, sometimes."""

    def pick(u, flag):
        return u if flag else u * 2.0

    return np.sum(pick(x, True) * pick(x, False))


@program(X)
def duplicate_results(x):
    """One value is several results."""

    def twice(v):
        s = v * v
        return s, s, v

    a, b, c = twice(x[0])
    return a * b + b * c + np.sum(x)


@program(X)
def captured_array(x):
    """A closure over an argument, a global array and a local one."""
    scale = np.exp(x)

    def term(i):
        return W[i] * scale[i] * x[x.size - 1 - i]

    return sum(term(i) ** 2 for i in range(x.size))


@program(0.8)
def functions_of_functions(x):
    """Functions take and give functions."""

    def twice(f):
        return lambda v: f(f(v))

    def shifted(by):
        return lambda v: np.sin(v) + by * x

    return twice(twice(shifted(0.3)))(x)


@dataclass
class Body:
    at: float
    speed: float


class Bounds(NamedTuple):
    low: float
    high: float


@program(0.3, 1.1, wrt=(0, 1))
def dataclass_as_state(at, speed):
    """A dataclass goes through a loop by `replace`."""
    body = Body(at, speed)
    for _ in range(6):
        body = replace(body, at=body.at + 0.1 * body.speed, speed=body.speed - np.sin(body.at))
    return body.at * body.speed


@program(0.5, 2.0, wrt=(0, 1))
def named_tuple_as_state(low, high):
    """Bisection on a named tuple: comparisons choose, only the ends count."""
    b = Bounds(low, high)
    for _ in range(3):
        middle = 0.5 * (b.low + b.high)
        b = Bounds(middle, b.high) if middle * middle < 2.0 else Bounds(b.low, middle)
    return b.low * b.high


@program(X)
def dict_as_state(x):
    """A dict of numbers and arrays is rebuilt in every pass."""
    s = {"sum": 0.0, "last": x * 0.0}
    for v in x:
        s = {"sum": s["sum"] + np.sum(s["last"] * x), "last": s["last"] + v * x}
    return s["sum"] + np.sum(s["last"])


@program(1.2, 0.7, wrt=(0, 1))
def complex_numbers(a, b):
    """Real parameters, complex in between."""
    z = a + 1j * b
    w = np.exp(z * z) / (z + 2.0)
    return abs(w) ** 2 + w.real * np.conj(z).imag


@program(0.3, 0.5, 8, wrt=(0, 1))
def complex_recurrence(a, b, n):
    """z² + c with complex state."""
    c = complex(a, b)
    z = 0.1 + 0.2j
    for _ in range(n):
        z = z * z + c
    return z.real + 3 * z.imag


@program(np.float32(1.5), truth=lambda x: np.float32(2.0 * x + 1))
def single_precision(x):
    """In float32, the slope is float32."""
    return x * x + x


@program(X, np.array([1, 0, 3, 2]), 3)
def integers_mixed_in(x, k, n):
    """Integers as factors, indices, exponents, bounds."""
    total = 0.0
    for i in range(n):
        total += x[k[i]] ** (i + 1) * n / (k[i] + 1) + (i // 2) * x[i]
    return total


@program(X, truth=lambda x: np.zeros(4))
def only_through_integers(x):
    """Rounded to integers, a value has no slope."""
    total = 0
    for v in x:
        total += int(v * 10)
    return float(total) + np.sum(np.round(x)) + 2.0


@program(X, truth=lambda x: np.array([2.0, 0, 0, 0]))
def constants(x):
    """Most of the program does not depend on the argument."""
    table = np.arange(5.0) ** 2
    c = np.sum(table * np.cos(table)) - np.sum(table * np.cos(table))
    return (2.0 + c) * x[0] + 7.0


@program(X)
def stopped(x):
    """tp.stop_gradient: what passes it counts as a constant; here nothing of it is left."""
    kept = tp.stop_gradient(np.sum(x)) * 0.0
    return np.sum(x**3) + kept


@program(X, 3.0, wrt=(0, 1))
def default_and_star_arguments(x, c):
    """Star arguments, defaults, keywords."""

    def mix(a, *rest, power=2, shift=c):
        total = a * shift
        for r in rest:
            total += r**power
        return total

    return mix(x[0], x[1], x[2]) * mix(x[3], power=3, shift=x[0]) + mix(c, x[1])
