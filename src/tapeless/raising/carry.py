"""What a pass reads from the cell that an earlier pass wrote travels in a scalar.

    loop (p = a) for i < n { x = p[i]; …; p with [i + 1] = v }
      ⇒  loop (p = a, c = a[0]) for i < n { x is c; …; p with [i + 1] = v; c becomes v }

so that a recurrence waits for arithmetic, not for memory, and a loop around it sees only writes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tapeless.analysis import poly
from tapeless.analysis.enter import after, entered
from tapeless.analysis.poly import Poly
from tapeless.analysis.rewriter import FactsRewriter
from tapeless.core.names import Atom, Const, Loc, Var
from tapeless.core.types import BOOL, INDEX, Scalar, i64
from tapeless.ir.syntax import (
    CHECK,
    PROVED,
    Body,
    Check,
    Exp,
    For,
    Fun,
    If,
    Index,
    Iverson,
    Let,
    Loop,
    Prim,
    Update,
)  # fmt: skip
from tapeless.ir.walk import Rewriter, atoms_of, statements
from tapeless.raising.races import may_depend

FARTHEST = 3  # passes that a value is carried over


def run(fun: Fun) -> Fun:
    return _Carry().run(fun)


class _Carry(FactsRewriter):
    def concerns(self, exp: Exp) -> bool:
        return isinstance(exp, Loop) and isinstance(exp.form, For) and may_depend(exp)

    def statement(self, stm: Let, out: list[Let]) -> None:
        exp = stm.exp
        if isinstance(exp, Loop) and isinstance(exp.form, For) and may_depend(exp):
            stm = self.loop(stm, exp, exp.form, out)
        self.emit(stm, out)

    def loop(self, stm: Let, loop: Loop, form: For, out: list[Let]) -> Let:
        for param, init in zip(loop.params, loop.inits, strict=True):
            found = self.carried(loop, form, param)
            if found is None or not isinstance(init, Var):
                continue
            value, starts, reads = found
            self.changed = True
            distance = len(starts)
            scalar = Scalar(param.dtype)
            params = tuple(Var(scalar, param.hint, param.loc) for _ in range(distance))
            inits = tuple(self.start(init, at, form.size, out, stm.loc) for at in starts)
            body = Rewriter({o: params[d - 1] for o, d in reads.items()}, fresh=False).body(
                _without(loop.body, set(reads))
            )
            results = (*body.results, value, *params[:-1])
            loop = replace(
                loop, params=(*loop.params, *params), inits=(*loop.inits, *inits),
                body=Body(body.stms, results),
            )  # fmt: skip
            outs = (*stm.outs, *(p.fresh() for p in params))
            return Let(outs, loop, stm.loc)
        return stm

    def carried(
        self, loop: Loop, form: For, param: Var
    ) -> tuple[Atom, list[list[Poly]], dict[Var, int]] | None:
        """The value written in a pass; the cells that would have been written before the first
        pass, nearest first; the reads of such cells, with their distance in passes."""
        if not param.is_array or any(s in loop.params for s in param.shape):
            return None
        writes = [s for s in loop.body.stms if isinstance(s.exp, Update) and s.exp.array is param]
        if len(writes) != 1:
            return None
        (write,) = writes
        assert isinstance(write.exp, Update)
        if not set(write.exp.modes) <= {PROVED, CHECK}:
            return None
        if write.outs[0] not in loop.body.results or not _only_read(loop.body, param, write):
            return None
        facts = self.facts
        with facts.scope():
            with entered(facts, loop, loop.body):
                counter = facts.symbol_of(form.var)
                for s in loop.body.stms:
                    after(facts, s)
                target = [facts.value(i) for i in write.exp.at]
                reads = self.reads(loop.body, (param, write.outs[0]), target, counter)
            if not reads or any(v > counter for p in target for m in p for v in m):
                return None
            starts = [
                [poly.replace(p, counter, poly.constant(-d)) for p in target]
                for d in range(1, max(reads.values()) + 1)
            ]
            if not all(self.in_range(at, param, form.size) for at in starts) and not (
                len(starts) == 1 and _reads_first(loop.body, set(reads))
            ):
                return None
        return write.exp.value, starts, reads

    def reads(
        self, body: Body, arrays: tuple[Var, ...], target: list[Poly], counter: int
    ) -> dict[Var, int]:
        """Reads at the top of the body of what was written some passes ago."""
        found: dict[Var, int] = {}
        for stm in body.stms:
            if not isinstance(stm.exp, Index) or stm.exp.array not in arrays:
                continue
            at = [self.facts.value(i) for i in stm.exp.at]
            for d in range(1, FARTHEST + 1):
                before = poly.shift(poly.symbol(counter), -d)
                if at == [poly.replace(p, counter, before) for p in target] and at != target:
                    found[stm.outs[0]] = d
        return found

    def in_range(self, at: list[Poly], param: Var, size: Atom) -> bool:
        """Whether a cell is in range if the loop runs at all."""
        facts = self.facts
        with facts.scope():
            facts.runs(size)
            return all(
                facts.prove(p) and facts.prove(poly.shift(poly.sub(facts.value(n), p), -1))
                for p, n in zip(at, param.shape, strict=True)
            )

    def start(self, array: Var, at: list[Poly], size: Atom, out: list[Let], loc: Loc | None) -> Var:
        """The cell's value before the loop, 0 if it does not run."""

        def emit(type: Scalar, exp: Exp) -> Var:
            var = Var(type, "start", loc)
            out.append(Let((var,), exp, loc))
            after(self.facts, out[-1])
            return var

        scalar = Scalar(array.dtype)
        indices = tuple(self.integer(p, emit) for p in at)
        runs = emit(BOOL, Prim("lt", (Const(0, i64), size)))
        value = Var(scalar, array.hint, loc)
        safe = self.in_range(at, array, size)
        mode = PROVED if safe else CHECK
        read = Body((Let((value,), Index(array, indices, mode * len(indices)), loc),), (value,))
        if safe:
            return emit(scalar, Iverson(runs, read))
        return emit(scalar, If(runs, read, Body((), (Const(0, array.dtype),))))

    def integer(self, p: Poly, emit: Callable[[Scalar, Exp], Var]) -> Atom:
        """An atom with the value of a polynomial."""
        total: Atom = Const(p.get(poly.UNIT, 0), i64)
        for monomial, c in p.items():
            if monomial:
                term: Atom = Const(c, i64)
                for v in monomial:
                    factor = self.facts.vars[v]
                    assert factor is not None
                    term = emit(INDEX, Prim("mul", (term, factor)))
                total = emit(INDEX, Prim("add", (total, term)))
        return total


def _only_read(body: Body, param: Var, write: Let) -> bool:
    """Whether one version follows the other, and besides both are only read."""
    versions = (param, write.outs[0])
    for stm in statements(body):
        if stm is write or isinstance(stm.exp, Index):
            continue
        if any(v in versions for v in atoms_of(stm.exp) if isinstance(v, Var)):
            return False
    return True


def _reads_first(body: Body, outs: set[Var]) -> bool:
    """Whether the first pass makes these reads or raises an IndexError, so that the read may be
    made in front of the loop although it may raise."""
    modes = {m for s in body.stms if outs.intersection(s.outs) for m in getattr(s.exp, "modes", "")}
    return modes <= {PROVED, CHECK} and not any(isinstance(s.exp, Check) for s in statements(body))


def _without(body: Body, outs: set[Var]) -> Body:
    return Body(tuple(s for s in body.stms if outs.isdisjoint(s.outs)), body.results)
