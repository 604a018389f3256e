"""Loops over threads: the body becomes a function of a range, called for blocks of iterations.

The number of blocks does not depend on the number of threads, and partial results are combined in
the order of blocks: so results are the same on every machine. A block that fails leaves its site
and arguments in the region; after the region the first failure in program order is reported.
"""

from __future__ import annotations

from abc import abstractmethod

from tapeless.core.names import Var
from tapeless.emit.carry import Carrier
from tapeless.emit.context import (
    ARENAS,
    ARGS,
    END,
    PARALLEL,
    SITE,
    THREAD_NUM,
    THREADS,
)
from tapeless.emit.facts import captured, has_long_loops
from tapeless.emit.lanes import Lanes
from tapeless.emit.loops import Texts
from tapeless.emit.target import HOST_PARALLEL as BLOCKS
from tapeless.emit.values import ZERO, Ptr, Val, uniform
from tapeless.loop.syntax import Buf, For, Name, Reduce

LEAST_WORK = 1 << 16  # scalar operations that are worth waking threads for
RECORD = 9  # a failure: the site and eight arguments

# A region, in 8-byte slots.
FUNCTION, DATA, START, TURNS, COUNT, NEXT, FAILED, PARTIALS, STRIDE, MAIN, FAILURES = range(11)
REGION_SLOTS = FAILURES + BLOCKS * RECORD
NAMES = "fn data start turns count next failed partials stride main failures".split()

PART = (
    "define internal i32 @{symbol}(ptr noalias %ctx, ptr noalias readonly %data, i64 %first, "
    "i64 %last, ptr noalias %partials) noinline nounwind"
)

