"""Loops over threads: the body becomes a function of a range, called for blocks of iterations.

The number of blocks does not depend on the number of threads, and partial results are combined in
the order of blocks: so results are the same on every machine. A block that fails leaves its site
and arguments in the region; after the region the first failure in program order is reported.
"""

from __future__ import annotations

from abc import abstractmethod

from tapeless.core.names import Var
from tapeless.emit.carry import Carrier
from tapeless.emit.facts import captured, has_long_loops
from tapeless.emit.lanes import Lanes
from tapeless.emit.loops import Texts
from tapeless.emit.rare import THREADS
from tapeless.emit.region import REGION, TEXTS
from tapeless.emit.target import HOST_PARALLEL as BLOCKS
from tapeless.emit.values import ZERO, Ptr, Val, uniform
from tapeless.loop.syntax import LEAST_WORK, Buf, For, Name, Reduce, Team

PART = (
    "define internal i32 @{symbol}(ptr noalias %ctx, ptr noalias readonly %data, i64 %first, "
    "i64 %last, ptr noalias %partials) noinline nounwind"
)


class Threads(Lanes):
    """For with kind "threads"."""

    in_part = False

    @abstractmethod
    def another(self, header: str) -> Threads:
        """An emitter of one more function of this module."""

    def threads(self, stm: For) -> None:
        ordered = any(r.op == "=" for r in stm.reduces)
        if self.in_part or self.width > 1 or not self.target.parallel or ordered:
            self.sequential(stm)
            return
        names = self._captured(stm)
        symbol = f"kernel.part{len(self.unit.module.definitions)}"
        self._part(stm, symbol, names)
        inits = [self.init_text(stm, k) for k in range(len(stm.inits))]
        room, count = self._region(stm, symbol, names)
        results = self._combined(stm, room, count, inits)
        for out, text in zip(stm.outs, results, strict=True):
            assert isinstance(out, Var)
            self.bind(out, text)

    def team(self, stm: Team) -> None:
        alone = self.in_part or not self.target.parallel
        self.bind(stm.out, "1" if alone else self.get(THREADS))

    def _captured(self, stm: For) -> list[Name]:
        """What the body needs from outside."""
        names = captured(stm.body, {stm.var, *stm.params})
        neutral = [x for r in stm.reduces for x in r.neutral if isinstance(x, Var)]
        return list(dict.fromkeys([*names, *neutral]))

    # the function of a block
    def _part(self, stm: For, symbol: str, names: list[Name]) -> None:
        part = self.another(PART.format(symbol=symbol))
        part.in_part = True
        part.factors = dict(self.factors)
        for k, name in enumerate(names):
            where = part.slot("%data", k)
            if isinstance(name, Buf):
                ptr = self.ptr(name)
                base = part.a.let(f"load ptr, ptr {where}, align 8")
                part.env[name] = Ptr(base, ZERO, ptr.lanes, False, ptr.root)
            else:
                part.bind(name, part.load_slot(where, name.dtype))
        part.write_part(stm)
        self.unit.module.define(symbol, part.a.text())

    def write_part(self, stm: For) -> None:
        """The iterations from %first to %last; partial results go to %partials."""
        a = self.a
        carriers = [Carrier(p, False) for p in stm.params]

        def turn(i: str, params: Texts) -> Texts:
            self.bind(stm.var, i)
            self.bind_carriers(carriers, params)
            with self.giving_back():
                return self.texts(carriers, self.run(stm.body))

        inits = [v.text for v in self.neutrals(stm)]
        types = [c.type(self) for c in carriers]
        polls = has_long_loops(stm.body)
        texts = self.counted("%first", "%last", 1, types, inits, turn, polls)
        for k, (param, text) in enumerate(zip(stm.params, texts, strict=True)):
            bits = self.to_slot(Val(0, text, param.dtype))
            a.do(f"store i64 {bits}, ptr {self.slot('%partials', k)}, align 8")
        a.do("ret i32 0")

    # the call
    def _region(self, stm: For, symbol: str, names: list[Name]) -> tuple[str, str]:
        """Run all blocks; where their partial results are, and how many blocks there were."""
        a, module, params = self.a, self.unit.module, len(stm.params)
        data = a.alloca(f"[{max(len(names), 1)} x i64]", 8)
        room = a.alloca(f"[{max(BLOCKS * params, 1)} x i64]", 64)
        for k, name in enumerate(names):
            where = self.slot(data, k)
            if isinstance(name, Buf):
                address = Carrier(name, False).text(self, self.ptr(name))
                a.do(f"store ptr {address}, ptr {where}, align 8")
            else:
                a.do(f"store i64 {self.to_slot(self.val(name))}, ptr {where}, align 8")
        start, stop = self.scalar(stm.start), self.scalar(stm.stop)
        turns = self.sub(uniform(stop), uniform(start)).text
        work = str(LEAST_WORK) if stm.work is None else self.scalar(stm.work)
        for part, text in TEXTS.items():
            module.define(part, text)
        count = a.let(
            f"call i64 @{REGION}(ptr {self.ctx}, ptr @{symbol}, ptr {data}, i64 {start}, "
            f"i64 {turns}, i64 {work}, ptr {room}, i64 {params})"
        )
        failed = a.let(f"icmp slt i64 {count}, 0")
        after = a.label("joined")
        a.leave_if(failed, after)
        a.start(after)
        return room, count

    # partial results
    def _combined(self, stm: For, room: str, count: str, inits: Texts) -> Texts:
        """Partial results of all blocks, combined in order."""
        if not stm.params:
            return []
        params = [p for p in stm.params if isinstance(p, Var)]
        types = [Carrier(p, False).type(self) for p in params]

        def turn(c: str, left: Texts) -> Texts:
            own = self.slot(room, self.a.let(f"mul i64 {c}, {len(params)}"))
            right = [self.load_slot(self.slot(own, k), p.dtype) for k, p in enumerate(params)]
            results = list(left)
            for reduce in stm.reduces:
                self._combine_one(reduce, params, left, right, results)
            return results

        return self.counted("0", count, 1, types, inits, turn, False, short=True)

    def _combine_one(
        self, reduce: Reduce, params: list[Var], left: Texts, right: Texts, results: Texts
    ) -> None:
        if reduce.op:
            (k,) = reduce.params
            args = [uniform(t, params[k].dtype) for t in (left[k], right[k])]
            results[k] = self.reduced(reduce.op, args[0], args[1]).text
            return
        for var, k in zip(reduce.left, reduce.params, strict=True):
            self.bind(var, left[k])
        for var, k in zip(reduce.right, reduce.params, strict=True):
            self.bind(var, right[k])
        for k, value in zip(reduce.params, self.run(reduce.body), strict=True):
            assert isinstance(value, Val)
            results[k] = value.text
