"""Texts that mean the same in every process: of code, values and types."""

from __future__ import annotations

import enum
import functools
import hashlib
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from tapeless.frontend.argtypes import plain
from tapeless.frontend.signature import (
    ArgType,
    ArrayArg,
    NumberArg,
    Signature,
    StaticArg,
    TreeArg,
)  # fmt: skip


class Unstable(Exception):
    """Something that another process cannot recognise."""


@functools.lru_cache(maxsize=1024)
def digest(code: types.CodeType) -> str:
    """All that a code object says, places in its file included: error messages show them."""
    parts: list[object] = [
        code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars,
        code.co_filename, code.co_firstlineno, code.co_linetable, code.co_exceptiontable,
        code.co_argcount, code.co_kwonlyargcount, code.co_posonlyargcount, code.co_flags,
    ]  # fmt: skip
    for const in code.co_consts:
        parts.append(digest(const) if isinstance(const, types.CodeType) else _constant(const))
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _constant(const: object) -> str:
    """A constant of a code object: sets have no order of their own."""
    if isinstance(const, frozenset):
        return f"frozenset {sorted(map(repr, const))}"
    return f"{type(const).__name__} {const!r}"


def nested(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and all that are defined inside it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from nested(const)


def class_text(cls: type) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


def value_text(value: Any) -> str:
    """A static value. Raises Unstable."""
    value = plain(value)
    match value:
        case types.FunctionType():
            defaults = value_text((value.__defaults__, value.__kwdefaults__))
            return f"function {digest(value.__code__)} {defaults}"
        case types.MethodType():
            return f"method {value_text(value.__func__)} {class_text(type(value.__self__))}"
        case functools.partial():
            return f"partial {value_text((value.func, value.args, value.keywords))}"
        case types.ModuleType():
            return f"module {value.__name__}"
        case enum.Enum():
            return f"enum {class_text(type(value))} {value.name}"
        case type():
            return f"type {class_text(value)}"
        case np.ufunc():
            return f"ufunc {value.__name__}"
        case types.BuiltinFunctionType():
            return f"builtin {value.__module__} {value.__qualname__}"
        case tuple() | list():
            return f"{type(value).__name__} ({', '.join(map(value_text, value))})"
        case dict():
            return f"dict {value_text(tuple(value))} {value_text(tuple(value.values()))}"
        case np.ndarray() if value.dtype != object:
            data = hashlib.sha256(value.tobytes()).hexdigest()
            return f"array {value.dtype.str} {value.shape} {data}"
        case (
            bool() | int() | float() | complex() | str() | bytes() | None | range() | slice()
            | types.EllipsisType() | np.generic() | np.dtype()
        ):  # fmt: skip
            return f"{type(value).__name__} {value!r}"
    function = getattr(value, "__qualname__", None)
    if callable(value) and function is not None:  # compiled functions of other packages
        return f"callable {getattr(value, '__module__', '')} {function}"
    raise Unstable(f"{type(value).__name__} has no stable text")


def type_text(type: ArgType) -> str:
    match type:
        case ArrayArg(dtype, dims):
            return f"array {dtype.str} {dims}"
        case NumberArg(dtype, weak):
            return f"number {dtype.str} {weak}"
        case StaticArg(value):
            return f"static {value_text(value)}"
        case TreeArg(kind, cls, keys, items):
            inside = ", ".join(map(type_text, items))
            return f"{kind} {class_text(cls)} {value_text(keys)} ({inside})"


def signature_text(signature: Signature) -> str:
    return "; ".join(f"{name}: {type_text(type)}" for name, type in signature)


def classes_in(signature: Signature) -> Iterator[type]:
    """Classes of containers and instances among the arguments."""

    def visit(type: ArgType) -> Iterator[Any]:
        if isinstance(type, TreeArg):
            yield type.cls
            for item in type.items:
                yield from visit(item)

    for _, type in signature:
        yield from visit(type)
