"""`python -m benchmarks.gradients`: time and counted operations of every derivative over those of
its primal; printed and kept."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from pathlib import Path
from typing import Any

import tapeless as tp
from benchmarks.clock import race
from benchmarks.gradients.program import Example, load_examples

RESULTS = Path(__file__).parents[1] / "results"
HEAD = f"{'program':18}{'primal µs':>12}{'derivative µs':>15}{'time':>8}{'at most':>9}{'flops':>8}"


def measure(example: Example) -> dict[str, Any]:
    args = example.data(example.large)
    primal = tp.jit(example.primal)
    seconds = race({
        "primal": lambda: primal(*args), "derivative": lambda: example.derivative(*args)
    })  # fmt: skip
    small = example.data(example.small)
    flops = {
        "primal": tp.cost(primal, *small).flops,
        "derivative": tp.cost(example.derivative, *small).flops,
    }
    return {
        "program": example.name, "seconds": seconds, "flops": flops, "bound": example.bound,
        "time ratio": seconds["derivative"] / seconds["primal"],
        "flop ratio": flops["derivative"] / flops["primal"],
    }  # fmt: skip


def show(row: dict[str, Any]) -> str:
    seconds = row["seconds"]
    return (
        f"{row['program']:18}{seconds['primal'] * 1e6:12.1f}{seconds['derivative'] * 1e6:15.1f}"
        f"{row['time ratio']:8.2f}{row['bound']:9.1f}{row['flop ratio']:8.2f}"
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--programs", nargs="*", default=[])
    options.add_argument("--threads", type=int, default=2)
    chosen = options.parse_args()
    tp.set_num_threads(chosen.threads)
    print(HEAD)
    rows = []
    for name, example in load_examples().items():
        if not chosen.programs or name in chosen.programs:
            rows.append(measure(example))
            print(show(rows[-1]), flush=True)
    if not chosen.programs:
        machine = {"processor": platform.processor() or platform.machine(), "python": sys.version}
        report = {"machine": machine, "threads": chosen.threads, "rows": rows}
        (RESULTS / "grad.json").write_text(json.dumps(report, indent=1) + "\n")
        table = "\n".join(["```", HEAD, *map(show, rows), "```", ""])
        (RESULTS / "grad.md").write_text(table)


if __name__ == "__main__":
    main()
