"""What another system's version of a program is: two calls on data that it already holds."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import gradients

SYSTEMS = {"JAX": "in_jax", "PyTorch": "in_torch"}


@dataclass(frozen=True)
class Peer:
    """`primal` and `derivative` return when their results are there. `tell` gives a result of
    `derivative` the structure that ours has, in NumPy's arrays."""

    primal: Callable[[], Any]
    derivative: Callable[[], Any]
    tell: Callable[[Any], Any]


def load_system(folder: str) -> Mapping[str, Callable[..., Peer]]:
    """By name of the program, what makes a peer of the program's arguments."""
    package = importlib.import_module(f"{gradients.__name__}.{folder}")
    found: dict[str, Callable[..., Peer]] = {}
    for info in pkgutil.iter_modules(package.__path__):
        found |= importlib.import_module(f"{package.__name__}.{info.name}").PEERS
    return found


def difference(one: Any, other: Any) -> float:
    """Between two trees of arrays of one structure: the greatest distance of two numbers, over the
    greatest number of their array."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        return max(difference(one[name], other[name]) for name in one)
    if isinstance(one, tuple | list):
        return max(difference(a, b) for a, b in zip(one, other, strict=True))
    a, b = np.asarray(one), np.asarray(other)
    assert a.shape == b.shape, (a.shape, b.shape)
    greatest = float(np.max(np.abs(a), initial=0.0))
    return float(np.max(np.abs(a - b), initial=0.0)) / (greatest or 1.0)
