"""Functions, methods, closures, objects."""

from __future__ import annotations

import dataclasses
import functools
import math
from dataclasses import dataclass

import numpy as np

from tests.conformance.constructs.registry import A, X, Y, example

SECTION = "Functions"


@example(SECTION, "calls of functions", 1.5, X)
def calls(a, x):
    return helper(a, 2), helper(k=3, a=a), helper(x, 2)


def helper(a, k, bias=1.0):
    if k > 2:
        return a * k
    return a + bias


@example(SECTION, "nested functions and closures", 2.0, X)
def closures(a, x):
    def inner(b):
        return a * b + x[0]

    a = a + 1
    return inner(1.0) + inner(2.0)


@example(SECTION, "nonlocal variables", X)
def nonlocals(x):
    total = 0.0

    def add(v):
        nonlocal total
        total += v

    for v in x:
        add(v)
    return total


@example(SECTION, "lambdas", X)
def lambdas(x):
    f = lambda v, w=2.0: v * w
    return f(x[0]), f(x, 3.0), (lambda: x[1])()


@example(SECTION, "functions as arguments", calls=[(X, np.sin), (X, abs)])
def function_arguments(x, f):
    return f(x[0]) + f(x[1])


@example(SECTION, "functions that return functions", 2.0)
def returned_functions(a):
    def scaled(k):
        return lambda v: v * k * a

    return scaled(2.0)(3.0)


@example(SECTION, "functools.partial", 2.0)
def partials(a):
    twice = functools.partial(helper, k=2)
    return twice(a), functools.partial(helper, 3.0)(3)


@dataclass(frozen=True)
class Spring:
    stiffness: float
    rest: float = 1.0

    def force(self, length):
        return self.stiffness * (length - self.rest)

    @property
    def energy_scale(self):
        return 0.5 * self.stiffness

    def __call__(self, length):
        return self.energy_scale * (length - self.rest) ** 2


@example(SECTION, "methods, properties, __call__", Spring(3.0), X)
def methods_of_objects(spring, x):
    return spring.force(x), spring.energy_scale, spring(2.0)


@example(SECTION, "dataclasses.replace", Spring(3.0))
def replaced(spring):
    stiffer = dataclasses.replace(spring, stiffness=spring.stiffness * 2)
    return stiffer, stiffer.force(2.0)


class Model:
    """Not a dataclass: read-only for compiled code."""

    def __init__(self, weights, bias):
        self.weights = weights
        self.bias = bias
        self.name = "model"

    def predict(self, x):
        return self.weights @ x + self.bias


MODEL = Model(A, 0.5)


@example(SECTION, "objects as arguments, read-only", calls=[(MODEL, X[:4])])
def objects(model, x):
    return model.predict(x) * 2


@example(SECTION, "captured objects", X[:4])
def captured_objects(x):
    return MODEL.predict(x)


@example(SECTION, "recursion that static arguments end", 2.0, 5)
def recursion(a, k):
    return static_power(a, 5) + static_power(a, 2)


def static_power(a, k):
    if k == 0:
        return 1.0
    half = static_power(a, k // 2)
    return half * half * (a if k % 2 else 1.0)


@example(SECTION, "captured floats and arrays are read at every call", 2.0)
def captured_values(a):
    return a * RATE + TABLE[1]


RATE = 0.25
TABLE = np.array([1.0, 2.0])


@example(SECTION, "import inside a function", 0.5)
def importing_inside(a):
    import math

    from numpy import cos

    return math.sin(a) + cos(a)


@example(SECTION, "modules as namespaces", 0.5)
def modules(a):
    return math.sin(a) + np.cos(a) + math.pi


@example(SECTION, "default arguments", X)
def defaults(x, k=2, scale=0.5):
    return x[k] * scale


@example(SECTION, "star-arguments of arrays", X, Y)
def variadic(*arrays):
    total = 0.0
    for a in arrays:
        total += a.sum()
    return total


@example(SECTION, "keyword arguments in a dict", X)
def keywords(x):
    def scaled(v, **options):
        return v * options["factor"] + options.get("shift", 1.0)

    return scaled(x, factor=2.0), scaled(x, factor=2.0, shift=0.0)


@example(SECTION, "isinstance and hasattr of static things", 2.0, X)
def isinstances(a, x):
    k = 1 if isinstance(a, float) else 2
    m = 10 if isinstance(x, np.ndarray) else 20
    return k + m


@example(SECTION, "methods of a class that is inherited", X)
def inherited(x):
    return Child(2.0).scaled(x)


@dataclass(frozen=True)
class Parent:
    factor: float

    def scaled(self, x):
        return x * self.factor + self.shift()

    def shift(self):
        return 1.0


@dataclass(frozen=True)
class Child(Parent):
    def shift(self):
        return super().shift() + 2.0
