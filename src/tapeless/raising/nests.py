"""Nests in their simplest shape.

    each (i < n) { r = each (j < m) {B}; return r }   ⇒  each (i < n, j < m) {B}
    each (i < n) with (p = a) { put p[i] <- v }       ⇒  each (i < n) { return v }
        where n is the size of `a` and nothing reads `a` any more, or it holds nothing
    each (i < n) with (p += a) { put p[i] <- v }      ⇒  each (i < n) { return a[i] + v }
        likewise, also where `a` holds zeros or is the result of a map
    each (i < n) with (s += z) { each (j < m) with … } are flattened alike

Scalar statements before the inner nest move into it if they cost next to nothing.
"""

from __future__ import annotations

from collections import Counter

from tapeless.analysis.rewriter import FactsRewriter
from tapeless.core.names import Atom, Const, Var
from tapeless.core.prims import MATH
from tapeless.core.types import Scalar
from tapeless.ir.build import Builder
from tapeless.ir.syntax import (
    PROVED,
    Acc,
    Alloc,
    Body,
    Each,
    Exp,
    Fun,
    Index,
    Let,
    Prim,
    Put,
    all_proved,
)  # fmt: skip
from tapeless.ir.walk import uses

CHEAP = 4  # statements that may be run once more per inner iteration


def run(fun: Fun) -> Fun:
    return _Nests(fun).run(fun)


class _Nests(FactsRewriter):
    def __init__(self, fun: Fun) -> None:
        super().__init__()
        self.counts = Counter(a for a in uses(fun.body) if isinstance(a, Var))
        self.mapped: set[Var] = set()  # results of nests, element by element

    def concerns(self, exp: Exp) -> bool:
        return isinstance(exp, Each)

    def statement(self, stm: Let, out: list[Let]) -> None:
        if isinstance(stm.exp, Each):
            stm = self.nest(stm, stm.exp)
        self.emit(stm, out)
        if isinstance(stm.exp, Each):
            self.mapped.update(stm.outs[: len(stm.exp.body.results)])

    def nest(self, stm: Let, exp: Each) -> Let:
        flat = flattened(exp)
        if flat is not None:
            exp, self.changed = flat, True
        new = Let(stm.outs, exp, stm.loc)
        mapped = self.map_of(new, exp)
        if mapped is None:
            return new
        self.changed = True
        return mapped

    def map_of(self, stm: Let, exp: Each) -> Let | None:
        """What fills an array whose past does not matter, a cell per iteration, is a result."""
        first = len(exp.body.results)
        at = first
        for acc in exp.accs:
            made = self.cells_of(exp, acc)
            if made is not None:
                more, value = made
                stms = tuple(s for s in exp.body.stms if not _puts(s, acc))
                body = Body((*stms, *more), (*exp.body.results, value))
                outs = (*stm.outs[:first], stm.outs[at], *stm.outs[first:at], *stm.outs[at + 1 :])
                rest = tuple(a for a in exp.accs if a is not acc)
                return Let(outs, Each(exp.vars, exp.sizes, rest, body), stm.loc)
            at += len(acc.vars)
        return None

    def cells_of(self, exp: Each, acc: Acc) -> tuple[tuple[Let, ...], Atom] | None:
        """What every cell of `acc` ends up with, and statements that make it, if `exp` says."""
        if acc.op not in ("=", "+") or not self.is_covered(exp, acc):
            return None
        values = [
            s.exp.values[0] for s in exp.body.stms if isinstance(s.exp, Put) and _puts(s, acc)
        ]
        init, var = acc.inits[0], acc.vars[0]
        assert isinstance(init, Var)
        if acc.op == "=":
            return ((), values[0]) if len(values) == 1 and self.is_alloc(init) else None
        b = Builder()
        total: Atom
        if self.is_alloc(init):
            total = Const(0, var.dtype)
        elif init in self.mapped and self.counts[init] == 1:
            total = b.one(Index(init, exp.vars, PROVED * len(exp.vars)), init.hint)
        else:
            return None
        for value in values:
            total = b.prim("add", total, value, hint=var.hint)
        return tuple(b.scopes[0]), total

    def is_alloc(self, init: Var) -> bool:
        return isinstance(self.facts.defs.get(init), Alloc)

    def is_covered(self, exp: Each, acc: Acc) -> bool:
        """Whether every iteration puts to the cell that it is counted by, which are all cells."""
        init, var = acc.inits[0], acc.vars[0]
        puts = _puts_of(exp, acc)
        if not puts or len(puts) != self.counts[var] or any(p.at != exp.vars for p in puts):
            return False
        whole = all(self.facts.same(n, s) for n, s in zip(exp.sizes, var.shape, strict=True))
        return whole and isinstance(init, Var) and init not in set(uses(exp.body))


def _puts_of(exp: Each, acc: Acc) -> list[Put]:
    return [s.exp for s in exp.body.stms if isinstance(s.exp, Put) and _puts(s, acc)]


def _puts(stm: Let, acc: Acc) -> bool:
    return isinstance(stm.exp, Put) and stm.exp.targets == acc.vars


def flattened(exp: Each) -> Each | None:
    """A nest whose body is one inner nest, as one nest over both boxes."""
    *first, last = exp.body.stms or (None,)
    if last is None or not isinstance(last.exp, Each) or not all(map(_is_cheap, first)):
        return None
    inner = last.exp
    before = {o for s in first for o in s.outs} | set(exp.vars)
    if before.intersection(a for a in inner.sizes if isinstance(a, Var)):
        return None
    count = len(inner.body.results)
    if exp.body.results != last.outs[:count] or inner.accs or len(first) > CHEAP:
        return None
    if any(not isinstance(r.type, Scalar) for r in inner.body.results):
        return None
    body = Body((*first, *inner.body.stms), inner.body.results)
    return Each((*exp.vars, *inner.vars), (*exp.sizes, *inner.sizes), exp.accs, body)


def _is_cheap(stm: Let) -> bool:
    match stm.exp:
        case Prim(op):
            return op not in MATH and op not in ("div", "floordiv", "mod", "sqrt", "pow")
        case Index(_, _, modes):
            return all_proved(modes)
        case _:
            return False
