"""k-means of sparse points, in compressed rows.

|p − c|² = |c|² + Σ p_e·(p_e − 2·c_e) over the entries e of p that are not zero: only these are
read. The derivative is the gradient of Σ_i min_j |p_i − c_j|² by the centres, which are dense.
"""

import numpy as np

import tapeless as tp
from benchmarks.gradients.program import Example


def cost(starts, columns, values, centroids):
    squares = np.sum(centroids * centroids, axis=1)
    total = 0.0
    for i in range(len(starts) - 1):
        far = squares.copy()
        for e in range(starts[i], starts[i + 1]):
            far += values[e] * (values[e] - 2.0 * centroids[:, columns[e]])
        total += np.min(far)
    return total


def arguments(rng, n, k, d, filled):
    """`filled` entries a point on average."""
    starts = np.concatenate([[0], np.cumsum(rng.integers(1, 2 * filled, n))])
    columns = rng.integers(0, d, starts[-1])
    return starts, columns, rng.random(starts[-1]), rng.random((k, d))


EXAMPLES = [
    Example(
        "kmeans sparse", cost, tp.grad(cost, 3), arguments,
        (20, 3, 8, 3), (10_000, 10, 1_000, 30), 4.0,
    )
]  # fmt: skip
