"""Values during emission: uniform, linear or varying over the lanes, and pointers.

With one lane all values are uniform, so scalar and lane-wise code share every emitter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from tapeless.core.types import DType, i64
from tapeless.emit.asm import is_literal, splat, type_of

UNIFORM, LINEAR, VARYING = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Val:
    """A scalar of the program. UNIFORM: `text` is a scalar that all lanes share.
    LINEAR (i64 only): lane k holds `text + k * stride`. VARYING: `text` is a vector."""

    kind: int
    text: str
    dtype: DType
    stride: str = "0"

    @property
    def is_uniform(self) -> bool:
        return self.kind == UNIFORM


@dataclass(frozen=True, slots=True)
class Ptr:
    """A buffer's address. Element e of lane k lies at
    base + e (`lanes` = 1) or base + e * lanes + k (interleaved), counted in elements,
    where e includes `offset`. With `vector`, `base` is a vector of the lanes' own pointers
    (an interleaved one has the "+ k" in it already). `roots` names what it may point into."""

    base: str
    offset: Val
    lanes: int
    vector: bool
    roots: frozenset[str]


Value: TypeAlias = Val | Ptr
ZERO = Val(UNIFORM, "0", i64)


def uniform(text: str, dtype: DType = i64) -> Val:
    return Val(UNIFORM, text, dtype)


def int_text(value: int) -> Val:
    return Val(UNIFORM, str(value), i64)


class Hoister:
    """Broadcasts of values from outside a loop are written once, in front of the loop.

    LLVM's light pass pipeline has no loop-invariant code motion, so this is where it happens.
    `depth_of` says after how many loops' preheaders a name was defined.
    """

    def __init__(self) -> None:
        self.levels: list[tuple[Callable[[str], None], dict[object, str], int]] = []

    def enter(self, write: Callable[[str], None], first_name: int) -> None:
        self.levels.append((write, {}, first_name))

    def leave(self) -> None:
        self.levels.pop()

    def place(self, text: str) -> tuple[Callable[[str], None], dict[object, str]] | None:
        """The outermost loop whose preheader comes after the definition of `text`."""
        number = int(text[2:]) if text[2:].isdigit() else 0
        for write, cache, first in self.levels:
            if number < first:
                return write, cache
        return None


def broadcast_lines(text: str, dtype: DType, width: int, head: str, name: str) -> list[str]:
    """The two instructions that put a scalar in every lane."""
    type = type_of(dtype, width)
    scalar = type_of(dtype)
    return [
        f"  {head} = insertelement {type} poison, {scalar} {text}, i64 0",
        f"  {name} = shufflevector {type} {head}, {type} poison, "
        f"<{width} x i32> zeroinitializer",
    ]


def literal_splat(text: str, dtype: DType, width: int) -> str | None:
    return splat(text, dtype, width) if is_literal(text) else None
