"""Python values by type: what an argument or a captured value is to the compiler."""

from __future__ import annotations

import dataclasses
import enum
import functools
import types
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from tapeless.core.types import from_numpy
from tapeless.errors import ArgumentError
from tapeless.frontend.array_protocols import as_array, is_array
from tapeless.frontend.signature import ArgType, ArrayArg, NumberArg, Path, StaticArg, TreeArg

Dims = Callable[[tuple[int, ...]], tuple[int | None, ...]]

WEAK = {
    bool: NumberArg(np.dtype(bool), True),
    int: NumberArg(np.dtype(np.int64), True),
    float: NumberArg(np.dtype(np.float64), True),
    complex: NumberArg(np.dtype(np.complex128), True),
}
FUNCTIONS = (
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.MethodWrapperType,
    types.MethodDescriptorType, types.WrapperDescriptorType, np.ufunc, functools.partial,
    type(np.sum),
)  # fmt: skip
ALWAYS_STATIC = (
    str, bytes, type, types.NoneType, types.EllipsisType, types.ModuleType, types.GenericAlias,
    enum.Enum, np.dtype, range, slice, frozenset, type(np.linalg.norm), *FUNCTIONS,
)  # fmt: skip


def plain(function: Any) -> Any:
    """The Python function of a compiled one (it has `.python`); anything else is itself."""
    if type(function) in _PLAIN or isinstance(function, type):
        return function
    python = getattr(function, "python", None)
    return python if isinstance(python, types.FunctionType | types.MethodType) else function


_PLAIN = frozenset({
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType, np.ufunc,
})  # fmt: skip


def is_static_kind(value: Any) -> bool:
    return isinstance(value, ALWAYS_STATIC) or plain(value) is not value


def generic_dims(shape: tuple[int, ...]) -> tuple[int | None, ...]:
    """Sizes of run time, but being 1 is known."""
    return tuple([1 if s == 1 else None for s in shape])


def arg_type(value: Any, dims: Dims = generic_dims) -> ArgType:
    """The type of an argument that is not declared static.

    Raises ArgumentError for what no program can take.
    """
    cls = type(value)
    if cls is np.ndarray:
        return array_type(value, dims)
    weak = WEAK.get(cls)
    if weak is not None:
        return weak
    if isinstance(value, np.generic):
        return _numpy_scalar(value)
    if is_static_kind(value):
        return static_arg(value)
    tree = _tree(value, dims)
    if tree is not None:
        return tree
    for number in (bool, int, float, complex):
        if isinstance(value, number):
            return WEAK[number]
    if is_array(value):
        return array_type(as_array(value), dims)
    return TreeArg("object", cls, (), (), value)


def captured_type(
    value: Any, path: Path | None = None, dynamic: frozenset[Path] = frozenset()
) -> ArgType:
    """The type of a value that a program finds outside: ints and bools are static, unless the
    path is among the dynamic ones."""
    if isinstance(value, bool | int | np.integer | np.bool_) and path not in dynamic:
        return static_arg(value)
    if isinstance(value, tuple | list | dict) and not _holds_run_time_values(value):
        return static_arg(value)
    return arg_type(value)


def _holds_run_time_values(value: Any) -> bool:
    """Whether a container has floats, arrays or instances anywhere: they are read at every call."""
    items = value.values() if isinstance(value, dict) else value
    for item in items:
        if isinstance(item, tuple | list | dict):
            if _holds_run_time_values(item):
                return True
        elif not isinstance(item, bool | int | np.integer | np.bool_) and not is_static_kind(item):
            return True
    return False


def array_type(value: np.ndarray[Any, Any], dims: Dims = generic_dims) -> ArrayArg:
    """The type of an array; the other byte order counts as the machine's own."""
    dtype = value.dtype
    native = dtype if dtype.isnative else dtype.newbyteorder("=")
    if not is_element(native):
        raise ArgumentError(f"an array of {dtype} has no compiled form{_dtype_remedy(dtype)}")
    return ArrayArg(native, dims(value.shape))


def is_element(dtype: np.dtype[Any]) -> bool:
    return from_numpy(dtype) is not None or dtype in (np.complex64, np.complex128)


def _dtype_remedy(dtype: np.dtype[Any]) -> str:
    if dtype == np.float16:
        return "\n  Remedy: convert it first, x.astype(np.float32)"
    if dtype.kind in "fcO":
        return "\n  Remedy: convert it first, x.astype(np.float64)"
    if dtype.names:
        return "\n  Remedy: pass its fields as arrays of their own, x['name']"
    if dtype.kind in "mM":
        return "\n  Remedy: pass the integers that it holds, x.view(np.int64)"
    return "\n  Remedy: number the texts first, np.unique(x, return_inverse=True)[1]"


def _numpy_scalar(value: np.generic) -> NumberArg:
    if not is_element(value.dtype):
        raise ArgumentError(
            f"a scalar of {value.dtype} has no compiled form{_dtype_remedy(value.dtype)}"
        )
    return NumberArg(value.dtype, False)


def _tree(value: Any, dims: Dims) -> TreeArg | None:
    cls = type(value)
    if isinstance(value, tuple):
        keys = tuple(getattr(cls, "_fields", ()))
        kind = "namedtuple" if keys else "tuple"
        return TreeArg(kind, cls, keys, tuple([arg_type(v, dims) for v in value]))
    if isinstance(value, list):
        return TreeArg("list", cls, (), tuple([arg_type(v, dims) for v in value]))
    if isinstance(value, dict):
        return TreeArg(
            "dict", cls, tuple(value), tuple([arg_type(v, dims) for v in value.values()])
        )
    if dataclasses.is_dataclass(value):
        names = tuple(f.name for f in dataclasses.fields(value))
        items = tuple(arg_type(getattr(value, name, None), dims) for name in names)
        return TreeArg("dataclass", cls, names, items, value)
    return None


# Static values ------------------------------------------------------------------------------------


def static_arg(value: Any) -> StaticArg:
    return StaticArg(value, static_key(value))


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
