"""Time that only goes forward."""

from __future__ import annotations

from tapeless.runtime.words import Extern, Word, load, local

clock_gettime = Extern("clock_gettime", "iiw")
MONOTONIC = 1


def now() -> Word:
    """Nanoseconds since some moment."""
    time = local(2)
    clock_gettime(MONOTONIC, time)
    return load(time, 0) * 1_000_000_000 + load(time, 1)
