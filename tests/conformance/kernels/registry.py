"""What a kernel of the corpus is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Function = Callable[..., Any]
Data = Callable[[np.random.Generator, int], tuple[Any, ...]]


@dataclass(frozen=True)
class Kernel:
    """One function as people write it for NumPy or Numba.

    `data(rng, size)` makes its arguments; `writes` names the arguments it writes in place.
    `oracle`, where there is one, computes the same by an independent formula: it takes the same
    arguments, returns the same result and writes the same arguments.
    """

    name: str
    function: Function
    data: Data
    writes: tuple[str, ...] = ()
    tol: float = 1e-12
    oracle: Function | None = None
