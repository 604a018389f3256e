"""The table of the library, and how functions enter it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
R = TypeVar("R")


class Table(dict[Hashable, Callable[..., Any]]):
    """Functions of the language by key. SciPy's functions stand under (package, name), so that
    packages that the user has not imported need not be."""

    def __contains__(self, key: object) -> bool:
        return super().__contains__(_named(key))

    def __getitem__(self, key: Any) -> Callable[..., Any]:
        return super().__getitem__(_named(key))

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(_named(key), default)


def _named(key: Any) -> Any:
    if isinstance(key, np.ufunc) and getattr(np, key.__name__, None) is not key:
        return ("scipy.special", key.__name__)
    module = getattr(key, "__module__", None)
    if isinstance(module, str) and module.startswith("scipy."):
        return (".".join(module.split(".")[:2]), key.__name__)
    return key


LIBRARY = Table()


def implements(*keys: Any) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Enters a function of the language under `keys`: a function object; (package, name) for
    one of SciPy's; a string for the method of arrays with that name."""

    def enter(function: Callable[P, R]) -> Callable[P, R]:
        for key in keys:
            LIBRARY[("method", key) if isinstance(key, str) else key] = function
        return function

    return enter


def compile_time(function: Callable[P, R]) -> Callable[P, R]:
    """Marks a Python function that is run by the compiler, on arguments known at compile time."""
    function.__tapeless_static__ = True  # type: ignore[attr-defined]  # read by the tracer
    return function
