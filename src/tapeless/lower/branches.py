"""If and Iverson: arrays meet in one place, or as pointers."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from tapeless.analysis.storage import FRESH, MIXED
from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import Array, Scalar
from tapeless.ir.syntax import Body, Let
from tapeless.loop.syntax import Buf, Name, Value
from tapeless.loop.syntax import If as Branch
from tapeless.lower.builder import block
from tapeless.lower.registers import Registers
from tapeless.lower.state import Place, Want

Result: TypeAlias = Atom | Place


class Branches(Registers):
    """Two arms, of which one runs (in lanes: each lane one of them)."""

    def branch(self, stm: Let, cond: Atom, then: Body, orelse: Body | None) -> None:
        """Lower both arms; `orelse` None stands for zeros."""
        cond = self.atom(cond)
        if isinstance(cond, Const):
            self.known_branch(stm, then if cond.value else orelse)
            return
        wants = self.meeting_places(stm, then, orelse)
        carried = self.touched(*((then,) if orelse is None else (then, orelse)))
        before = dict(self.registers)
        with self.block() as first:
            one = self.arm(stm, then, wants)
            end_one = tuple(self.registers[c] for c in carried)
        self.registers = dict(before)
        with self.block() as second:
            two = self.arm(stm, orelse, wants)
            end_two = tuple(self.registers[c] for c in carried)
        self.registers = dict(before)
        meet = _Meeting(self)
        for out, a, b in zip(stm.outs, one, two, strict=True):
            meet.join(out, a, b)
        for c, a, b in zip(carried, end_one, end_two, strict=True):
            out = Var(Scalar(a.dtype), c.hint)
            meet.add(out, a, b)
            self.registers[c] = out
        self.emit(
            Branch(
                tuple(meet.outs), cond,
                block(first, tuple(meet.ones)), block(second, tuple(meet.twos)),
            )
        )  # fmt: skip
        self.bind(*(o for o in meet.outs if isinstance(o, Var)))
        for out, pointer in meet.pointers:
            shape = self.shape(out)
            whole = self.reshaped(pointer, shape, self.contiguous(shape))
            self.places[out] = replace(self.places[out], buf=whole)

    def only_if(self, cond: Atom, stms: list[Let]) -> None:
        """Scalar statements whose results are used only where `cond` holds."""
        if isinstance(cond, Const) and cond.value:
            for stm in stms:
                self.let(stm)
            return
        with self.block() as inside:
            for stm in stms:
                self.let(stm)
            values = [self.atom(o) for stm in stms for o in stm.outs]
        outs = [Var(Scalar(v.dtype), o.hint) for v, o in zip(values, _outs(stms), strict=True)]
        zeros = tuple(Const(0, v.dtype) for v in values)
        self.emit(Branch(tuple(outs), cond, block(inside, tuple(values)), block([], zeros)))
        self.bind(*outs)
        for o, out in zip(_outs(stms), outs, strict=True):
            self.atoms[o] = out

    def known_branch(self, stm: Let, body: Body | None) -> None:
        results = self.arm(stm, body, tuple(self.wants.get(o) for o in stm.outs))
        for out, r in zip(stm.outs, results, strict=True):
            self.name(out, r)

    def name(self, out: Var, result: Result) -> None:
        """Let `out` stand for a value that exists already."""
        if isinstance(result, Place):
            self.places[out] = result
        else:
            self.atoms[out] = result

    def meeting_places(self, stm: Let, then: Body, orelse: Body | None) -> tuple[Want | None, ...]:
        """Where both arms should make the results of the branch."""
        wants: list[Want | None] = []
        for k, out in enumerate(stm.outs):
            origins = self.storage.result_origins(then)[k]
            origins |= self.storage.result_origins(orelse)[k] if orelse else {FRESH}
            wants.append(self.meeting_place(stm, out, origins) if out.is_array else None)
        return tuple(wants)

    def meeting_place(self, stm: Let, out: Var, origins: frozenset[Var]) -> Want | None:
        """One place for arrays that are made in the arms; in lanes, for all that may differ:
        lanes that take different arms cannot have different pointers."""
        outside = not any(s in stm.outs for s in out.shape)
        differ = len(origins) > 1 or MIXED in origins
        if FRESH in origins or (differ and self.in_lanes):
            assert outside or not self.in_lanes, "an array of varying size in lanes"
            if outside:
                return Want(self.make(out))
        return None

    def arm(
        self, stm: Let, body: Body | None, wants: tuple[Want | None, ...]
    ) -> tuple[Result, ...]:
        """The results of one arm, in whole buffers or at the meeting places."""
        if body is None:
            return tuple(self.zeros(o, w, stm.outs) for o, w in zip(stm.outs, wants, strict=True))
        return tuple(
            self.settled(r, atom, want)
            for r, atom, want in zip(self.body(body, wants), body.results, wants, strict=True)
        )

    def settled(self, result: Result, atom: Atom, want: Want | None) -> Result:
        """An array at its meeting place, or as a whole contiguous buffer: seen with the sizes
        that it has in its arm."""
        if not isinstance(result, Place):
            return result
        assert isinstance(atom, Var)
        if want is not None and want.place is not None:
            self.copy(want.place, result, atom)
            return want.place
        if self.in_lanes:  # both arms leave the array where it is
            return result
        if result.prefix or not self.is_contiguous(result, atom):
            return Place(self.exact_strides(self.view(result, atom), atom))
        return result

    def zeros(self, out: Var, want: Want | None, outs: tuple[Var, ...]) -> Result:
        """Zeros; sizes among `outs` are zero too."""
        if not isinstance(out.type, Array):
            return Const(0, out.dtype)
        if want is not None and want.place is not None:
            self.clear(want.place, self.shape(out))
            return want.place
        shape = tuple(0 if s in outs else s for s in out.shape)
        return self.allocate(out.fresh(Array(out.dtype, shape)), zero=True)


def _outs(stms: list[Let]) -> list[Var]:
    return [o for stm in stms for o in stm.outs]


class _Meeting:
    """Results of the two arms, joined."""

    def __init__(self, low: Branches) -> None:
        self.low = low
        self.outs: list[Name] = []
        self.ones: list[Value] = []
        self.twos: list[Value] = []
        self.pointers: list[tuple[Var, Buf]] = []

    def add(self, out: Name, one: Value, two: Value) -> None:
        self.outs.append(out)
        self.ones.append(one)
        self.twos.append(two)

    def join(self, out: Var, one: Result, two: Result) -> None:
        if isinstance(one, Place) and isinstance(two, Place):
            self.low.places[out] = self.join_places(out, one, two)
        elif isinstance(one, Var | Const) and isinstance(two, Var | Const):
            self.add(out, one, two)

    def join_places(self, out: Var, one: Place, two: Place) -> Place:
        if one.is_same(two):
            return Place(one.buf, one.prefix, one.capacity, min(one.reserved, two.reserved))
        assert not self.low.in_lanes, "lanes cannot have different pointers"
        capacity: Atom | None = None
        if one.capacity is not None and two.capacity is not None:
            capacity = self.low.counter("capacity")
            self.add(capacity, one.capacity, two.capacity)
        buf = Buf(out.dtype, one.buf.shape, one.buf.strides, out.hint, one.buf.space)
        self.add(buf, one.buf, two.buf)
        self.pointers.append((out, buf))
        return Place(buf, (), capacity, min(one.reserved, two.reserved))
