"""Types of the language: element types, scalars, regular arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from tapeless.core.names import Var


@dataclass(frozen=True, slots=True)
class DType:
    """An element type: `kind` is one of f (float), i (signed), u (unsigned), b (bool)."""

    name: str
    kind: str
    bits: int

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[object, ...]:
        return dtype_named, (self.name,)

    @property
    def is_float(self) -> bool:
        return self.kind == "f"

    @property
    def is_int(self) -> bool:
        return self.kind in "iu"

    @property
    def is_bool(self) -> bool:
        return self.kind == "b"

    @property
    def numpy(self) -> np.dtype[Any]:
        return np.dtype("bool" if self.kind == "b" else f"{self.kind}{self.bits // 8}")

    @property
    def bytes(self) -> int:
        """Bytes of one element in memory (a bool takes one)."""
        return max(self.bits // 8, 1)


f32 = DType("f32", "f", 32)
f64 = DType("f64", "f", 64)
i8 = DType("i8", "i", 8)
i16 = DType("i16", "i", 16)
i32 = DType("i32", "i", 32)
i64 = DType("i64", "i", 64)
u8 = DType("u8", "u", 8)
u16 = DType("u16", "u", 16)
u32 = DType("u32", "u", 32)
u64 = DType("u64", "u", 64)
bool_ = DType("bool", "b", 1)

DTYPES: dict[str, DType] = {
    t.name: t for t in (f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, bool_)
}


def dtype_named(name: str) -> DType:
    return DTYPES[name]


_FROM_NUMPY = {t.numpy: t for t in DTYPES.values()}


def from_numpy(dtype: np.dtype[np.generic]) -> DType | None:
    """The element type of a NumPy dtype in native byte order; None if the language has none."""
    return _FROM_NUMPY.get(dtype)


Size: TypeAlias = "int | Var"


@dataclass(frozen=True, slots=True)
class Scalar:
    dtype: DType

    def __repr__(self) -> str:
        return self.dtype.name


@dataclass(frozen=True, slots=True)
class Array:
    """A regular array; each size is a number or an i64 variable bound before the array."""

    dtype: DType
    shape: tuple[Size, ...]

    @property
    def rank(self) -> int:
        return len(self.shape)

    def __repr__(self) -> str:
        return f"{self.dtype.name}[{', '.join(map(str, self.shape))}]"


Type: TypeAlias = Scalar | Array

INDEX = Scalar(i64)
BOOL = Scalar(bool_)
