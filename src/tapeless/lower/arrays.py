"""Element accesses: index modes, loads, stores, updates, and arrays that grow."""

from __future__ import annotations

from collections.abc import Callable

from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import BOOL, INDEX
from tapeless.ir.syntax import CHECK, IGNORE, WRAP, Append, Index, Prim, Update
from tapeless.loop.syntax import LOCAL, Alloc, AnyLane, Buf, Copy, If, Load, Op, Store
from tapeless.lower.builder import ONE, ZERO, block, index
from tapeless.lower.state import Place, State

OUT_OF_BOUNDS = "index {{0}} is out of bounds for axis {axis} with size {{1}}"
FIRST_CAPACITY = index(16)


class Arrays(State):
    """Accesses to arrays that have a place."""

    # index modes
    def in_range(self, at: Atom, size: Atom) -> Atom:
        """0 <= at < size, as one atom; true for what counts to that size."""
        if isinstance(at, Var) and self.ranges.get(at) == size:
            return Const(True, BOOL.dtype)
        return self.op("and", self.op("le", ZERO, at), self.op("lt", at, size))

    def honour(self, at: tuple[Atom, ...], shape: tuple[Atom, ...], modes: str) -> tuple[Atom, ...]:
        """Indices ready for use: wrapped where asked, checked; IGNORE is left to `guarded`."""
        out: list[Atom] = []
        for axis, (i, size, mode) in enumerate(zip(at, shape, modes, strict=True)):
            message = OUT_OF_BOUNDS.format(axis=axis)
            if mode == WRAP:
                out.append(self.wrapped(i, size, message))
                continue
            if mode == CHECK:
                self.check(self.in_range(i, size), "IndexError", message, (i, size))
            out.append(i)
        return tuple(out)

    def wrapped(self, i: Atom, size: Atom, message: str) -> Atom:
        """An index that may count from the end: hardly ever does one, so that this is where it
        is checked again."""
        usual = self.in_range(i, size)
        if isinstance(usual, Const) and usual.value:
            return i
        with self.block() as rare:
            from_end = Var(INDEX, "from_end")
            self.define(Op(from_end, "add", (i, size)))
            self.check(self.in_range(from_end, size), "IndexError", message, (i, size))
        used = Var(INDEX, "at")
        self.emit(If((used,), usual, block([], (i,)), block(rare, (from_end,))))
        self.bind(used)
        return used

    def guarded(
        self, at: tuple[Atom, ...], shape: tuple[Atom, ...], modes: str, effect: Callable[[], None]
    ) -> None:
        """Run `effect` unless an index of mode IGNORE is out of range."""
        ok: Atom | None = None
        for i, size, mode in zip(at, shape, modes, strict=True):
            if mode == IGNORE:
                here = self.in_range(i, size)
                ok = here if ok is None else self.op("and", ok, here)
        if ok is None or (isinstance(ok, Const) and ok.value):
            effect()
            return
        with self.block() as stms:
            effect()
        self.emit(If((), ok, block(stms), block([])))

    # reads and writes
    def load(self, out: Var, exp: Index) -> None:
        at = self.honour(self.all(exp.at), self.shape(exp.array), exp.modes)
        buf, where = self.flattened(self.places[exp.array], at)
        self.emit(Load(out, buf, where))
        self.bind(out)

    def store(self, place: Place, at: tuple[Atom, ...], value: Atom) -> None:
        buf, where = self.flattened(place, at)
        self.emit(Store(buf, where, value))

    def update(self, out: Var, exp: Update) -> None:
        place = self.places[exp.array]
        shape = self.shape(exp.array)
        at = self.honour(self.all(exp.at), shape, exp.modes)
        value = self.atom(exp.value)
        self.guarded(at, shape, exp.modes, lambda: self.store(place, at, value))
        self.places[out] = place

    def flattened(self, place: Place, at: tuple[Atom, ...]) -> tuple[Buf, tuple[Atom, ...]]:
        """The access with neighbouring indices (k // m, k % m) joined to k where rows adjoin."""
        buf, where = place.buf, place.prefix + at
        if buf.space == LOCAL:
            return buf, where
        for axis in range(len(where) - 1):
            whole = self.joined(where[axis], where[axis + 1], buf.shape[axis + 1])
            step = self.op("mul", buf.strides[axis + 1], buf.shape[axis + 1])
            if whole is not None and step == buf.strides[axis]:
                size = self.op("mul", buf.shape[axis], buf.shape[axis + 1])
                shape = (*buf.shape[:axis], size, *buf.shape[axis + 2 :])
                strides = (*buf.strides[:axis], *buf.strides[axis + 1 :])
                flat = self.reshaped(buf, shape, strides)
                return flat, (*where[:axis], whole, *where[axis + 2 :])
        return buf, where

    def joined(self, high: Atom, low: Atom, size: Atom) -> Atom | None:
        """k, when high = k // size and low = k % size."""
        match self.definition(high), self.definition(low):
            case Prim("floordiv", (k, m)), Prim("mod", (k2, m2)):
                k, m = self.atom(k), self.atom(m)
                if k == self.atom(k2) and m == self.atom(m2) and m == size:
                    return k
        return None

    def definition(self, atom: Atom) -> object:
        return self.defs.get(atom) if isinstance(atom, Var) else None

    # growing
    def append(self, out: Var, exp: Append) -> None:
        """Write behind the last cell, where room is reserved or made here."""
        place = self.places[exp.array]
        length = self.size(exp.array.shape[0])
        if place.reserved == 0:
            place = self.reserve(place, exp.array, ONE, 1)
        longer = self.reshaped(place.buf, self.shape(out), place.buf.strides)
        now = Place(longer, (), place.capacity, place.reserved - 1)
        if isinstance(exp.value, Var) and exp.value.is_array:
            self.copy(now.row((length,)), self.places[exp.value], exp.value)
        else:
            self.store(now, (length,), self.atom(exp.value))
        self.places[out] = now

    def reserve(self, place: Place, array: Var, more: Atom, times: int) -> Place:
        """`place` moved to a buffer twice as long unless `more` rows fit behind the array.

        In lanes all arrays have the longest one's room, so that one pointer serves all."""
        shape = self.shape(array)
        capacity = place.capacity if place.capacity is not None else shape[0]
        need = self.op("add", shape[0], more)
        whole = self.exact_strides(self.view(Place(place.buf, place.prefix), array), array)
        full = self.op("lt", capacity, need)
        if self.in_lanes:
            some = Var(BOOL, "full")
            self.emit(AnyLane(some, full))
            full = some
        with self.block() as grown:
            double = self.op("max", self.op("add", capacity, capacity), FIRST_CAPACITY)
            bigger = self.op("max", double, need)
            new = self.buf(array.dtype, (bigger, *shape[1:]), array.hint, whole.space)
            self.emit(Alloc(new))
            self.emit(Copy(self.view(Place(new), array), whole))
        buf = Buf(array.dtype, shape, new.strides, array.hint, whole.space)
        now = self.counter("capacity")
        self.emit(If((buf, now), full, block(grown, (new, bigger)), block([], (whole, capacity))))
        self.bind(now)
        return Place(buf, (), now, times)

    def exact_strides(self, buf: Buf, array: Var) -> Buf:
        """`buf` if it is contiguous, else a contiguous copy (pointers that meet must agree)."""
        if self.is_contiguous(Place(buf), array):
            return buf
        new = self.allocate(array).buf
        self.emit(Copy(new, buf))
        return new
