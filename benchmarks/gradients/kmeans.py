"""k-means as an optimisation problem, by Newton's method.

The cost of centres c_j is Σ_i min_j |p_i − c_j|² over points p_i. Its Hessian has nothing beside
the diagonal, so that Newton's direction is the gradient over the Hessian times a vector of ones:
forward mode over reverse mode, one pass over the points.
"""

import tapeless as tp
from benchmarks.gradients.program import Example
from tapeless.gradbench.programs.kmeans import cost, direction


def arguments(rng, n, k, d):
    points = rng.random((n, d))
    return points, points[-k:].copy()


EXAMPLES = [
    Example("kmeans", cost, tp.jit(direction), arguments, (40, 4, 3), (10_000, 10, 16), 3.0)
]
