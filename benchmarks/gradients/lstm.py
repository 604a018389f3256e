"""An LSTM with full weight matrices over a batch of sequences.

    c ← c·σ(x·W₀ + h·U₀ + b₀) + σ(x·W₁ + h·U₁ + b₁)·tanh(x·W₂ + h·U₂ + b₂)
    h ← σ(x·W₃ + h·U₃ + b₃)·tanh(c)

The loss is the mean squared distance of the last h from a target, the derivative its gradient by
all matrices and biases. The time goes into products of matrices, the gradient's as well.
"""

import numpy as np

import tapeless as tp
from benchmarks.gradients.program import Example


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def gate(weights, k, x, hidden):
    return x @ weights["input"][k] + hidden @ weights["hidden"][k] + weights["bias"][k]


def loss(weights, inputs, target):
    """Mean squared distance of the last hidden state from `target`. The first gate forgets, the
    second lets in what the third proposes, the last lets out."""
    hidden = np.zeros_like(target)
    cell = np.zeros_like(target)
    for x in inputs:
        proposed = sigmoid(gate(weights, 1, x, hidden)) * np.tanh(gate(weights, 2, x, hidden))
        cell = cell * sigmoid(gate(weights, 0, x, hidden)) + proposed
        hidden = sigmoid(gate(weights, 3, x, hidden)) * np.tanh(cell)
    return np.mean((hidden - target) ** 2)


def arguments(rng, batch, steps, d, h):
    weights = {
        "input": rng.standard_normal((4, d, h)) / np.sqrt(d),
        "hidden": rng.standard_normal((4, h, h)) / np.sqrt(h),
        "bias": rng.standard_normal((4, h)),
    }
    return weights, rng.standard_normal((steps, batch, d)), rng.standard_normal((batch, h))


EXAMPLES = [Example("lstm", loss, tp.grad(loss), arguments, (2, 3, 4, 3), (64, 20, 80, 96), 3.0)]
