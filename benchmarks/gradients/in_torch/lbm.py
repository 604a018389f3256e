"""A fluid on a lattice of nineteen velocities: whole lattices rolled, the velocities first."""

import numpy as np
import torch

from benchmarks.gradients.in_torch import eager, gradient


def lbm(f, solid, velocities, weights, opposite, steps):
    moves, shares = torch.from_numpy(velocities.astype(float)), torch.from_numpy(weights)

    def step(f, solid):
        here = torch.stack([
            torch.roll(part, move, (0, 1, 2))
            for part, move in zip(f, velocities.tolist(), strict=True)
        ])  # fmt: skip
        density = torch.sum(here, dim=0)
        u = torch.tensordot(moves.T, here, 1) / density
        still = 1.0 - 1.5 * torch.sum(u * u, dim=0)
        along = 3.0 * torch.tensordot(moves, u, 1)
        rest = shares[:, None, None, None] * density * (still + along + 0.5 * along * along)
        return torch.where(solid, here[opposite], here + 1.2 * (rest - here))

    def flow(f, solid):
        for _ in range(steps):
            f = step(f, solid)
        momentum = torch.tensordot(moves[:, 0], f, 1)
        return torch.sum(torch.where(solid, 0.0, momentum) ** 2)

    def tell(slopes):
        return np.moveaxis(slopes.numpy(), 0, 3)

    return eager(flow, gradient(flow), (np.moveaxis(f, 3, 0).copy(), solid), tell)


PEERS = {"lbm": lbm}
