"""Arrays in other clothes: memory that is given by one of the known protocols."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapeless.errors import ArgumentError

PROTOCOLS = ("__array_interface__", "__array_struct__", "__dlpack__")


def is_array(value: Any) -> bool:
    """Whether the value is an array, or gives its memory by one of the known protocols."""
    if isinstance(value, np.ndarray | memoryview | bytearray):
        return True
    cls = type(value)
    return any(hasattr(cls, p) for p in PROTOCOLS) or _has_buffer(value) or (
        "__array_interface__" in getattr(value, "__dict__", ())
    )  # fmt: skip


def _has_buffer(value: Any) -> bool:
    try:
        memoryview(value)
    except (TypeError, BufferError):
        return False
    return True


def as_array(value: Any) -> np.ndarray[Any, Any]:
    """The same memory as an ndarray."""
    cls = type(value)
    if cls is np.ndarray:
        array: np.ndarray[Any, Any] = value
        return array
    if isinstance(value, np.matrix):
        raise ArgumentError(
            "np.matrix has another meaning of * and of indexing\n  Remedy: pass np.asarray(m)"
        )
    if isinstance(value, np.ma.MaskedArray):
        raise ArgumentError(
            "a masked array cannot be passed: its mask would be lost\n"
            "  Remedy: pass x.filled(0.0) and the mask as arrays"
        )
    if isinstance(value, np.ndarray):
        return value.view(np.ndarray)
    if _has_buffer(value):
        return np.asarray(memoryview(value))
    if hasattr(value, "__array_interface__") or hasattr(value, "__array_struct__"):
        return np.asarray(value)
    try:
        return np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        remedy = "move it to the CPU first"
        if "gradient" in str(error) or "tracer" in str(error).lower():  # PyTorch's, JAX's
            remedy = "pass it as an argument to tapeless.torch.wrap(f) or tapeless.jax.wrap(f)"
        raise ArgumentError(
            f"the memory of this {cls.__name__} cannot be read: {error}", remedy=remedy
        ) from None
