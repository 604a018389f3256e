"""A language model of diagonal LSTM layers: a scan over the characters."""

import jax
import jax.numpy as jnp

from benchmarks.gradients.in_jax import compiled


def objective(main, extra, state, sequence):
    layers = main.shape[0] // 2
    weight, bias = jnp.split(main.reshape(layers, 2, 4, -1), 2, axis=1)

    def step(carried, now):
        hiddens, cells = carried
        x = now * extra[0]
        after = []
        for k in range(layers):
            (wf, wi, wo, wg), (bf, bi, bo, bg) = weight[k, 0], bias[k, 0]
            change = jax.nn.sigmoid(hiddens[k] * wi + bi) * jnp.tanh(hiddens[k] * wg + bg)
            cell = cells[k] * jax.nn.sigmoid(x * wf + bf) + change
            x = jax.nn.sigmoid(x * wo + bo) * jnp.tanh(cell)
            after.append((x, cell))
        hiddens, cells = zip(*after, strict=True)
        return (hiddens, cells), x * extra[1] + extra[2]

    start = (tuple(state[0::2]), tuple(state[1::2]))
    _, y = jax.lax.scan(step, start, sequence[:-1])
    odds = y - jnp.log(2.0 + jnp.sum(jnp.exp(y), axis=1, keepdims=True))
    return -jnp.sum(sequence[1:] * odds) / sequence[1:].size


def dlstm(*args):
    return compiled(objective, jax.grad(objective, (0, 1)), args)


PEERS = {"d-lstm": dlstm}
