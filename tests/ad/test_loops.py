"""Strategies of loops in reverse: same derivatives, other times and memories."""

from __future__ import annotations

from functools import lru_cache
from math import comb

import numpy as np
import pytest

import tapeless as tp
from benchmarks.gradients import lbm
from benchmarks.gradients import slots as slots_of_lbm
from tools.measured_memory import peak_bytes

STRATEGIES = [
    {"reverse": "checkpoint", "slots": 3},
    {"reverse": "checkpoint", "slots": 1},
    {"reverse": "checkpoint", "slots": 100},
    {"reverse": "checkpoint", "levels": 3},
    {"reverse": "checkpoint"},
    {"reverse": "recompute"},
    {"memory": 500},
    {"memory": 100_000},
]


def burgers(**strategy):
    def energy(u, a, steps):
        for _ in tp.loop(steps, **strategy):
            u[1:-1] = u[1:-1] - a * u[1:-1] * (u[2:] - u[:-2])
        return np.sum(u * u)

    return tp.value_and_grad(energy, argnums=(0, 1))


@pytest.mark.parametrize("steps", [0, 1, 2, 20])
@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
def test_all_give_the_same(strategy: dict[str, object], steps: int):
    u = np.linspace(0.3, 1.3, 12)
    value, (by_u, by_a) = burgers(reverse="store")(u, 0.1, steps)
    found, (found_u, found_a) = burgers(**strategy)(u, 0.1, steps)
    assert found == value
    np.testing.assert_array_equal(found_u, by_u)
    assert found_a == by_a


@lru_cache(None)
def fewest(passes: int, slots: int) -> int:
    """Passes that must run before all are turned, by trying every schedule."""
    if passes <= 1:
        return 0
    if slots == 1:
        return passes * (passes - 1) // 2
    return min(m + fewest(passes - m, slots - 1) + fewest(m, slots) for m in range(1, passes))


def closed_form(passes: int, slots: int) -> int:
    """t·n − C(c + t, t − 1), with the least t for which C(c + t, t) ≥ n."""
    t = 0
    while comb(slots + t, t) < passes:
        t += 1
    return t * passes - comb(slots + t, t - 1) if t else 0


def work(slots: int, passes: int) -> int:
    """Scalar operations per element of the state."""

    def run(x, steps):
        for _ in tp.loop(steps, reverse="checkpoint", slots=slots):
            x = np.sin(x)
        return np.sum(x)

    g = tp.grad(run)
    small, large = (tp.cost(g, np.ones(n), passes).flops for n in (10, 20))
    return (large - small) // 10


@pytest.mark.parametrize(("passes", "slots"), [(7, 2), (12, 3), (20, 4), (20, 1), (35, 6)])
def test_passes_are_as_few_as_can_be(passes: int, slots: int):
    assert fewest(passes, slots) == closed_form(passes, slots)
    sine = 8  # operations
    more = work(slots, passes) - work(passes, passes)  # with a slot each, passes run once
    assert more == sine * (fewest(passes, slots) - fewest(passes, passes))


def test_a_budget_that_cannot_be_met():
    with pytest.raises(ValueError, match="may take 50 bytes, but one copy of its state takes 96"):
        burgers(memory=50)(np.ones(12), 0.1, 5)


def test_a_state_that_grows_is_stored():
    def f(x):
        out = []
        for i in tp.loop(x.size, reverse="checkpoint"):
            if x[i] > 0.0:
                out.append(x[i] * x[i])
        total = 0.0
        for v in out:
            total += np.exp(-v)
        return total

    with pytest.raises(tp.errors.CompileError, match="grows from pass to pass"):
        tp.grad(f)(np.array([1.0, -1.0]))


def test_while_in_reverse_keeps_what_it_reads():
    """x ← cos x until it stops changing; the derivative by the start is ∏ −sin xₖ."""

    def settle(x, tolerance):
        last = x + 1.0
        while abs(x - last) > tolerance:
            last = x
            x = np.cos(x)
        return x

    x, slope, last = 0.3, 1.0, 1.3
    while abs(x - last) > 1e-3:
        last, slope, x = x, slope * -np.sin(x), np.cos(x)
    assert tp.grad(settle)(0.3, 1e-3) == pytest.approx(slope, rel=1e-14)


@pytest.mark.parametrize("n", [100, 1000])
def test_recurrence_in_place_is_linear(n: int):
    def f(a, x):
        for i in range(1, a.size):
            a[i] = a[i - 1] * x[i] / 2 + a[i]
        return np.sum(a)

    a, x = np.ones(n), np.linspace(0.0, 1.0, n)
    cost = tp.cost(tp.value_and_grad(f, argnums=(0, 1)), a, x)
    primal = tp.cost(f, a, x)
    assert cost.flops <= 5 * primal.flops
    assert cost.peak_bytes <= 12 * 8 * n


@pytest.mark.parametrize("slots", [1, 6])
def test_memory_of_a_fluid_is_that_of_its_slots(slots):
    """Two working states, two cotangents, and the states that are kept."""
    args = lbm.arguments(np.random.default_rng(0), 6, 12)
    taken = peak_bytes(tp.jit(tp.grad(slots_of_lbm.flow)), *args, slots)
    assert taken <= 1.05 * (2 + 2 + slots) * args[0].nbytes
