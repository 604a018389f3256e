"""Ordinary numeric Python functions, compiled to native code. No tape."""

from tapeless.forms import (
    each, iverson, loop, map, random, reduce, reduce_by_index, scan, scatter,
)  # fmt: skip
from tapeless.forms.elements import (
    bool_, complex64, complex128, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64,
)  # fmt: skip

__version__ = "0.1.0.dev0"

__all__ = [
    "bool_", "complex64", "complex128", "each", "f32", "f64", "i8", "i16", "i32", "i64", "iverson",
    "loop", "map", "random", "reduce", "reduce_by_index", "scan", "scatter", "u8", "u16", "u32",
    "u64",
]  # fmt: skip
