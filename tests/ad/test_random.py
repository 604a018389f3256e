"""Derivatives of random programs: forward against differences, reverse against forward, second
derivatives against each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tapeless.ad.jvp import jvp
from tapeless.ad.vjp import vjp
from tapeless.core.types import f64
from tapeless.ir.interp import interpret
from tapeless.ir.syntax import Fun
from tapeless.ir.verify import verify
from tapeless.pipeline import optimise
from tests.ir.generate import arguments, program

FIRST, ALL, CHUNK = 120, 2000, 20
over_seeds = pytest.mark.parametrize("seed", range(FIRST))
over_chunks = pytest.mark.parametrize("start", range(FIRST, ALL, CHUNK))


class Case:
    """A random program with arguments, and a random direction and weight."""

    def __init__(self, seed: int) -> None:
        self.fun, self.args = program(seed), arguments(seed)
        self.rng = np.random.default_rng(seed)
        self.floats = [k for k, p in enumerate(self.fun.params) if p.dtype is f64]
        self.values = interpret(self.fun, *self.args)
        self.count = len(self.values)

    def direction(self) -> list[Any]:
        return [self.rng.standard_normal(np.shape(self.args[k])) for k in self.floats]

    def weights(self) -> list[Any]:
        """A cotangent per float result; single precision takes no part."""
        results = zip(self.fun.body.results, self.values, strict=True)
        return [
            self.rng.standard_normal(np.shape(v)) if r.dtype is f64 else np.zeros(np.shape(v))
            for r, v in results if r.dtype.is_float
        ]  # fmt: skip

    def doubles(self, fun: Fun, values: Any) -> list[Any]:
        """Values of the float results of `fun` that are f64."""
        kinds = [r.dtype for r in fun.body.results if r.dtype.is_float]
        return [np.asarray(v) for v, d in zip(values, kinds, strict=True) if d is f64]

    def tangents(self, along: list[Any]) -> list[Any]:
        forward = jvp(self.fun, self.floats)
        verify(forward)
        return self.doubles(self.fun, interpret(forward, *self.args, *along)[self.count :])

    def moved(self, along: list[Any], step: float) -> list[Any]:
        args = list(self.args)
        for k, d in zip(self.floats, along, strict=True):
            args[k] = args[k] + step * d
        results = zip(self.fun.body.results, interpret(self.fun, *args), strict=True)
        return [np.asarray(v) for r, v in results if r.dtype is f64]


def inner(a: list[Any], b: list[Any]) -> float:
    return sum(float(np.sum(x * y)) for x, y in zip(a, b, strict=True))


def size(a: list[Any], b: list[Any]) -> float:
    return 1.0 + sum(float(np.sum(np.abs(x * y))) for x, y in zip(a, b, strict=True))


def check_slope(case: Case) -> None:
    """(f(x + εv) − f(x − εv)) / 2ε ≈ Jv; at a kink the slope of one side."""
    along, step = case.direction(), 1e-6
    up, here, down = (case.moved(along, s) for s in (step, 0.0, -step))
    for a, m, b, dot in zip(up, here, down, case.tangents(along), strict=True):
        middle, right, left = (a - b) / (2 * step), (a - m) / step, (m - b) / step
        assert middle.shape == dot.shape
        if np.isfinite(middle).all():
            scale = 1.0 + np.max(np.abs(middle), initial=0.0)
            slope = np.where(np.abs(right - left) > 1e-3 * scale, _nearer(dot, left, right), middle)
            np.testing.assert_allclose(dot, slope, rtol=1e-5, atol=1e-5 * scale)


def _nearer(x: Any, a: Any, b: Any) -> Any:
    return np.where(np.abs(x - a) < np.abs(x - b), a, b)


def check_transpose(case: Case, shaped: bool) -> None:
    """⟨Jv, w⟩ = ⟨v, Jᵀw⟩."""
    along, weights = case.direction(), case.weights()
    dots = case.tangents(along)
    back = vjp(optimise(case.fun) if shaped else case.fun, case.floats)
    verify(back)
    back = optimise(back, verify=True) if shaped else back
    bars = list(interpret(back, *case.args, *weights)[case.count :])
    weights = case.doubles(case.fun, weights)
    left, right = inner(dots, weights), inner(bars, along)
    if np.isfinite(left):
        assert abs(left - right) <= 1e-11 * size(dots, weights)


def check_second(case: Case) -> None:
    """⟨Hu, v⟩ = ⟨u, Hv⟩ for forward over reverse, and the same by reverse over reverse."""
    weights, u, v = case.weights(), case.direction(), case.direction()
    back = optimise(vjp(case.fun, case.floats))
    over, twice = jvp(back, case.floats), vjp(back, case.floats)
    verify(over)
    verify(twice)
    count, ahead = len(back.body.results), len(weights)

    def product(d: list[Any]) -> list[Any]:
        return list(interpret(over, *case.args, *weights, *d)[count + ahead :])

    zeros = [np.zeros(np.shape(w)) for w in weights]
    again = list(interpret(twice, *case.args, *weights, *zeros, *u)[count:])
    hu, hv = product(u), product(v)
    left, right, third = inner(hu, v), inner(hv, u), inner(again, v)
    if np.isfinite((left, right)).all():
        assert abs(left - right) <= 1e-10 * (size(hu, v) + size(hv, u))
        assert abs(left - third) <= 1e-10 * (size(hu, v) + size(again, v))


@over_seeds
def test_forward_is_the_slope(seed: int):
    check_slope(Case(seed))


@pytest.mark.parametrize("shaped", [False, True], ids=["", "optimised"])
@over_seeds
def test_reverse_is_the_transpose_of_forward(seed: int, shaped: bool):
    check_transpose(Case(seed), shaped)


@over_seeds
def test_second_derivatives_are_symmetric(seed: int):
    check_second(Case(seed))


@pytest.mark.slow
@over_chunks
def test_more_programs(start: int):
    for seed in range(start, start + CHUNK):
        try:
            case = Case(seed)
        except IndexError:
            continue  # the program itself reads outside of an array
        check_slope(case)
        check_transpose(case, shaped=True)
        check_second(case)
