"""One LLVM function under construction: what names mean, in how many lanes, and what is hoisted."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import DType, bool_, i64
from tapeless.emit import operators
from tapeless.emit.alias import Aliasing
from tapeless.emit.asm import Asm, Module, Point, is_literal, literal, scalar_type, splat, type_of
from tapeless.emit.facts import Memory
from tapeless.emit.target import Target
from tapeless.emit.values import LINEAR, UNIFORM, VARYING, ZERO, Ptr, Val, Value
from tapeless.loop.syntax import Buf, Name, Op, Proc


@dataclass(slots=True)
class Unit:
    """What all functions of one module share. `choices` remembers what was found out about loops
    in lanes, so that no loop is tried twice."""

    proc: Proc
    target: Target
    module: Module
    memory: Memory
    aliasing: Aliasing
    choices: dict[object, set[int]] = field(default_factory=dict)


@dataclass(slots=True)
class Level:
    """A loop being written: a place in front of it, what stands there, and its first name."""

    point: Point
    known: dict[str, str]
    first: int


@dataclass(frozen=True, slots=True)
class Mark:
    """A state of the text to which an attempt can be taken back."""

    lines: int
    tails: int
    block: str
    levels: int


def iota(width: int, stride: int = 1) -> str:
    return "<" + ", ".join(f"i64 {k * stride}" for k in range(width)) + ">"


class Function:
    """State of emission. `width`: lanes (1 outside simd loops); `mask`: active ones (None: all);
    `rest`: the mask that leaves out only lanes beyond the end of their loop, if there is one."""

    def __init__(self, unit: Unit, header: str) -> None:
        self.unit = unit
        self.target = unit.target
        self.a = Asm(unit.module, header)
        self.env: dict[Name, Value] = {}
        self.width = 1
        self.mask: str | None = None
        self.rest: str | None = None
        self.levels: list[Level] = []
        self.firsts: list[int] = []
        self.level_of_hoisted: dict[str, int] = {}
        self.factors: dict[Var, tuple[Atom, Atom]] = {}  # products of two sizes
        self.compared: dict[Var, Op] = {}  # comparisons of indices
        self.arena_uses = 0
        self.stack_bytes = 0

    # names
    def val(self, atom: Atom) -> Val:
        if isinstance(atom, Const):
            return Val(UNIFORM, literal(atom.value, atom.dtype), atom.dtype)
        found = self.env[atom]
        assert isinstance(found, Val)
        return found

    def ptr(self, buf: Buf) -> Ptr:
        found = self.env[buf]
        assert isinstance(found, Ptr)
        return found

    def scalar(self, atom: Atom) -> str:
        """The text of an atom that all lanes share."""
        value = self.val(atom)
        assert value.kind == UNIFORM, atom
        return value.text

    def bind(self, var: Var, text: str, varying: bool = False) -> None:
        kind = VARYING if varying and self.width > 1 else UNIFORM
        self.env[var] = Val(kind, text, var.dtype)

    # attempts
    def mark(self) -> Mark:
        return Mark(len(self.a.lines), len(self.a.tails), self.a.block, len(self.levels))

    def rollback(self, mark: Mark) -> None:
        del self.a.lines[mark.lines :], self.a.tails[mark.tails :]
        del self.levels[mark.levels :], self.firsts[mark.levels :]
        self.a.block = mark.block

    # hoisting
    @contextmanager
    def preheader(self) -> Iterator[None]:
        """What is written inside is a loop; values that do not change in it go in front."""
        depth = len(self.levels)
        self.levels.append(Level(self.a.point(), {}, self.a.count + 1))
        self.firsts.append(self.a.count + 1)
        try:
            yield
        finally:
            del self.levels[depth:], self.firsts[depth:]

    def level_of(self, text: str) -> int:
        """How many of the open loops a name's definition lies inside of."""
        if not text.startswith("%t"):
            return 0
        known = self.level_of_hoisted.get(text)
        if known is not None:
            return known
        return bisect_right(self.firsts, int(text[2:]))

    def pure(self, instruction: str, *operands: str) -> str:
        """The value of an instruction without effects, computed as far out as can be."""
        level = max((self.level_of(o) for o in operands), default=0)
        if level >= len(self.levels):
            return self.a.let(instruction)
        place = self.levels[level]
        name = place.known.get(instruction)
        if name is None:
            name = self.a.name()
            place.point.lines.append(f"  {name} = {instruction}")
            place.known[instruction] = name
            self.level_of_hoisted[name] = level
        return name

    # lanes
    def type(self, dtype: DType, varying: bool = True) -> str:
        return type_of(dtype, self.width if varying else 1)

    def vec(self, value: Val) -> str:
        """The value in every lane, as a vector (with one lane, as a scalar)."""
        if self.width == 1 or value.kind == VARYING:
            return value.text
        if value.kind == LINEAR:
            return self._linear(value)
        return self.broadcast(value.text, value.dtype)

    def broadcast(self, text: str, dtype: DType) -> str:
        if is_literal(text):
            return splat(text, dtype, self.width)
        type, scalar = self.type(dtype), scalar_type(dtype)
        head = self.pure(f"insertelement {type} poison, {scalar} {text}, i64 0", text)
        zero = f"<{self.width} x i32> zeroinitializer"
        return self.pure(f"shufflevector {type} {head}, {type} poison, {zero}", head)

    def _linear(self, value: Val) -> str:
        base = self.broadcast(value.text, i64)
        type = self.type(i64)
        if is_literal(value.stride):
            steps = iota(self.width, int(value.stride))
        else:
            stride = self.broadcast(value.stride, i64)
            steps = self.pure(f"mul {type} {stride}, {iota(self.width)}", stride)
        return self.pure(f"add {type} {base}, {steps}", base, steps)

    def lane(self, text: str, dtype: DType, k: str) -> str:
        """One lane of a vector."""
        return self.a.let(f"extractelement {self.type(dtype)} {text}, i64 {k}")

    def any(self, mask: str) -> str:
        """Whether a mask holds in some lane."""
        if self.width == 1:
            return mask
        bits = self.a.let(f"bitcast <{self.width} x i1> {mask} to i{self.width}")
        return self.a.let(f"icmp ne i{self.width} {bits}, 0")

    def both(self, mask: str | None, cond: str) -> str:
        """Lanes of a mask in which a condition holds."""
        return cond if mask is None else self.a.let(f"and {self.type(bool_)} {mask}, {cond}")

    def active(self, cond: str) -> str:
        """`cond` in the active lanes, false in others."""
        return self.both(self.mask, cond)

    def all_lanes(self) -> str:
        """The mask of active lanes, written out."""
        return self.mask if self.mask is not None else splat("true", bool_, self.width)

    @contextmanager
    def masked(self, mask: str | None) -> Iterator[None]:
        before, self.mask = self.mask, mask
        try:
            yield
        finally:
            self.mask = before

    def choose(self, mask: str, yes: Val, no: Val) -> Val:
        """`yes` in the lanes of the mask, `no` elsewhere."""
        if yes == no:
            return yes
        left, right = self.vec(yes), self.vec(no)
        text = operators.select(self.a, mask, left, right, yes.dtype, self.width)
        return Val(VARYING if self.width > 1 else UNIFORM, text, yes.dtype)

    # index arithmetic
    def add(self, x: Val, y: Val) -> Val:
        """x + y of i64 values."""
        if y == ZERO:
            return x
        if x == ZERO:
            return y
        if VARYING in (x.kind, y.kind):
            return self._vector("add", x, y)
        base = self._scalar("add", x.text, y.text)
        stride = self._scalar("add", x.stride, y.stride)
        return Val(UNIFORM if stride == "0" else LINEAR, base, i64, stride)

    def sub(self, x: Val, y: Val) -> Val:
        """x - y of i64 values."""
        if y == ZERO:
            return x
        if VARYING in (x.kind, y.kind):
            return self._vector("sub", x, y)
        base = self._scalar("sub", x.text, y.text)
        stride = self._scalar("sub", x.stride, y.stride)
        return Val(UNIFORM if stride == "0" else LINEAR, base, i64, stride)

    def mul(self, x: Val, y: Val) -> Val:
        """x y of i64 values."""
        if x.kind == UNIFORM and (y.kind != UNIFORM or x.literal is not None):
            x, y = y, x
        if y.literal == 1:
            return x
        if y.literal == 0:
            return ZERO
        if y.kind != UNIFORM or x.kind == VARYING:
            return self._vector("mul", x, y)
        base = self._scalar("mul", x.text, y.text)
        stride = self._scalar("mul", x.stride, y.text)
        return Val(UNIFORM if stride == "0" else LINEAR, base, i64, stride)

    def total(self, terms: Sequence[Val]) -> Val:
        """The sum of terms, those known further out first."""
        result = ZERO
        for term in sorted(terms, key=lambda t: self.level_of(t.text)):
            result = self.add(result, term)
        return result

    def _scalar(self, op: str, x: str, y: str) -> str:
        if is_literal(x) and is_literal(y):
            a, b = int(x), int(y)
            return literal(Const({"add": a + b, "sub": a - b, "mul": a * b}[op], i64).value, i64)
        if y == "0":
            return "0" if op == "mul" else x
        if x == "0" and op != "sub":
            return "0" if op == "mul" else y
        if op == "mul" and "1" in (x, y):
            return y if x == "1" else x
        if op == "sub" and x == y:
            return "0"
        return self.pure(f"{op} i64 {x}, {y}", x, y)

    def _vector(self, op: str, x: Val, y: Val) -> Val:
        left, right = self.vec(x), self.vec(y)
        return Val(VARYING, self.pure(f"{op} {self.type(i64)} {left}, {right}", left, right), i64)
