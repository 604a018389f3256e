"""Timing: contenders take turns, so that what disturbs the machine disturbs them alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping

ROUNDS = 7
ROUND_SECONDS = 0.03
LONG_SECONDS = 10.0  # a contender that took so long, and two rounds, may leave


def calls_per_round(call: Callable[[], object]) -> int:
    """How often to call so that one round takes about ROUND_SECONDS."""
    call()
    count = 1
    while True:
        start = time.perf_counter()
        for _ in range(count):
            call()
        taken = time.perf_counter() - start
        if taken > ROUND_SECONDS / 4:
            return max(1, round(count * ROUND_SECONDS / taken))
        count *= 4


def race(contenders: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """Median over rounds of the seconds per call, by contender."""
    counts = {name: calls_per_round(call) for name, call in contenders.items()}
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(ROUNDS):
        for name, call in contenders.items():
            if len(times[name]) > 1 and sum(times[name]) > LONG_SECONDS:
                continue
            start = time.perf_counter()
            for _ in range(counts[name]):
                call()
            times[name].append((time.perf_counter() - start) / counts[name])
    return {name: statistics.median(seconds) for name, seconds in times.items()}