_SLOTS = "\n".join(
    f"  %{name} = getelementptr inbounds i64, ptr %region, i64 {k}" for k, name in enumerate(NAMES)
)
WORK = "tp.work"
WORK_TEXT = f"""define internal void @{WORK}(ptr %region, ptr %ctx) nounwind {{
entry:
{_SLOTS}
  %function = load ptr, ptr %fn, align 8
  %captured = load ptr, ptr %data, align 8
  %begin = load i64, ptr %start, align 8
  %n = load i64, ptr %turns, align 8
  %blocks = load i64, ptr %count, align 8
  %room = load ptr, ptr %partials, align 8
  %step = load i64, ptr %stride, align 8
  %endslot = getelementptr inbounds i64, ptr %ctx, i64 {END}
  %top = load i64, ptr %ctx, align 8
  %end = load i64, ptr %endslot, align 8
  br label %take
take:
  %c = atomicrmw add ptr %next, i64 1 monotonic
  %stopped = load atomic i64, ptr %failed monotonic, align 8
  %limit = call i64 @llvm.umin.i64(i64 %blocks, i64 %stopped)
  %go = icmp ult i64 %c, %limit
  br i1 %go, label %work, label %done
work:
  %c1 = add i64 %c, 1
  %m0 = mul i64 %n, %c
  %m1 = mul i64 %n, %c1
  %d0 = udiv i64 %m0, %blocks
  %d1 = udiv i64 %m1, %blocks
  %from = add i64 %begin, %d0
  %to = add i64 %begin, %d1
  %skip = mul i64 %c, %step
  %own = getelementptr inbounds i64, ptr %room, i64 %skip
  %status = call i32 %function(ptr %ctx, ptr %captured, i64 %from, i64 %to, ptr %own)
  store i64 %top, ptr %ctx, align 8
  store i64 %end, ptr %endslot, align 8
  %bad = icmp ne i32 %status, 0
  br i1 %bad, label %record, label %take, !prof !0
record:
  %offset = mul i64 %c, {RECORD}
  %place = getelementptr inbounds i64, ptr %failures, i64 %offset
  %site = getelementptr inbounds i64, ptr %ctx, i64 {SITE}
  call void @llvm.memcpy.p0.p0.i64(ptr %place, ptr %site, i64 {8 * RECORD}, i1 false)
  store i64 0, ptr %site, align 8
  %before = atomicrmw umin ptr %failed, i64 %c monotonic
  br label %take
done:
  ret void
}}"""
ENTER = "tp.enter"
ENTER_TEXT = f"""define internal void @{ENTER}(ptr %region) nounwind {{
  %where = getelementptr inbounds i64, ptr %region, i64 {MAIN}
  %main = load ptr, ptr %where, align 8
  %numslot = getelementptr inbounds i64, ptr %main, i64 {THREAD_NUM}
  %num = load ptr, ptr %numslot, align 8
  %k = call i32 %num()
  %wide = zext i32 %k to i64
  %arenaslot = getelementptr inbounds i64, ptr %main, i64 {ARENAS}
  %arenas = load ptr, ptr %arenaslot, align 8
  %ctxslot = getelementptr inbounds ptr, ptr %arenas, i64 %wide
  %ctx = load ptr, ptr %ctxslot, align 8
  call void @{WORK}(ptr %region, ptr %ctx)
  ret void
}}"""
assert SITE + 1 == ARGS  # a record is copied in one piece


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
        a = self.a
        names = self._captured(stm)
        symbol = f"kernel.part{len(self.unit.module.definitions)}"
        self._part(stm, symbol, names)
        start, stop = self.scalar(stm.start), self.scalar(stm.stop)
        turns = self.sub(uniform(stop), uniform(start)).text
        some, after, before = a.label("region"), a.label("after"), a.block
        inits = [self.init_text(stm, k) for k in range(len(stm.inits))]
        a.branch(a.let(f"icmp sgt i64 {turns}, 0"), some, after)
        a.start(some)
        room, count = self._region(stm, symbol, names, start, turns)
        results = self._combined(stm, room, count, inits)
        last = a.block
        a.jump(after)
        a.start(after)
        for out, init, text in zip(stm.outs, inits, results, strict=True):
            phi = a.phi(Carrier(out, False).type(self))
            phi.add(init, before)
            phi.add(text, last)
            assert isinstance(out, Var)
            self.bind(out, phi.name)

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
    def _region(
        self, stm: For, symbol: str, names: list[Name], start: str, turns: str
    ) -> tuple[str, str]:
        """Run all blocks; where their partial results are, and how many blocks there were."""
        a, params = self.a, len(stm.params)
        data = a.alloca(f"[{max(len(names), 1)} x i64]", 8)
        region = a.alloca(f"[{REGION_SLOTS} x i64]", 64)
        room = a.alloca(f"[{max(BLOCKS * params, 1)} x i64]", 64)
        for k, name in enumerate(names):
            where = self.slot(data, k)
            if isinstance(name, Buf):
                a.do(f"store ptr {self.ptr(name).base}, ptr {where}, align 8")
            else:
                a.do(f"store i64 {self.to_slot(self.val(name))}, ptr {where}, align 8")
        wanted, several = self._threads_wanted(stm, turns)
        count = self._blocks(stm, turns, wanted, several)
        fields = {
            FUNCTION: f"ptr @{symbol}", DATA: f"ptr {data}", START: f"i64 {start}",
            TURNS: f"i64 {turns}", COUNT: f"i64 {count}", NEXT: "i64 0", FAILED: "i64 -1",
            PARTIALS: f"ptr {room}", STRIDE: f"i64 {params}", MAIN: f"ptr {self.ctx}",
        }  # fmt: skip
        for k, text in fields.items():
            a.do(f"store {text}, ptr {self.slot(region, k)}, align 8")
        self._launch(region, wanted, several)
        self._raise_first(region)
        return room, count

    def _threads_wanted(self, stm: For, turns: str) -> tuple[str, str]:
        """How many threads, and whether there are several with enough to do."""
        a = self.a
        threads = a.let(f"call i64 @llvm.umin.i64(i64 {self.get(THREADS)}, i64 {turns})")
        several = a.let(f"icmp ugt i64 {threads}, 1")
        found = a.let(f"icmp ne ptr {self.get(PARALLEL, 'ptr')}, null")
        several = a.let(f"and i1 {several}, {found}")
        if stm.work is not None:
            several = a.let(f"and i1 {several}, {self._is_much(stm)}")
        return threads, several

    def _is_much(self, stm: For) -> str:
        assert stm.work is not None
        return self.a.let(f"icmp sge i64 {self.scalar(stm.work)}, {LEAST_WORK}")

    def _blocks(self, stm: For, turns: str, threads: str, several: str) -> str:
        """The number of blocks: if there are partial results, the same for any threads."""
        a = self.a
        many = a.let(f"call i64 @llvm.umin.i64(i64 {turns}, i64 {BLOCKS})")
        if not stm.reduces:
            return a.let(f"select i1 {several}, i64 {many}, i64 1")
        if stm.work is None:
            return many
        return a.let(f"select i1 {self._is_much(stm)}, i64 {many}, i64 1")

    def _launch(self, region: str, threads: str, several: str) -> None:
        a, module = self.a, self.unit.module
        work, enter = module.define(WORK, WORK_TEXT), module.define(ENTER, ENTER_TEXT)
        parallel, serial, after = a.label("parallel"), a.label("serial"), a.label("joined")
        a.branch(several, parallel, serial)
        a.start(parallel)
        launch = self.get(PARALLEL, "ptr")
        number = a.let(f"trunc i64 {threads} to i32")
        a.do(f"call void {launch}(ptr {enter}, ptr {region}, i32 {number})")
        a.jump(after)
        a.start(serial)
        a.do(f"call void {work}(ptr {region}, ptr {self.ctx})")
        a.jump(after)
        a.start(after)

    def _raise_first(self, region: str) -> None:
        """If a block failed: its record becomes the context's."""
        a = self.a
        failed = a.let(f"load i64, ptr {self.slot(region, FAILED)}, align 8")
        fine = a.let(f"icmp eq i64 {failed}, -1")
        bad, after = a.label("failed"), a.label("well")
        a.branch(fine, after, bad, likely=True)
        with a.aside(bad):
            offset = a.let(f"mul i64 {failed}, {RECORD}")
            record = self.slot(self.slot(region, FAILURES), offset)
            site = self.slot(self.ctx, SITE)
            a.do(
                f"call void @llvm.memcpy.p0.p0.i64(ptr align 8 {site}, ptr align 8 {record}, "
                f"i64 {8 * RECORD}, i1 false)"
            )
            a.do("ret i32 1")
        a.start(after)

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
