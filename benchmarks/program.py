"""What a benchmark program is: one small file in `benchmarks/programs/`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import programs

try:
    from numba import prange
except ImportError:
    prange = range

Function = Callable[..., Any]
Arguments = tuple[Any, ...]


@dataclass(frozen=True)
class Program:
    """One computation, written four times.

    `source` is what a user writes and tapeless compiles. `numba` holds the strongest versions for
    Numba, each tried with fastmath and parallel on and off. `c` defines `kernel`, which takes the
    arguments in order (an array as a pointer, an int as int64_t, a float as double), then the
    sizes `dims(*args)`, then one pointer per array of `outputs(*args)`; it returns a double if
    there is nothing to write to. All versions write the arguments at the positions `writes` and
    return the same result.
    """

    name: str
    source: Function
    numpy: Function
    numba: tuple[Function, ...]
    c: str
    arguments: Callable[..., Arguments]
    sizes: Mapping[str, tuple[int, ...]]
    dims: Callable[..., tuple[int, ...]] = lambda *args: ()
    outputs: Callable[..., tuple[np.ndarray, ...]] = lambda *args: ()
    writes: tuple[int, ...] = ()
    tol: float = 1e-10
    exponential: bool = False  # its time goes into exp, log and their kin

    def data(self, size: str) -> Arguments:
        """The arguments of the size named `size`, the same in every run."""
        return self.arguments(np.random.default_rng(len(self.name)), *self.sizes[size])


def load_programs() -> dict[str, Program]:
    """Every program of the folder, by name."""
    modules = [
        importlib.import_module(f"{programs.__name__}.{info.name}")
        for info in pkgutil.iter_modules(programs.__path__)
    ]
    found = [module.PROGRAM for module in modules]
    return {program.name: program for program in sorted(found, key=lambda p: p.name)}
