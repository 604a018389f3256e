"""How much memory a kernel will need, from its sizes alone, without running it.

Allocations are followed through blocks, scopes and loops with the integers that follow from the
scalar arguments; what depends on data is not known and makes the answer a lower bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tapeless.core.names import Atom, Const, Var
from tapeless.core.prims import evaluate
from tapeless.loop.syntax import (
    LOCAL,
    SIMD,
    THREADS,
    Alloc,
    Block,
    Buf,
    For,
    If,
    Op,
    Proc,
    Scope,
    Stm,
    Team,
    While,
)  # fmt: skip

LINE = 64  # allocations are multiples of a cache line


@dataclass(frozen=True, slots=True)
class Peak:
    """Bytes that are taken when it is most, `results` among them. `exact`: no size was unknown."""

    total: int
    results: int
    exact: bool


def peak(
    proc: Proc, scalars: Mapping[Var, int | float | bool], *, threads: int = 1,
    lanes: Callable[[For], int] = lambda loop: 16,
    on_stack: Callable[[Buf, int], bool] = lambda buf, size: False,
) -> Peak:  # fmt: skip
    """The memory that a call of `proc` takes beyond its arguments. `lanes`: how many a simd loop
    has; `on_stack`: whether a buffer of so many bytes takes none of the arena's memory."""
    walk = _Walk(scalars, threads, lanes, on_stack)
    _, high = walk.stms(proc.body.stms)
    return Peak(high, walk.results, walk.exact)


class _Walk:
    """`stms` gives the bytes that are still taken at the end, and the most there ever were."""

    def __init__(
        self, scalars: Mapping[Var, int | float | bool], threads: int,
        lanes: Callable[[For], int], on_stack: Callable[[Buf, int], bool],
    ) -> None:  # fmt: skip
        self.env = {v: v.dtype.numpy.type(x) for v, x in scalars.items()}
        self.threads = threads
        self.lanes = lanes
        self.on_stack = on_stack
        self.width = 1
        self.results = 0
        self.exact = True

    def value(self, atom: Atom) -> np.generic | None:
        if isinstance(atom, Const):
            constant: np.generic = atom.dtype.numpy.type(atom.value)
            return constant
        return self.env.get(atom)

    def stms(self, stms: Sequence[Stm]) -> tuple[int, int]:
        now = high = 0
        for stm in stms:
            kept, most = self.stm(stm)
            high = max(high, now + most)
            now += kept
        return now, high

    def stm(self, stm: Stm) -> tuple[int, int]:
        match stm:
            case Op(out, op, args):
                values = [self.value(a) for a in args]
                if all(v is not None for v in values):
                    self.env[out] = evaluate(op, values, out.dtype)
                return 0, 0
            case Team(out):
                self.env[out] = np.int64(self.threads)
                return 0, 0
            case Alloc():
                return self.alloc(stm)
            case Scope(_, body):
                return 0, self.stms(body.stms)[1]
            case If(_, cond, then, orelse):
                return self.branch(self.value(cond), then, orelse)
            case For():
                return self.loop(stm)
            case While(_, _, _, cond, body):
                before = self.stms(cond.stms)
                inside = self.stms(body.stms)
                return max(before[0], inside[0]), max(before[1], inside[1])
            case _:
                return 0, 0

    def alloc(self, stm: Alloc) -> tuple[int, int]:
        size = stm.buf.dtype.bytes * (self.width if stm.buf.space == LOCAL else 1)
        for s in stm.buf.shape:
            value = self.value(s)
            self.exact = self.exact and value is not None
            size *= 0 if value is None else max(int(value), 0)
        size = -(-size // LINE) * LINE
        if stm.result is not None:
            self.results += size
        elif all(isinstance(s, Const) for s in stm.buf.shape) and self.on_stack(stm.buf, size):
            return 0, 0
        return size, size

    def branch(self, cond: np.generic | None, then: Block, orelse: Block) -> tuple[int, int]:
        if cond is not None:
            return self.stms((then if cond else orelse).stms)
        one, two = self.stms(then.stms), self.stms(orelse.stms)
        return max(one[0], two[0]), max(one[1], two[1])

    def loop(self, stm: For) -> tuple[int, int]:
        outer = self.width
        if stm.kind == SIMD and outer == 1:
            self.width = self.lanes(stm)
        taken = self.passes(stm)
        self.width = outer
        return taken

    def passes(self, stm: For) -> tuple[int, int]:
        """The fuller of the first and the last pass; what a pass keeps, all passes keep."""
        start, stop = self.value(stm.start), self.value(stm.stop)
        if start is None or stop is None:
            return self.stms(stm.body.stms)
        trips = int(stop) - int(start)
        if trips <= 0:
            return 0, 0
        kept = high = 0
        for count in {int(start), int(stop) - 1}:
            self.env[stm.var] = np.int64(count)
            one, most = self.stms(stm.body.stms)
            kept, high = max(kept, one), max(high, most)
        del self.env[stm.var]
        if stm.kind == THREADS:
            high *= min(self.threads, trips)
        return kept * trips, kept * (trips - 1) + high
