"""k-means by Newton's method: the gradient, and its derivative along ones."""

import torch

from benchmarks.gradients.in_torch import eager


def cost(points, centroids):
    squares = torch.sum((points[:, None] - centroids) ** 2, dim=2)
    return torch.sum(torch.min(squares, dim=1).values)


def direction(points, centroids):
    slope = torch.func.grad(lambda at: cost(points, at))
    gradient, diagonal = torch.func.jvp(slope, (centroids,), (torch.ones_like(centroids),))
    return gradient / diagonal


def kmeans(*args):
    return eager(cost, direction, args)


PEERS = {"kmeans": kmeans}
