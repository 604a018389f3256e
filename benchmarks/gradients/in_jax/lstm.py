"""An LSTM with full matrices: a scan over the steps, the four gates by one product."""

import jax
import jax.numpy as jnp

from benchmarks.gradients.in_jax import compiled


def loss(weights, inputs, target):
    h = target.shape[1]
    wide = {name: jnp.moveaxis(weights[name], 0, 1) for name in ("input", "hidden")}
    wide = {name: w.reshape(w.shape[0], 4 * h) for name, w in wide.items()}
    fed = inputs @ wide["input"] + weights["bias"].reshape(4 * h)

    def step(state, x):
        hidden, cell = state
        forget, let, new, out = jnp.split(x + hidden @ wide["hidden"], 4, axis=1)
        cell = cell * jax.nn.sigmoid(forget) + jax.nn.sigmoid(let) * jnp.tanh(new)
        return (jax.nn.sigmoid(out) * jnp.tanh(cell), cell), None

    (hidden, _), _ = jax.lax.scan(step, (jnp.zeros_like(target), jnp.zeros_like(target)), fed)
    return jnp.mean((hidden - target) ** 2)


def lstm(*args):
    return compiled(loss, jax.grad(loss), args)


PEERS = {"lstm": lstm}
