"""A language model of diagonal LSTM layers, and the gradient of its loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapeless.api.derivatives import grad
from tapeless.api.jit import jit
from tapeless.gradbench.question import Module, Question

Array = Any


def sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


def step(weight: Array, bias: Array, hidden: Array, cell: Array, below: Array) -> Any:
    """One layer at one time: its new hidden state and cell. Four gates share weight and bias."""
    b = hidden.size
    forget = sigmoid(below * weight[:b] + bias[:b])
    ingate = sigmoid(hidden * weight[b : 2 * b] + bias[b : 2 * b])
    outgate = sigmoid(below * weight[2 * b : 3 * b] + bias[2 * b : 3 * b])
    change = np.tanh(hidden * weight[3 * b :] + bias[3 * b :])
    cell = cell * forget + ingate * change
    return outgate * np.tanh(cell), cell


def objective(main: Array, extra: Array, state: Array, sequence: Array) -> Any:
    """Minus the mean log probability of each character after the ones before it."""
    characters, b = sequence.shape
    state = state.copy()
    total = 0.0
    for t in range(characters - 1):
        x = sequence[t] * extra[0]
        for layer in range(main.shape[0] // 2):
            hidden, cell = step(
                main[2 * layer], main[2 * layer + 1], state[2 * layer], state[2 * layer + 1], x
            )
            state[2 * layer] = hidden
            state[2 * layer + 1] = cell
            x = hidden
        y = x * extra[1] + extra[2]
        total += np.sum(sequence[t + 1] * (y - np.log(2.0 + np.sum(np.exp(y)))))
    return -total / ((characters - 1) * b)


def arguments(given: Any) -> tuple[Any, ...]:
    names = ("main_params", "extra_params", "state", "sequence")
    return tuple(np.array(given[name], float) for name in names)


def flat(gradient: tuple[Array, Array]) -> list[float]:
    return [*gradient[0].ravel().tolist(), *gradient[1].ravel().tolist()]


MODULE = Module(
    arguments,
    {
        "objective": Question(jit(objective)),
        "jacobian": Question(grad(objective, (0, 1)), flat),
    },
)
