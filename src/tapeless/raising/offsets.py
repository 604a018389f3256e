"""Sums into neighbouring cells become sums of neighbouring parts.

    each (i < n) with (a += a₀) { put a[i] <- p; put a[i + 2] <- q }
      ⇒  p, q = each (i < n) { return p, q }
          each (i < n - 2) with (a += a₀) { put a[i + 2] <- p[i + 2] + q[i] }
          and the cells at both ends, to which not everything is added

so that every cell is read and written once, and vectors of cells do not wait for each other. The
last index of the cells is the last counter of the nest plus a number; the others do not mind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import INDEX
from tapeless.ir.build import ZERO, Builder
from tapeless.ir.syntax import PROVED, Acc, Body, Each, Fun, Index, Let, Prim, Put, all_proved
from tapeless.ir.types_of import lift
from tapeless.ir.walk import Rewriter, atoms_of, bodies_of, map_bodies, statements

FEW = 32  # cells of a row that is not worth two nests


def run(fun: Fun) -> Fun:
    body = _outside_nests(fun.body)
    return fun if body is fun.body else replace(fun, body=body)


def _outside_nests(body: Body) -> Body:
    stms: list[Let] = []
    for stm in body.stms:
        if isinstance(stm.exp, Each):
            stms += _apart(stm, stm.exp)
        else:
            exp = map_bodies(stm.exp, _outside_nests)
            pairs = zip(bodies_of(exp), bodies_of(stm.exp), strict=True)
            stms.append(stm if all(a is b for a, b in pairs) else replace(stm, exp=exp))
    same = len(stms) == len(body.stms) and all(a is b for a, b in zip(stms, body.stms, strict=True))
    return body if same else Body(tuple(stms), body.results)


@dataclass(frozen=True, slots=True)
class Part:
    """`value` is added to the cells `row`, counter + `offset`."""

    row: tuple[Atom, ...]
    offset: int
    value: Atom


def _apart(stm: Let, exp: Each) -> Iterator[Let]:
    """The nest without the first accumulator that it adds to at several offsets, and what adds to
    it afterwards; or the nest. What it clears is cleared last; one that assigns anything else stays
    whole: its parts could not be made where they are added."""
    found = _without_clears(stm, exp)
    if found is not None:
        rest, clears = found
        assert isinstance(rest.exp, Each)
        at = len(exp.body.results)
        for acc in rest.exp.accs:
            parts = _parts(rest.exp, acc)
            if parts is not None:
                yield from _Sums(rest, rest.exp, acc, rest.outs[at], parts).lets()
                yield from clears
                return
            at += len(acc.vars)
    yield stm


def _without_clears(stm: Let, exp: Each) -> tuple[Let, list[Let]] | None:
    """The nest without accumulators that it assigns constants to, and nests that do just that;
    None if it assigns anything else."""
    assigned = [acc for acc in exp.accs if acc.op == "="]
    if not assigned:
        return stm, []
    defs = {o: s for s in exp.body.stms for o in s.outs}
    outs = dict(zip((v for acc in exp.accs for v in acc.vars), stm.outs[len(exp.body.results) :],
                    strict=True))  # fmt: skip
    gone = {v for acc in assigned for v in acc.vars}
    puts = [s for s in statements(exp.body) if isinstance(s.exp, Put) and s.exp.targets[0] in gone]
    clears: list[Let] = []
    for acc in assigned:
        mine = [s for s in puts if isinstance(s.exp, Put) and s.exp.targets == acc.vars]
        index = _clearing(mine, exp, defs)
        if index is None:
            return None
        nest = Each(exp.vars, exp.sizes, (acc,), Body((*index, *mine), ()))
        copy = Rewriter().exp(nest)
        clears.append(Let((outs[acc.vars[0]],), copy, stm.loc))
    body = Body(tuple(s for s in exp.body.stms if s not in puts), exp.body.results)
    accs = tuple(acc for acc in exp.accs if acc.op != "=")
    left = tuple(o for o in stm.outs if o not in {outs[v] for v in gone})
    return Let(left, Each(exp.vars, exp.sizes, accs, body), stm.loc), clears


def _clearing(puts: list[Let], exp: Each, defs: dict[Var, Let]) -> list[Let] | None:
    """The operators that make the places of `puts`, if these stand in the nest itself, cannot fail,
    and put constants."""
    found: list[Let] = []
    for stm in puts:
        put = stm.exp
        if not isinstance(put, Put) or stm not in exp.body.stms or not all_proved(put.modes):
            return None
        needed = _needed(put.at, exp, defs, but_last=False)
        if needed is None or not all(isinstance(v, Const) for v in put.values):
            return None
        found += needed
    return [s for s in exp.body.stms if s in found]


def _parts(exp: Each, acc: Acc) -> list[Part] | None:
    var, counter, size = acc.vars[0], exp.vars[-1], exp.sizes[-1]
    puts = [s.exp for s in statements(exp.body) if isinstance(s.exp, Put) and var in s.exp.targets]
    top = [s.exp for s in exp.body.stms if isinstance(s.exp, Put) and var in s.exp.targets]
    if acc.op != "+" or len(puts) < 2 or len(top) < len(puts) or not var.is_array:
        return None
    if isinstance(size, Const) and size.value <= FEW:
        return None
    defs = {o: s for s in exp.body.stms for o in s.outs}
    parts: list[Part] = []
    for put in puts:
        *row, last = put.at
        offset = _offset(last, counter, defs)
        if offset is None or not all_proved(put.modes) or _needed(row, exp, defs) is None:
            return None
        parts.append(Part(tuple(row), offset, put.values[0]))
    return parts if len({p.offset for p in parts}) > 1 else None


def _offset(atom: Atom, counter: Var, defs: dict[Var, Let]) -> int | None:
    """k of counter + k."""
    if atom is counter:
        return 0
    match defs[atom].exp if isinstance(atom, Var) and atom in defs else None:
        case Prim("add", (a, Const(value=k))) | Prim("add", (Const(value=k), a)) if a is counter:
            return int(k)
        case Prim("sub", (a, Const(value=k))) if a is counter:
            return -int(k)
        case _:
            return None


def _needed(
    atoms: Iterable[Atom], exp: Each, defs: dict[Var, Let], *, but_last: bool = True
) -> list[Let] | None:
    """The operators that make `atoms`, unless something else does or the last counter matters."""
    found: set[int] = set()
    front = list(atoms)
    while front:
        atom = front.pop()
        if but_last and atom is exp.vars[-1]:
            return None
        if isinstance(atom, Var) and atom in defs:
            stm = defs[atom]
            if not isinstance(stm.exp, Prim):
                return None
            found.add(id(stm))
            front += atoms_of(stm.exp)
    return [s for s in exp.body.stms if id(s) in found]


class _Sums:
    def __init__(self, stm: Let, exp: Each, acc: Acc, out: Var, parts: list[Part]) -> None:
        self.stm, self.exp, self.acc, self.out, self.parts = stm, exp, acc, out, parts
        self.b = Builder()
        self.b.loc = stm.loc
        self.now = acc.inits[0]
        self.values = list(dict.fromkeys(p.value for p in parts))
        self.rows = {v: Var(lift(v.type, exp.sizes), "part") for v in self.values}
        self.low, self.high = min(p.offset for p in parts), max(p.offset for p in parts)

    def lets(self) -> Iterator[Let]:
        """First the values, then the cells to which all parts are added, then the ends."""
        exp, b = self.exp, self.b
        yield self.first()
        size = exp.sizes[-1]
        span = Const(self.high - self.low, INDEX.dtype)
        whole = b.prim("max", b.prim("sub", size, span), ZERO)
        self.add([(p, Const(self.high - p.offset, INDEX.dtype)) for p in self.parts], whole)
        for p in self.parts:
            left = b.prim("min", size, Const(self.high - p.offset, INDEX.dtype))
            if self.high > p.offset:
                self.add([(p, ZERO)], left)
            if p.offset > self.low:
                behind = b.prim("sub", size, Const(p.offset - self.low, INDEX.dtype))
                start = b.prim("max", behind, left)
                self.add([(p, start)], b.prim("sub", size, start))
        *stms, last = b.scopes[0]
        yield from stms
        yield Let((self.out,), last.exp, last.loc)

    def first(self) -> Let:
        exp, acc = self.exp, self.acc
        stms = tuple(
            s for s in exp.body.stms if not (isinstance(s.exp, Put) and s.exp.targets == acc.vars)
        )
        count = len(exp.body.results)
        outs = tuple(o for o in self.stm.outs if o is not self.out)
        rows = tuple(self.rows[v] for v in self.values)
        rest = tuple(a for a in exp.accs if a is not acc)
        body = Body(stms, (*exp.body.results, *self.values))
        outs = (*outs[:count], *rows, *outs[count:])
        return Let(outs, Each(exp.vars, exp.sizes, rest, body), self.stm.loc)

    def add(self, parts: list[tuple[Part, Atom]], size: Atom) -> None:
        """A nest that adds parts to `size` cells of each row, each from its own place on; these
        are the same cells."""
        exp, b = self.exp, self.b
        target, vars = Var(self.acc.vars[0].type, self.acc.vars[0].hint), list[Var]()
        names = Rewriter()
        vars += names.binds(exp.vars)
        defs = {o: s for s in exp.body.stms for o in s.outs}
        needed = _needed([a for p, _ in parts for a in p.row], exp, defs)
        assert needed is not None
        cells: dict[tuple[Atom, ...], Atom] = {}
        with b.scope() as stms:
            stms += [names.let(s) for s in needed]
            for part, start in parts:
                here = b.prim("add", vars[-1], start)
                cell = (
                    *names.atoms(part.row),
                    b.prim("add", here, Const(part.offset, INDEX.dtype)),
                )
                row = self.rows[part.value]
                value = b.one(Index(row, (*vars[:-1], here), PROVED * len(vars)), "part")
                known = cells.get(cell[:-1])
                cells[cell[:-1]] = value if known is None else b.prim("add", known, value)
                last = cell[-1]
            for place, total in cells.items():
                b.put(target, (*place, last), total, PROVED * (len(place) + 1))
            body = b.body(())
        sizes = (*exp.sizes[:-1], size)
        nest = Each(tuple(vars), sizes, (Acc((target,), (self.now,), "+"),), body)
        self.now = b.one(nest, self.out.hint)
