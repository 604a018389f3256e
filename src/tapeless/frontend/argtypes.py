"""Values as types of a signature."""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from tapeless.frontend.signature import ArgType, ArrayArg, NumberArg, StaticArg, TreeArg

Dims = Callable[[tuple[int, ...]], tuple[int | None, ...]]
_WEAK = {bool: np.dtype(bool), int: np.dtype("i8"), float: np.dtype("f8"), complex: np.dtype("c16")}
STATIC = (
    str, bytes, type(None), type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType,
    types.MethodType, types.MethodWrapperType, np.ufunc, np.dtype, type(Ellipsis), slice, range,
    functools.partial, frozenset,
)  # fmt: skip


def generic_dims(shape: tuple[int, ...]) -> tuple[int | None, ...]:
    """Sizes of run time, but being 1 is known."""
    return tuple(1 if s == 1 else None for s in shape)


def arg_type(value: Any, dims: Dims = generic_dims) -> ArgType:
    """The type of an argument that is not declared static."""
    weak = _WEAK.get(type(value))
    if weak is not None:
        return NumberArg(weak, weak=True)
    if isinstance(value, np.generic):
        return NumberArg(value.dtype, weak=False)
    if isinstance(value, np.ndarray):
        return ArrayArg(value.dtype, dims(value.shape))
    if isinstance(value, STATIC) or callable(getattr(value, "python", None)):
        return static_arg(value)
    return _tree(value, dims)


def _tree(value: Any, dims: Dims) -> ArgType:
    cls = type(value)
    if isinstance(value, tuple):
        names = getattr(cls, "_fields", None)
        items = tuple(arg_type(v, dims) for v in value)
        return TreeArg("tuple" if names is None else "namedtuple", cls, names or (), items)
    if isinstance(value, list):
        return TreeArg("list", cls, (), tuple(arg_type(v, dims) for v in value))
    if isinstance(value, dict):
        return TreeArg("dict", cls, tuple(value), tuple(arg_type(v, dims) for v in value.values()))
    if dataclasses.is_dataclass(value):
        names = tuple(f.name for f in dataclasses.fields(value))
        return TreeArg("dataclass", cls, names, tuple(arg_type(getattr(value, n), dims) for n in names))
    return TreeArg("object", cls, (), ())


def static_arg(value: Any) -> StaticArg:
    return StaticArg(value, static_key(value))


def static_key(value: Any) -> Hashable:
    """Equal for values that may share code."""
    match value:
        case types.FunctionType():
            return ("function", value.__code__)
        case types.MethodType():
            return ("method", value.__func__.__code__, type(value.__self__))
        case functools.partial():
            keywords = tuple((k, static_key(v)) for k, v in value.keywords.items())
            return ("partial", static_key(value.func), tuple(map(static_key, value.args)), keywords)
        case tuple() | list() | frozenset() | set():
            return (type(value), tuple(map(static_key, value)))
        case dict():
            return (dict, tuple((k, static_key(v)) for k, v in value.items()))
        case slice():
            return (slice, value.start, value.stop, value.step)
        case float() | complex():
            return (type(value), repr(value))
        case bool() | int() | str() | bytes() | None | np.generic():
            return (type(value), value)
    python = getattr(value, "python", None)
    if isinstance(python, types.FunctionType):
        return ("compiled", python.__code__)
    try:
        hash(value)
    except TypeError:
        return (type(value), id(value))
    return (type(value), value)
