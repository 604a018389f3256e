"""Sequential loops, in one lane or in many, and counted loops for whoever needs one.

In lanes a loop runs until its last lane is done, and lanes that are done keep their values.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

from tapeless.core.types import bool_, i64
from tapeless.emit.asm import Phi
from tapeless.emit.carry import Carrier
from tapeless.emit.control import Control
from tapeless.emit.facts import constant_trips, has_long_loops, weight
from tapeless.emit.values import Val, int_val, uniform
from tapeless.loop.syntax import For, While

UNROLL_TRIPS, UNROLL_WEIGHT = 8, 96

Texts = list[str]
Turn = Callable[[str, Texts], Texts]


class Loops(Control):
    """For (sequential) and While."""

    def sequential(self, stm: For) -> None:
        trips = constant_trips(stm)
        if trips is not None and (
            trips <= 1 or (trips <= UNROLL_TRIPS and trips * weight(stm.body) <= UNROLL_WEIGHT)
        ):
            self._unrolled(stm, trips)
            return
        self.attempt(id(stm), stm.params, lambda varying: self._for(stm, varying))

    def _unrolled(self, stm: For, trips: int) -> None:
        values = self.values(stm.inits)
        start = self.val(stm.start).literal
        assert start is not None
        for k in range(trips):
            self.env[stm.var] = int_val(start + k)
            self.bind_all(stm.params, values)
            values = self.run(stm.body)
        self.bind_all(stm.outs, values)

    def _for(self, stm: For, varying: set[int]) -> None:
        start, stop = self.val(stm.start), self.val(stm.stop)
        if not start.is_uniform or not stop.is_uniform:
            trips = self.sub(stop, start)
            if not trips.is_uniform:
                varying.add(-1)
                self._for_masked(stm, start, trips, varying)
                return
            first, last = "0", trips.text
        else:
            first, last = start.text, stop.text
        inits = self.values(stm.inits)
        carriers = self.carriers(stm.params, inits, varying)

        def turn(i: str, params: Texts) -> Texts:
            count = uniform(i)
            self.env[stm.var] = count if start.is_uniform else self.add(start, count)
            self.bind_carriers(carriers, params)
            return self.turn_results(self.run(stm.body), carriers, varying)

        types = [c.type(self) for c in carriers]
        texts, polls = self.texts(carriers, inits), has_long_loops(stm.body)
        outs = self.counted(first, last, 1, types, texts, turn, polls)
        self.bind_outs(stm.outs, carriers, outs)

    # while
    def loop_while(self, stm: While) -> None:
        self.attempt(id(stm), stm.params, lambda varying: self._while(stm, varying))

    def _while(self, stm: While, varying: set[int]) -> None:
        inits = self.values(stm.inits)
        carriers = self.carriers(stm.params, inits, varying)
        masked = -1 in varying

        def go_on(params: Texts) -> str:
            self.bind_carriers(carriers, params)
            (cond,) = self.run(stm.cond)
            assert isinstance(cond, Val)
            if masked:
                return self.active(self.vec(cond))
            if not cond.is_uniform:
                varying.add(-1)
                return "false"
            return cond.text

        def turn(params: Texts) -> Texts:
            return self.turn_results(self.run(stm.body), carriers, varying)

        polls = has_long_loops(stm.body)
        outs = self.repeated(carriers, self.texts(carriers, inits), go_on, turn, masked, polls)
        self.bind_outs(stm.outs, carriers, outs)

    def _for_masked(self, stm: For, start: Val, trips: Val, varying: set[int]) -> None:
        """Lanes with different numbers of turns: all count together, each while it has turns."""
        inits = self.values(stm.inits)
        carriers = self.carriers(stm.params, inits, varying)
        limit = self.vec(trips)
        counter = Carrier(stm.var, False)

        def go_on(params: Texts) -> str:
            count = self.broadcast(params[0], i64)
            return self.active(self.a.let(f"icmp slt {self.type(i64)} {count}, {limit}"))

        def turn(params: Texts) -> Texts:
            self.env[stm.var] = self.add(start, uniform(params[0]))
            self.bind_carriers(carriers, params[1:])
            results = self.turn_results(self.run(stm.body), carriers, varying)
            return [self.a.let(f"add nsw i64 {params[0]}, 1"), *results]

        all_carriers = [counter, *carriers]
        texts = ["0", *self.texts(carriers, inits)]
        polls = has_long_loops(stm.body)
        outs = self.repeated(all_carriers, texts, go_on, turn, True, polls)
        self.bind_outs(stm.outs, carriers, outs[1:])

    def repeated(
        self,
        carriers: list[Carrier],
        inits: Texts,
        go_on: Callable[[Texts], str],
        turn: Callable[[Texts], Texts],
        masked: bool,
        polls_inside: bool,
    ) -> Texts:
        """while go_on: turn. With `masked`, go_on is a mask: lanes stop one by one and keep what
        they have; pointers and counters that lanes share move on for all."""
        a = self.a
        head, body, done = a.label("head"), a.label("body"), a.label("done")
        with self.preheader():
            before, enclosing = a.block, self.mask
            live_in = self.all_lanes() if masked else ""
            a.jump(head)
            a.start(head)
            phis = [a.phi(c.type(self)) for c in carriers]
            left = a.phi("i64")
            live = a.phi(self.type(bool_)) if masked else None
            params = [p.name for p in phis]
            self.mask = live.name if live else enclosing
            test = go_on(params)
            a.branch(self.any(test) if masked else test, body, done)
            a.start(body)
            self.mask = test if masked else enclosing
            nexts = turn(params)
            if masked:
                nexts = [
                    self.kept(c, test, new, old)
                    for c, new, old in zip(carriers, nexts, params, strict=True)
                ]
            self.mask = enclosing
            rest = self.poll_sometimes(left.name, polls_inside)
            for phi, init, text in zip(phis, inits, nexts, strict=True):
                phi.add(init, before)
                phi.add(text, a.block)
            left.add(str(self.target.strip), before)
            left.add(rest, a.block)
            if live:
                live.add(live_in, before)
                live.add(test, a.block)
            a.jump(head)
        a.start(done)
        return params

    def kept(self, carrier: Carrier, live: str, new: str, old: str) -> str:
        if not carrier.varying or new == old:
            return new
        type = carrier.type(self)
        return self.a.let(f"select {self.type(bool_)} {live}, {type} {new}, {type} {old}")

    def poll_sometimes(self, left: str, always: bool) -> str:
        """Look for signals in every turn, or whenever a count of turns has run down; the count."""
        a = self.a
        if always:
            self.poll()
            return left
        rest = a.let(f"sub i64 {left}, 1")
        due = a.let(f"icmp eq i64 {rest}, 0")
        look, after, before = a.label("strip"), a.label("on"), a.block
        a.branch(due, look, after, rare=True)
        with a.aside(look):
            self.poll_aside()
            looked = a.block
            a.jump(after)
        a.start(after)
        phi = a.phi("i64")
        phi.add(rest, before)
        phi.add(str(self.target.strip), looked)
        return phi.name

    # counted loops
    def counted(
        self,
        start: str,
        stop: str,
        step: int,
        types: list[str],
        inits: Texts,
        turn: Turn,
        polls_inside: bool,
        short: bool = False,
    ) -> Texts:
        """for i = start; i < stop; i += step, with values passed on from turn to turn.

        A loop with long loops inside looks for signals in every turn, another one after every
        strip of turns (`target.strip`), unless it is known to be short."""
        a, strip = self.a, self.target.strip * step
        trips = self.sub(uniform(stop), uniform(start)).literal
        stripped = not polls_inside and not short and (trips is None or trips > strip)
        leave, enter = a.label("exit"), a.label("enter")
        with self.preheader() if stripped else nullcontext():
            some = a.let(f"icmp slt i64 {start}, {stop}")
            before = a.block
            a.branch(some, enter, leave)
            a.start(enter)
            if stripped:
                outer = [a.phi(t) for t in ("i64", *types)]
                for phi, text in zip(outer, (start, *inits), strict=True):
                    phi.add(text, before)
                far = a.let(f"sub i64 {stop}, {outer[0].name}")
                most = a.let(f"call i64 @llvm.smin.i64(i64 {far}, i64 {strip})")
                end = a.let(f"add i64 {outer[0].name}, {most}")
                nexts = self._turns([p.name for p in outer], end, step, types, turn, False)
                last = self._next_strip(outer, nexts, stop, enter, leave)
            else:
                nexts = self._turns([start, *inits], stop, step, types, turn, polls_inside)
                last = a.block
                a.jump(leave)
        a.start(leave)
        outs = []
        for type, init, text in zip(types, inits, nexts[1:], strict=True):
            phi = a.phi(type)
            phi.add(init, before)
            phi.add(text, last)
            outs.append(phi.name)
        return outs

    def _next_strip(self, outer: list[Phi], nexts: Texts, stop: str, enter: str, leave: str) -> str:
        """Between two strips: look for signals, if anything is left to do."""
        a = self.a
        again, last = a.label("strip"), a.block
        more = a.let(f"icmp slt i64 {nexts[0]}, {stop}")
        a.branch(more, again, leave, rare=True)
        with a.aside(again):
            self.poll_aside()
            for phi, text in zip(outer, nexts, strict=True):
                phi.add(text, a.block)
            a.jump(enter)
        return last

    def _turns(
        self, entry: Texts, end: str, step: int, types: list[str], turn: Turn, polls: bool
    ) -> Texts:
        """The innermost level of a counted loop, entered only if there is a turn to make."""
        a = self.a
        loop, done = a.label("loop"), a.label("done")
        with self.preheader():
            before = a.block
            a.jump(loop)
            a.start(loop)
            phis = [a.phi(t) for t in ("i64", *types)]
            for phi, text in zip(phis, entry, strict=True):
                phi.add(text, before)
            results = turn(phis[0].name, [p.name for p in phis[1:]])
            if polls:
                self.poll()
            following = a.let(f"add nsw i64 {phis[0].name}, {step}")
            nexts = [following, *results]
            for phi, text in zip(phis, nexts, strict=True):
                phi.add(text, a.block)
            a.branch(a.let(f"icmp slt i64 {following}, {end}"), loop, done)
        a.start(done)
        return nexts
