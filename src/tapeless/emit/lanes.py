"""Simd loops: iterations become lanes of vectors, and partial results are combined at the end.

Whole vectors of iterations run without a mask. What is left runs once under one, or, where the body
is tiny, in fewer lanes and at last one by one: cheaper than masks. A body too large to stand there
twice always runs under a mask.
"""

from __future__ import annotations

from tapeless.core.names import Var
from tapeless.core.types import bool_, i64
from tapeless.emit import operators
from tapeless.emit.asm import memory_type, scalar_type, wide
from tapeless.emit.carry import Carrier
from tapeless.emit.casts import register_to_memory
from tapeless.emit.deferred import Deferring, may_wait
from tapeless.emit.facts import (
    constant_trips,
    follows_data,
    has_long_loops,
    weight,
)
from tapeless.emit.function import iota
from tapeless.emit.loops import Texts, Turn
from tapeless.emit.memory import COMBINE_OPS
from tapeless.emit.pressure import data_bits, lanes_of
from tapeless.emit.values import LINEAR, UNIFORM, Ptr, Val, uniform
from tapeless.loop.syntax import For, Reduce

MASK_REGISTERS = 32  # machines with so many vector registers have mask registers, too
STACK = -2  # the alias class of partial results
TWICE = 400  # a body heavier than this stands there once
TINY = 8  # a body lighter than this, which calls no elementary function, may stand there thrice


class Lanes(Deferring):
    """For with kind "simd"."""

    def simd(self, stm: For) -> None:
        lanes = 1 if self.width > 1 else lanes_of(stm, self.target)
        if lanes == 1:
            self.sequential(stm)
        else:
            self._in_lanes(stm, lanes)

    def _in_lanes(self, stm: For, lanes: int) -> None:
        start, stop = self.scalar(stm.start), self.scalar(stm.stop)
        inits = self.values(stm.inits)
        self.width = lanes
        partial = self._all_rounds(stm, start, stop)
        combined: list[tuple[int, str, Val]] = []
        for reduce in stm.reduces:
            if reduce.op:
                (k,) = reduce.params
                dtype = stm.params[k].dtype
                text = self.folded(reduce.op, partial[k], dtype, self.width)
                combined.append((k, reduce.op, Val(UNIFORM, text, dtype)))
        self.width = 1
        for k, op, value in combined:
            init = inits[k]
            assert isinstance(init, Val)
            self.env[stm.outs[k]] = self.reduced(op, init, value)
        for reduce in stm.reduces:
            if not reduce.op:
                self._fold_by_block(stm, reduce, partial, lanes)

    def _all_rounds(self, stm: For, start: str, stop: str) -> Texts:
        """The partial results in `self.width` lanes, which this may have made fewer."""
        rounds = Rounds(self, stm, start, stop)
        texts = [self.vec(v) for v in self.neutrals(stm)]
        trips = constant_trips(stm)
        if trips is None and weight(stm.body) > TWICE:
            return rounds.repeat(start, stop, texts, rounds.partly)
        end = rounds.last_whole()
        if trips is None and follows_data(stm.body) and may_wait(stm):
            types = [c.type(self) for c in rounds.carriers]
            texts = self.in_strips(stm, start, end, types, texts, rounds.whole)
        else:
            texts = rounds.repeat(start, end, texts, rounds.whole)
        if trips is not None:
            return texts if trips % self.width == 0 else rounds.partly(end, texts)
        if weight(stm.body) >= TINY or not all(r.op for r in stm.reduces):
            return rounds.rest(end, texts)
        for fewer in (self.target.lanes(data_bits(stm)), 1):
            if fewer < self.width:
                texts = rounds.narrowed(texts, fewer)
                first, end = end, rounds.last_whole()
                texts = rounds.repeat(first, end, texts, rounds.whole, short=True)
        return texts

    def first_lanes(self, count: str) -> str:
        """The mask of the first `count` lanes, if there are so many."""
        w, a = self.width, self.a
        if self.target.registers < MASK_REGISTERS or w > 32:
            left = self.broadcast(count, i64)
            return a.let(f"icmp sgt {self.type(i64)} {left}, {iota(w)}")
        most = a.let(f"call i64 @llvm.smin.i64(i64 {count}, i64 {w})")
        beyond = a.let(f"shl nsw i64 -1, {most}")
        bits = a.let(f"trunc i64 {a.let(f'xor i64 {beyond}, -1')} to i{w}")
        return a.let(f"bitcast i{w} {bits} to {self.type(bool_)}")

    def reduced(self, op: str, left: Val, right: Val) -> Val:
        """Two partial results of an accumulation."""
        return self.applied(COMBINE_OPS[op], left.dtype, (left, right), loose=True)

    def init_text(self, stm: For, k: int) -> str:
        """Where an accumulation starts from, as a scalar."""
        value = self.value(stm.inits[k])
        assert isinstance(value, Val) and value.is_uniform
        return value.text

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

        inits = [self.init_text(stm, k) for k in reduce.params]
        outs = self.counted("0", str(lanes), 1, types, inits, turn, False)
        for k, text in zip(reduce.params, outs, strict=True):
            out = stm.outs[k]
            assert isinstance(out, Var)
            self.bind(out, text)


