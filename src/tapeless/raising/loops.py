"""Loops whose iterations are independent, or only accumulate, become parallel nests.

    loop (p = a, s = z) for i < n { … p with [i] = v, s + w … }
      ⇒  each (i < n) with (p = a, s += z) { … put p[i] <- v; put s <- w … }

Arrays are first taken to be assigned ("="), which the dependence test must confirm; those for
which it cannot are tried as sums of products of their cells ("+ * min max").
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TypeGuard

from tapeless.analysis.dependence import Dependence, Level
from tapeless.analysis.enter import after, entered, inside
from tapeless.analysis.facts import Facts
from tapeless.core.names import Var
from tapeless.ir.syntax import Acc, Each, Exp, For, Fun, Let, Loop, Prim
from tapeless.ir.syntax import Body as BodyOf
from tapeless.ir.walk import bodies_of, map_bodies, statements, type_vars, uses
from tapeless.raising.target import NotThreaded, Place, Target
from tapeless.raising.thread import Threads


def run(fun: Fun) -> Fun:
    walk = _Raise()
    walk.facts.params(fun.params)
    body = walk.body(fun.body)
    return replace(fun, body=body) if walk.changed else fun


class _Raise:
    """Innermost loops first; facts describe the place that the walk is at."""

    def __init__(self) -> None:
        self.facts = Facts()
        self.changed = False

    def body(self, body: BodyOf) -> BodyOf:
        stms: list[Let] = []
        for stm in body.stms:
            new = self.statement(stm)
            after(self.facts, new)
            stms.append(new)
        return BodyOf(tuple(stms), body.results)

    def statement(self, stm: Let) -> Let:
        exp = stm.exp
        if not bodies_of(exp):
            return stm
        exp = map_bodies(exp, lambda body: self.inner(stm.exp, body))
        if isinstance(exp, Loop) and isinstance(exp.form, For):
            nest = self.parallel(exp, exp.form)
            if nest is not None:
                self.changed = True
                return Let(stm.outs, nest, stm.loc)
        return Let(stm.outs, exp, stm.loc)

    def inner(self, exp: Exp, body: BodyOf) -> BodyOf:
        with entered(self.facts, exp, body):
            return self.body(body)

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
        facts = self.facts
        mark, base = facts.mark(), len(facts.vars)
        targets = [
            Target(p, i, p.fresh(), "=" if p.is_array and p not in summed else "?")
            for p, i in zip(loop.params, loop.inits, strict=True)
        ]
        level = Level(form.var, base, parallel=True)
        counts = Counter(uses(loop.body))
        selects = (s.exp.args for s in statements(loop.body) if is_select(s.exp))
        selected = {a for args in selects for a in args[1:]}
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
        dependence = Dependence(facts)
        conflicts = {
            t.param
            for t in targets
            if t.op == "="
            and not dependence.independent([a for a in threads.accesses if a.target is t.param])
        }
        if conflicts:
            return conflicts
        accs = tuple(Acc((t.acc,), (t.source,), t.op) for t in targets)
        return Each((form.var,), (form.size,), accs, body)


def is_select(exp: Exp) -> TypeGuard[Prim]:
    return isinstance(exp, Prim) and exp.op == "select"


def _may_thread(loop: Loop) -> bool:
    """Whether every state variable is changed: what is only passed on is no accumulator."""
    return all(r is not p for p, r in zip(loop.params, loop.body.results, strict=True))
