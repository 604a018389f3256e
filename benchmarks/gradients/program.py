"""What a program of this folder is: a function as a user writes it, what its derivative is, and
data for it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import gradients

Function = Callable[..., Any]
NOT_PROGRAMS = ("__main__", "peer", "program", "slots", "worker")


@dataclass(frozen=True)
class Example:
    """`derivative` is a function of the same arguments. `bound` is what its time over the
    primal's is to stay below."""

    name: str
    primal: Function
    derivative: Function
    arguments: Callable[..., tuple[Any, ...]]
    small: tuple[Any, ...]
    large: tuple[Any, ...]
    bound: float

    def data(self, size: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments of a size, the same in every run."""
        return self.arguments(np.random.default_rng(len(self.name)), *size)


def load_examples() -> Mapping[str, Example]:
    """Every program of the folder, by name."""
    found = {}
    for info in pkgutil.iter_modules(gradients.__path__):
        if info.name not in NOT_PROGRAMS and not info.ispkg:
            module = importlib.import_module(f"{gradients.__name__}.{info.name}")
            found |= {example.name: example for example in module.EXAMPLES}
    return found
