"""Cross sections from tables: all lookups at once, by a search of as many halvings as the longest
grid needs."""

import torch

from benchmarks.gradients.in_torch import eager, gradient


def below(grids, nuclide, energy):
    low, high = torch.zeros_like(nuclide), torch.full_like(nuclide, grids.shape[1] - 1)
    for _ in range((grids.shape[1] - 1).bit_length()):
        middle = (low + high) // 2
        is_above = grids[nuclide, middle] > energy
        is_open = high - low > 1
        low = torch.where(is_open & ~is_above, middle, low)
        high = torch.where(is_open & is_above, middle, high)
    return low


def mean(tables, densities, grids, energies, materials, nuclides):
    nuclide, energy = nuclides[materials], energies[:, None]
    k = below(grids, nuclide, energy)
    start, stop = grids[nuclide, k], grids[nuclide, k + 1]
    share = ((energy - start) / (stop - start))[:, :, None]
    values = (1.0 - share) * tables[nuclide, k] + share * tables[nuclide, k + 1]
    total = torch.sum(densities[materials][:, :, None] * values, dim=1)
    return torch.mean(torch.max(total, dim=1).values)


def xsbench(*args):
    return eager(mean, gradient(mean, (0, 1)), args)


PEERS = {"xsbench": xsbench}
