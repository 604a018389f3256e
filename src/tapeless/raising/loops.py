"""Loops whose iterations are independent, or only accumulate, become parallel nests.

    loop (p = a, s = z) for i < n { … p with [i] = v, s + w … }
      ⇒  each (i < n) with (p = a, s += z) { … put p[i] <- v; put s <- w … }

Arrays are first taken to be assigned ("="), which the dependence test must confirm; those for
which it cannot are tried as sums of products of their cells ("+ * min max").
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from tapeless.analysis.dependence import Access, Dependence, Level
from tapeless.analysis.enter import after, inside
from tapeless.analysis.rewriter import FactsRewriter
from tapeless.core.names import Atom, Var
from tapeless.ir.syntax import Acc, Body, Each, Exp, For, Fun, If, Let, Loop, Prim
from tapeless.ir.walk import statements, type_vars, uses
from tapeless.raising.races import may_depend
from tapeless.raising.split import meeting, split
from tapeless.raising.target import NotThreaded, Place, Target
from tapeless.raising.thread import Threads


def run(fun: Fun) -> Fun:
    return Raise().run(fun)


class Raise(FactsRewriter):
    """Innermost loops first; facts describe the place that the walk is at. `meeting`: the pass of
    the loop just tried that others wait for."""

    def __init__(self) -> None:
        super().__init__()
        self.meeting: tuple[Var, int] | None = None

    def concerns(self, exp: Exp) -> bool:
        return isinstance(exp, Loop) and isinstance(exp.form, For)

    def statement(self, stm: Let, out: list[Let]) -> None:
        exp = stm.exp
        new = [stm]
        if isinstance(exp, Loop) and isinstance(exp.form, For):
            self.meeting = None
            nest = self.parallel(exp, exp.form)
            found = [Let(stm.outs, nest, stm.loc)] if nest else self.in_parts(stm, exp, exp.form)
            if found:
                new, self.changed = found, True
        for s in new:
            self.emit(s, out)

    def in_parts(self, stm: Let, loop: Loop, form: For) -> list[Let]:
        """The loop around the one pass whose writes the others read, if this makes it parallel."""
        if self.meeting is None:
            return []
        parts = split(stm, loop, form, self.meeting)
        stms: list[Let] = [*parts.here, *parts.start]
        with self.facts.scope():
            nests = [self.part(parts.before)]
            for s in stms:
                after(self.facts, s)
            nests.append(self.part(parts.behind))
        before, behind = nests
        return [before, *stms, behind] if before and behind else []

    def part(self, stm: Let) -> Let | None:
        assert isinstance(stm.exp, Loop) and isinstance(stm.exp.form, For)
        nest = self.parallel(stm.exp, stm.exp.form)
        return None if nest is None else Let(stm.outs, nest, stm.loc)

    def parallel(self, loop: Loop, form: For) -> Each | None:
        """The nest that `loop` is, if there is one."""
        sized = {s for p in loop.params for s in type_vars(p.type)}
        if not sized.isdisjoint(loop.params) or not _may_thread(loop):
            return None
        summed: set[Var] = set()
        while True:
            try:
                conflict = self.attempt(loop, form, summed)
            except NotThreaded as problem:
                if problem.sum is None or problem.sum in summed:
                    return None
                summed.add(problem.sum)
                continue
            if isinstance(conflict, Each):
                return conflict
            if conflict <= summed:
                return None
            summed |= conflict

    def attempt(self, loop: Loop, form: For, summed: set[Var]) -> Each | set[Var]:
        """The nest, or the arrays whose cells meet when they are assigned."""
        found = self.threaded(loop, form, summed)
        dependence = Dependence(self.facts)
        conflicts = found.conflicts(dependence)
        if conflicts:
            if not summed and may_depend(loop):
                self.meeting = meeting(
                    self.facts, dependence, found.level, form.size, found.accesses
                )
            return {t.param for t in conflicts}
        return found.nest(form)

    def threaded(self, loop: Loop, form: For, summed: set[Var]) -> Threaded:
        """The loop with accumulators in the place of its state; arrays that are not `summed` are
        assigned."""
        facts = self.facts
        mark, base = facts.mark(), len(facts.vars)
        targets = [
            Target(p, i, p.fresh(), "=" if p.is_array and p not in summed else "?")
            for p, i in zip(loop.params, loop.inits, strict=True)
        ]
        level = Level(form.var, base, parallel=True)
        counts = Counter(uses(loop.body))
        selected = {a for s in statements(loop.body) for a in chosen(s.exp)}
        threads = Threads(facts, mark, Place((level,)), counts, selected)
        for target in targets:
            threads.start(target.param, target)
        try:
            inside(facts, loop, loop.body)
            body = threads.body(loop.body, dict(enumerate(targets)))
        finally:
            facts.undo(mark)
        if threads.pending or not all(t.op != "?" and t.is_sound() for t in targets):
            raise NotThreaded
        return Threaded(targets, body, threads.accesses, level)


@dataclass(frozen=True, slots=True, eq=False)
class Threaded:
    """A loop's body with Puts for its state, and its accesses to the arrays that are assigned."""

    targets: list[Target]
    body: Body
    accesses: list[Access]
    level: Level

    def accesses_to(self, target: Target) -> list[Access]:
        return [a for a in self.accesses if a.target is target.param]

    def conflicts(self, dependence: Dependence) -> list[Target]:
        """The assigned arrays whose cells meet, as far as can be known."""
        return [
            t for t in self.targets
            if t.op == "=" and not dependence.independent(self.accesses_to(t))
        ]  # fmt: skip

    def nest(self, form: For) -> Each:
        accs = tuple(Acc((t.acc,), (t.source,), t.op) for t in self.targets)
        return Each((form.var,), (form.size,), accs, self.body)


def chosen(exp: Exp) -> tuple[Atom, ...]:
    """What a select or a branch takes one of."""
    match exp:
        case Prim("select", (_, *values)):
            return tuple(values)
        case If(_, then, orelse):
            return (*then.results, *orelse.results)
        case _:
            return ()


def _may_thread(loop: Loop) -> bool:
    """Whether every state variable is changed: what is only passed on is no accumulator."""
    return all(r is not p for p, r in zip(loop.params, loop.body.results, strict=True))
