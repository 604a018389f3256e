"""A language model of diagonal LSTM layers: the gradient of its loss (the program is in
tapeless.gradbench)."""

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
