"""Differentiate random programs, and print what fails with its seed."""

from __future__ import annotations

import argparse
import collections
import multiprocessing
import sys
import time
from collections.abc import Iterator

from tests.ad.fuzz.judge import SOURCES, Verdict, judge

LONGEST = 3000  # seconds without an answer: a program hangs, or broke the process it ran in


def answer(task: tuple[str, int, bool]) -> tuple[int, Verdict]:
    source, seed, machine = task
    return seed, judge(source, seed, machine=machine)


def answers(
    jobs: int, tasks: list[tuple[str, int, bool]], seconds: float
) -> Iterator[tuple[int, Verdict]]:
    """What comes of each program until time is up."""
    end = time.perf_counter() + seconds
    missing = {seed for _, seed, _ in tasks}
    with multiprocessing.Pool(jobs, maxtasksperchild=1000) as pool:
        results = pool.imap_unordered(answer, tasks)
        while missing and time.perf_counter() < end:
            try:
                seed, verdict = results.next(timeout=LONGEST)
            except multiprocessing.TimeoutError:
                yield min(missing), Verdict("crash", "process", f"no answer from {min(missing)} on")
                return
            missing.remove(seed)
            yield seed, verdict


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.ad.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--source", choices=sorted(SOURCES), default="core")
    parser.add_argument("--machine", type=int, default=0, help="machine code of every so many")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    options = parser.parse_args()
    every = options.machine
    tasks = [
        (options.source, seed, every > 0 and seed % every == 0)
        for seed in range(options.seed, options.seed + options.count)
    ]
    began = time.perf_counter()
    counts: collections.Counter[str] = collections.Counter()
    refused: dict[str, list[int]] = {}
    for seed, verdict in answers(options.jobs, tasks, options.seconds):
        counts[verdict.kind] += 1
        if counts.total() % 1000 == 0:
            print(f"{counts.total()} programs: {dict(counts)}", flush=True)
        if verdict.failed:
            print(seed, verdict.kind, verdict.check, repr(verdict.problem[:200]), flush=True)
        elif verdict.kind == "refused":
            refused.setdefault(f"{verdict.check}: {verdict.problem}", []).append(seed)
    for problem, seeds in sorted(refused.items(), key=lambda r: -len(r[1]))[:20]:
        print(f"refused {len(seeds)}: {problem}  (seed {seeds[0]})")
    seconds = time.perf_counter() - began
    print(f"{counts.total()} programs in {seconds:.1f} s: {dict(counts)}")
    return bool(counts["wrong"] or counts["crash"])


if __name__ == "__main__":
    sys.exit(main())
