"""Gaussian mixture: triangular matrices filled by indices, then one product for all points."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp, multigammaln

from benchmarks.gradients.in_jax import compiled


def objective(p, x, gamma, m):
    (n, d), k = x.shape, p["alpha"].size
    columns, rows = np.triu_indices(d, 1)
    diagonal = jnp.exp(p["q"])
    factor = jnp.zeros((k, d, d)).at[:, rows, columns].set(p["l"])
    step = x[:, None] - p["mu"]
    z = diagonal * step + jnp.einsum("krc,ikc->ikr", factor, step)
    beta = p["alpha"] + jnp.sum(p["q"], axis=1) - 0.5 * jnp.sum(z * z, axis=2)
    likelihood = jnp.sum(logsumexp(beta, axis=1)) - n * logsumexp(p["alpha"])
    freedom = d + m + 1
    scale = freedom * d * jnp.log(gamma / math.sqrt(2.0)) - multigammaln(0.5 * freedom, d)
    squares = jnp.sum(diagonal**2) + jnp.sum(p["l"] ** 2)
    prior = k * scale - 0.5 * gamma**2 * squares + m * jnp.sum(p["q"])
    return likelihood - 0.5 * n * d * math.log(2.0 * math.pi) + prior


def gmm(*args):
    return compiled(objective, jax.grad(objective), args)


PEERS = {"gmm": gmm}
