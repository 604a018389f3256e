"""A Gaussian mixture: the log posterior of its parameters, with a Wishart prior.

Component k has a weight α_k, a mean μ_k and an inverse covariance Q_kᵀQ_k, with Q_k lower
triangular, exp(q_k) on its diagonal and l_k below, column by column. Of points x_i:

    Σ_i log Σ_k exp(α_k + Σ q_k − ½|Q_k (x_i − μ_k)|²) − n·log Σ_k exp α_k + log prior(q, l).

Sums of exponentials are taken with their greatest term in front. The derivative is the gradient
by α, μ, q and l.
"""

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
