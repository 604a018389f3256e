"""Parallel regions on an OpenMP runtime that speaks the GOMP interface."""

from __future__ import annotations

from tapeless.runtime.words import I32, Static, Word, address_of, indirect, load

GOMP = Static("gomp", 1)  # the address of GOMP_parallel


def region(function: Word, data: Word, threads: I32) -> None:
    """Run `function(data)` on every thread of a team."""
    indirect("vwwii", load(address_of(GOMP), 0), function, data, threads, 0)
