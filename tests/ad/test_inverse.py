"""Loops that are undone pass by pass instead of remembered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapeless as tp


def leapfrog(kind: str) -> Callable[..., Any]:
    def run(q, p, k, steps):
        for _ in tp.loop(steps, reverse=kind):
            p = p - 0.01 * k * q
            q = q + 0.01 * p
        return np.sum(q * q) + np.sum(p)

    return run


def wave(kind: str) -> Callable[..., Any]:
    def run(u, v, c, steps):
        for _ in tp.loop(steps, reverse=kind):
            v[1:-1] += c * (u[2:] - 2 * u[1:-1] + u[:-2])
            u += 0.1 * v
        return np.sum(u * u)

    return run


def scalars(kind: str) -> Callable[..., Any]:
    def run(x, y, steps):
        for i in tp.loop(steps, reverse=kind):
            y += 0.01 * np.sin(x) * i
            x -= 0.3 * np.cos(y)
            x, y = y, -x
        return x * y

    return run


def cells(kind: str) -> Callable[..., Any]:
    def run(a, x):
        for i in tp.loop(a.size - 1, reverse=kind):
            a[i + 1] += a[i] * x[i]
            a[i] *= 2.0
        return np.sum(a * a)

    return run


X = np.linspace(0.1, 1.0, 7)
CASES = {
    "leapfrog": (leapfrog, (X, 2 * X, X + 1, 40)),
    "wave": (wave, (X, 2 * X, 0.1, 30)),
    "scalars": (scalars, (0.3, 0.7, 9)),
    "cells": (cells, (X, X + 1)),
}


@pytest.mark.parametrize("name", CASES)
def test_same_derivative_as_stored(name: str):
    make, args = CASES[name]
    floats = tuple(k for k, a in enumerate(args) if not isinstance(a, int))
    value, bars = tp.value_and_grad(make("store"), argnums=floats)(*args)
    found, undone = tp.value_and_grad(make("invert"), argnums=floats)(*args)
    assert found == value
    for bar, other in zip(bars, undone, strict=True):
        np.testing.assert_allclose(other, bar, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ["leapfrog", "wave"])
def test_memory_does_not_grow_with_the_passes(name: str):
    make, (*args, _) = CASES[name]
    g = tp.grad(make("invert"))
    few, many = (tp.cost(g, *args, steps).peak_bytes for steps in (10, 200))
    assert many == few


@pytest.mark.parametrize("steps", [0, 1])
def test_few_passes(steps: int):
    args = (X, 2 * X, X + 1)
    g = tp.grad(leapfrog("invert"))(*args, steps)
    q = X + 0.01 * (2 * X - 0.01 * (X + 1) * X) * steps
    dq = 1 - 0.0001 * (X + 1) * steps
    np.testing.assert_allclose(g, 2 * q * dq - 0.01 * (X + 1) * steps, rtol=1e-13)


def test_what_has_no_inverse_is_an_error_at_its_line():
    def run(x, steps):
        for _ in tp.loop(steps, reverse="invert"):
            x = np.sin(x)
        return x

    with pytest.raises(tp.errors.CompileError) as caught:
        tp.grad(run)(0.3, 4)
    text = str(caught.value)
    assert "cannot be run backwards: how 'x' changes" in text
    assert "x = np.sin(x)" in text
    assert 'use reverse="store"' in text
