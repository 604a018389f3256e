"""Nests in their simplest shape.

    each (i < n) { r = each (j < m) {B}; return r }   ⇒  each (i < n, j < m) {B}
    each (i < n) with (p = a) { put p[i] <- v }       ⇒  each (i < n) { return v }
        where n is the size of `a` and nothing reads `a` any more, or it holds nothing
    each (i < n) with (s += z) { each (j < m) with … } are flattened alike

Scalar statements before the inner nest move into it if they cost next to nothing.
"""

from __future__ import annotations

from collections import Counter

from tapeless.analysis.rewriter import FactsRewriter
from tapeless.core.names import Var
from tapeless.core.prims import MATH
from tapeless.core.types import Scalar
from tapeless.ir.syntax import (
    Acc,
    Alloc,
    Body,
    Each,
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
        self.writes = set(fun.writes)

    def statement(self, stm: Let, out: list[Let]) -> None:
        self.emit(self.nest(stm, stm.exp) if isinstance(stm.exp, Each) else stm, out)

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
            if acc.op == "=" and self.fills(exp, acc):
                put = next(
                    s for s in exp.body.stms if isinstance(s.exp, Put) and acc.vars == s.exp.targets
                )
                assert isinstance(put.exp, Put)
                stms = tuple(s for s in exp.body.stms if s is not put)
                body = Body(stms, (*exp.body.results, put.exp.values[0]))
                outs = (*stm.outs[:first], stm.outs[at], *stm.outs[first:at], *stm.outs[at + 1 :])
                rest = tuple(a for a in exp.accs if a is not acc)
                return Let(outs, Each(exp.vars, exp.sizes, rest, body), stm.loc)
            at += len(acc.vars)
        return None

    def fills(self, exp: Each, acc: Acc) -> bool:
        init, var = acc.inits[0], acc.vars[0]
        if not isinstance(init, Var) or not isinstance(self.facts.defs.get(init), Alloc):
            return False
        puts = [s.exp for s in exp.body.stms if isinstance(s.exp, Put) and var in s.exp.targets]
        if len(puts) != 1 or puts[0].at != exp.vars:
            return False
        whole = all(self.facts.same(n, s) for n, s in zip(exp.sizes, var.shape, strict=True))
        return whole and self.counts[var] == 1 and init not in set(uses(exp.body))


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
