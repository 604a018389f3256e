"""Loops in two versions: where one test in front shows that indices are in range, no pass checks.

    for i < n { … x[i + a?] … }
      ⇒  if 0 ≤ a and a + n ≤ size { for i < n { … x[i + a] … } }
          else { for i < n { … x[i + a?] … } }

The outermost loop outside of which the test can be stated has the two versions; what it cannot
state is left to the loops within. The second version hardly ever runs: it is kept small.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tapeless.analysis import poly
from tapeless.analysis.extent import Extent, Loops, NotAffine
from tapeless.analysis.facts import LARGEST
from tapeless.analysis.poly import Poly
from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import Size, i64
from tapeless.ir.build import FALSE, TRUE, Builder
from tapeless.ir.syntax import (
    PROVED,
    Body,
    Each,
    Exp,
    Fold,
    For,
    Fun,
    If,
    Index,
    Let,
    Loop,
    Put,
    Scan,
    Update,
)  # fmt: skip
from tapeless.ir.walk import Rewriter, binders_of, bodies_of, bound, map_bodies, type_vars

MOST_CONDITIONS = 32
FEW_PASSES = 8  # of a loop that is not worth a test


@dataclass(frozen=True, slots=True, eq=False)
class Versions:
    """A program, and the conditions of its tests: the second arm of such a branch is rare."""

    fun: Fun
    tests: frozenset[Var] = frozenset()


def versions(fun: Fun) -> Versions:
    sizes = {s for p in fun.params for s in type_vars(p.type)}
    walk = _Walk(sizes)
    body = walk.body(fun.body)
    return Versions(replace(fun, body=body), frozenset(walk.tests)) if walk.tests else Versions(fun)


class _Walk:
    """Outer loops first; `sizes` are sizes of arrays, which are never large."""

    def __init__(self, sizes: set[Var]) -> None:
        self.sizes = sizes
        self.tests: set[Var] = set()

    def body(self, body: Body) -> Body:
        stms: list[Let] = []
        for stm in body.stms:
            stms += self.statement(stm)
        return Body(tuple(stms), body.results)

    def statement(self, stm: Let) -> list[Let]:
        if not bodies_of(stm.exp):
            return [stm]
        found = _Region(stm.exp).found() if _may_be_long(stm.exp) else None
        if found is None:
            return [Let(stm.outs, map_bodies(stm.exp, self.body), stm.loc)]
        b = Builder()
        b.loc = stm.loc
        test = found.test(b, self.sizes)
        if test == FALSE:
            return [Let(stm.outs, map_bodies(stm.exp, self.body), stm.loc)]
        proved = map_bodies(stm.exp, lambda body: self.body(_with_modes(body, found.proved)))
        if not isinstance(test, Var):
            return [Let(stm.outs, proved, stm.loc)]
        self.tests.add(test)
        branch = If(test, _arm(Let(stm.outs, proved, stm.loc)), _copy(stm))
        return [*b.scopes[0], Let(stm.outs, branch, stm.loc)]


def _may_be_long(exp: Exp) -> bool:
    """Whether this is a counting loop, of more than a few passes."""
    sizes = _sizes(exp)
    passes = 1
    for size in sizes:
        passes *= int(size.value) if isinstance(size, Const) else FEW_PASSES + 1
    return bool(sizes) and passes > FEW_PASSES


def _sizes(exp: Exp) -> tuple[Atom, ...]:
    match exp:
        case Each(_, sizes):
            return sizes
        case Loop(For(_, size)) | Scan(_, size) | Fold(_, size):
            return (size,)
        case _:
            return ()


def _counters(exp: Exp) -> Loops:
    match exp:
        case Each(vars):
            return tuple(zip(vars, exp.sizes, strict=True))
        case Loop(For(var, size)) | Scan(var, size) | Fold(var, size):
            return ((var, size),)
        case _:
            return ()


@dataclass(slots=True, eq=False)
class _Found:
    """Modes of accesses that are in range if all `conditions` are ≥ 0."""

    extent: Extent
    conditions: dict[object, Poly] = field(default_factory=dict)
    proved: dict[int, str] = field(default_factory=dict)

    def test(self, b: Builder, sizes: set[Var]) -> Atom:
        """The conjunction of the conditions, and of what keeps them from wrapping."""
        extent = self.extent
        largest: dict[Var, int] = {}
        for p in self.conditions.values():
            for v, bound_ in extent.largest(p).items():
                if v not in sizes or bound_ < LARGEST:
                    largest[v] = min(bound_, largest.get(v, bound_))
        parts = [b.prim("le", v, Const(n, i64)) for v, n in largest.items()]
        parts += [b.prim("le", Const(-n, i64), v) for v, n in largest.items() if v not in sizes]
        parts += [b.prim("le", *self.sides(b, p)) for p in self.conditions.values()]
        total: Atom = TRUE
        for part in parts:
            total = b.prim("and", total, part, hint="in_range")
        return total

    def sides(self, b: Builder, p: Poly) -> tuple[Atom, Atom]:
        """p ≥ 0 as a comparison of two sums without negative factors."""
        low = {m: -c for m, c in p.items() if c < 0}
        high = {m: c for m, c in p.items() if c > 0}
        return self.atom(b, low), self.atom(b, high)

    def atom(self, b: Builder, p: Poly) -> Atom:
        total: Atom = Const(0, i64)
        for monomial, c in p.items():
            term: Atom = Const(c, i64)
            for v in monomial:
                term = b.prim("mul", self.extent.vars[v], term)
            total = b.prim("add", total, term)
        return total


class _Region:
    """The accesses in one loop that a test in front of it can prove."""

    def __init__(self, exp: Exp) -> None:
        self.exp = exp
        self.defs: dict[Var, Exp] = {}
        inside = set(binders_of(exp)).union(*map(bound, bodies_of(exp)))
        self.result = _Found(Extent(inside, self.defs))

    def found(self) -> _Found | None:
        self.walk(self.exp, ())
        return self.result if self.result.proved else None

    def walk(self, exp: Exp, loops: Loops) -> None:
        loops = (*loops, *_counters(exp))
        for body in bodies_of(exp):
            for stm in body.stms:
                if len(stm.outs) == 1:
                    self.defs[stm.outs[0]] = stm.exp
                match stm.exp:
                    case Index(array, at, modes) | Update(array, at, _, modes):
                        self.access(stm.exp, array, at, modes, loops)
                    case Put(targets, at, _, modes):
                        self.access(stm.exp, targets[0], at, modes, loops)
                self.walk(stm.exp, loops)

    def access(self, exp: Exp, array: Var, at: tuple[Atom, ...], modes: str, loops: Loops) -> None:
        new = "".join(
            mode if mode == PROVED or not self.proves(i, size, loops) else PROVED
            for i, size, mode in zip(at, array.shape, modes, strict=True)
        )
        if new != modes:
            self.result.proved[id(exp)] = new

    def proves(self, at: Atom, size: Size, loops: Loops) -> bool:
        """Whether 0 ≤ at < size can be had from conditions; these are noted."""
        extent, new = self.result.extent, dict[object, Poly]()
        try:
            index = extent.value(at, loops)
            room = poly.shift(poly.sub(extent.value(size, loops), index), -1)
            for p in (*extent.conditions(index, loops), *extent.conditions(room, loops)):
                extent.largest(p)
                number = poly.constant_of(p)
                if number is None:
                    new[poly.key(p)] = p
                elif number < 0:
                    return False
        except NotAffine:
            return False
        if len(self.result.conditions.keys() | new.keys()) > MOST_CONDITIONS:
            return False
        self.result.conditions |= new
        return True


def _with_modes(body: Body, proved: dict[int, str]) -> Body:
    """`body` with the new modes of accesses, known by their identity."""

    def changed(exp: Exp) -> Exp:
        modes = proved.get(id(exp))
        if modes is not None and isinstance(exp, Index | Update | Put):
            return replace(exp, modes=modes)
        return map_bodies(exp, lambda inner: _with_modes(inner, proved))

    stms = tuple(Let(s.outs, changed(s.exp), s.loc) for s in body.stms)
    return Body(stms, body.results)


def _arm(stm: Let) -> Body:
    """One statement as a body; its results have new names."""
    copier = Rewriter(fresh=False)
    outs: list[Var] = []
    for out in stm.outs:
        outs.append(out.fresh(copier.type(out.type)))
        copier.map[out] = outs[-1]
    return Body((Let(tuple(outs), stm.exp, stm.loc),), tuple(outs))


def _copy(stm: Let) -> Body:
    new = Rewriter().let(stm)
    return Body((new,), new.outs)
