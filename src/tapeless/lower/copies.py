"""Copies of array accumulators: blocks of a loop that threads share add each to its own.

    each (i < n) with (a += a₀) { put a[f(i)] <- v }   ⇒   n = n₀ + n₁ + …, and for each block b
    a_b = a₀ if b = 0 else 0;  each (i < n_b) with (a_b) { … };  then  a[c] = a_0[c] + a_1[c] + …

The first block works in the array itself, so that one block alone costs nothing. Copies of all
arrays that are combined alike stand in one table, a row for each further block: one nest, which
threads share, combines the rows, and what is then in the first row goes to the arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from tapeless.core.names import Atom, Var
from tapeless.core.types import INDEX, Array, DType, Scalar
from tapeless.ir.syntax import (
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
from tapeless.ir.types_of import size_of
from tapeless.ir.walk import refresh
from tapeless.loop.syntax import LEAST_WORK, SIMD, THREADS, Alloc, Buf, If, Row, Scope, Store
from tapeless.loop.syntax import Team as TeamSize
from tapeless.lower.builder import ONE, ZERO, block, index
from tapeless.lower.plan import Level, Plan
from tapeless.lower.state import Place, State

Group = tuple[Var, ...]  # arrays that one operator combines

CELL = 96  # operations of lanes that a cell of a copy costs: cleared, moved, combined
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


@dataclass(slots=True, eq=False)
class Table:
    """Copies of arrays that are combined alike, one row for each block but the first. `starts`:
    where each array begins in a row; `buf` and `rows`: the memory, for Loop IR and for Core."""

    op: str | Monoid
    neutral: Atom
    dtype: DType
    width: Atom = ZERO
    starts: dict[Var, Atom] = field(default_factory=dict)
    buf: Buf | None = None
    rows: Var | None = None

    def made(self) -> tuple[Buf, Var]:
        assert self.buf is not None and self.rows is not None
        return self.buf, self.rows


class Copies:
    """The copies of one loop over `blocks` blocks."""

    def __init__(
        self, low: State, groups: Sequence[Group], neutrals: Mapping[Var, Atom], blocks: Atom
    ) -> None:
        self.low = low
        self.blocks = blocks
        self.more: Atom = ZERO
        self.tables: dict[object, tuple[Table, ...]] = {}  # one per component of an operator
        for group in groups:
            op = low.accs[group[0]].op
            key = (op, group[0].dtype) if isinstance(op, str) else id(op)
            made = tuple(Table(op, neutrals[t], t.dtype) for t in group)
            for table, target in zip(self.tables.setdefault(key, made), group, strict=True):
                self.add(table, target)

    def add(self, table: Table, target: Var) -> None:
        low = self.low
        table.starts[target] = table.width
        cells = low.op("add", low.product(low.shape(target)), index(APART - 1))
        lines = low.op("floordiv", cells, index(APART))
        table.width = low.op("add", table.width, low.op("mul", lines, index(APART)))

    def all_tables(self) -> list[Table]:
        return [table for group in self.tables.values() for table in group]

    @contextmanager
    def around(self) -> Iterator[None]:
        """The loop stands inside: copies exist while it runs, and are combined behind it."""
        if not self.tables:
            yield
            return
        low = self.low
        with low.block() as stms:
            self.more = low.op("max", low.op("sub", self.blocks, ONE), ZERO)
            for table in self.all_tables():
                self.allocate(table)
            yield
            for least, write in ((ONE, self.join_rows), (ZERO, self.join_arrays)):
                with low.block() as joins:
                    write()
                low.emit(If((), low.op("lt", least, self.more), block(joins), block([])))
        low.emit(Scope((), block(stms)))

    def allocate(self, table: Table) -> None:
        low, sizes = self.low, (self.more, table.width)
        table.buf = low.buf(table.dtype, sizes, "copies")
        table.rows = Var(Array(table.dtype, tuple(map(size_of, sizes))), "copies")
        low.places[table.rows] = Place(table.buf)
        low.emit(Alloc(table.buf))

    @contextmanager
    def inside(self, number: Atom) -> Iterator[None]:
        """One block's pass: what it adds to is the arrays themselves in the first, else copies."""
        if not self.tables:
            yield
            return
        low = self.low
        before = {t: low.places[t] for table in self.all_tables() for t in table.starts}
        wholes = tuple(low.view(place, t) for t, place in before.items())
        with low.block() as stms:
            copies = self.cleared(low.op("sub", number, ONE))
        mine = {t: Buf(b.dtype, b.shape, b.strides, b.hint) for t, b in copies.items()}
        first = low.op("eq", number, ZERO)
        arms = block([], wholes), block(stms, tuple(copies.values()))
        low.emit(If(tuple(mine.values()), first, *arms))
        low.places.update({t: Place(b) for t, b in mine.items()})
        yield
        low.places.update(before)

    def cleared(self, row: Atom) -> dict[Var, Buf]:
        """The copies in one row, as if nothing had been added yet."""
        low, copies = self.low, {}
        for table in self.all_tables():
            whole = low.row(table.made()[0], (row,), (table.width,))
            at = low.counter()
            low.over((at,), (table.width,), [Store(whole, (at,), table.neutral)])
            for target, start in table.starts.items():
                shape = low.shape(target)
                copies[target] = Buf(target.dtype, shape, low.contiguous(shape), target.hint)
                low.emit(Row(copies[target], whole, (start,)))
        return copies

    def join_rows(self) -> None:
        """each (c < width) with (t₀ = rows) { s = rows[0, c] · rows[1, c] · …; t₀[0, c] = s }"""
        for tables in self.tables.values():
            rows, width = [t.made()[1] for t in tables], tables[0].width
            count = self.low.op("sub", self.more, ONE)
            nest = self.joined(tables[0].op, rows, rows, width, count, ONE)
            levels = Level(0, THREADS, blocks=True), Level(0, SIMD)
            self.low.plans.set(nest, Plan(levels, 8, (count,)))
            self.low.let(Let(tuple(r.fresh() for r in rows), nest))

    def join_arrays(self) -> None:
        """each (c < cells) with (r = a) { s = a[c] · rows[0, start + c]; put r[c] <- s }"""
        low = self.low
        for tables in self.tables.values():
            for group in zip(*(t.starts for t in tables), strict=True):
                cells = low.product(low.shape(group[0]))
                wholes = [self.flat(low.places[t], t, cells) for t in group]
                rows = [self.first_row(x, t, cells) for x, t in zip(tables, group, strict=True)]
                nest = self.joined(tables[0].op, wholes, rows, cells, ONE, ZERO)
                low.plans.set(nest, Plan((Level(0, SIMD),)))
                low.let(Let(tuple(w.fresh() for w in wholes), nest))

    def flat(self, place: Place, target: Var, cells: Atom) -> Var:
        """A contiguous array as one row."""
        out = Var(Array(target.dtype, (1, size_of(cells))), target.hint)
        buf = self.low.view(place, target)
        self.low.places[out] = Place(self.low.reshaped(buf, (ONE, cells), (cells, ONE)))
        return out

    def first_row(self, table: Table, target: Var, cells: Atom) -> Var:
        """What an array is to be combined with."""
        out = Var(Array(target.dtype, (1, size_of(cells))), target.hint)
        buf = Buf(target.dtype, (ONE, cells), (cells, ONE), target.hint)
        self.low.emit(Row(buf, table.made()[0], (ZERO, table.starts[target])))
        self.low.places[out] = Place(buf)
        return out

    def joined(
        self, op: str | Monoid, to: Sequence[Var], rows: Sequence[Var], width: Atom, count: Atom,
        first: Atom,
    ) -> Each:  # fmt: skip
        """to[0, c] combined with the cells c of `count` rows from `first` on, in their order."""
        c, k, row = (Var(INDEX, hint) for hint in ("c", "k", "row"))
        starts, before, values, ends = (
            tuple(Var(Scalar(t.dtype), t.hint) for t in to) for _ in range(4)
        )
        accs = tuple(Acc((t.fresh(),), (t,), "=") for t in to)
        stms = [Let((row,), Prim("add", (k, first)))]
        stms += [Let((v,), Index(r, (row, c), "pp")) for v, r in zip(values, rows, strict=True)]
        if isinstance(op, Monoid):
            body = refresh(op.body, dict(zip(op.left + op.right, before + values, strict=True)))
        else:
            sum = Var(Scalar(to[0].dtype), to[0].hint)
            body = Body((Let((sum,), Prim(PUT_OPS[op], before + values)),), (sum,))
        inner = Body((*stms, *body.stms), body.results)
        loop = Loop(For(k, count), before, starts, inner, Reverse("auto"))
        outer = [Let((s,), Index(t, (ZERO, c), "pp")) for s, t in zip(starts, to, strict=True)]
        outer.append(Let(ends, loop))
        outer += [
            Let((), Put(a.vars, (ZERO, c), (e,), "pp")) for a, e in zip(accs, ends, strict=True)
        ]
        return Each((c,), (width,), accs, Body(tuple(outer), ()))
