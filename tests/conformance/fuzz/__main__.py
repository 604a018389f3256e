"""Run random programs and print what fails, made small, with its seed."""

from __future__ import annotations

import argparse
import collections
import gc
import multiprocessing
import signal
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import tapeless as tp
from tests.conformance.fuzz.check import Verdict, check
from tests.conformance.fuzz.program import make
from tests.conformance.fuzz.shrink import shrink

LONGEST = 120  # seconds of computing that a program may take
SILENCE = 20  # minutes without any answer after which nothing more is awaited
SILENT = "process"  # the road of such a program
PROGRESS = 500  # programs after which it is said how many were judged


def judge(task: tuple[int, bool, bool, bool]) -> tuple[int, Verdict]:
    """The verdict on one program. If it takes too long its process ends, and another one goes on
    with the next program."""
    seed, core, machine, every = task
    signal.setitimer(signal.ITIMER_PROF, LONGEST)
    try:
        return seed, check(make(seed), core=core, machine=machine, every=every)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def start() -> None:
    warnings.simplefilter("ignore")
    tp.set_num_threads(2)
    gc.freeze()
    gc.set_threshold(200_000, 10, 10)  # the process ends before garbage matters


def answers(jobs: int, tasks: Sequence[Any], seconds: float) -> Iterator[tuple[int, Verdict]]:
    """What comes of each program until time is up; those that never answer are crashes."""
    end = time.perf_counter() + seconds
    missing, silent = {task[0] for task in tasks}, 0
    with multiprocessing.Pool(jobs, start, maxtasksperchild=500) as pool:
        results = pool.imap_unordered(judge, tasks)
        while missing and time.perf_counter() < end:
            try:
                seed, verdict = results.next(timeout=60)
            except multiprocessing.TimeoutError:
                silent += 1
                if silent < SILENCE:
                    continue
                for seed in sorted(missing):  # all the others were answered
                    yield seed, Verdict("crash", SILENT, "no answer")
                return
            silent = 0
            missing.remove(seed)
            yield seed, verdict


def smallest(seed: int, verdict: Verdict, core: bool, machine: bool) -> str:
    warnings.simplefilter("ignore")  # programs that shrinking breaks
    program = make(seed)

    def fails(source: str) -> bool:
        try:
            found = check(program, source, core=core, machine=machine)
        except Exception:  # noqa: BLE001  # no program any more
            return False
        return found.like(verdict)

    return shrink(program.source, fails)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--core", action="store_true", help="the interpreter only")
    parser.add_argument("--machine", action="store_true", help="machine code only")
    parser.add_argument("--ends", action="store_true", help="not after every single pass")
    parser.add_argument("--show", type=int, default=5, help="how many failures to make small")
    parser.add_argument("--refused", action="store_true", help="show what the compiler refused")
    options = parser.parse_args()
    core, machine = not options.machine, not options.core
    seeds = range(options.seed, options.seed + options.count)
    tasks = [(seed, core, machine, not options.ends) for seed in seeds]
    began = time.perf_counter()
    counts: collections.Counter[str] = collections.Counter()
    refusals: dict[str, list[int]] = {}
    failures: list[tuple[int, Verdict]] = []
    for seed, verdict in answers(options.jobs, tasks, options.seconds):
        counts[verdict.kind] += 1
        if verdict.failed:
            failures.append((seed, verdict))
            print(seed, verdict.kind, verdict.road, repr(verdict.problem[:150]), flush=True)
        elif verdict.kind == "refused":
            refusals.setdefault(verdict.problem, []).append(seed)
        if counts.total() % PROGRESS == 0:
            print(f"{counts.total()} judged, the last {seed}: {dict(counts)}", flush=True)
    seconds = time.perf_counter() - began
    report(failures, options.show, core, machine)
    if options.refused:
        for problem, seeds in sorted(refusals.items(), key=lambda r: -len(r[1])):
            print(f"refused {len(seeds)}: {problem}  (seed {seeds[0]})")
    print(f"{counts.total()} programs in {seconds:.1f} s: {dict(counts)}")
    return bool(failures)


def report(failures: list[tuple[int, Verdict]], show: int, core: bool, machine: bool) -> None:
    """One example of each sort of failure, made small, then the seeds."""
    groups: dict[tuple[str, str, str], list[tuple[int, Verdict]]] = {}
    for seed, verdict in sorted(failures, key=lambda f: f[0]):
        groups.setdefault((verdict.kind, verdict.road, verdict.sort), []).append((seed, verdict))
    for (kind, road, _), found in sorted(groups.items(), key=lambda g: -len(g[1])):
        seed, verdict = found[0]
        print(f"=== {kind} at {road}: {len(found)} programs, seeds {[s for s, _ in found[:8]]}")
        print(verdict.problem)
        if show > 0:
            show -= 1
            endless = road == SILENT
            print(make(seed).source if endless else smallest(seed, verdict, core, machine))
        print(flush=True)


if __name__ == "__main__":
    sys.exit(main())
