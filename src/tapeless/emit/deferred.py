"""Sums into cells that data name: lanes find the cells of a strip, then one after the other adds.

    for i in lanes { k = f(i); a[k] += v(i) }
      ⇒  for each strip { for i in lanes { cells[i] = f(i); values[i] = v(i) }
                          for i { a[cells[i]] += values[i] } }

Lanes that add as they go wait for vectors to be taken apart, and for each other's cells.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tapeless.core.types import DType, i64
from tapeless.emit.asm import memory_type, wide
from tapeless.emit.casts import register_to_memory
from tapeless.emit.facts import has_long_loops
from tapeless.emit.loops import Loops, Texts, Turn
from tapeless.emit.values import UNIFORM, Ptr, Val, uniform
from tapeless.loop.syntax import Combine, For

STRIP = 256
UNROLLED = 4
STACK = -2  # the alias class of the strip's cells and values


@dataclass(frozen=True, slots=True)
class Later:
    """What is to be combined: `cells` are offsets from `base`; `values` lie in memory unless all
    turns have the same `value`."""

    op: str
    base: str
    root: int
    dtype: DType
    cells: str
    values: str
    value: Val


@dataclass(slots=True)
class Strip:
    """The strip being written: statements that may wait, the number of the turn in it, how many
    loops are open around what is done afterwards."""

    waiting: set[int]
    turn: str
    levels: int
    found: dict[int, Later] = field(default_factory=dict)


class Deferring(Loops):
    """Combine in a loop whose turns are lanes."""

    strip: Strip | None = None

    def combine(self, stm: Combine) -> None:
        if not self._defer(stm):
            super().combine(stm)

    def _defer(self, stm: Combine) -> bool:
        """Note where and what, if the strip can combine it."""
        strip = self.strip
        if strip is None or id(stm) not in strip.waiting or self.mask is not None:
            return False
        p, value = self.at(stm.buf, stm.at), self.val(stm.value)
        if p.vector or p.lanes > 1 or self.is_shared(p) or self._apart(p):
            return False
        if self.level_of(p.base) > strip.levels:
            return False
        common = value.is_uniform and self.level_of(value.text) <= strip.levels
        later = strip.found.get(id(stm))
        if later is None:
            cells = self.a.alloca(f"[{STRIP} x i64]", 64)
            size = max(stm.buf.dtype.bytes, 1)
            values = "" if common else self.a.alloca(f"[{STRIP * size} x i8]", 64)
            later = Later(stm.op, p.base, p.root, stm.buf.dtype, cells, values, value)
            strip.found[id(stm)] = later
        self._note(later.cells, self.vec(p.offset), i64)
        if later.values:
            self._note(later.values, self.vec(value), later.dtype)
        return True

    def _note(self, place: str, text: str, dtype: DType) -> None:
        """Store one vector at the strip's turn."""
        assert self.strip is not None
        where = self.gep(place, self.strip.turn, dtype)
        kept = register_to_memory(self.a, text, dtype, self.width)
        vector = wide(memory_type(dtype), self.width)
        self.a.do(f"store {vector} {kept}, ptr {where}, align {max(dtype.bytes, 1)}")

    def in_strips(
        self, stm: For, first: str, last: str, types: list[str], texts: Texts, turn: Turn
    ) -> Texts:
        """Whole vectors of turns from `first` to `last`."""
        a, step = self.a, self.width
        waiting = {id(s) for s in stm.body.stms if isinstance(s, Combine)}

        def one_strip(start: str, params: Texts) -> Texts:
            left = a.let(f"sub i64 {last}, {start}")
            length = a.let(f"call i64 @llvm.smin.i64(i64 {left}, i64 {STRIP})")
            stop = a.let(f"add i64 {start}, {length}")
            strip = Strip(waiting, "", len(self.levels))

            def body(i: str, inner: Texts) -> Texts:
                strip.turn = a.let(f"sub i64 {i}, {start}")
                self.strip, before = strip, self.strip
                results = turn(i, inner)
                self.strip = before
                return results

            results = self.counted(start, stop, step, types, params, body, False, short=True)
            self._combine_strip(strip, length)
            return results

        polls = has_long_loops(stm.body)
        return self.counted(first, last, STRIP, types, texts, one_strip, polls)

    def _combine_strip(self, strip: Strip, length: str) -> None:
        if not strip.found:
            return
        a, width, self.width = self.a, self.width, 1
        together = min(UNROLLED, width)  # the length is a multiple of the lanes

        def few(first: str, _: Texts) -> Texts:
            for n in range(together):
                one(a.let(f"add i64 {first}, {n}"))
            return []

        def one(k: str) -> None:
            for later in strip.found.values():
                cell = self.load_at(Ptr(later.cells, uniform(k), 1, False, STACK), i64)
                value = later.value
                if later.values:
                    place = Ptr(later.values, uniform(k), 1, False, STACK)
                    value = self.load_at(place, later.dtype)
                where = Ptr(later.base, Val(UNIFORM, cell.text, i64), 1, False, later.root)
                self._combine_at(later.op, where, value)

        self.counted("0", length, together, [], [], few, False, short=True)
        self.width = width


def may_wait(stm: For) -> bool:
    """Whether a loop combines at its top, so that strips could do it."""
    return any(isinstance(s, Combine) and s.at for s in stm.body.stms)
