"""A loop whose passes meet only in what one of them writes, as the passes before it, itself, and
those after it.

    for i < n { … a[k, j] …; a[i, j] = v }     (0 ≤ k < n)
      ⇒  for i < k {…}; pass k; for i' < n - k - 1 { i = i' + k + 1; … }

Before pass k the row k is what it was, after pass k it stays: in each part the passes are
independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tapeless.analysis import poly
from tapeless.analysis.dependence import Access, Dependence, Level
from tapeless.analysis.facts import Facts
from tapeless.analysis.poly import Poly
from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import INDEX, i64
from tapeless.ir.syntax import WRAP, Body, For, Let, Loop, Prim
from tapeless.ir.walk import Rewriter


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """The three parts in order; `before` and `behind` are loops, `here` is the pass between."""

    before: Let
    here: tuple[Let, ...]
    start: tuple[Let, ...]
    behind: Let


def meeting(
    facts: Facts, test: Dependence, level: Level, size: Atom, accesses: Sequence[Access]
) -> tuple[Var, int] | None:
    """The pass v + c whose writes the other passes read, if it is one of the loop's."""
    for w in accesses:
        if not w.writes:
            continue
        for r in accesses:
            if r is w or r.target is not w.target or test.compatible(w, r):
                continue
            return _pass_of(facts, level, size, w, r)
    return None


def _pass_of(
    facts: Facts, level: Level, size: Atom, w: Access, r: Access
) -> tuple[Var, int] | None:
    assert level.counter is not None
    counter = poly.symbol(level.base)
    for p, q, x, y in zip(w.at, r.at, w.modes, r.modes, strict=True):
        if WRAP in (x, y) or poly.newest(q) >= level.base:
            continue
        shift = poly.sub(p, counter)
        if poly.newest(shift) >= level.base:
            continue
        number = poly.sub(q, shift)
        named = _named(facts, number)
        room = poly.shift(poly.sub(facts.value(size), number), -1)
        if named is not None and facts.prove(number) and facts.prove(room):
            return named
    return None


def _named(facts: Facts, p: Poly) -> tuple[Var, int] | None:
    """p as a variable plus a number."""
    v = poly.newest(p)
    if v < 0 or poly.constant_of(poly.sub(p, poly.symbol(v))) is None:
        return None
    var = facts.vars[v]
    return None if var is None else (var, p.get(poly.UNIT, 0))


def split(stm: Let, loop: Loop, form: For, at: tuple[Var, int]) -> Parts:
    """`loop` in three parts around the pass `at`."""
    loc, start = stm.loc, list[Let]()

    def emit(op: str, a: Atom, b: Atom, hint: str) -> Var:
        out = Var(INDEX, hint, loc)
        start.append(Let((out,), Prim(op, (a, b)), loc))
        return out

    pivot: Atom = at[0] if at[1] == 0 else emit("add", at[0], Const(at[1], i64), "pivot")
    lead, start = start, []
    first = tuple(o.fresh() for o in stm.outs)
    before = Let(first, replace(loop, form=For(form.var, pivot)), loc)
    here = Rewriter({form.var: pivot, **dict(zip(loop.params, first, strict=True))})
    one = here.body(loop.body)
    after_it = emit("add", pivot, Const(1, i64), "next")
    left = emit("sub", form.size, after_it, "left")
    counter, index = form.var.fresh(), form.var.fresh()
    copier = Rewriter({form.var: index})
    params = copier.binds(loop.params)
    rest = copier.body(loop.body)
    shifted = Let((index,), Prim("add", (counter, after_it)), loc)
    behind = Loop(
        For(counter, left), params, one.results, Body((shifted, *rest.stms), rest.results),
        loop.reverse,
    )  # fmt: skip
    return Parts(before, (*lead, *one.stms), tuple(start), Let(stm.outs, behind, loc))
