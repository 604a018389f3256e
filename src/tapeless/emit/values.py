"""Values during emission: uniform, linear or varying over the lanes, and pointers.

With one lane all values are uniform, so scalar and lane-wise code share every emitter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tapeless.core.types import DType, i64

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

    @property
    def literal(self) -> int | None:
        """The value, if it is an integer known now."""
        if self.kind == UNIFORM and not self.dtype.is_float and self.text[0] in "-0123456789":
            return int(self.text)
        return None


@dataclass(frozen=True, slots=True)
class Ptr:
    """A buffer's address. Element e of lane k lies, counted in elements from `base`, at
    offset + e (`lanes` = 1) or (offset + e) * lanes + k (interleaved). With `vector`, `base` holds
    the lanes' own pointers (an interleaved one has the "+ k" in it already). `root` numbers the
    class of buffers that may share its memory: other classes never do."""

    base: str
    offset: Val
    lanes: int
    vector: bool
    root: int


Value: TypeAlias = Val | Ptr


def uniform(text: str, dtype: DType = i64) -> Val:
    return Val(UNIFORM, text, dtype)


def int_val(value: int) -> Val:
    return Val(UNIFORM, str(value), i64)


ZERO = int_val(0)
