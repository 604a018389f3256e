"""Copies of array accumulators: blocks of a loop that threads share add each to its own.

    each (i < n) with (a += a₀) { put a[f(i)] <- v }   ⇒   n = n₀ + n₁ + …, and for each block b
    a_b = a₀ if b = 0 else 0;  each (i < n_b) with (a_b) { … };  then  a[c] = a_0[c] + a_1[c] + …

The first block works in the array itself, so that one block alone costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from tapeless.core.names import Atom, Var
from tapeless.core.prims import OPS
from tapeless.core.types import INDEX, Array, Scalar
from tapeless.ir.syntax import (
    PROVED,
    Acc,
    Body,
    Each,
    For,
    Index,
    Let,
    Loop,
    Monoid,
    Prim,
    Put,
    Reverse,
)  # fmt: skip
from tapeless.ir.types_of import atom_of, size_of
from tapeless.ir.walk import refresh
from tapeless.loop.syntax import LEAST_WORK, SEQ, SIMD, THREADS, Alloc, Buf, If, Row, Scope, Store
from tapeless.loop.syntax import Team as TeamSize
from tapeless.lower.builder import ONE, ZERO, block, index
from tapeless.lower.plan import Level, Plan
from tapeless.lower.state import Place, State

Group = tuple[Var, ...]  # arrays that one operator combines

CELL = 64  # operations of lanes that a cell of a copy costs: cleared, moved, combined
APART = 16  # copies begin so many elements apart, on cache lines of their own
FIXED_BLOCKS = 8  # where results must not depend on the number of threads
PUT_OPS = {"+": "add", "*": "mul", "min": "min", "max": "max"}


def block_count(low: State, groups: Sequence[Group], work: Atom) -> Atom:
    """How many blocks with copies pay for themselves: one if there is little to do in each."""
    if not groups:
        return ONE
    cells: Atom = ZERO
    for target in (t for group in groups for t in group):
        cells = low.op("add", cells, low.product(low.shape(target)))
    share = low.op("add", low.op("mul", cells, index(CELL)), index(LEAST_WORK // 2))
    worth = low.op("max", low.op("floordiv", work, share), ONE)
    if low.deterministic:
        return low.op("min", worth, index(FIXED_BLOCKS))
    team = Var(INDEX, "team")
    low.emit(TeamSize(team))
    low.bind(team)
    return low.op("min", worth, team)


class Copies:
    """The copies of one loop over `blocks` blocks."""

    def __init__(
        self, low: State, groups: Sequence[Group], neutrals: Mapping[Var, Atom], blocks: Atom
    ) -> None:
        self.low = low
        self.groups = groups
        self.neutrals = neutrals
        self.blocks = blocks
        self.more: Atom = ZERO
        self.tables: dict[Var, Buf] = {}
        self.wholes: dict[Var, Buf] = {}

    @contextmanager
    def around(self) -> Iterator[None]:
        """The loop stands inside: copies exist while it runs, and are combined behind it."""
        if not self.groups:
            yield
            return
        low = self.low
        with low.block() as stms:
            self.more = low.op("max", low.op("sub", self.blocks, ONE), ZERO)
            for group in self.groups:
                for target in group:
                    self.allocate(target)
            yield
            with low.block() as joins:
                for group in self.groups:
                    low.let(self.joined(group))
            low.emit(If((), low.op("lt", ZERO, self.more), block(joins), block([])))
        low.emit(Scope((), block(stms)))

    def allocate(self, target: Var) -> None:
        low = self.low
        cells = low.product(low.shape(target))
        lines = low.op("floordiv", low.op("add", cells, index(APART - 1)), index(APART))
        table = low.buf(target.dtype, (self.more, low.op("mul", lines, index(APART))), target.hint)
        low.emit(Alloc(table))
        self.tables[target] = table
        self.wholes[target] = low.view(low.places[target], target)

    @contextmanager
    def inside(self, number: Atom) -> Iterator[None]:
        """One block's pass: what it adds to is the array itself in the first, else a copy."""
        low = self.low
        before = {t: low.places[t] for t in self.tables}
        for target in self.tables:
            low.places[target] = Place(self.own(target, number))
        yield
        low.places.update(before)

    def own(self, target: Var, number: Atom) -> Buf:
        low, shape, whole = self.low, self.low.shape(target), self.wholes[target]
        with low.block() as stms:
            copy = Buf(target.dtype, shape, low.contiguous(shape), target.hint)
            low.emit(Row(copy, self.tables[target], (low.op("sub", number, ONE),)))
            at = tuple(low.counter() for _ in shape)
            low.over(at, shape, [Store(copy, at, self.neutrals[target])])
        mine = Buf(target.dtype, shape, low.contiguous(shape), target.hint)
        first = low.op("eq", number, ZERO)
        low.emit(If((mine,), first, block([], (whole,)), block(stms, (copy,))))
        return mine

    def joined(self, group: Group) -> Let:
        """each (c…) with (r = a) { s = a[c] · a_1[c] · a_2[c] · …; put r[c] <- s }"""
        shape = group[0].shape
        at = tuple(Var(INDEX, "c") for _ in shape)
        modes = PROVED * len(at)
        starts = tuple(Var(Scalar(t.dtype), t.hint) for t in group)
        ends = tuple(s.fresh() for s in starts)
        accs = tuple(Acc((t.fresh(),), (t,), "=") for t in group)
        stms = [Let((s,), Index(t, at, modes)) for s, t in zip(starts, group, strict=True)]
        stms.append(Let(ends, self.chain(group, at, starts)))
        for acc, end in zip(accs, ends, strict=True):
            stms.append(Let((), Put(acc.vars, at, (end,), modes)))
        nest = Each(at, tuple(map(atom_of, shape)), accs, Body(tuple(stms), ()))
        last = len(at) - 1
        levels = [Level(d, SIMD if d == last else SEQ) for d in range(len(at))]
        plan = Plan((Level(0, THREADS, blocks=True), *levels), 8, (self.more,))
        self.low.plans.set(nest, plan)
        return Let(tuple(t.fresh() for t in group), nest)

    def chain(self, group: Group, at: tuple[Var, ...], starts: tuple[Var, ...]) -> Loop:
        """The values of all copies of one cell, combined in the order of blocks."""
        low, k = self.low, Var(INDEX, "copy")
        before = tuple(s.fresh() for s in starts)
        values = tuple(s.fresh() for s in starts)
        tables = tuple(self.stacked(t) for t in group)
        stms = [
            Let((v,), Index(t, (k, *at), PROVED * (len(at) + 1)))
            for v, t in zip(values, tables, strict=True)
        ]
        op = low.accs[group[0]].op
        if isinstance(op, Monoid):
            names = dict(zip(op.left + op.right, before + values, strict=True))
            body = refresh(op.body, names)
            inner = Body((*stms, *body.stms), body.results)
        else:
            end = starts[0].fresh()
            assert OPS[PUT_OPS[op]].arity == 2
            inner = Body((*stms, Let((end,), Prim(PUT_OPS[op], before + values))), (end,))
        return Loop(For(k, self.more), before, starts, inner, Reverse("auto"))

    def stacked(self, target: Var) -> Var:
        """All copies of `target` as one array."""
        low, table, shape = self.low, self.tables[target], self.low.shape(target)
        strides = (table.strides[0], *low.contiguous(shape))
        out = Var(Array(target.dtype, (size_of(self.more), *target.shape)), target.hint)
        low.places[out] = Place(low.reshaped(table, (self.more, *shape), strides))
        return out
