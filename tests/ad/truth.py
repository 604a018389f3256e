"""Derivatives by other means: differences of high order, and complex steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

# f'(x) = Σ c_k·(f(x + k·h) − f(x − k·h)) / h + O(h⁸)
WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)


def slope(f: Callable[[float], Any], h: float = 1e-2) -> Any:
    """f'(0)."""
    parts = [w * (np.asarray(f(k * h)) - np.asarray(f(-k * h))) for k, w in enumerate(WEIGHTS, 1)]
    return sum(parts) / h


def differences(f: Callable[[Any], Any], x: Any, h: float = 1e-2) -> Any:
    """The Jacobian of f: the shape of its result, then that of x."""
    x = np.asarray(x, float)
    columns = []
    for k in range(x.size):
        unit = np.zeros(x.size)
        unit[k] = 1.0
        unit = unit.reshape(x.shape)
        columns.append(slope(lambda t, unit=unit: f(x + t * unit), h))
    table = np.moveaxis(np.array(columns), 0, -1)
    return table.reshape((*table.shape[:-1], *x.shape))


def complex_step(f: Callable[[Any], Any], x: Any) -> Any:
    """The gradient of f, which takes complex numbers, to rounding."""
    x = np.asarray(x, complex)
    out = np.zeros(x.shape)
    for k in range(x.size):
        moved = x.copy()
        moved.flat[k] += 1e-30j
        out.flat[k] = np.imag(f(moved)) / 1e-30
    return out
