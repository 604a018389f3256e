"""Simd loops: iterations become lanes of vectors, and partial results are combined at the end.

Whole vectors of iterations run without a mask; what is left runs once under one. A body too large
to stand there twice always runs under a mask.
"""

from __future__ import annotations

from tapeless.core.names import Var
from tapeless.core.types import i64
from tapeless.emit import operators
from tapeless.emit.asm import memory_type, scalar_type, wide
from tapeless.emit.carry import Carrier
from tapeless.emit.casts import register_to_memory
from tapeless.emit.facts import constant_trips, has, has_long_loops, statements, weight
from tapeless.emit.function import iota
from tapeless.emit.loops import Loops, Texts, Turn
from tapeless.emit.memory import COMBINE_OPS
from tapeless.emit.values import LINEAR, UNIFORM, Ptr, Val, uniform
from tapeless.loop.syntax import Call, Combine, For, Load, Op, Reduce, Stm, Store

STACK = -2  # the alias class of partial results
TWICE = 400  # a body heavier than this stands there once
LIGHT, HEAVY = 24, 120  # bodies whose values fill four, two, or one register


class Lanes(Loops):
    """For with kind "simd"."""

    def simd(self, stm: For) -> None:
        lanes = self.lanes_for(stm)
        if lanes == 1:
            self.sequential(stm)
        else:
            self._in_lanes(stm, lanes)

    def lanes_for(self, stm: For) -> int:
        """How many lanes a loop gets; 1: it runs in order."""
        if self.width > 1 or has(stm.body, Call):
            return 1
        if any(r.ordered or r.op == "=" for r in stm.reduces):
            return 1
        lanes = self.target.width or self.chosen_lanes(stm)
        trips = constant_trips(stm)
        while trips is not None and lanes > 1 and lanes >= 2 * trips:
            lanes //= 2
        return lanes

    def chosen_lanes(self, stm: For) -> int:
        """As many lanes as fill a few registers: independent chains hide latencies, as long as
        the values that are alive fit."""
        bits = max((b for s in statements(stm.body) for b in _bits(s)), default=64)
        size = weight(stm.body)
        registers = 4 if size <= LIGHT else 2 if size <= HEAVY else 1
        if self.target.registers < 32:
            registers = max(registers // 2, 1)
        return self.target.lanes(bits) * registers

    def _in_lanes(self, stm: For, lanes: int) -> None:
        start, stop = self.scalar(stm.start), self.scalar(stm.stop)
        inits = self.values(stm.inits)
        self.width = lanes
        partial = self._all_rounds(stm, start, stop)
        results: dict[int, Val] = {}
        for reduce in stm.reduces:
            if reduce.op:
                (k,) = reduce.params
                text = self.folded(reduce.op, partial[k], stm.params[k].dtype, lanes)
                results[k] = Val(UNIFORM, text, stm.params[k].dtype)
        self.width = 1
        for k, value in results.items():
            (op,) = (r.op for r in stm.reduces if r.params == (k,))
            init = inits[k]
            assert isinstance(init, Val)
            self.env[stm.outs[k]] = self.merged(op, init, value)
        for reduce in stm.reduces:
            if not reduce.op:
                self._fold_by_block(stm, reduce, partial, lanes)

    def merged(self, op: str, left: Val, right: Val) -> Val:
        """Two partial results of an accumulation."""
        return self.applied(COMBINE_OPS[op], left.dtype, (left, right), loose=True)

    def _all_rounds(self, stm: For, start: str, stop: str) -> Texts:
        """The partial results in lanes."""
        carriers = [Carrier(p, True) for p in stm.params]
        texts = [self.vec(v) for v in self.neutrals(stm)]
        types = [c.type(self) for c in carriers]
        polls, w, trips = has_long_loops(stm.body), self.width, constant_trips(stm)

        def whole(i: str, params: Texts) -> Texts:
            self.env[stm.var] = Val(LINEAR, i, i64, "1")
            self.bind_carriers(carriers, params)
            return self.texts(carriers, self.run(stm.body))

        def partly(i: str, params: Texts) -> Texts:
            left = self.broadcast(self.a.let(f"sub i64 {stop}, {i}"), i64)
            mask = self.a.let(f"icmp sgt {self.type(i64)} {left}, {iota(w)}")
            with self.masked(mask):
                nexts = whole(i, params)
            triples = zip(carriers, nexts, params, strict=True)
            return [self._kept(c, mask, new, old) for c, new, old in triples]

        if trips is None and weight(stm.body) > TWICE:
            return self.counted(start, stop, w, types, texts, partly, polls)
        if trips is None:
            count = self.sub(uniform(stop), uniform(start)).text
            positive = self.a.let(f"call i64 @llvm.smax.i64(i64 {count}, i64 0)")
            full = self.a.let(f"and i64 {positive}, {-w}")
        else:
            full = str(trips // w * w)
        end = self.add(uniform(start), uniform(full)).text
        if full != "0":
            texts = self.counted(start, end, w, types, texts, whole, polls)
        if trips is not None and trips % w == 0:
            return texts
        return self._rest(end, stop, types, texts, partly, trips is not None)

    def _rest(
        self, end: str, stop: str, types: Texts, texts: Texts, masked_round: Turn, surely: bool
    ) -> Texts:
        """The last lanes, if there are any."""
        a = self.a
        if surely:
            return masked_round(end, texts)
        rest, after, before = a.label("rest"), a.label("all"), a.block
        some = a.let(f"icmp slt i64 {end}, {stop}")
        a.branch(some, rest, after)
        a.start(rest)
        nexts = masked_round(end, texts)
        last = a.block
        a.jump(after)
        a.start(after)
        outs = []
        for type, old, new in zip(types, texts, nexts, strict=True):
            phi = a.phi(type)
            phi.add(old, before)
            phi.add(new, last)
            outs.append(phi.name)
        return outs

    def neutrals(self, stm: For) -> list[Val]:
        """What every partial result starts from."""
        found: dict[int, Val] = {}
        for reduce in stm.reduces:
            if reduce.op:
                (k,) = reduce.params
                dtype = stm.params[k].dtype
                found[k] = Val(UNIFORM, operators.neutral(reduce.op, dtype), dtype)
            else:
                for k, atom in zip(reduce.params, reduce.neutral, strict=True):
                    found[k] = self.val(atom)
        return [found[k] for k in range(len(stm.params))]

    def _fold_by_block(self, stm: For, reduce: Reduce, partial: Texts, lanes: int) -> None:
        """Lanes combined one after the other by the program's own operator."""
        a, dtypes = self.a, [stm.params[k].dtype for k in reduce.params]
        stored = []
        for k, dtype in zip(reduce.params, dtypes, strict=True):
            vector, bytes_ = wide(memory_type(dtype), lanes), max(dtype.bytes * lanes, 1)
            place = a.alloca(f"[{bytes_} x i8]", 64)
            text = partial[k]
            text = register_to_memory(a, text, dtype, lanes)
            a.do(f"store {vector} {text}, ptr {place}, align 1")
            stored.append(place)
        types = [scalar_type(d) for d in dtypes]

        def turn(k: str, left: Texts) -> Texts:
            for var, text in zip(reduce.left, left, strict=True):
                self.bind(var, text)
            for var, place in zip(reduce.right, stored, strict=True):
                self.env[var] = self.load_at(Ptr(place, uniform(k), 1, False, STACK), var.dtype)
            results = self.run(reduce.body)
            return [v.text for v in results if isinstance(v, Val)]

        inits = [self.scalar(stm.inits[k]) for k in reduce.params]
        outs = self.counted("0", str(lanes), 1, types, inits, turn, False)
        for k, text in zip(reduce.params, outs, strict=True):
            out = stm.outs[k]
            assert isinstance(out, Var)
            self.bind(out, text)


def _bits(stm: Stm) -> tuple[int, ...]:
    """The bits of data that a statement handles; indices do not count."""
    match stm:
        case Op(out=out) if out.dtype.is_float:
            return (out.dtype.bits,)
        case Load(buf=buf) | Store(buf=buf) | Combine(buf=buf):
            return (8 * buf.dtype.bytes,)
        case _:
            return ()
