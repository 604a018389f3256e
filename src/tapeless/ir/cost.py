"""What a program costs, counted by running it: operations, elements moved, bytes held at once.

Bytes are those that compiled code allocates: results and intermediate arrays, each until its last
use, where what is consumed at its last use gives its storage to the result. The caller's arrays
cost nothing, scalars live in registers.
"""

from __future__ import annotations

import weakref
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tapeless.core.names import Var
from tapeless.core.prims import OPS
from tapeless.ir.interp import interpret
from tapeless.ir.syntax import Acc, Exp, Fun, Index, Monoid, Prim, Put, Update

NONE: Mapping[Var, Var] = {}


@dataclass(frozen=True, slots=True)
class Cost:
    """`flops`: scalar operations; `reads`, `writes`: elements of arrays; `peak_bytes`: the most
    memory that the program itself held at one time, results included."""

    flops: int
    reads: int
    writes: int
    peak_bytes: int


def cost(
    fun: Fun, *args: Any, in_place: Collection[Var] = (), reuse: Mapping[Var, Var] = NONE
) -> Cost:
    """The cost of `fun` on its parameters in order, sizes too. `in_place`: accumulators that
    overwrite an array that their nest reads, by an order of reads and writes that allows it;
    `reuse`: results of nests -> operands that they overwrite (`lower.own`)."""
    counter = Counter(in_place, reuse)
    interpret(fun, *args, counts=counter)
    return Cost(counter.flops, counter.reads, counter.writes, counter.peak)


class Counter:
    """The meter of the interpreter."""

    def __init__(self, in_place: Collection[Var] = (), reuse: Mapping[Var, Var] = NONE) -> None:
        self.in_place = in_place
        self.reuse = reuse
        self.flops = self.reads = self.writes = 0
        self.held = self.peak = 0
        self.known: dict[int, weakref.ref[np.ndarray]] = {}
        self.sizes: dict[int, int] = {}  # bytes of each array known, 0 if another accounts for them
        self.spare: dict[int, int] = {}  # bytes of the caller's that become free with it

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

    def given(self, array: np.ndarray, written: bool) -> None:
        """What the caller lets the program write is free to use once its contents are dead."""
        self._watch(array, 0, array.nbytes if written else 0)

    def track(self, array: np.ndarray, beside: int = 0) -> None:
        if id(array) not in self.known:
            size = array.nbytes + beside
            self._watch(array, size)
            self.held += size
            self.peak = max(self.peak, self.held)

    def moved(self, old: np.ndarray, new: np.ndarray) -> None:
        """`new` lies where `old` did."""
        self._watch(new, self.sizes.get(id(old), 0), self.spare.pop(id(old), 0))
        self.sizes[id(old)] = 0

    def _watch(self, array: np.ndarray, size: int, spare: int = 0) -> None:
        key = id(array)

        def freed(_: object) -> None:
            self.held -= self.sizes.pop(key) + self.spare.pop(key, 0)
            del self.known[key]

        self.sizes[key] = size
        if spare:
            self.spare[key] = spare
        self.known[key] = weakref.ref(array, freed)
