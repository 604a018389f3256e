"""The table of the library, and how functions enter it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

LIBRARY: dict[Hashable, Callable[..., Any]] = {}


def implements(*keys: Hashable) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Enters a function of the language under `keys`; a string means the method of that name."""

    def enter(function: Callable[P, R]) -> Callable[P, R]:
        for key in keys:
            LIBRARY[("method", key) if isinstance(key, str) else key] = function
        return function

    return enter


def compile_time(function: Callable[P, R]) -> Callable[P, R]:
    """Marks a Python function that is run by the compiler, on arguments known at compile time."""
    function.__tapeless_static__ = True  # type: ignore[attr-defined]  # read by the tracer
    return function
