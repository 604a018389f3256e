"""Where values are found at a call: paths as compiled Python expressions."""

from __future__ import annotations

import builtins
import functools
import sys
import types
from collections.abc import Callable
from typing import Any, TypeAlias

from tapeless.frontend.argtypes import plain
from tapeless.frontend.signature import Path

Reader: TypeAlias = Callable[[Any, dict[str, Any]], Any]  # (function, arguments by name) -> value


def function_of(value: Any) -> types.FunctionType:
    """The Python function whose globals and cells a callable reads; AttributeError if none does."""
    value = plain(value)
    if isinstance(value, types.MethodType):
        return function_of(value.__func__)
    if isinstance(value, functools.partial):
        return function_of(value.func)
    if not isinstance(value, types.FunctionType):
        value = plain(type(value).__call__)
    if not isinstance(value, types.FunctionType):
        raise AttributeError(f"{value!r} is no Python function")
    return value


def read_global(function: types.FunctionType, name: str) -> Any:
    names = function.__globals__
    return names[name] if name in names else getattr(builtins, name)


def read_cell(function: types.FunctionType, name: str) -> Any:
    cells = function.__closure__ or ()
    return cells[function.__code__.co_freevars.index(name)].cell_contents


class _Writer:
    """Text of an expression over `f` (the compiled function) and `a` (its arguments)."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {
            "module": sys.modules.__getitem__, "read_global": read_global, "read_cell": read_cell,
            "function_of": function_of,
        }  # fmt: skip

    def constant(self, value: Any) -> str:
        name = f"k{len(self.names)}"
        self.names[name] = value
        return name

    def path(self, path: Path) -> str:
        root = path.root
        owner = "f" if root.owner is None else f"function_of({self.path(root.owner)})"
        match root.kind:
            case "arg":
                text = f"a[{root.key!r}]"
            case "module":
                text = f"module({root.key!r})"
            case "cell":
                text = f"read_cell({owner}, {root.key!r})"
            case _:
                text = f"read_global({owner}, {root.key!r})"
        for kind, key in path.steps:
            plain_name = isinstance(key, str) and key.isidentifier()
            if key in ("__defaults__", "__kwdefaults__"):  # a compiled function has none
                text = f"function_of({text}).{key}"
            elif kind == "item":
                text += f"[{key!r}]" if isinstance(key, int | str) else f"[{self.constant(key)}]"
            else:
                text += f".{key}" if plain_name else f".__getattribute__({key!r})"
        return text


@functools.lru_cache(maxsize=4096)
def reader(path: Path) -> Reader:
    """A function that reads the value at `path`."""
    writer = _Writer()
    text = f"lambda f, a: {writer.path(path)}"
    read: Reader = eval(text, writer.names)  # our own text
    return read


def describe(path: Path) -> str:
    """The path in the user's words."""
    text = path.root.key
    for kind, key in path.steps:
        text += f".{key}" if kind == "attr" else f"[{key!r}]"
    return text
