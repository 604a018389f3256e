"""k-means of points in compressed rows: sums by index. The row of every entry is computed before
the clock starts."""

import numpy as np
import torch

from benchmarks.gradients.in_torch import eager, gradient


def kmeans_sparse(starts, columns, values, centroids):
    count = len(starts) - 1
    rows = np.repeat(np.arange(count), np.diff(starts))

    def cost(rows, columns, values, centroids):
        parts = values[:, None] * (values[:, None] - 2.0 * centroids.T[columns])
        far = torch.zeros((count, len(centroids))).index_add(0, rows, parts)
        return torch.sum(torch.min(far + torch.sum(centroids**2, dim=1), dim=1).values)

    return eager(cost, gradient(cost, 3), (rows, columns, values, centroids))


PEERS = {"kmeans sparse": kmeans_sparse}
