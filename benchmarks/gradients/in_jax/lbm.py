"""A fluid on a lattice of nineteen velocities: whole lattices rolled, the velocities first."""

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.gradients.in_jax import compiled


def lbm(f, solid, velocities, weights, opposite, steps):
    def step(f, solid):
        here = jnp.stack([jnp.roll(f[q], velocities[q], axis=(0, 1, 2)) for q in range(19)])
        density = jnp.sum(here, axis=0)
        u = jnp.tensordot(velocities.T.astype(float), here, 1) / density
        still = 1.0 - 1.5 * jnp.sum(u * u, axis=0)
        along = 3.0 * jnp.tensordot(velocities.astype(float), u, 1)
        rest = weights[:, None, None, None] * density * (still + along + 0.5 * along * along)
        return jnp.where(solid, here[opposite], here + 1.2 * (rest - here))

    def flow(f, solid):
        again = jax.checkpoint(step)  # faster than to keep what a step computes
        f, _ = jax.lax.scan(lambda f, _: (again(f, solid), None), f, length=steps)
        momentum = jnp.tensordot(velocities[:, 0].astype(float), f, 1)
        return jnp.sum(jnp.where(solid, 0.0, momentum) ** 2)

    def tell(gradient):
        return np.moveaxis(np.asarray(gradient), 0, 3)

    return compiled(flow, jax.grad(flow), (np.moveaxis(f, 3, 0).copy(), solid), tell)


PEERS = {"lbm": lbm}
