"""How a name travels through phis: a scalar or a vector, a pointer or one pointer per lane."""

from __future__ import annotations

from dataclasses import dataclass

from tapeless.core.types import i64
from tapeless.emit.asm import scalar_type, wide
from tapeless.emit.memory import Accesses
from tapeless.emit.values import UNIFORM, VARYING, ZERO, Ptr, Val, Value
from tapeless.loop.syntax import LOCAL, Buf, Name


@dataclass(slots=True)
class Carrier:
    """A name that takes different values on different paths. `varying`: lanes have their own."""

    name: Name
    varying: bool

    def type(self, f: Accesses) -> str:
        scalar = "ptr" if isinstance(self.name, Buf) else scalar_type(self.name.dtype)
        return wide(scalar, f.width if self.varying else 1)

    def fits(self, value: Value) -> bool:
        """Whether the value can travel this way."""
        return self.varying or _is_shared(value)

    def text(self, f: Accesses, value: Value) -> str:
        """The value as this carrier's type, written here."""
        if isinstance(value, Val):
            return f.vec(value) if self.varying else value.text
        dtype = self.name.dtype
        if not self.varying:
            return f.gep(value.base, f.mul(value.offset, Val(UNIFORM, str(value.lanes), i64)).text,
                         dtype)  # fmt: skip
        return f.pointers(value, dtype)

    def value(self, f: Accesses, text: str) -> Value:
        """What the name means, given a phi."""
        if isinstance(self.name, Buf):
            lanes = f.width if self.name.space == LOCAL else 1
            root = f.unit.memory.root(self.name)
            return Ptr(text, ZERO, lanes, self.varying and f.width > 1, root)
        kind = VARYING if self.varying and f.width > 1 else UNIFORM
        return Val(kind, text, self.name.dtype)

    def choose(self, f: Accesses, mask: str, yes: Value, no: Value) -> str:
        """`yes` in the lanes of the mask, `no` elsewhere, as this carrier's type."""
        left, right = self.text(f, yes), self.text(f, no)
        if left == right or not self.varying:
            return left
        type = self.type(f)
        return f.a.let(f"select {wide('i1', f.width)} {mask}, {type} {left}, {type} {right}")

    def nothing(self) -> str:
        """A value for lanes in which nobody will look."""
        if isinstance(self.name, Buf):
            return "zeroinitializer" if self.varying else "null"
        if self.varying:
            return "zeroinitializer"
        return {"f": "0.0", "b": "false"}.get(self.name.dtype.kind, "0")


def _is_shared(value: Value) -> bool:
    if isinstance(value, Val):
        return value.is_uniform
    return not value.vector and value.offset.is_uniform
