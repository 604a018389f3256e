"""Containers and instances as arguments and results."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pytest

import tapeless as tp


class Pair(NamedTuple):
    first: object
    second: object


@dataclass
class Body:
    position: np.ndarray
    mass: float


@dataclass(frozen=True)
class Frozen:
    value: float

    def __post_init__(self):
        if self.value < 0:
            raise AssertionError("__init__ was run")


@tp.jit
def swapped(p):
    return Pair(p.second, p.first)


@tp.jit
def moved(body, by):
    return replace(body, position=body.position + by)


@tp.jit
def collected(x):
    return {"sum": np.sum(x), "twice": (2.0 * x, [x[0], None])}


def test_named_tuples():
    got = swapped(Pair(1.0, np.arange(3)))
    assert type(got) is Pair
    np.testing.assert_array_equal(got.first, np.arange(3))
    assert got.second == 1.0


def test_dataclasses():
    got = moved(Body(np.zeros(3), 2.0), 1.0)
    assert type(got) is Body
    np.testing.assert_array_equal(got.position, 1.0)
    assert got.mass == 2.0


def test_results_are_rebuilt_without_init():
    @tp.jit
    def negated(v):
        return Frozen(-v.value) if False else replace(v, value=-v.value)

    assert negated(Frozen(2.0)).value == -2.0


def test_dicts_tuples_lists_none():
    x = np.arange(1.0, 4.0)
    got = collected(x)
    assert list(got) == ["sum", "twice"]
    assert got["sum"] == 6.0
    twice, (first, nothing) = got["twice"]
    np.testing.assert_array_equal(twice, 2 * x)
    assert isinstance(got["twice"], tuple) and isinstance(got["twice"][1], list)
    assert first == 1.0 and nothing is None


def test_nested_arguments():
    @tp.jit
    def total(params):
        (w, b), scale = params["layer"], params["scale"]
        return (np.sum(w) + b) * scale

    assert total({"layer": (np.ones(4), 1.0), "scale": 2.0}) == 10.0
    assert total({"layer": [np.ones(4), 1.0], "scale": 2}) == 10.0


def test_written_leaf():
    @tp.jit
    def push(body, by):
        body.position[:] += by

    body = Body(np.zeros(2), 1.0)
    push(body, 3.0)
    np.testing.assert_array_equal(body.position, 3.0)


class Model:
    gain = 2.0

    def __init__(self, weights):
        self.weights = weights
        self.calls = 0

    @tp.jit
    def apply(self, x):
        return self.gain * np.sum(self.weights * x)

    @property
    def size(self):
        return len(self.weights)

    @staticmethod
    @tp.jit
    def double(x):
        return 2.0 * x

    @tp.jit
    def __call__(self, x):
        return self.apply(x) + self.size


def test_methods():
    model = Model(np.ones(3))
    assert model.apply(np.arange(3.0)) == 6.0
    model.gain = 3.0
    assert model.apply(np.arange(3.0)) == 9.0
    model.weights = np.zeros(3)
    assert model.apply(np.arange(3.0)) == 0.0
    assert Model.double(4.0) == 8.0
    assert model(np.arange(3.0)) == 3.0


def test_bound_method_can_be_compiled():
    class Plain:
        factor = 4.0

        def times(self, x):
            return self.factor * x

    assert tp.jit(Plain().times)(2.0) == 8.0


def test_instances_may_not_be_rebound():
    @tp.jit
    def bad(m):
        m.gain = 1.0

    with pytest.raises(tp.errors.CompileError, match="gain"):
        bad(Model(np.ones(1)))
