"""Argument types in a user's words."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapeless.core.types import from_numpy
from tapeless.frontend.signature import (
    ArgType,
    ArrayArg,
    NumberArg,
    Signature,
    StaticArg,
    TreeArg,
)  # fmt: skip


def show_signature(signature: Signature) -> str:
    """`x: f64[:, 3], n: int`"""
    return ", ".join(f"{name}: {show_type(type)}" for name, type in signature)


def show_type(type: ArgType) -> str:
    match type:
        case ArrayArg(dtype, dims):
            sizes = ", ".join(":" if d is None else str(d) for d in dims)
            return f"{dtype_name(dtype)}[{sizes}]"
        case NumberArg(dtype, weak):
            return _WEAK.get(dtype.kind, str(dtype)) if weak else dtype_name(dtype)
        case StaticArg(value):
            return getattr(value, "__name__", None) or repr(value)
        case TreeArg(kind, cls, _, items):
            inside = ", ".join(map(show_type, items))
            return f"({inside})" if kind == "tuple" else f"{cls.__name__}({inside})"


_WEAK = {"i": "int", "f": "float", "c": "complex", "b": "bool"}


def dtype_name(dtype: np.dtype[Any]) -> str:
    known = from_numpy(dtype)
    return known.name if known is not None else str(dtype)
