"""Element types: values that stand for a dtype, and annotations of arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class ElementType:
    """An element type. `f64(x)` converts, `np.zeros(3, f64)` takes it as a dtype, and
    `f64["n", 3]` annotates an array: a name is a checked size, a number a fixed one.

    >>> f32(1), np.zeros(2, f32).dtype
    (np.float32(1.0), dtype('float32'))
    >>> f64["n", 3]
    f64['n', 3]
    """

    name: str
    dtype: np.dtype[Any]

    def __call__(self, value: Any = 0) -> Any:
        return self.dtype.type(value)

    def __getitem__(self, sizes: Any) -> ArrayOf:
        return ArrayOf(self, sizes if isinstance(sizes, tuple) else (sizes,))

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class ArrayOf:
    """An array of one element type: a size is a number, a name, or None (any)."""

    element: ElementType
    sizes: tuple[int | str | None, ...]

    def __post_init__(self) -> None:
        for size in self.sizes:
            if isinstance(size, bool) or not (size is None or isinstance(size, int | str)):
                raise TypeError(f"a size is a number, a name or None, not {size!r}")

    def __repr__(self) -> str:
        return f"{self.element}[{', '.join(map(repr, self.sizes))}]"


f32 = ElementType("f32", np.dtype("f4"))
f64 = ElementType("f64", np.dtype("f8"))
i8 = ElementType("i8", np.dtype("i1"))
i16 = ElementType("i16", np.dtype("i2"))
i32 = ElementType("i32", np.dtype("i4"))
i64 = ElementType("i64", np.dtype("i8"))
u8 = ElementType("u8", np.dtype("u1"))
u16 = ElementType("u16", np.dtype("u2"))
u32 = ElementType("u32", np.dtype("u4"))
u64 = ElementType("u64", np.dtype("u8"))
bool_ = ElementType("bool", np.dtype("?"))
complex64 = ElementType("complex64", np.dtype("c8"))
complex128 = ElementType("complex128", np.dtype("c16"))

ALL = (f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, bool_, complex64, complex128)
