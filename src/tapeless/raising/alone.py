"""A pass that works on one cell of an array has it in a scalar.

    loop (p = a) for i < n { …; p₁ = p with [k] = v; x = p₁[k]; …; p₂ = p₁ with [k] = w; return p₂ }
      ⇒  loop (p = a) for i < n { x₀ = p[k]; …; x is v; …; p₂ = p with [k] = w; return p₂ }

where every access of the pass is to that cell, or is a read apart from it: then a pass reads only
what it has not written, and writes once. Accesses that may be out of range must all follow one
that every pass makes; where the first is on a branch, the cell must be in range for passes that do
not get there, too.
"""

from __future__ import annotations

from dataclasses import replace

from tapeless.analysis.enter import after, entered, in_range
from tapeless.analysis.rewriter import FactsRewriter
from tapeless.core.names import Atom, Var
from tapeless.core.types import Scalar
from tapeless.ir.syntax import (
    IGNORE,
    Body,
    Exp,
    For,
    Fun,
    If,
    Index,
    Let,
    Loop,
    Update,
    all_proved,
)  # fmt: skip
from tapeless.ir.walk import bodies_of, statements
from tapeless.raising.promote import Cells, NotPromoted
from tapeless.raising.races import may_depend
from tapeless.raising.slices import versions_of


def run(fun: Fun) -> Fun:
    return _Alone().run(fun)


class _Alone(FactsRewriter):
    def concerns(self, exp: Exp) -> bool:
        return isinstance(exp, Loop)

    def statement(self, stm: Let, out: list[Let]) -> None:
        exp = stm.exp
        if isinstance(exp, Loop):
            for param, result in zip(exp.params, exp.body.results, strict=True):
                if param.is_array and result is not param:
                    exp = self.alone(exp, param)
            stm = Let(stm.outs, exp, stm.loc)
        self.emit(stm, out)

    def alone(self, loop: Loop, param: Var) -> Loop:
        """The loop whose passes take the cell of `param` out first and put it back at the end."""
        found = cell_of(loop.body, param)
        if found is None:
            return loop
        first, at, modes, always = found
        if not (may_depend(loop) or keeps_cells(loop, param, at)):
            return loop
        k = loop.params.index(param)
        value = Var(Scalar(param.dtype), param.hint, param.loc)
        read = Let((value,), Index(param, at, modes), loop.body.stms[first].loc)
        with entered(self.facts, loop, loop.body):
            for s in loop.body.stms[:first]:
                after(self.facts, s)
            if not always and not in_range(self.facts, at, param.shape):
                return loop
            after(self.facts, read)
            rewrite = Cells(self.facts, param, [at])
            rewrite.env[param] = (value,)
            try:
                rest = rewrite.body(Body(loop.body.stms[first:], ()))
            except NotPromoted:
                return loop
        last = loop.body.results[k]
        others = (*loop.body.results[:k], *loop.body.results[k + 1 :])
        if last not in rewrite.env or any(r in rewrite.env for r in others):
            return loop
        assert isinstance(last, Var)
        done = last.fresh()
        write = Let((done,), Update(param, at, rewrite.env[last][0], modes), last.loc)
        results = rewrite.atoms((*others[:k], done, *others[k:]))
        self.changed = True
        stms = (*loop.body.stms[:first], read, *rest.stms, write)
        return replace(loop, body=Body(stms, results))


def keeps_cells(loop: Loop, param: Var, at: tuple[Atom, ...]) -> bool:
    """Whether a write at the end of every pass is none to a cell that passes may share."""
    versions = versions_of(loop.body, param)
    always = any(isinstance(s.exp, Update) and s.exp.array in versions for s in loop.body.stms)
    return always or (isinstance(loop.form, For) and loop.form.var in at)


def cell_of(body: Body, param: Var) -> tuple[int, tuple[Atom, ...], str, bool] | None:
    """The one cell that a pass writes, if it writes it twice, on a branch or before a read: the
    statement that touches it first, its index, how that is checked, and whether every pass does."""
    versions = versions_of(body, param)
    writes = [
        s.exp for s in statements(body) if isinstance(s.exp, Update) and s.exp.array in versions
    ]
    if not writes or any(w.at != writes[0].at or IGNORE in w.modes for w in writes):
        return None
    later = versions - {param}
    read_back = any(isinstance(s.exp, Index) and s.exp.array in later for s in statements(body))
    if len(writes) < 2 and not read_back:
        return None
    at = writes[0].at
    born = {o for s in body.stms for o in s.outs}
    seen: set[Atom] = set()
    for k, stm in enumerate(body.stms):
        exp = stm.exp
        if isinstance(exp, Index | Update) and exp.array in versions and exp.at == at:
            return k, at, exp.modes, True
        inner = [s.exp for b in bodies_of(exp) for s in statements(b)]
        if any(isinstance(e, Index | Update) and e.array in versions for e in inner):
            known = all(a in seen for a in at if a in born)
            proved = all(all_proved(w.modes) for w in writes)
            found = (k, at, writes[0].modes, False)
            return found if known and proved and isinstance(exp, If) else None
        seen.update(stm.outs)
    return None
