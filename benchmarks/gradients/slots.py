"""Memory and time of a fluid's gradient by how many states are kept: `python -m
benchmarks.gradients.slots`."""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

import numpy as np

import tapeless as tp
from benchmarks.gradients import lbm


def flow(f, solid, velocities, weights, opposite, steps, slots):
    """As `lbm.flow`, with `slots` states kept."""
    for _ in tp.loop(steps, reverse="checkpoint", slots=slots):
        f = lbm.step(f, solid, velocities, weights, opposite)
    return lbm.flow(f, solid, velocities, weights, opposite, 0)


def measured(side: int, steps: int, slots: int) -> tuple[float, float]:
    """Peak of memory in grids beyond what the call begins with, and seconds of the best call."""
    rng = np.random.default_rng(0)
    args = lbm.arguments(rng, side, steps)
    program = tp.grad(lbm.flow if slots == 0 else flow)
    more = () if slots == 0 else (slots,)
    few = lbm.arguments(rng, 4, 2)
    program(*few, *more)  # compiled
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = []
    for _ in range(2):
        began = time.perf_counter()
        program(*args, *more)
        seconds.append(time.perf_counter() - began)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return (after - before) * 1024 / args[0].nbytes, min(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gradients.slots")
    parser.add_argument("--side", type=int, default=32)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--slots", type=int, nargs="*", default=[0, 1, 3, 6, 12])
    parser.add_argument("--one", type=int, help="one run, in this process")
    options = parser.parse_args()
    if options.one is not None:
        print(*measured(options.side, options.steps, options.one))
        return
    store = 0.0
    print(f"{options.steps} steps of {options.side}³ cells; 0 slots: every step is kept")
    for slots in options.slots:
        command = [sys.executable, "-m", "benchmarks.gradients.slots", "--one", str(slots),
                   "--side", str(options.side), "--steps", str(options.steps)]  # fmt: skip
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        grids, seconds = map(float, out.split())
        store = seconds if slots == 0 else store
        print(f"{slots:3d} slots: {grids:6.2f} grids, {seconds:7.3f} s, {seconds / store:5.2f} x")


if __name__ == "__main__":
    main()
