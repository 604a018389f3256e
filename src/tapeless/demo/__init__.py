"""A tour of the main job: ordinary functions, compiled, beside the same functions as they were, and
their derivatives."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tapeless.api.inspection import source
from tapeless.api.jit import Jitted, jit
from tapeless.demo import programs
from tapeless.demo.slopes import slopes
from tapeless.explain import explain
from tapeless.runtime import threads

Arguments = tuple[Any, ...]


def stations() -> list[tuple[Callable[..., Any], Arguments, Arguments]]:
    """Programs, with arguments for machine code and smaller ones for the Python interpreter."""
    rng = np.random.default_rng(1)
    market = tuple(
        rng.uniform(low, high, 1_000_000) for low, high in ((50, 150), (50, 150), (0.1, 2))
    )
    words = rng.integers(0, 4, (2, 3000))
    bodies = rng.standard_normal((1000, 3))
    return [
        (programs.black_scholes, (*market, 0.03, 0.2), (*market, 0.03, 0.2)),
        (programs.heat, (rng.random((1000, 1000)), 50), (rng.random((1000, 1000)), 50)),
        (programs.edit_distance, (*words,), (*words[:, :300],)),
        (programs.mandelbrot, (900, 600, 200), (90, 60, 200)),
        (programs.forces, (bodies, np.ones(1000)), (bodies[:60], np.ones(60))),
    ]


def main() -> int:
    """Run the tour; returns the exit status."""
    start = time.perf_counter()
    count = threads.get_num_threads()
    print(f"tapeless: ordinary Python functions as machine code, {count} thread(s)\n")
    print(f"{'function':<15} {'compile':>9} {'compiled':>11} {'Python/NumPy':>13} {'faster':>8}")
    agree = True
    for function, large, small in stations():
        agree &= station(function, large, small)
    agree &= slopes()
    sizes()
    inside()
    print(f"\n{time.perf_counter() - start:.1f} s in all.")
    if not agree:
        print("Some results differ from what they should be: please report this.")
    return 0 if agree else 1


def station(function: Callable[..., Any], large: Arguments, small: Arguments) -> bool:
    """One line: how long each takes (scaled to equal work), and whether the results agree."""
    compiled: Jitted = jit(function, cache=False)
    start = time.perf_counter()
    got, expected = run(compiled, small), run(function, small)
    compiling = sum(c.seconds for c in compiled.compilations)
    native = best_of(compiled, large)
    start = time.perf_counter()
    run(function, small)
    plain = (time.perf_counter() - start) * work(function, large) / work(function, small)
    agree = all(map(same, got, expected))
    print(
        f"{function.__name__:<15} {compiling:7.2f} s {native * 1e3:8.2f} ms {plain * 1e3:10.1f} ms"
        f" {plain / native:7.1f}×{'' if agree else '  DIFFERENT RESULTS'}",
        flush=True,
    )
    return agree


def work(function: Callable[..., Any], args: Arguments) -> float:
    """Innermost passes, to compare runs of different size."""
    if function is programs.edit_distance:
        return float(len(args[0]) * len(args[1]))
    if function is programs.mandelbrot:
        return float(args[0] * args[1])
    return float(len(args[1]) ** 2) if function is programs.forces else 1.0


def run(function: Callable[..., Any], args: Arguments) -> list[Any]:
    """Result and arguments after a call on copies."""
    copies = copy.deepcopy(args)
    return [function(*copies), *copies]


def best_of(function: Callable[..., Any], args: Arguments, times: int = 5) -> float:
    best = float("inf")
    for _ in range(times):
        copies = copy.deepcopy(args)
        start = time.perf_counter()
        function(*copies)
        best = min(best, time.perf_counter() - start)
    return best


def same(a: Any, b: Any) -> bool:
    return (a is None and b is None) or bool(np.allclose(a, b, rtol=1e-9, atol=1e-9))


def sizes() -> None:
    """New sizes run the same machine code."""
    compiled: Jitted = jit(programs.edit_distance, cache=False)
    for n in range(2, 200):
        compiled(np.arange(n), np.arange(n))
    print(f"\n198 sizes of edit_distance, compiled {len(compiled.compilations)} time(s).")


def inside() -> None:
    """What became of one of the functions."""
    u = np.zeros((9, 9))
    print("\ntp.source(heat, u, 3), the compiled program as Python:\n")
    print(indented(source(programs.heat, u, 3)))
    print("tp.explain(heat, u, 3):\n")
    print(indented(str(explain(programs.heat, u, 3))))


def indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())
