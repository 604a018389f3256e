"""Memory and time of a fluid's gradient by how many states are kept.

python -m benchmarks.gradients.slots [--side 16] [--steps 100] [--slots 0 1 3 6 12]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import tapeless as tp
from benchmarks.gradients import lbm
from tools.measured_memory import peak_bytes

SMALL = 8  # cells a side where memory is counted: to the byte, and the same in grids for any side
ROUNDS = 3


def flow(f, solid, velocities, weights, opposite, steps, slots):
    """As `lbm.flow`, with `slots` states kept."""
    for _ in tp.loop(steps, reverse="checkpoint", slots=slots):
        f = lbm.step(f, solid, velocities, weights, opposite)
    return lbm.flow(f, solid, velocities, weights, opposite, 0)


def seconds(run: Callable[[], Any]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gradients.slots")
    parser.add_argument("--side", type=int, default=16)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--slots", type=int, nargs="*", default=[0, 1, 3, 6, 12])
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    small, large = (lbm.arguments(rng, side, options.steps) for side in (SMALL, options.side))
    store, kept = tp.jit(tp.grad(lbm.flow)), tp.jit(tp.grad(flow))
    calls = {s: (store, ()) if s == 0 else (kept, (s,)) for s in options.slots}
    best = dict.fromkeys(calls, np.inf)
    for _ in range(ROUNDS):
        for s, (f, more) in calls.items():
            best[s] = min(best[s], seconds(lambda f=f, more=more: f(*large, *more)))
    print(f"{options.steps} steps of {options.side}³ cells; 0 slots: every step is kept")
    for s, (f, more) in calls.items():
        grids = peak_bytes(f, *small, *more) / small[0].nbytes
        print(f"{s:3d} slots: {grids:6.2f} grids, {best[s]:7.3f} s, {best[s] / best[0]:5.2f} x")


if __name__ == "__main__":
    main()
