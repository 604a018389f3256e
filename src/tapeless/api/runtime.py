"""Switches of the runtime that users set."""

from __future__ import annotations

from tapeless.runtime import cache, threads


def set_num_threads(n: int | None) -> None:
    """How many threads parallel loops may use from now on; None: what the environment says."""
    threads.set_num_threads(n)


def clear_cache() -> int:
    """Remove all compiled code from the disk cache; returns the number of entries removed."""
    return cache.clear()
