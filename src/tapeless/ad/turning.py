"""Loops whose passes are turned around one by one: each runs forward from its state, then back.

The state in front of a pass comes from the nearest one that was kept, or from the state behind the
pass, by its inverse.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tapeless.ad.again import Again
from tapeless.ad.inverse import Inverse
from tapeless.ad.loops import Loops, State
from tapeless.ad.revolve import Kept, Schedule
from tapeless.ad.sweep import InReturn
from tapeless.ad.tree import Inverted, Revolved
from tapeless.core.names import Atom, Var
from tapeless.core.types import INDEX
from tapeless.ir.build import ONE, ZERO
from tapeless.ir.syntax import PROVED, Body, For, Index, Loop
from tapeless.ir.walk import Rewriter

Atoms = tuple[Atom, ...]
# The last pass not yet turned, and what was carried -> the state in front of it, what to carry on.
Before = Callable[[Atom, Atoms], tuple[Atoms, Atoms]]


class Turning(Loops):
    def revolve(self, item: Revolved) -> None:
        """The state in front of each pass from the nearest one that is kept."""
        again = self.again(item.exp)
        schedule = Schedule(self.b, again)
        slots = self.value(item.run.kept.slots)
        first = replace(item.run, kept=replace(item.run.kept, slots=slots))

        def before(
            last: Atom, carried: tuple[Atom, ...]
        ) -> tuple[tuple[Atom, ...], tuple[Atom, ...]]:
            end = self.b.prim("add", last, ONE)
            run = schedule.forward(end, last, schedule.nearest(first.after(carried), last))
            return run.state, replace(run, kept=self.dropped(run.kept, last)).all()

        carried = tuple(map(self.value, item.run.all()))
        ends = self.turn(item, again, carried, before)
        if ends is not None:
            self.restored(item.exp, schedule.rows(first.after(ends).kept, ZERO))

    def invert(self, item: Inverted) -> None:
        """The state in front of each pass from the one behind it."""
        again = self.again(item.exp)
        inverse = Inverse(self.b, again, item.let.loc)

        def before(
            last: Atom, carried: tuple[Atom, ...]
        ) -> tuple[tuple[Atom, ...], tuple[Atom, ...]]:
            state = inverse.before(last, carried)
            return state, state

        carried = tuple(map(self.value, item.let.outs))
        ends = self.turn(item, again, carried, before)
        if ends is not None:
            self.restored(item.exp, ends)

    def again(self, exp: Loop) -> Loop:
        loop = Again(self.active).exp(exp)
        assert isinstance(loop, Loop)
        return loop

    def restored(self, exp: Loop, first: tuple[Atom, ...]) -> None:
        """The arrays that the loop began with."""
        for init, now in zip(exp.inits, first, strict=True):
            if isinstance(init, Var) and init.is_array:
                self.node.memo[init] = now

    def turn(
        self, item: Revolved | Inverted, loop: Loop, carried: tuple[Atom, ...], before: Before
    ) -> tuple[Atom, ...] | None:
        """The return loop; what was carried, in front of the first pass. None: nothing to do."""
        exp, outs = item.exp, item.let.outs
        state = self.carried(exp, outs, [])
        if state is None:
            return None
        assert isinstance(loop.form, For)
        size = self.value(loop.form.size)
        bars = (
            *(self.bar_or_zero(outs[k]) for k in state.states),
            *(self.bar_or_zero(v) for v in state.free),
        )
        inits = (*bars, *carried)
        params = tuple(Var(i.type, i.hint if isinstance(i, Var) else "bar") for i in inits)
        var = Var(INDEX, "pass")
        last = self.backwards(size, var)
        body = self.turned(loop, state, last, params, before)
        ends = self.b.let(Loop(For(var, size), params, inits, body), *(p.hint for p in params))
        of_states, of_free, of_rest = state.split(ends)
        self.bars.update(zip(state.free, of_free, strict=True))
        for k, end in zip(state.states, of_states, strict=True):
            self.give_whole(exp.inits[k], end)
        return tuple(of_rest)

    def turned(
        self, loop: Loop, state: State, where: Callable[[], Atom], params: tuple[Var, ...],
        before: Before,
    ) -> Body:  # fmt: skip
        """One pass of the return loop: the last pass not yet turned, forward and back."""
        outer = self.bars
        of_states, of_free, of_rest = state.split(params)
        self.bars = dict(zip(state.free, of_free, strict=True))
        with self.b.scope() as stms:
            last = where()
            now, carried = before(last, tuple(of_rest))
            turn = self.again(loop)
            assert isinstance(turn.form, For)
            seeds: list[Atom | None] = [None] * len(turn.params)
            for k, param in zip(state.states, of_states, strict=True):
                seeds[k] = param
            self.region(turn.body, seeds)
            results = (
                *(self.bar_or_zero(turn.params[k]) for k in state.states),
                *(self.bars[v] for v in state.free),
                *carried,
            )
        self.bars = outer
        names = {turn.form.var: last, **dict(zip(turn.params, now, strict=True))}
        body = Rewriter(names, fresh=False).body(Body(tuple(stms), results))
        return InReturn(self).closed(body)

    def dropped(self, kept: Kept, last: Atom) -> Kept:
        """Without the state in front of pass `last`, which is turned now; the first one stays."""
        place = self.b.one(Index(kept.places, (kept.top,), PROVED), "place")
        is_first = self.b.prim("eq", kept.top, ZERO)
        passed = self.b.prim("and", self.b.prim("eq", place, last), self.b.prim("not", is_first))
        below = self.b.prim("sub", kept.top, ONE)
        return replace(kept, top=self.b.prim("select", passed, below, kept.top))
