"""Log posterior of a Gaussian mixture with a Wishart prior, and its gradient."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapeless.api.derivatives import grad
from tapeless.api.jit import jit
from tapeless.gradbench.question import Module, Question

Array = Any


def log_sum_exp(x: Array) -> Any:
    top = np.max(x)
    return top + np.log(np.sum(np.exp(x - top)))


def log_likelihood(x: Array, alpha: Array, mu: Array, q: Array, l: Array) -> Any:
    """Σ_i log Σ_k exp(α_k + Σ q_k − ½‖Q_k (x_i − μ_k)‖²) − n log Σ_k exp α_k, where Q_k is lower
    triangular: exp(q_k) on its diagonal, l_k below, column by column."""
    n, d = x.shape
    k = alpha.size
    diagonal = np.exp(q)
    total = 0.0
    for i in range(n):
        beta = np.empty(k)
        for c in range(k):
            step = x[i] - mu[c]
            z = diagonal[c] * step
            at = 0
            for col in range(d):
                for row in range(col + 1, d):
                    z[row] += l[c, at + row - col - 1] * step[col]
                at += d - col - 1
            beta[c] = alpha[c] + np.sum(q[c]) - 0.5 * np.sum(z * z)
        total += log_sum_exp(beta)
    return total - n * log_sum_exp(alpha)


def log_prior(q: Array, l: Array, gamma: float, m: int) -> Any:
    k, d = q.shape
    freedom = d + m + 1
    scale = freedom * d * math.log(gamma / math.sqrt(2.0)) - 0.25 * d * (d - 1) * math.log(math.pi)
    for j in range(d):
        scale -= math.lgamma(0.5 * (freedom - j))
    squares = np.sum(np.exp(2.0 * q)) + np.sum(l * l)
    return k * scale - 0.5 * gamma * gamma * squares + m * np.sum(q)


def objective(p: dict[str, Array], x: Array, gamma: float, m: int) -> Any:
    """The log posterior of `p`: weights alpha, means mu, inverse covariances q and l."""
    n, d = x.shape
    likelihood = log_likelihood(x, p["alpha"], p["mu"], p["q"], p["l"])
    return likelihood - 0.5 * n * d * math.log(2.0 * math.pi) + log_prior(p["q"], p["l"], gamma, m)


def arguments(given: Any) -> tuple[Any, ...]:
    d, k = given["d"], given["k"]
    shapes = {"alpha": (k,), "mu": (k, d), "q": (k, d), "l": (k, d * (d - 1) // 2)}
    parameters = {
        name: np.array(given[name], float).reshape(shape) for name, shape in shapes.items()
    }
    return parameters, np.array(given["x"], float), float(given["gamma"]), int(given["m"])


MODULE = Module(
    arguments,
    {"objective": Question(jit(objective)), "jacobian": Question(grad(objective))},
)
