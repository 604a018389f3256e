"""Rows that lanes read again and again are first laid side by side.

    each (i < n, in lanes) { … j < m … k < d … x[i, k] … }
      ⇒  each (i < n, in lanes) { row = each (k < d) { x[i, k] }; … j < m … k < d … row[k] … }

A lane's own memory holds element k of all lanes next to each other: what was gathered for every j
is gathered once, and then loaded whole. Only cells that exist for certain are read early: every
index is a counter that runs over its whole axis. Once a row is there, it also serves reads of the
same array at other places of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import INDEX, Array
from tapeless.ir.syntax import PROVED, Body, Each, Exp, Fold, For, Index, Let, Loop, Scan
from tapeless.ir.types_of import size_of
from tapeless.ir.walk import Rewriter, bodies_of, bound, map_bodies, statements
from tapeless.lower.plan import Plans

Counters = Mapping[Var, Atom]


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """A read that a row can serve: `axes` are those whose index changes while a lane runs."""

    out: Var
    exp: Index
    axes: tuple[int, ...]
    sizes: tuple[Atom, ...]

    @property
    def own(self) -> tuple[Atom, ...]:
        """The indices that change."""
        return tuple(self.exp.at[k] for k in self.axes)

    @property
    def row(self) -> tuple[Var, tuple[Atom | None, ...], tuple[Atom, ...]]:
        """Reads of the same row agree in this."""
        at = tuple(None if k in self.axes else a for k, a in enumerate(self.exp.at))
        return self.exp.array, at, self.sizes


@dataclass(frozen=True, slots=True, eq=False)
class Nest:
    """The body that runs in lanes over `lane`; `outer`: counters that stay while a lane runs, with
    their sizes, `lane` among them; `inner`: those that do not; `written`: arrays that change."""

    body: Body
    lane: Var
    outer: Counters
    inner: Counters
    written: set[Atom]

    def reads(self) -> list[Read]:
        """Reads that are made in loops that their indices do not all count."""
        finder = _Finder(self, bound(self.body))
        found = list(finder.body(self.body, self.inner, len(self.inner)))
        return found + self.more(found)

    def more(self, found: list[Read]) -> list[Read]:
        """Further reads of the rows that are `found`, at any place."""
        outs = {read.out for read in found}
        by_array = {read.exp.array: read for read in found}
        reads: list[Read] = []
        for stm in statements(self.body):
            exp = stm.exp
            if isinstance(exp, Index) and exp.array in by_array and set(exp.modes) == {PROVED}:
                like = by_array[exp.array]
                read = Read(stm.outs[0], exp, like.axes, like.sizes)
                if read.out not in outs and read.row == like.row:
                    reads.append(read)
        return reads


@dataclass(frozen=True, slots=True, eq=False)
class _Finder:
    nest: Nest
    inside: set[Var]

    def body(self, body: Body, counters: Counters, loops: int) -> Iterator[Read]:
        for stm in body.stms:
            if isinstance(stm.exp, Index):
                found = self.read(stm.outs[0], stm.exp, counters)
                if found is not None and len(found.axes) < loops:
                    yield found
            for inner in bodies_of(stm.exp):
                more = counters_of(stm.exp)
                deeper = loops + (len(more) or isinstance(stm.exp, Loop))
                yield from self.body(inner, {**counters, **more}, deeper)

    def read(self, out: Var, exp: Index, counters: Counters) -> Read | None:
        nest = self.nest
        if exp.array in self.inside or exp.array in nest.written or nest.lane not in exp.at:
            return None
        known = {**nest.outer, **counters}
        axes: list[int] = []
        own: list[Var] = []
        for k, (a, size) in enumerate(zip(exp.at, exp.array.shape, strict=True)):
            if isinstance(a, Const):
                if not isinstance(size, int) or not 0 <= a.value < size:
                    return None
            elif a not in known or size_of(known[a]) != size:
                return None
            elif a in counters:
                axes.append(k)
                own.append(a)
        sizes = tuple(known[c] for c in own)
        if not own or len(set(own)) < len(own) or set(exp.modes) != {PROVED}:
            return None
        if self.inside.union(nest.inner).intersection(sizes):
            return None
        return Read(out, exp, tuple(axes), sizes)


def counters_of(exp: Exp) -> dict[Var, Atom]:
    """What a nest or loop counts, with the sizes."""
    match exp:
        case Each(vars, sizes):
            return dict(zip(vars, sizes, strict=True))
        case Loop(For(var, size)) | Fold(var, size) | Scan(var, size):
            return {var: size}
        case _:
            return {}


def with_rows(body: Body, reads: list[Read], plans: Plans) -> tuple[list[Let], Body]:
    """The statements that make the rows of `reads`, and `body` that reads them there."""
    rows: dict[object, Var] = {}
    made: list[Let] = []
    instead: dict[Var, Index] = {}
    same = Rewriter()  # only reads change, no name
    for read in reads:
        row = rows.get(read.row)
        if row is None:
            row = rows[read.row] = _new_row(read, made)
        instead[read.out] = Index(row, read.own, PROVED * len(read.own))

    def statement(stm: Let) -> Let:
        if isinstance(stm.exp, Index) and stm.outs[0] in instead:
            return Let(stm.outs, instead[stm.outs[0]], stm.loc)
        new = Let(stm.outs, map_bodies(stm.exp, inside), stm.loc)
        plans.inherit(new.exp, stm.exp, same)
        return new

    inside: Callable[[Body], Body] = lambda b: Body(tuple(map(statement, b.stms)), b.results)  # noqa: E731
    return made, inside(body)


def _new_row(read: Read, out: list[Let]) -> Var:
    array = read.exp.array
    vars = tuple(Var(INDEX, v.hint) for v in read.own if isinstance(v, Var))
    names: dict[Atom, Atom] = dict(zip(read.own, vars, strict=True))
    at = tuple(names.get(a, a) for a in read.exp.at)
    cell = read.out.fresh()
    load = Let((cell,), Index(array, at, read.exp.modes), read.out.loc)
    row = Var(Array(array.dtype, tuple(map(size_of, read.sizes))), array.hint, read.out.loc)
    out.append(Let((row,), Each(vars, read.sizes, (), Body((load,), (cell,))), read.out.loc))
    return row
