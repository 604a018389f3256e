"""Accesses of buffers: addresses, loads and stores of one lane or of many, combining in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tapeless.core.names import Atom
from tapeless.core.types import DType, bool_, i64
from tapeless.emit import operators
from tapeless.emit.asm import is_literal, memory_type, vector_suffix, wide
from tapeless.emit.casts import memory_to_register, register_to_memory
from tapeless.emit.combs import WIDEST, load_comb, store_comb
from tapeless.emit.context import Context
from tapeless.emit.function import iota
from tapeless.emit.rare import CACHE_LINE
from tapeless.emit.values import LINEAR, UNIFORM, VARYING, ZERO, Ptr, Val, uniform
from tapeless.loop.syntax import Buf, Combine, Load, Row, Store

COMBINE_OPS = {"+": "add", "*": "mul", "min": "min", "max": "max"}
UNROLLED_LANES = 16


class Accesses(Context):
    """Loads, stores and what is made of them."""

    # addresses
    def at(self, buf: Buf, at: Sequence[Atom]) -> Ptr:
        """A pointer to an element: what lanes share goes into the base, the rest is its offset."""
        ptr = self.ptr(buf)
        terms = [self.mul(self.val(i), self.val(s)) for i, s in zip(at, buf.strides, strict=False)]
        shared = [t for t in terms if t.is_uniform]
        own = [t for t in terms if not t.is_uniform]
        base = ptr.base
        if not ptr.vector:
            for level_terms in self._by_level(shared, base):
                step = self.mul(self.total(level_terms), uniform(str(ptr.lanes)))
                base = self.gep(base, step.text, buf.dtype)
            return Ptr(base, self.total([ptr.offset, *own]), ptr.lanes, False, ptr.root)
        return Ptr(base, self.total([ptr.offset, *terms]), ptr.lanes, True, ptr.root)

    def _by_level(self, terms: list[Val], base: str) -> list[list[Val]]:
        """Terms in two groups: those known where the base is or further out, and the others."""
        if not terms:
            return []
        known = max(self.level_of(base), min(self.level_of(t.text) for t in terms))
        early = [t for t in terms if self.level_of(t.text) <= known]
        late = [t for t in terms if self.level_of(t.text) > known]
        return [group for group in (early, late) if group]

    def gep(self, base: str, index: str, dtype: DType) -> str:
        if index == "0":
            return base
        type = memory_type(dtype)
        return self.pure(f"getelementptr inbounds {type}, ptr {base}, i64 {index}", base, index)

    def pointers(self, p: Ptr, dtype: DType) -> str:
        """The address of every lane's element, as a vector of pointers."""
        w, type = self.width, memory_type(dtype)
        scaled = self.mul(p.offset, uniform(str(p.lanes)))
        index = self.vec(scaled)
        if p.lanes > 1 and not p.vector:
            index = self.pure(f"add {self.type(i64)} {index}, {iota(w)}", index)
        base = f"<{w} x ptr> {p.base}" if p.vector else f"ptr {p.base}"
        text = f"getelementptr inbounds {type}, {base}, {self.type(i64)} {index}"
        return self.pure(text, p.base, index)

    def run_of(self, p: Ptr) -> int:
        """1 or -1 if the lanes' elements lie side by side (backwards), 0 if they do not."""
        if p.vector:
            return 0
        if p.lanes > 1:
            return 1 if p.offset == ZERO else 0
        if p.offset.kind == LINEAR and p.offset.stride in ("1", "-1"):
            return int(p.offset.stride)
        return 0

    def _comb_of(self, p: Ptr) -> int:
        """How many elements lie from lane to lane, if they are few and all lanes are active."""
        is_known = p.offset.kind == LINEAR and is_literal(p.offset.stride)
        if p.vector or p.lanes > 1 or self.mask is not None or not is_known:
            return 0
        stride = int(p.offset.stride)
        return stride if 2 <= stride <= WIDEST else 0

    def is_shared(self, p: Ptr) -> bool:
        """Whether all lanes mean one element."""
        return self.width == 1 or (not p.vector and p.lanes == 1 and p.offset.is_uniform)

    def first(self, p: Ptr, dtype: DType, run: int) -> str:
        """The lowest address of lanes that lie side by side."""
        if p.lanes > 1:
            return p.base
        start = self.gep(p.base, p.offset.text, dtype)
        return start if run > 0 else self.gep(start, str(1 - self.width), dtype)

    def reversed(self, text: str, type: str) -> str:
        order = ", ".join(f"i32 {k}" for k in reversed(range(self.width)))
        return self.a.let(
            f"shufflevector {type} {text}, {type} poison, <{self.width} x i32> <{order}>"
        )

    def _align(self, p: Ptr, dtype: DType) -> int:
        whole = dtype.bytes * p.lanes if p.lanes > 1 and not p.vector else dtype.bytes
        return min(whole, CACHE_LINE)

    def mask_for(self, p: Ptr) -> str | None:
        """The mask of an access to memory. What lanes beyond the end do with their own cells
        matters to nobody; and what was stored whole is loaded whole at once."""
        return None if p.lanes > 1 and self.mask == self.rest else self.mask

    # loads
    def load(self, stm: Load) -> None:
        self.env[stm.out] = self.load_at(self.at(stm.buf, stm.at), stm.buf.dtype)

    def load_at(self, p: Ptr, dtype: DType) -> Val:
        a, type, alias = self.a, memory_type(dtype), self.unit.aliasing.suffix(p.root)
        if self.is_shared(p):
            where = self.gep(p.base, p.offset.text, dtype)
            text = a.let(f"load {type}, ptr {where}, align {dtype.bytes}{alias}")
            return Val(UNIFORM, memory_to_register(a, text, dtype, 1), dtype)
        run = self.run_of(p)
        stride = self._comb_of(p)
        if stride:
            where = self.gep(p.base, p.offset.text, dtype)
            text = load_comb(self, where, stride, dtype, alias)
        elif run == 0:
            text = self._gather(p, dtype)
        else:
            text = self._load_run(p, dtype, run, alias)
        return Val(VARYING, memory_to_register(a, text, dtype, self.width), dtype)

    def _load_run(self, p: Ptr, dtype: DType, run: int, alias: str) -> str:
        """Lanes that lie side by side."""
        vector, where = wide(memory_type(dtype), self.width), self.first(p, dtype, run)
        align, mask = self._align(p, dtype), self.mask_for(p)
        if mask is None:
            text = self.a.let(f"load {vector}, ptr {where}, align {align}{alias}")
        else:
            if run < 0:
                mask = self.reversed(mask, self.type(bool_))
            name = f"@llvm.masked.load.{vector_suffix(dtype, self.width)}.p0"
            text = self.a.let(
                f"call {vector} {name}(ptr align {align} {where}, "
                f"{self.type(bool_)} {mask}, {vector} zeroinitializer){alias}"
            )
        return self.reversed(text, vector) if run < 0 else text

    def _gather(self, p: Ptr, dtype: DType) -> str:
        vector = wide(memory_type(dtype), self.width)
        pointers = f"<{self.width} x ptr> align {dtype.bytes} {self.pointers(p, dtype)}"
        name = f"@llvm.masked.gather.{vector_suffix(dtype, self.width)}.v{self.width}p0"
        return self.a.let(
            f"call {vector} {name}({pointers}, {self.type(bool_)} {self.all_lanes()}, "
            f"{vector} zeroinitializer){self.unit.aliasing.suffix(p.root)}"
        )

    # stores
    def store(self, stm: Store) -> None:
        self.store_at(self.at(stm.buf, stm.at), self.val(stm.value))

    def store_at(self, p: Ptr, value: Val) -> None:
        a, dtype, alias = self.a, value.dtype, self.unit.aliasing.suffix(p.root)
        type = memory_type(dtype)
        if self.is_shared(p):
            text = self.last_active(value)
            where = self.gep(p.base, p.offset.text, dtype)
            kept = register_to_memory(a, text, dtype, 1)
            a.do(f"store {type} {kept}, ptr {where}, align {dtype.bytes}{alias}")
            return
        vector, run = wide(type, self.width), self.run_of(p)
        text = register_to_memory(a, self.vec(value), dtype, self.width)
        stride = self._comb_of(p)
        if stride:
            store_comb(self, text, self.gep(p.base, p.offset.text, dtype), stride, dtype, alias)
            return
        if run == 0:
            name = f"@llvm.masked.scatter.{vector_suffix(dtype, self.width)}.v{self.width}p0"
            pointers = f"<{self.width} x ptr> align {dtype.bytes} {self.pointers(p, dtype)}"
            mask = f"{self.type(bool_)} {self.all_lanes()}"
            a.do(f"call void {name}({vector} {text}, {pointers}, {mask}){alias}")
            return
        where, align, mask_text = self.first(p, dtype, run), self._align(p, dtype), self.mask_for(p)
        if run < 0:
            text = self.reversed(text, vector)
        if mask_text is None:
            a.do(f"store {vector} {text}, ptr {where}, align {align}{alias}")
            return
        if run < 0:
            mask_text = self.reversed(mask_text, self.type(bool_))
        name = f"@llvm.masked.store.{vector_suffix(dtype, self.width)}.p0"
        place = f"ptr align {align} {where}"
        a.do(f"call void {name}({vector} {text}, {place}, {self.type(bool_)} {mask_text}){alias}")

    def last_active(self, value: Val) -> str:
        """The value of the last active lane: what remains where all of them store."""
        if value.is_uniform:
            return value.text
        w = self.width
        if self.mask is None:
            return self.lane(self.vec(value), value.dtype, str(w - 1))
        bits = self.a.let(f"bitcast <{w} x i1> {self.mask} to i{w}")
        zeros = self.a.let(f"call i{w} @llvm.ctlz.i{w}(i{w} {bits}, i1 false)")
        k = self.a.let(f"sub i{w} {w - 1}, {zeros}")
        return self.lane(self.vec(value), value.dtype, self._wide(k))

    # combining
    def combine(self, stm: Combine) -> None:
        """buf[at] = op(buf[at], value); lanes that may meet in a cell take turns."""
        p, value = self.at(stm.buf, stm.at), self.val(stm.value)
        if self.is_shared(p):
            if self.width > 1:
                value = self.across(stm.op, value)
            self._combine_at(stm.op, p, value)
        elif self._apart(p):
            self._combine_at(stm.op, p, value)
        else:
            self.each_lane(lambda k: self._combine_lane(stm.op, p, value, k))

    def _combine_lane(self, op: str, p: Ptr, value: Val, k: str) -> None:
        """Lane k combines its value."""
        if p.vector:
            base = self.a.let(f"extractelement <{self.width} x ptr> {p.base}, i64 {k}")
        else:
            base = p.base
        where = Ptr(base, self.of_lane(p.offset, k), 1, False, p.root)
        text = self.of_lane(value, k)
        width, mask, self.width, self.mask = self.width, self.mask, 1, None
        self._combine_at(op, where, text)
        self.width, self.mask = width, mask

    def of_lane(self, value: Val, k: str) -> Val:
        """Lane k's value as a scalar."""
        if value.is_uniform:
            return value
        if value.kind == LINEAR:
            return self.add(uniform(value.text), self.mul(uniform(k), uniform(value.stride)))
        return Val(UNIFORM, self.lane(value.text, value.dtype, k), value.dtype)

    def first_lane(self, mask: str) -> str:
        """The number of the first lane of a mask."""
        w = self.width
        bits = self.a.let(f"bitcast <{w} x i1> {mask} to i{w}")
        k = self.a.let(f"call i{w} @llvm.cttz.i{w}(i{w} {bits}, i1 false)")
        return self._wide(k)

    def _wide(self, k: str) -> str:
        """An integer of as many bits as there are lanes, as i64."""
        w = self.width
        return k if w == 64 else self.a.let(f"{'zext' if w < 64 else 'trunc'} i{w} {k} to i64")

    def each_lane(self, visit: Callable[[str], None]) -> None:
        """`visit` the number of every active lane, in order."""
        a, w = self.a, self.width
        if self.mask is None and w <= UNROLLED_LANES:
            for number in range(w):
                visit(str(number))
            return
        bits = a.let(f"bitcast <{w} x i1> {self.all_lanes()} to i{w}")
        any_lane = a.let(f"icmp ne i{w} {bits}, 0")
        loop, after, before = a.label("lane"), a.label("lanes"), a.block
        with self.preheader():
            a.branch(any_lane, loop, after)
            a.start(loop)
            left = a.phi(f"i{w}")
            left.add(bits, before)
            k = a.let(f"call i{w} @llvm.cttz.i{w}(i{w} {left.name}, i1 true)")
            visit(self._wide(k))
            lower = a.let(f"sub i{w} {left.name}, 1")
            rest = a.let(f"and i{w} {left.name}, {lower}")
            left.add(rest, a.block)
            a.branch(a.let(f"icmp ne i{w} {rest}, 0"), loop, after)
        a.start(after)

    def _apart(self, p: Ptr) -> bool:
        """Whether no two lanes mean the same element."""
        if p.lanes > 1 or p.vector:
            return p.lanes > 1
        return p.offset.kind == LINEAR and is_literal(p.offset.stride)

    def _combine_at(self, op: str, p: Ptr, value: Val) -> None:
        old = self.load_at(p, value.dtype)
        new = self.applied(COMBINE_OPS[op], value.dtype, (old, value), loose=True)
        self.store_at(p, new)

    def applied(self, op: str, out: DType, args: Sequence[Val], loose: bool = False) -> Val:
        """An operator on values, in lanes only if one of them varies."""
        varying = any(not v.is_uniform for v in args)
        width = self.width if varying else 1
        texts = [self.vec(v) if varying else v.text for v in args]
        flags = self.flags(op, loose)
        types = [v.dtype for v in args]
        text = operators.apply(self.a, op, out, texts, types, width, flags)
        return Val(VARYING if varying and self.width > 1 else UNIFORM, text, out)

    def flags(self, op: str, loose: bool) -> str:
        """Fast-math flags. A product may be contracted into a sum: the sum decides."""
        if self.target.fastmath:
            return "reassoc nsz arcp contract "
        return "contract " if loose or op == "mul" else ""

    def across(self, op: str, value: Val) -> Val:
        """The values of all active lanes combined by an operator, as one scalar."""
        text, w = self.vec(value), self.width
        if self.mask is not None:
            none = Val(UNIFORM, operators.neutral(op, value.dtype), value.dtype)
            text = self.choose(self.mask, value, none).text
        return Val(UNIFORM, self.folded(op, text, value.dtype, w), value.dtype)

    def folded(self, op: str, text: str, dtype: DType, width: int, to: int = 1) -> str:
        """A vector's lanes combined by halves, down to `to` of them."""
        a = self.a
        while width > to:
            half = width // 2
            type = wide(self.type(dtype, False), width)
            low, high = (
                a.let(
                    f"shufflevector {type} {text}, {type} poison, <{half} x i32> <"
                    + ", ".join(f"i32 {k}" for k in range(first, first + half)) + ">"
                )
                for first in (0, half)
            )  # fmt: skip
            if half == 1:
                low, high = (
                    a.let(f"extractelement <1 x {self.type(dtype, False)}> {v}, i64 0")
                    for v in (low, high)
                )
            name = COMBINE_OPS[op]
            text = operators.apply(
                a, name, dtype, (low, high), (dtype, dtype), half, self.flags(name, True)
            )
            width = half
        return text

    # pointers
    def row(self, stm: Row) -> None:
        self.env[stm.out] = self.at(stm.buf, stm.at)
