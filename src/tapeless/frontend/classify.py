"""Python values by type: what an argument or a captured value is to the compiler."""

from __future__ import annotations

import dataclasses
import enum
import functools
import types
from collections.abc import Hashable
from typing import Any

import numpy as np

from tapeless.core.types import from_numpy
from tapeless.errors import ArgumentError
from tapeless.frontend.signature import ArgType, ArrayArg, NumberArg, StaticArg, TreeArg

WEAK = {
    bool: NumberArg(np.dtype(bool), True),
    int: NumberArg(np.dtype(np.int64), True),
    float: NumberArg(np.dtype(np.float64), True),
    complex: NumberArg(np.dtype(np.complex128), True),
}
FUNCTIONS = (
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.MethodWrapperType,
    types.MethodDescriptorType, types.WrapperDescriptorType, np.ufunc, functools.partial,
)  # fmt: skip
ALWAYS_STATIC = (
    str, bytes, type, types.NoneType, types.EllipsisType, types.ModuleType, types.GenericAlias,
    enum.Enum, np.dtype, range, slice, frozenset, *FUNCTIONS,
)  # fmt: skip


def plain(function: Any) -> Any:
    """The Python function of a jitted one; anything else is itself."""
    return getattr(function, "__tapeless_python__", function)


def static_key(value: Any) -> Hashable:
    """Equal for values that may share code: by value where that is known, else by identity."""
    value = plain(value)
    match value:
        case types.FunctionType():
            return ("function", value.__code__)
        case types.MethodType():
            return ("method", static_key(value.__func__), type(value.__self__))
        case functools.partial():
            return ("partial", static_key(value.func), len(value.args), tuple(value.keywords))
        case float() | complex() | np.generic():
            return (type(value), repr(value))
        case tuple() | list():
            return (type(value), tuple(map(static_key, value)))
        case dict():
            return (dict, tuple((static_key(k), static_key(v)) for k, v in value.items()))
        case slice():
            return (slice, *map(static_key, (value.start, value.stop, value.step)))
        case np.ndarray():
            return (np.ndarray, value.dtype.str, value.shape, value.tobytes())
        case type() | types.ModuleType() | None:
            return value
        case bool() | int() | str() | bytes() | frozenset() | range() | enum.Enum() | np.dtype():
            return (type(value), value)
    return ("object", id(value))


def static(value: Any) -> StaticArg:
    return StaticArg(value, static_key(value))


def classify(value: Any) -> ArgType:
    """The type of an argument. Raises ArgumentError for what no program can take."""
    cls = type(value)
    if cls is np.ndarray:
        return array_type(value.dtype, value.ndim)
    weak = WEAK.get(cls)
    if weak is not None:
        return weak
    if isinstance(value, np.generic):
        return _numpy_scalar(value)
    if isinstance(value, ALWAYS_STATIC) or hasattr(value, "__tapeless_python__"):
        return static(value)
    tree = _tree(value)
    if tree is not None:
        return tree
    for number in (bool, int, float, complex):
        if isinstance(value, number):
            return WEAK[number]
    if is_array(value):
        array = as_array(value)
        return array_type(array.dtype, array.ndim)
    return TreeArg("object", cls, (), (), value)


def array_type(dtype: np.dtype[Any], rank: int) -> ArrayArg:
    """The type of an array of any sizes; the other byte order counts as the machine's own."""
    native = dtype if dtype.isnative else dtype.newbyteorder("=")
    if not is_element(native):
        raise ArgumentError(f"an array of {dtype} has no compiled form{_dtype_remedy(dtype)}")
    return ArrayArg(native, (None,) * rank)


def is_element(dtype: np.dtype[Any]) -> bool:
    return from_numpy(dtype) is not None or dtype in (np.complex64, np.complex128)


def _dtype_remedy(dtype: np.dtype[Any]) -> str:
    if dtype == np.float16:
        return "\n  Remedy: convert it first, x.astype(np.float32)"
    if dtype.kind in "fcO":
        return "\n  Remedy: convert it first, x.astype(np.float64)"
    if dtype.names:
        return "\n  Remedy: pass its fields as arrays of their own, x['name']"
    return ""


def _numpy_scalar(value: np.generic) -> NumberArg:
    if not is_element(value.dtype):
        raise ArgumentError(
            f"a scalar of {value.dtype} has no compiled form{_dtype_remedy(value.dtype)}"
        )
    return NumberArg(value.dtype, False)


def _tree(value: Any) -> TreeArg | None:
    cls = type(value)
    if isinstance(value, tuple):
        keys = tuple(getattr(cls, "_fields", ()))
        kind = "namedtuple" if keys else "tuple"
        return TreeArg(kind, cls, keys, tuple(map(classify, value)))
    if isinstance(value, list):
        return TreeArg("list", cls, (), tuple(map(classify, value)))
    if isinstance(value, dict):
        return TreeArg("dict", cls, tuple(value), tuple(map(classify, value.values())))
    if dataclasses.is_dataclass(value):
        names = tuple(f.name for f in dataclasses.fields(value))
        items = tuple(classify(getattr(value, name, None)) for name in names)
        return TreeArg("dataclass", cls, names, items, value)
    return None


# Arrays in other clothes -------------------------------------------------------------------------

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
        return value  # type: ignore[no-any-return]
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
        raise ArgumentError(
            f"the memory of this {cls.__name__} cannot be read: {error}\n"
            "  Remedy: move it to the CPU first"
        ) from None
