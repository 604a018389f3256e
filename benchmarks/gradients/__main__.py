"""`python -m benchmarks.gradients`: every derivative over its primal, in time and in counted
operations, and over the same derivative in JAX and PyTorch, which must agree; printed and kept."""

from __future__ import annotations

import argparse
import json
import math
import platform
import sys
from pathlib import Path
from typing import Any

from benchmarks.gradients.peer import SYSTEMS
from benchmarks.processes import rows_of

RESULTS = Path(__file__).parents[1] / "results"
TOLERANCE = 1e-10
Row = dict[str, Any]


def head(systems: list[str]) -> str:
    parts = [f"{'program':17}{'primal µs':>11}{'deriv. µs':>11}{'time':>7}{'bound':>7}{'flops':>7}"]
    for name in systems:
        parts += [f"{name + ' µs':>13}{'over ours':>11}{'primals':>9}{'differ by':>11}"]
    return "".join(parts)


def show(row: Row, systems: list[str]) -> str:
    seconds, flops = row["seconds"], row["flops"]
    primal, slope = seconds["primal"], seconds["derivative"]
    parts = [
        f"{row['program']:17}{primal * 1e6:11.1f}{slope * 1e6:11.1f}{slope / primal:7.2f}",
        f"{row['bound']:7.1f}{flops['derivative'] / flops['primal']:7.2f}",
    ]
    for name in systems:
        theirs = seconds[f"{name} derivative"]
        parts.append(
            f"{theirs * 1e6:13.1f}{over_ours(row, name):11.2f}"
            f"{over_ours(row, name, 'primal'):9.2f}{row['differences'][name]:11.1e}"
        )
    return "".join(parts)


def over_ours(row: Row, system: str, what: str = "derivative") -> float:
    """The system's seconds over ours: above 1 we are faster."""
    seconds: float = row["seconds"][f"{system} {what}"]
    return seconds / float(row["seconds"][what])


def summary(rows: list[Row], systems: list[str]) -> list[str]:
    within = [r for r in rows if r["seconds"]["derivative"] <= r["bound"] * r["seconds"]["primal"]]
    lines = [f"derivative over primal within its bound: {len(within)} of {len(rows)}"]
    for name in systems:
        ratios = [over_ours(row, name) for row in rows]
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        worst = max(row["differences"][name] for row in rows)
        lines.append(
            f"{name}: we are faster on {sum(r > 1.0 for r in ratios)} of {len(ratios)}, "
            f"geometric mean {mean:.2f}; derivatives differ by {worst:.1e} at most"
        )
    return lines


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--programs", nargs="*", default=[])
    options.add_argument("--peers", nargs="*", default=list(SYSTEMS), choices=list(SYSTEMS))
    options.add_argument("--threads", type=int, default=2)
    chosen = options.parse_args()
    extra = ["--peers", *chosen.peers]
    extra += ["--programs", *chosen.programs] if chosen.programs else []
    print(head(chosen.peers))
    rows = []
    for row in rows_of("benchmarks.gradients.worker", chosen.threads, extra):
        rows.append(row)
        print(show(row, chosen.peers), flush=True)
    lines = summary(rows, chosen.peers)
    print("\n".join(lines))
    if not chosen.programs and chosen.peers == list(SYSTEMS):
        machine = {"processor": platform.processor() or platform.machine(), "python": sys.version}
        report = {"machine": machine, "threads": chosen.threads, "rows": rows, "summary": lines}
        (RESULTS / "grad.json").write_text(json.dumps(report, indent=1) + "\n")
        shown = [head(chosen.peers), *(show(row, chosen.peers) for row in rows), "", *lines]
        (RESULTS / "grad.md").write_text("\n".join(["```", *shown, "```", ""]))
    if any(d > TOLERANCE for row in rows for d in row["differences"].values()):
        raise SystemExit(f"derivatives differ by more than {TOLERANCE}")


if __name__ == "__main__":
    main()
