"""`python -m benchmarks`: every program against Numba, NumPy and C; ratios printed and kept."""

from __future__ import annotations

import argparse
import json
import math
import platform
import sys
from pathlib import Path
from typing import Any

from benchmarks.processes import rows_of

RESULTS = Path(__file__).parent / "results"


def run_worker(threads: int, extra: list[str]) -> list[dict[str, Any]]:
    """The rows that one process with `threads` threads measures."""
    rows: list[dict[str, Any]] = []
    for row in rows_of("benchmarks.worker", threads, extra):
        rows.append(row | {"threads": threads})
        print(show_row(rows[-1]), flush=True)
    return rows


def best(row: dict[str, Any], prefix: str) -> float:
    """Seconds of the fastest contender whose name starts so, inf if there is none."""
    found = [s for name, s in row["seconds"].items() if name.startswith(prefix)]
    return min(found, default=math.inf)


def numba_seconds(row: dict[str, Any]) -> float:
    found = [s for name, s in row["seconds"].items() if "[" in name]
    return min(found, default=math.inf)


def ratios(row: dict[str, Any]) -> dict[str, float]:
    """Peer's seconds over ours: above 1 we are faster. Ours is the best of fastmath on and off,
    as theirs is."""
    own = best(row, "tapeless")
    peers = {"numba": numba_seconds(row)}
    peers |= {name: best(row, name) for name in ("c", "scalar c", "numpy")}
    return {name: seconds / own for name, seconds in peers.items()}


def show_row(row: dict[str, Any]) -> str:
    own = best(row, "tapeless")
    shown = "  ".join(f"{name} {ratio:6.2f}" for name, ratio in ratios(row).items())
    failed = "".join(f"\n    {name}: {why}" for name, why in row["failed"].items())
    head = f"{row['program']:14}{row['size']:7}{row['threads']} thread(s)"
    return f"{head}  {own * 1e6:12.2f} µs   {shown}{failed}"


def geometric_mean(values: list[float]) -> float:
    logs = [math.log(v) for v in values if 0 < v < math.inf]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def summary(rows: list[dict[str, Any]]) -> list[str]:
    """The targets, each with what was measured."""
    all_ratios = [ratios(row) for row in rows]
    worst = [(min(r["numba"], r["c"]), row) for r, row in zip(all_ratios, rows, strict=True)]
    below = [
        f"{row['program']} {row['size']} {row['threads']}: {r:.2f}" for r, row in worst if r < 0.9
    ]
    heavy = [r["scalar c"] for r, row in zip(all_ratios, rows, strict=True)
             if row["exponential"] and row["threads"] == 1]  # fmt: skip
    return [
        f"geometric mean over Numba: {geometric_mean([r['numba'] for r in all_ratios]):.2f}",
        f"geometric mean over C:     {geometric_mean([r['c'] for r in all_ratios]):.2f}",
        f"geometric mean over NumPy: {geometric_mean([r['numpy'] for r in all_ratios]):.2f}",
        f"exp/log-heavy over scalar C, 1 thread: {geometric_mean(heavy):.2f}",
        f"below 0.9 of the best of Numba and C: {len(below)} of {len(rows)}",
        *(f"  {line}" for line in below),
    ]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    options.add_argument("--programs", nargs="*", default=[])
    options.add_argument("--sizes", nargs="*", default=[])
    chosen = options.parse_args()
    extra = [
        *(["--programs", *chosen.programs] if chosen.programs else []),
        *(["--sizes", *chosen.sizes] if chosen.sizes else []),
    ]
    rows = [row for threads in chosen.threads for row in run_worker(threads, extra)]
    lines = summary(rows)
    print("\n".join(lines))
    if not extra:
        RESULTS.mkdir(exist_ok=True)
        machine = {"processor": platform.processor() or platform.machine(), "python": sys.version}
        text = json.dumps({"machine": machine, "rows": rows, "summary": lines}, indent=1)
        (RESULTS / "primal.json").write_text(text + "\n")
        table = "\n".join(["```", *(show_row(row) for row in rows), "", *lines, "```", ""])
        (RESULTS / "primal.md").write_text(table)


if __name__ == "__main__":
    main()
