"""k-means as an optimisation problem: its cost, and the direction of Newton's method."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapeless.api.derivatives import grad, jvp
from tapeless.api.jit import jit
from tapeless.gradbench.question import Module, Question

Array = Any


def cost(points: Array, centroids: Array) -> Any:
    """Σ_i min_j |points_i − centroids_j|²."""
    total = 0.0
    for p in points:
        total += min(np.sum((p - c) ** 2) for c in centroids)
    return total


def direction(points: Array, centroids: Array) -> Array:
    """Gradient over the Hessian's diagonal. The Hessian has nothing beside its diagonal, which is
    therefore its product with ones: forward mode over reverse mode."""

    def slope(at: Array) -> Array:
        return grad(cost, 1)(points, at)

    gradient, diagonal = jvp(slope, (centroids,), (np.ones_like(centroids),))
    return gradient / diagonal


def arguments(given: Any) -> tuple[Any, ...]:
    return np.array(given["points"], float), np.array(given["centroids"], float)


MODULE = Module(arguments, {"cost": Question(jit(cost)), "dir": Question(jit(direction))})
