"""Containers and instances as arguments and results."""

from __future__ import annotations

import importlib
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


def test_methods_of_a_class_may_be_replaced():
    class Law:
        def value(self, x):
            return x + 1.0

        @property
        def offset(self):
            return 1.0

        @staticmethod
        def twice(x):
            return 2.0 * x

    @tp.jit
    def f(law, x):
        return law.value(x), law.offset, law.twice(x)

    law = Law()
    assert f(law, 1.0) == (2.0, 1.0, 2.0)
    Law.value = lambda self, x: x + 10.0
    assert f(law, 1.0) == (11.0, 1.0, 2.0)
    Law.offset = property(lambda self: 5.0)
    assert f(law, 1.0) == (11.0, 5.0, 2.0)
    law.value = lambda x: -x
    assert f(law, 1.0) == (-1.0, 5.0, 2.0)
    Law.twice = staticmethod(lambda x: 3.0 * x)
    assert f(law, 1.0) == (-1.0, 5.0, 3.0)


def test_methods_see_the_globals_of_their_module(tmp_path, monkeypatch):
    (tmp_path / "laws_elsewhere.py").write_text(
        "from dataclasses import dataclass\n"
        "GAIN = 3.0\n"
        "class Law:\n"
        "    def value(self, x):\n"
        "        return GAIN * x\n"
        "@dataclass\n"
        "class Made:\n"
        "    x: float\n"
        "    def value(self):\n"
        "        return GAIN * self.x\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    laws = importlib.import_module("laws_elsewhere")

    @tp.jit
    def f(law, x):
        return law.value(x) + laws.Made(x).value()

    assert f(laws.Law(), 2.0) == 12.0
    laws.GAIN = 10.0
    assert f(laws.Law(), 2.0) == 40.0
    assert len(f.compilations) == 1


def test_slots():
    class Point:
        __slots__ = ("x", "y")

    @tp.jit
    def product(p):
        return p.x * p.y

    p = Point()
    p.x, p.y = 2.0, 3.0
    assert product(p) == 6.0
    p.x = 5.0
    assert product(p) == 15.0


def test_containers_of_the_caller_are_not_changed():
    changes = (
        lambda v: v["list"].append(1.0), lambda v: v["list"].pop(), lambda v: v.update(a=1.0),
        lambda v: v["list"].clear(),
    )  # fmt: skip
    for change in changes:
        values = {"list": [1.0, 2.0], "a": 0.0}
        with pytest.raises(tp.errors.CompileError, match="cannot be changed"):
            tp.jit(change)(values)
        assert values == {"list": [1.0, 2.0], "a": 0.0}

    @tp.jit
    def rebound(v):
        v["a"] = 1.0
        v["list"] += [2.0]

    with pytest.raises(tp.errors.CompileError, match=r"dict.*cannot be changed"):
        rebound({"list": [1.0], "a": 0.0})


def test_frozen_stays_frozen():
    @tp.jit
    def bad(x):
        made = Frozen(x)
        made.value = 2.0
        return made.value

    with pytest.raises(tp.errors.CompileError, match="frozen"):
        bad(1.0)


def test_decorators_of_methods():
    class Model:
        n = 3

        @tp.jit
        def times(self, x):
            return x * self.n

        @staticmethod
        @tp.jit
        def next(x):
            return x + 1

        @classmethod
        @tp.jit
        def scaled(cls, x):
            return x * cls.n

        @property
        @tp.jit
        def double(self):
            return self.n * 2.0

        @tp.jit
        def all(self, x):
            return self.times(x) + self.next(x) + self.scaled(x) + self.double

    class Other(Model):
        def times(self, x):
            return 100 * x

    model = Model()
    for _ in range(2):  # the second call is one of the fast entry
        assert (model.times(2.0), Model.next(1.0), model.scaled(2.0)) == (6.0, 2.0, 6.0)
        assert (model.double, model.all(1.0), Other().all(1.0)) == (6.0, 14.0, 111.0)
    Model.n = 7
    assert (Model.scaled(2.0), model.times(2.0), model.all(1.0)) == (14.0, 14.0, 30.0)
