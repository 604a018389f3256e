"""The values of a function under construction: floats, integers and masks, some lanes wide.

They carry the Python operators one expects; Python numbers are broadcast to all lanes.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tapeless.emit.math.ops import Ops

Number = float | int


@dataclass(frozen=True, slots=True)
class Format:
    """An IEEE binary format: its size, explicit significand bits and exponent bias."""

    bits: int
    mantissa: int
    bias: int
    llvm: str

    @property
    def one(self) -> int:
        """The bit pattern of 1.0."""
        return self.bias << self.mantissa

    @property
    def infinity(self) -> int:
        """The bit pattern of +inf; its set bits are the exponent field."""
        return (2 * self.bias + 1) << self.mantissa

    @property
    def sign(self) -> int:
        """The sign bit."""
        return 1 << (self.bits - 1)

    def encode(self, value: float) -> int:
        """The bit pattern of `value` rounded to this format."""
        code = {64: "dQ", 32: "fI"}[self.bits]
        return int(struct.unpack("<" + code[1], struct.pack("<" + code[0], value))[0])

    def round(self, value: float) -> float:
        """`value` rounded to this format."""
        return value if self.bits == 64 else float(struct.unpack("f", struct.pack("f", value))[0])


FORMATS = {64: Format(64, 52, 1023, "double"), 32: Format(32, 23, 127, "float")}


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """An SSA value of a function under construction."""

    o: Ops
    ref: str


class Mask(Value):
    """A truth value per lane."""

    def __and__(self, other: Mask) -> Mask:
        return Mask(self.o, self.o.emit(f"and {self.o.mask_type} {self.ref}, {other.ref}"))

    def __or__(self, other: Mask) -> Mask:
        return Mask(self.o, self.o.emit(f"or {self.o.mask_type} {self.ref}, {other.ref}"))

    def __xor__(self, other: Mask) -> Mask:
        return Mask(self.o, self.o.emit(f"xor {self.o.mask_type} {self.ref}, {other.ref}"))

    def __invert__(self) -> Mask:
        true = self.o.splat("i1", "true")
        return Mask(self.o, self.o.emit(f"xor {self.o.mask_type} {self.ref}, {true}"))


class Int(Value):
    """An integer per lane, as wide as a float; arithmetic wraps, >> shifts in zeros."""

    def _binary(self, op: str, other: Int | int) -> Int:
        o = self.o
        return Int(o, o.emit(f"{op} {o.int_type} {self.ref}, {o.integer(other).ref}"))

    def _compare(self, predicate: str, other: Int | int) -> Mask:
        return Mask(self.o, self._binary(f"icmp {predicate}", other).ref)

    def __add__(self, other: Int | int) -> Int:
        return self._binary("add", other)

    def __sub__(self, other: Int | int) -> Int:
        return self._binary("sub", other)

    def __mul__(self, other: Int | int) -> Int:
        return self._binary("mul", other)

    def __and__(self, other: Int | int) -> Int:
        return self._binary("and", other)

    def __or__(self, other: Int | int) -> Int:
        return self._binary("or", other)

    def __xor__(self, other: Int | int) -> Int:
        return self._binary("xor", other)

    def __lshift__(self, other: int) -> Int:
        return self._binary("shl", other)

    def __rshift__(self, other: int) -> Int:
        return self._binary("lshr", other)

    def __lt__(self, other: Int | int) -> Mask:
        return self._compare("slt", other)

    def __gt__(self, other: Int | int) -> Mask:
        return self._compare("sgt", other)

    def eq(self, other: Int | int) -> Mask:
        """Equality lane by lane."""
        return self._compare("eq", other)

    def above(self, other: Int | int) -> Mask:
        """The unsigned order >=."""
        return self._compare("uge", other)


class Float(Value):
    """A floating-point number per lane; comparisons are false on nan, except `ne`."""

    def _binary(self, op: str, other: Float | Number, swap: bool = False) -> Float:
        o = self.o
        left, right = self.ref, o.number(other).ref
        if swap:
            left, right = right, left
        return Float(o, o.emit(f"{op} {o.float_type} {left}, {right}"))

    def _compare(self, predicate: str, other: Float | Number) -> Mask:
        return Mask(self.o, self._binary(f"fcmp {predicate}", other).ref)

    def __add__(self, other: Float | Number) -> Float:
        return self._binary("fadd", other)

    def __sub__(self, other: Float | Number) -> Float:
        return self._binary("fsub", other)

    def __mul__(self, other: Float | Number) -> Float:
        return self._binary("fmul", other)

    def __truediv__(self, other: Float | Number) -> Float:
        return self._binary("fdiv", other)

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: Number) -> Float:
        return self._binary("fsub", other, swap=True)

    def __rtruediv__(self, other: Number) -> Float:
        return self._binary("fdiv", other, swap=True)

    def __neg__(self) -> Float:
        return Float(self.o, self.o.emit(f"fneg {self.o.float_type} {self.ref}"))

    def __abs__(self) -> Float:
        return self.o.call("fabs", self)

    def __lt__(self, other: Float | Number) -> Mask:
        return self._compare("olt", other)

    def __le__(self, other: Float | Number) -> Mask:
        return self._compare("ole", other)

    def __gt__(self, other: Float | Number) -> Mask:
        return self._compare("ogt", other)

    def __ge__(self, other: Float | Number) -> Mask:
        return self._compare("oge", other)

    def eq(self, other: Float | Number) -> Mask:
        """Equality lane by lane."""
        return self._compare("oeq", other)

    def ne(self, other: Float | Number) -> Mask:
        """Inequality lane by lane, true on nan."""
        return self._compare("une", other)

    def is_nan(self) -> Mask:
        """The lanes that hold a nan."""
        return self._compare("uno", self)
