"""What a program costs, counted by running it: operations, elements moved, bytes held at once.

Bytes are those that compiled code allocates: results and intermediate arrays, each until its last
use, where what is consumed at its last use gives its storage to the result. The caller's arrays
cost nothing, scalars live in registers.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np

from tapeless.core.prims import OPS
from tapeless.ir.interp import interpret
from tapeless.ir.syntax import Acc, Exp, Fun, Index, Monoid, Prim, Put, Update


@dataclass(frozen=True, slots=True)
class Cost:
    """`flops`: scalar operations; `reads`, `writes`: elements of arrays; `peak_bytes`: the most
    memory that the program itself held at one time, results included."""

    flops: int
    reads: int
    writes: int
    peak_bytes: int


def cost(fun: Fun, *args: Any) -> Cost:
    """The cost of `fun` on its parameters in order, sizes too."""
    counter = Counter()
    interpret(fun, *args, counts=counter)
    return Cost(counter.flops, counter.reads, counter.writes, counter.peak)


class Counter:
    """The meter of the interpreter."""

    def __init__(self) -> None:
        self.flops = self.reads = self.writes = 0
        self.held = self.peak = 0
        self.known: dict[int, weakref.ref[np.ndarray]] = {}

    def price(self, exp: Exp, acc: Acc | None) -> tuple[int, int, int]:
        """Flops, reads and writes of one run of a statement, without its bodies."""
        match exp:
            case Prim(op):
                return OPS[op].flops, 0, 0
            case Index():
                return 0, 1, 0
            case Update():
                return 0, 0, 1
            case Put(targets):
                assert acc is not None
                cells = sum(t.is_array for t in targets)
                flops = 0 if acc.op == "=" or isinstance(acc.op, Monoid) else 1
                return flops, 0 if acc.op == "=" else cells, cells
            case _:
                return 0, 0, 0

    def spend(self, flops: int, reads: int, writes: int) -> None:
        self.flops += flops
        self.reads += reads
        self.writes += writes

    def given(self, array: np.ndarray) -> None:
        self._watch(array, 0)

    def track(self, array: np.ndarray) -> None:
        if id(array) not in self.known:
            self._watch(array, array.nbytes)
            self.held += array.nbytes
            self.peak = max(self.peak, self.held)

    def _watch(self, array: np.ndarray, size: int) -> None:
        key = id(array)

        def freed(_: object) -> None:
            self.held -= size
            del self.known[key]

        self.known[key] = weakref.ref(array, freed)
