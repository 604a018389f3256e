"""Writing LLVM IR as text: a module, its functions, names, blocks and phis.

Text is built directly, since LLVM parses 1000 lines faster than Python builds an object tree.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager

from tapeless.core.types import DType

_SCALAR = {"f32": "float", "f64": "double", "bool": "i1"}


def scalar_type(dtype: DType) -> str:
    """The LLVM type of one value in a register."""
    return _SCALAR.get(dtype.name) or f"i{dtype.bits}"


def memory_type(dtype: DType) -> str:
    """The LLVM type of one value in memory, where a bool takes a byte."""
    return "i8" if dtype.is_bool else scalar_type(dtype)


def wide(scalar: str, width: int) -> str:
    """`width` lanes of a scalar type; one lane is the scalar itself."""
    return scalar if width == 1 else f"<{width} x {scalar}>"


def vector_suffix(dtype: DType, width: int) -> str:
    """How names of intrinsics tell the type of lanes in memory."""
    return f"v{width}" + (f"f{dtype.bits}" if dtype.is_float else f"i{8 * dtype.bytes}")


def type_of(dtype: DType, width: int = 1) -> str:
    return wide(scalar_type(dtype), width)


def literal(value: bool | int | float, dtype: DType) -> str:
    """A constant as LLVM writes it: floats by the bits of the double."""
    if dtype.is_float:
        bits: int = struct.unpack("<Q", struct.pack("<d", value))[0]
        return f"0x{bits:016X}"
    if dtype.is_bool:
        return "true" if value else "false"
    return str(int(value))


def splat(text: str, dtype: DType, width: int) -> str:
    """A literal in every lane."""
    return text if width == 1 else f"splat ({scalar_type(dtype)} {text})"


def is_literal(text: str) -> bool:
    return not text.startswith("%")


class Phi:
    """A phi whose incoming values are added as its predecessors are written."""

    __slots__ = ("incoming", "name", "type")

    def __init__(self, name: str, type: str) -> None:
        self.name = name
        self.type = type
        self.incoming: list[tuple[str, str]] = []

    def add(self, text: str, block: str) -> None:
        self.incoming.append((text, block))

    def __str__(self) -> str:
        pairs = ", ".join(f"[ {text}, %{block} ]" for text, block in self.incoming)
        return f"  {self.name} = phi {self.type} {pairs}"


class Point:
    """A place in a function where instructions may still be inserted (a loop's preheader)."""

    __slots__ = ("lines",)

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __str__(self) -> str:
        return "\n".join(self.lines)


class Module:
    """The text of a module under construction: definitions by symbol, declarations, metadata."""

    def __init__(self) -> None:
        self.definitions: dict[str, str] = {}
        self.declarations: dict[str, str] = {}
        self.metadata: list[str] = [
            f'!{{!"branch_weights", i32 {yes}, i32 {no}}}'
            for yes, no in ((1, 1 << 20), (1 << 20, 1))
        ]

    def declare(self, symbol: str, text: str) -> str:
        self.declarations.setdefault(symbol, text)
        return f"@{symbol}"

    def define(self, symbol: str, text: str) -> str:
        self.definitions.setdefault(symbol, text)
        return f"@{symbol}"

    def node(self, text: str) -> str:
        """A new metadata node; `{self}` in its text stands for the node itself."""
        name = f"!{len(self.metadata)}"
        self.metadata.append(text.replace("{self}", name))
        return name

    def text(self, triple: str = "") -> str:
        head = [f'target triple = "{triple}"'] if triple else []
        unused = [t for s, t in self.declarations.items() if s not in self.definitions]
        nodes = [f"!{k} = {text}" for k, text in enumerate(self.metadata)]
        return "\n".join([*head, *self.definitions.values(), *unused, *nodes, ""])


class Asm:
    """One function under construction."""

    def __init__(self, module: Module, header: str) -> None:
        self.module = module
        self.header = header
        self.entry = Point()
        self.lines: list[str | Phi | Point] = []
        self.tails: list[str | Phi | Point] = []
        self.block = "body"
        self.count = 0
        self.leaves = False

    def name(self) -> str:
        self.count += 1
        return f"%t{self.count}"

    def label(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def let(self, instruction: str) -> str:
        """A new name for the value of an instruction."""
        self.count += 1
        name = f"%t{self.count}"
        self.lines.append(f"  {name} = {instruction}")
        return name

    def do(self, instruction: str) -> None:
        self.lines.append(f"  {instruction}")

    def start(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.block = label

    def jump(self, label: str) -> None:
        self.lines.append(f"  br label %{label}")

    def branch(
        self, cond: str, yes: str, no: str, rare: bool = False, likely: bool = False
    ) -> None:
        hint = ", !prof !0" if rare else ", !prof !1" if likely else ""
        self.lines.append(f"  br i1 {cond}, label %{yes}, label %{no}{hint}")

    def leave(self) -> None:
        """Out of the function, with what failed in the context."""
        self.leaves = True
        self.jump("leave")

    def leave_if(self, cond: str, after: str) -> None:
        self.leaves = True
        self.branch(cond, "leave", after, rare=True)

    def phi(self, type: str) -> Phi:
        phi = Phi(self.name(), type)
        self.lines.append(phi)
        return phi

    def point(self) -> Point:
        point = Point()
        self.lines.append(point)
        return point

    def alloca(self, type: str, align: int) -> str:
        name = self.name()
        self.entry.lines.append(f"  {name} = alloca {type}, align {align}")
        return name

    @contextmanager
    def aside(self, label: str) -> Iterator[None]:
        """What is written inside is a rare path and stands after everything else."""
        lines, block = self.lines, self.block
        self.lines = []
        self.start(label)
        try:
            yield
        finally:
            self.tails += self.lines
            self.lines, self.block = lines, block

    def text(self) -> str:
        body = "\n".join(text for line in (*self.lines, *self.tails) if (text := str(line)))
        entry = "\n".join(["entry:", *self.entry.lines, "  br label %body", "body:"])
        leave = ["leave:", "  ret i32 1"] if self.leaves else []
        return "\n".join([self.header + " {", entry, body, *leave, "}"])
