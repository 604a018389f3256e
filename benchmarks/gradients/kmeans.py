"""k-means by Newton's method: gradient and Hessian diagonal of its cost (the program is in
tapeless.gradbench)."""

import tapeless as tp
from benchmarks.gradients.program import Example
from tapeless.gradbench.programs.kmeans import cost, direction


def arguments(rng, n, k, d):
    points = rng.random((n, d))
    return points, points[-k:].copy()


EXAMPLES = [
    Example("kmeans", cost, tp.jit(direction), arguments, (40, 4, 3), (10_000, 10, 16), 3.0)
]
