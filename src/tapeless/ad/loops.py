"""Return code of sequential loops: the passes from the last to the first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from tapeless.ad.again import Again
from tapeless.ad.branches import Branches
from tapeless.ad.restore import restorable
from tapeless.ad.revolve import Kept, Run, Schedule
from tapeless.ad.sweep import InReturn
from tapeless.ad.tree import Carried, Plain, Repeated, Revolved
from tapeless.core.names import Atom, Var
from tapeless.core.types import INDEX
from tapeless.ir.build import ONE, ZERO
from tapeless.ir.syntax import PROVED, Body, For, Index, Let, Loop, Prim
from tapeless.ir.walk import Rewriter, free_vars

Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class State:
    """What a return loop carries: cotangents of the active state (`states`) and of what the body
    reads (`free`), and the arrays that the body overwrites (`kept`), as they were."""

    states: list[int]
    free: list[Var]
    kept: list[int]

    def split(self, parts: Sequence[Part]) -> tuple[Sequence[Part], Sequence[Part], Sequence[Part]]:
        one, two = len(self.states), len(self.states) + len(self.free)
        return parts[:one], parts[one:two], parts[two:]


class Loops(Branches):
    def loop(self, item: Repeated) -> None:
        """for i < n: s = e(s, x)  ⇒  for i from n − 1 down to 0: s̄, x̄ += (∂e/∂s, ∂e/∂x)ᵀ·s̄."""
        exp, outs = item.exp, item.let.outs
        held = [self.newest(o) for o in outs]
        kept = [k for k in restorable(exp) if held[k] is not None]
        state = self.carried(exp, outs, kept)
        if state is None:
            return
        count = self.count_of(item)
        inits: list[Atom] = [
            *(self.bar_or_zero(outs[k]) for k in state.states),
            *(self.bar_or_zero(v) for v in state.free),
            *(now for k in state.kept if (now := held[k]) is not None),
        ]
        params = [Var(i.type, i.hint if isinstance(i, Var) else "bar") for i in inits]
        var = Var(INDEX, exp.form.var.hint if isinstance(exp.form, For) else "pass")
        body = self.one_pass(item, state, self.backwards(count, var), params)
        ends = self.b.let(
            Loop(For(var, count), tuple(params), tuple(inits), body), *(p.hint for p in params)
        )
        of_states, of_free, of_kept = state.split(ends)
        self.bars.update(zip(state.free, of_free, strict=True))
        for k, end in zip(state.kept, of_kept, strict=True):
            init = exp.inits[k]
            assert isinstance(init, Var)
            self.node.memo[init] = end
        for k, end in zip(state.states, of_states, strict=True):
            self.give_whole(exp.inits[k], end)

    def carried(self, exp: Loop, outs: tuple[Var, ...], kept: list[int]) -> State | None:
        """The state of the return loop; None if there is nothing to do."""
        states = [k for k, p in enumerate(exp.params) if p in self.active]
        if not any(outs[k] in self.bars for k in states) and not self.reaches_out(exp):
            return State([], [], kept) if kept else None
        own = {*exp.params, *self.targets}
        free = [v for v in free_vars(exp.body) if v in self.active and v not in own]
        return State(states, free, kept)

    def backwards(self, count: Atom, var: Var) -> Callable[[], Atom]:
        """The pass of the forward loop that the return loop is at."""
        return lambda: self.b.prim("sub", self.b.prim("sub", count, ONE), var)

    def one_pass(
        self, item: Repeated, state: State, now: Callable[[], Atom], params: list[Var]
    ) -> Body:
        exp, child = item.exp, item.child
        of_states, of_free, of_kept = state.split(params)
        before, self.bars = self.bars, dict(zip(state.free, of_free, strict=True))
        outer, self.node = self.node, child
        with self.b.scope() as stms:
            child.back = stms
            self.passes[child] = now()
            if isinstance(exp.form, For):
                child.memo[exp.form.var] = self.passes[child]
            for k, param in zip(state.kept, of_kept, strict=True):
                result = exp.body.results[k]
                assert isinstance(result, Var)
                child.memo[result] = param
            for k, param in zip(state.states, of_states, strict=True):
                self.give_whole(exp.body.results[k], param)
            self.sweep(child)
            results = (
                *(self.bar_or_zero(exp.params[k]) for k in state.states),
                *(self.bars[v] for v in state.free),
                *(self.value(exp.params[k]) for k in state.kept),
            )
        self.node, self.bars = outer, before
        return Body(tuple(stms), results)

    def revolve(self, item: Revolved) -> None:
        """Pass by pass from the last: its state from the nearest one that is kept, then the pass
        forward and back."""
        state = self.carried(item.exp, item.let.outs, [])
        if state is None:
            return
        again = Again(self.active).exp(item.exp)
        assert isinstance(again, Loop)
        schedule = Schedule(self.b, again)
        size = self.value(schedule.size)
        bars = (
            *(self.bar_or_zero(item.let.outs[k]) for k in state.states),
            *(self.bar_or_zero(v) for v in state.free),
        )
        inits = (*bars, *map(self.value, item.run.all()))
        params = tuple(Var(i.type, i.hint if isinstance(i, Var) else "bar") for i in inits)
        var = Var(INDEX, "pass")
        body = self.turned(schedule, state, lambda: self.op_sub(size, var), params, item.run)
        outs = self.b.let(Loop(For(var, size), params, inits, body), *(p.hint for p in params))
        of_states, of_free, of_run = state.split(outs)
        self.bars.update(zip(state.free, of_free, strict=True))
        self.restore(item, schedule, item.run.after(tuple(of_run)).kept)
        for k, end in zip(state.states, of_states, strict=True):
            self.give_whole(item.exp.inits[k], end)

    def turned(
        self, schedule: Schedule, state: State, where: Callable[[], Atom],
        params: tuple[Var, ...], run: Run,
    ) -> Body:  # fmt: skip
        """One pass of the return loop: the pass in front of `where`, forward and back."""
        before = self.bars
        of_states, of_free, of_run = state.split(params)
        self.bars = dict(zip(state.free, of_free, strict=True))
        slots = self.value(run.kept.slots)
        with self.b.scope() as stms:
            end = where()
            last = self.op_sub(end, ONE)
            run = replace(run, kept=replace(run.kept, slots=slots)).after(tuple(of_run))
            run = schedule.forward(end, last, schedule.nearest(run, last))
            loop = Again(self.active).exp(schedule.loop)
            assert isinstance(loop, Loop) and isinstance(loop.form, For)
            seeds: list[Atom | None] = [None] * len(loop.params)
            for k, param in zip(state.states, of_states, strict=True):
                seeds[k] = param
            self.region(loop.body, seeds)
            results = (
                *(self.bar_or_zero(loop.params[k]) for k in state.states),
                *(self.bars[v] for v in state.free),
                *replace(run, kept=self.dropped(run.kept, last)).all(),
            )
        self.bars = before
        names = {loop.form.var: last, **dict(zip(loop.params, run.state, strict=True))}
        body = Rewriter(names, fresh=False).body(Body(tuple(stms), results))
        return InReturn(self).closed(body)

    def dropped(self, kept: Kept, last: Atom) -> Kept:
        """Without the state in front of pass `last`, which is turned now; the first one stays."""
        place = self.b.one(Index(kept.places, (kept.top,), PROVED), "place")
        is_first = self.b.prim("eq", kept.top, ZERO)
        passed = self.b.prim("and", self.b.prim("eq", place, last), self.b.prim("not", is_first))
        below = self.op_sub(kept.top, ONE)
        return replace(kept, top=self.b.prim("select", passed, below, kept.top))

    def restore(self, item: Revolved, schedule: Schedule, kept: Kept) -> None:
        """The arrays that the loop began with, from the first slot."""
        for init, now in zip(item.exp.inits, schedule.rows(kept, ZERO), strict=True):
            if isinstance(init, Var) and init.is_array:
                self.node.memo[init] = now

    def op_sub(self, a: Atom, b: Atom) -> Atom:
        return self.b.prim("sub", a, b)

    def count_of(self, item: Repeated) -> Atom:
        """How many passes the loop made."""
        if isinstance(item.exp.form, For):
            return self.value(item.exp.form.size)
        param, more, out = (Var(INDEX, "passes") for _ in range(3))
        item.child.params.add(param)
        item.child.items.append(Plain(Let((more,), Prim("add", (param, ONE)))))
        item.extra.append(Carried(out, (more,), param, ZERO))
        self.node.defs[out] = item
        return self.value(out)
