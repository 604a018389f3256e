"""k-means by Newton's method: the gradient, and its derivative along ones."""

import jax
import jax.numpy as jnp

from benchmarks.gradients.in_jax import compiled


def cost(points, centroids):
    squares = jnp.sum((points[:, None] - centroids) ** 2, axis=2)
    return jnp.sum(jnp.min(squares, axis=1))


def direction(points, centroids):
    slope = jax.grad(lambda at: cost(points, at))
    gradient, diagonal = jax.jvp(slope, (centroids,), (jnp.ones_like(centroids),))
    return gradient / diagonal


def kmeans(*args):
    return compiled(cost, direction, args)


PEERS = {"kmeans": kmeans}
