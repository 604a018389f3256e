"""What an example of the language is: a small function, what it is called with, what it shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Function = Callable[..., Any]

FLOATS = ("f8", "f4")
INTS = ("i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1")
COMPLEX = ("c16", "c8")
REAL = FLOATS + INTS
ALL = (*REAL, "?", *COMPLEX)

X = np.array([3.0, -1.5, 2.0, 0.25, -4.0])
Y = np.array([1.0, 2.0, -3.0, 0.5, 8.0])
A = np.arange(12.0).reshape(3, 4) - 5.0
B = np.array([[2.0, -1.0, 0.5], [1.0, 3.0, 1.5], [0.25, 1.0, 4.0]])
T = np.arange(24.0).reshape(2, 3, 4) / 4 - 2.0
K = np.array([3, 0, -2, 7, 1])
IDX = np.array([0, 2, 2, 4, 1])
MASK = np.array([True, False, True, True, False])
Z = np.array([1 + 2j, -0.5j, 3.0, 0.25 - 1j])


@dataclass(frozen=True)
class Example:
    """`calls`: tuples of arguments. `over`: element types that array arguments are tried with.
    `refused`: words of the compile error, if the construct is one. `expect`: results where the
    language differs from plain Python, as the documentation says."""

    section: str
    title: str
    function: Function
    calls: tuple[tuple[Any, ...], ...]
    over: tuple[str, ...] = ()
    tol: float = 1e-12
    refused: str = ""
    expect: tuple[Any, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.function.__name__

    def calls_over(self, dtype: str) -> list[tuple[Any, ...]]:
        """The calls with arrays of one element type."""
        return [tuple(_cast(a, dtype) for a in call) for call in self.calls]


EXAMPLES: list[Example] = []


def example(
    section: str, title: str, *args: Any, calls: Sequence[tuple[Any, ...]] = (), **how: Any
):
    """Registers a function as an example: called with `args`, or once for each of `calls`."""

    def register(function: Function) -> Function:
        EXAMPLES.append(Example(section, title, function, tuple(calls) or (args,), **how))
        return function

    return register


def _cast(value: Any, dtype: str) -> Any:
    if not isinstance(value, np.ndarray) or value.dtype.kind == "b":
        return value
    if dtype[0] == "u":
        return np.abs(value).astype(dtype)
    return value.astype(dtype)