class Rounds:
    """The rounds of one simd loop: bodies in all lanes of the function, or in some."""

    def __init__(self, f: Lanes, stm: For, start: str, stop: str) -> None:
        self.f, self.stm, self.start, self.stop = f, stm, start, stop
        self.carriers = [Carrier(p, True) for p in stm.params]
        self.polls = has_long_loops(stm.body)

    def whole(self, i: str, params: Texts) -> Texts:
        """All lanes."""
        f = self.f
        f.env[self.stm.var] = Val(LINEAR, i, i64, "1") if f.width > 1 else uniform(i)
        f.bind_carriers(self.carriers, params)
        return f.texts(self.carriers, f.run(self.stm.body))

    def partly(self, i: str, params: Texts) -> Texts:
        """As many lanes as there are iterations left."""
        f = self.f
        mask = f.first_lanes(f.a.let(f"sub i64 {self.stop}, {i}"))
        f.rest = mask
        with f.masked(mask):
            nexts = self.whole(i, params)
        f.rest = None
        return [
            f.kept(c, mask, new, old)
            for c, new, old in zip(self.carriers, nexts, params, strict=True)
        ]

    def repeat(self, first: str, last: str, texts: Texts, turn: Turn, short: bool = False) -> Texts:
        if first == last:
            return texts
        types = [c.type(self.f) for c in self.carriers]
        return self.f.counted(
            first, last, self.f.width, types, texts, turn, self.polls, short=short
        )

    def last_whole(self) -> str:
        """Where iterations end that fill all lanes."""
        f, trips = self.f, constant_trips(self.stm)
        if trips is not None:
            full = str(trips // f.width * f.width)
        else:
            count = f.sub(uniform(self.stop), uniform(self.start)).text
            full = f.pure(f"call i64 @llvm.smax.i64(i64 {count}, i64 0)", count)
            if f.width > 1:
                full = f.pure(f"and i64 {full}, {-f.width}", full)
        return f.add(uniform(self.start), uniform(full)).text

    def narrowed(self, texts: Texts, lanes: int) -> Texts:
        """Partial results in fewer lanes; the function has so many from now on."""
        f, ops = self.f, {k: r.op for r in self.stm.reduces for k in r.params}
        results = [
            f.folded(ops[k], text, self.stm.params[k].dtype, f.width, lanes)
            for k, text in enumerate(texts)
        ]
        f.width = lanes
        return results

    def rest(self, end: str, texts: Texts) -> Texts:
        """The last lanes, if there are any."""
        a = self.f.a
        rest, after, before = a.label("rest"), a.label("all"), a.block
        some = a.let(f"icmp slt i64 {end}, {self.stop}")
        a.branch(some, rest, after)
        a.start(rest)
        nexts = self.partly(end, texts)
        last = a.block
        a.jump(after)
        a.start(after)
        outs = []
        for carrier, old, new in zip(self.carriers, texts, nexts, strict=True):
            phi = a.phi(carrier.type(self.f))
            phi.add(old, before)
            phi.add(new, last)
            outs.append(phi.name)
        return outs
