"""Bodies that run again in the return sweep: the forward sweep has checked them, and combined."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tapeless.analysis.activity import Active
from tapeless.core.names import Atom, Var
from tapeless.core.types import INDEX
from tapeless.ir.build import ZERO, Builder
from tapeless.ir.syntax import (
    IGNORE,
    PROVED,
    WRAP,
    Body,
    Check,
    Each,
    Index,
    Let,
    Prim,
    Put,
    Update,
)
from tapeless.ir.types_of import atom_of
from tapeless.ir.walk import Rewriter, map_bodies


class Again(Rewriter):
    """A copy of a body to run in the return sweep: all indices proved, and no checks but those that
    say which sizes are equal, on which types may lean."""

    def __init__(self, active: Active) -> None:
        super().__init__()
        self.active = active
        self.inside: set[Var] = set()

    def bind(self, var: Var) -> Var:
        new = super().bind(var)
        self.active.follow(var, new)
        return new

    def body(self, body: Body) -> Body:
        stms: list[Let] = []
        for stm in body.stms:
            if not isinstance(stm.exp, Check) or self.is_about_sizes(stm.exp):
                stms += self.proved(stm)
            if not (isinstance(stm.exp, Prim) and _compares_sizes(stm.exp)):
                self.inside.update(stm.outs)
        return Body(tuple(stms), self.atoms(body.results))

    def is_about_sizes(self, check: Check) -> bool:
        """Two sizes are compared here, or in front of all that runs again."""
        return check.error == "ValueError" and check.cond not in self.inside

    def proved(self, stm: Let) -> Iterator[Let]:
        let = self.let(stm)
        match let.exp:
            case (
                Index(array, at, modes)
                | Update(array, at, _, modes)
                | Put((array, *_), at, _, modes)
            ):
                b = Builder()
                with b.scope() as before:
                    fixed = tuple(
                        wrapped(b, a, atom_of(n)) if m == WRAP else a
                        for a, m, n in zip(at, modes, array.shape, strict=True)
                    )
                    new = "".join(m if m == IGNORE else PROVED for m in modes)
                yield from before
                yield Let(let.outs, replace(let.exp, at=fixed, modes=new), let.loc)
            case _:
                yield let


def _compares_sizes(exp: Prim) -> bool:
    return exp.op == "eq" and all(a.type == INDEX for a in exp.args)


def wrapped(b: Builder, at: Atom, size: Atom) -> Atom:
    """An index that may count from the end, as one that does not."""
    return b.prim("select", b.prim("lt", at, ZERO), b.prim("add", at, size), at)


def without_puts(body: Body, own: frozenset[Var] = frozenset()) -> Body:
    """What runs again does not combine again into accumulators from outside."""

    def kept(stm: Let) -> Let:
        inner = own
        if isinstance(stm.exp, Each):
            inner = own.union(v for acc in stm.exp.accs for v in acc.vars)
        return replace(stm, exp=map_bodies(stm.exp, lambda b: without_puts(b, inner)))

    stms = (
        s for s in body.stms
        if not (isinstance(s.exp, Put) and own.isdisjoint(s.exp.targets))
    )  # fmt: skip
    return Body(tuple(map(kept, stms)), body.results)
