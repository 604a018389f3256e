"""A language model of diagonal LSTM layers (D-LSTM).

The bits of a text's characters go through layers in which every gate has a weight and a bias for
each component instead of a matrix. With layer input u, hidden state h, cell c, all by component:

    c ← c·σ(u·w_f + b_f) + σ(h·w_i + b_i)·tanh(h·w_g + b_g),   h ← σ(u·w_o + b_o)·tanh(c),

and h is the next layer's u. Of the last layer's output y, logits of the next character's bits,
the loss is minus the mean of Σ next·(y − log(2 + Σ exp y)). The derivative is the gradient by
all weights; reverse mode runs back through a loop over the characters.
"""

import tapeless as tp
from benchmarks.gradients.program import Example
from tapeless.gradbench.programs.lstm import objective


def arguments(rng, layers, characters, bits):
    sequence = rng.integers(0, 2, (characters, bits)).astype(float)
    main, extra = rng.random((2 * layers, 4 * bits)), rng.random((3, bits))
    return main, extra, rng.random((2 * layers, bits)), sequence


EXAMPLES = [
    Example(
        "d-lstm", objective, tp.grad(objective, (0, 1)), arguments, (2, 8, 3), (2, 1_024, 14), 3.5
    )
]
