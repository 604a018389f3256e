"""One process with one number of threads: every program, ours and its peers, as JSON lines."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from typing import Any

import tapeless as tp
from benchmarks.clock import race
from benchmarks.gradients.peer import SYSTEMS, Peer, difference, load_system
from benchmarks.gradients.program import Example, load_examples


def keep_to(threads: int) -> None:
    """As many processors as threads: peers make a thread for each processor that they see."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def measure(example: Example, peers: dict[str, Peer]) -> dict[str, Any]:
    args = example.data(example.large)
    primal = tp.jit(example.primal)
    calls: dict[str, Callable[[], object]] = {
        "primal": lambda: primal(*args), "derivative": lambda: example.derivative(*args)
    }  # fmt: skip
    ours = example.derivative(*args)
    differences = {
        name: difference(ours, peer.tell(peer.derivative())) for name, peer in peers.items()
    }
    for name, peer in peers.items():
        calls |= {f"{name} primal": peer.primal, f"{name} derivative": peer.derivative}
    small = example.data(example.small)
    return {
        "program": example.name, "bound": example.bound, "differences": differences,
        "seconds": race(calls),
        "flops": {
            "primal": tp.cost(primal, *small).flops,
            "derivative": tp.cost(example.derivative, *small).flops,
        },
    }  # fmt: skip


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--programs", nargs="*", default=[])
    options.add_argument("--peers", nargs="*", default=list(SYSTEMS))
    chosen = options.parse_args()
    keep_to(chosen.threads)
    tp.set_num_threads(chosen.threads)
    systems = {name: load_system(SYSTEMS[name]) for name in chosen.peers}
    for name, example in load_examples().items():
        if not chosen.programs or name in chosen.programs:
            args = example.data(example.large)
            peers = {system: made[name](*args) for system, made in systems.items()}
            print(json.dumps(measure(example, peers)), flush=True)


if __name__ == "__main__":
    sys.exit(main())
