"""Derivatives of random programs: forward against differences, reverse against forward."""

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

SEEDS = [s for s in range(160) if s % 8 or s < 80]
over_seeds = pytest.mark.parametrize("seed", SEEDS)


def floats(fun: Fun) -> list[int]:
    return [k for k, p in enumerate(fun.params) if p.dtype is f64]


def directions(fun: Fun, args: tuple[Any, ...], rng: np.random.Generator) -> list[Any]:
    return [rng.standard_normal(np.shape(args[k])) for k in floats(fun)]


def tangents(fun: Fun, args: tuple[Any, ...], along: list[Any]) -> list[Any]:
    """The tangents of the f64 results of `fun`."""
    program = jvp(fun, floats(fun))
    verify(program)
    out = interpret(program, *args, *along)[len(fun.body.results) :]
    kinds = [r.dtype for r in fun.body.results if r.dtype.is_float]
    return [np.asarray(o) for o, d in zip(out, kinds, strict=True) if d is f64]


@over_seeds
def test_forward_is_the_slope(seed: int):
    fun, args = program(seed), arguments(seed)
    along = directions(fun, args, np.random.default_rng(seed))

    def at(step: float) -> list[Any]:
        moved = list(args)
        for k, d in zip(floats(fun), along, strict=True):
            moved[k] = args[k] + step * d
        results = interpret(fun, *moved)
        return [np.asarray(r) for r, a in zip(results, fun.body.results, strict=True)
                if a.dtype is f64]  # fmt: skip

    step = 1e-6
    for up, down, dot in zip(at(step), at(-step), tangents(fun, args, along), strict=True):
        slope = (up - down) / (2 * step)
        assert slope.shape == dot.shape
        if np.isfinite(slope).all():
            size = 1.0 + np.max(np.abs(slope), initial=0.0)
            np.testing.assert_allclose(dot, slope, rtol=1e-5, atol=1e-5 * size)


@pytest.mark.parametrize("shaped", [False, True], ids=["", "optimised"])
@over_seeds
def test_reverse_is_the_transpose_of_forward(seed: int, shaped: bool):
    """⟨Jv, w⟩ = ⟨v, Jᵀw⟩."""
    fun, args = program(seed), arguments(seed)
    rng = np.random.default_rng(seed)
    along = directions(fun, args, rng)
    dots = tangents(fun, args, along)
    weights = [rng.standard_normal(d.shape) for d in dots]
    given = iter(weights)
    seeds = [
        next(given) if r.dtype is f64 else np.zeros(np.shape(v))
        for r, v in zip(fun.body.results, interpret(fun, *args), strict=True)
        if r.dtype.is_float
    ]
    back = vjp(optimise(fun) if shaped else fun, floats(fun))
    verify(back)
    back = optimise(back, verify=True) if shaped else back
    bars = interpret(back, *args, *seeds)[len(fun.body.results) :]
    left = [float(np.sum(d * w)) for d, w in zip(dots, weights, strict=True)]
    right = [float(np.sum(b * v)) for b, v in zip(bars, along, strict=True)]
    if np.isfinite(left).all():
        size = 1.0 + sum(float(np.sum(np.abs(d * w))) for d, w in zip(dots, weights, strict=True))
        assert abs(sum(left) - sum(right)) <= 1e-11 * size
