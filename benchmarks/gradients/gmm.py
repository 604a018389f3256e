"""Gaussian mixture: the gradient of its log posterior (the program is in tapeless.gradbench)."""

import tapeless as tp
from benchmarks.gradients.program import Example
from tapeless.gradbench.programs.gmm import objective


def arguments(rng, n, d, k):
    parameters = {
        "alpha": rng.standard_normal(k), "mu": rng.random((k, d)),
        "q": 0.1 * rng.standard_normal((k, d)),
        "l": 0.1 * rng.standard_normal((k, d * (d - 1) // 2)),
    }  # fmt: skip
    return parameters, rng.standard_normal((n, d)), 1.0, 0


EXAMPLES = [
    Example("gmm", objective, tp.grad(objective), arguments, (20, 3, 4), (1_000, 10, 25), 3.0)
]
