"""Gaussian mixture: triangular matrices filled by indices, then one product for all points."""

import math

import torch

from benchmarks.gradients.in_torch import eager, gradient


def objective(p, x, gamma, m):
    (n, d), k = x.shape, len(p["alpha"])
    columns, rows = torch.triu_indices(d, d, 1)
    diagonal = torch.exp(p["q"])
    factor = torch.zeros((k, d, d))
    factor[:, rows, columns] = p["l"]
    step = x[:, None] - p["mu"]
    z = diagonal * step + torch.einsum("krc,ikc->ikr", factor, step)
    beta = p["alpha"] + torch.sum(p["q"], dim=1) - 0.5 * torch.sum(z * z, dim=2)
    likelihood = torch.sum(torch.logsumexp(beta, 1)) - n * torch.logsumexp(p["alpha"], 0)
    freedom = d + m + 1
    scale = freedom * d * math.log(gamma / math.sqrt(2.0))
    scale -= torch.special.multigammaln(torch.tensor(0.5 * freedom), d)
    squares = torch.sum(diagonal**2) + torch.sum(p["l"] ** 2)
    prior = k * scale - 0.5 * gamma**2 * squares + m * torch.sum(p["q"])
    return likelihood - 0.5 * n * d * math.log(2.0 * math.pi) + prior


def gmm(*args):
    return eager(objective, gradient(objective), args)


PEERS = {"gmm": gmm}
