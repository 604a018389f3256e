"""A cell that one pass of a loop writes and all passes read becomes a choice between two values.

    loop (p = a) for j < n { c = p[k]; …; p with [j] = v }     (0 ≤ k < n)
      ⇒  old = a[k]; new = v at j = k
         loop (p = a) for j < n { c = k < j ? new : old; …; p with [j] = v }

so that no pass waits for another one. The other reads of a pass must be of cells that only this
pass writes, so that pass k may be computed before the passes in front of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tapeless.analysis import poly
from tapeless.analysis.enter import after, entered
from tapeless.analysis.rewriter import FactsRewriter
from tapeless.core.names import Atom, Const, Loc, Var
from tapeless.core.types import BOOL, INDEX, i64
from tapeless.ir.syntax import (
    CHECK,
    PROVED,
    Body,
    Exp,
    For,
    Fun,
    Index,
    Let,
    Loop,
    Prim,
    Update,
)  # fmt: skip
from tapeless.ir.walk import Rewriter, bodies_of, bound
from tapeless.raising.races import may_depend

LONGEST = 24  # statements of a pass that may be written once more
Cell = tuple[Atom, ...]


def run(fun: Fun) -> Fun:
    return _Pivots().run(fun)


@dataclass(frozen=True, slots=True, eq=False)
class Pivot:
    """The reads of a cell that the pass number `at` + `shift` writes, by the statement `write`."""

    write: Let
    reads: tuple[Let, ...]
    at: Atom
    shift: int


def _has_one_state(loop: Loop) -> bool:
    return len(loop.params) == 1 and may_depend(loop)


class _Pivots(FactsRewriter):
    def concerns(self, exp: Exp) -> bool:
        return isinstance(exp, Loop) and isinstance(exp.form, For) and _has_one_state(exp)

    def statement(self, stm: Let, out: list[Let]) -> None:
        exp = stm.exp
        if isinstance(exp, Loop) and isinstance(exp.form, For) and _has_one_state(exp):
            stm = self.loop(stm, exp, exp.form, out)
        self.emit(stm, out)

    def loop(self, stm: Let, loop: Loop, form: For, out: list[Let]) -> Let:
        found = self.find(loop, form)
        if found is None:
            return stm
        self.changed = True
        pivot = self.position(found, out, stm.loc)
        early = Rewriter({form.var: pivot, loop.params[0]: loop.inits[0]})
        for s in loop.body.stms:
            if s is not found.write:
                out.append(early.let(s))
                after(self.facts, out[-1])
        assert isinstance(found.write.exp, Update)
        new = early.atom(found.write.exp.value)
        later = Var(BOOL, "later", stm.loc)
        stms = [Let((later,), Prim("lt", (pivot, form.var)), stm.loc)]
        for s in loop.body.stms:
            if s in found.reads:
                choice = Prim("select", (later, new, early.atom(s.outs[0])))
                s = Let(s.outs, choice, s.loc)
            stms.append(s)
        return Let(stm.outs, replace(loop, body=Body(tuple(stms), loop.body.results)), stm.loc)

    def position(self, found: Pivot, out: list[Let], loc: Loc | None) -> Atom:
        if found.shift == 0:
            return found.at
        pivot = Var(INDEX, "pivot", loc)
        out.append(Let((pivot,), Prim("add", (found.at, Const(found.shift, i64))), loc))
        after(self.facts, out[-1])
        return pivot

    def find(self, loop: Loop, form: For) -> Pivot | None:
        """A cell that does not change its place in the loop, read before it is written."""
        body, (param,) = loop.body, loop.params
        if not param.is_array or len(body.stms) > LONGEST:
            return None
        inside = bound(body) | {form.var, param}
        reads: list[tuple[Let, Index]] = []
        writes: list[Let] = []
        for stm in body.stms:
            match stm.exp:
                case Index(array, _, modes) if array is param and set(modes) <= {PROVED, CHECK}:
                    reads.append((stm, stm.exp))
                case Update(array, _, _, modes) if array is param and set(modes) <= {PROVED, CHECK}:
                    writes.append(stm)
                case Prim() | Index() if not _mentions(stm.exp, param, writes):
                    pass
                case _:
                    return None
        if len(writes) != 1 or body.results != writes[0].outs:
            return None
        cells = {r.at for _, r in reads if not inside.intersection(r.at)}
        return self.pivot(loop, form, writes[0], reads, cells.pop()) if len(cells) == 1 else None

    def pivot(
        self, loop: Loop, form: For, write: Let, reads: list[tuple[Let, Index]], cell: Cell
    ) -> Pivot | None:
        facts = self.facts
        assert isinstance(write.exp, Update)
        with entered(facts, loop, loop.body):
            for s in loop.body.stms:
                after(facts, s)
            counter = facts.symbol_of(form.var)
            place = [facts.value(i) for i in write.exp.at]
            axes = [k for k, p in enumerate(place) if any(counter in m for m in p)]
            if len(axes) != 1:
                return None
            (axis,) = axes
            shift = poly.constant_of(poly.sub(poly.symbol(counter), place[axis]))
            own = [facts.value(r.at[axis]) for _, r in reads if r.at != cell]
        if shift is None or any(p != place[axis] for p in own):
            return None
        others = [k for k in range(len(cell)) if k != axis]
        if not all(facts.same(write.exp.at[k], cell[k]) for k in others):
            return None
        first = poly.shift(facts.value(cell[axis]), shift)
        room = poly.shift(poly.sub(facts.value(form.size), first), -1)
        if not (facts.prove(first) and facts.prove(room)):
            return None
        return Pivot(write, tuple(s for s, r in reads if r.at == cell), cell[axis], shift)


def _mentions(exp: Prim | Index, param: Var, writes: list[Let]) -> bool:
    """Whether a statement uses a version of the array in another way than reading a cell of the
    first one."""
    versions = {param, *(o for w in writes for o in w.outs)}
    atoms = exp.args if isinstance(exp, Prim) else (exp.array, *exp.at)
    return any(a in versions for a in atoms) or bool(bodies_of(exp))
