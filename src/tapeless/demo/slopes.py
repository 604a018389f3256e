"""The part of the tour about derivatives: what a gradient costs, and that it is right."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tapeless.api.derivatives import grad
from tapeless.api.inspection import source
from tapeless.api.jit import jit
from tapeless.demo import programs

WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)  # differences of eighth order


def slopes() -> bool:
    """Gradients by arrays of any size, at a few times the cost of the value."""
    rng = np.random.default_rng(2)
    market = [rng.uniform(low, high, 200_000) for low, high in ((50, 150), (50, 150), (0.1, 2))]
    print(f"\n{'gradient of':<15} {'by numbers':>11} {'value':>11} {'gradient':>11} {'times':>7}")
    agree = True
    for f, x, rest in (
        (programs.cooled, rng.random((300, 300)), (50,)),
        (programs.energy, rng.standard_normal((400, 3)), ()),
        (programs.worth, market[0], (*market[1:], 0.03, 0.2)),
    ):
        agree &= station(f, x, rest)
    print("\ntp.source(tp.grad(root), 2.0), where root is Newton's iteration for one number:\n")
    print("".join(f"    {line}\n" for line in source(grad(programs.root), 2.0).splitlines()))
    return agree


def station(f: Callable[..., Any], x: Any, rest: tuple[Any, ...]) -> bool:
    """One line: how long value and gradient take, and whether differences of values agree."""
    compiled, gradient = jit(f, cache=False), grad(jit(f, cache=False))
    value, slope = best_of(compiled, x, rest), best_of(gradient, x, rest)
    along = np.random.default_rng(3).standard_normal(x.shape)

    def at(step: float) -> Any:
        return compiled(x + step * along, *rest)

    h = 1e-3 / np.max(np.abs(along))
    expected = sum(w * (at(k * h) - at(-k * h)) for k, w in enumerate(WEIGHTS, 1)) / h
    agree = bool(np.isclose(np.sum(gradient(x.copy(), *rest) * along), expected, rtol=1e-6))
    print(
        f"{f.__name__:<15} {x.size:11,} {value * 1e3:8.2f} ms {slope * 1e3:8.2f} ms"
        f" {slope / value:7.1f}{'' if agree else '  DIFFERENT FROM DIFFERENCES'}",
        flush=True,
    )
    return agree


def best_of(f: Callable[..., Any], x: Any, rest: tuple[Any, ...], times: int = 5) -> float:
    f(x.copy(), *rest)
    best = float("inf")
    for _ in range(times):
        own = x.copy()
        start = time.perf_counter()
        f(own, *rest)
        best = min(best, time.perf_counter() - start)
    return best
