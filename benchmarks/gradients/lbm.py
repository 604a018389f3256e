"""A fluid on a lattice of nineteen velocities (lattice Boltzmann, D3Q19).

Every cell holds a population f_q for each of nineteen velocities e_q. In a step it takes in what
flows towards it, then relaxes towards equilibrium: with density ρ = Σ f_q and velocity u = Σ
f_q·e_q / ρ,

    f_q ← f_q + ω·(w_q·ρ·(1 + 3 e_q·u + 4.5 (e_q·u)² − 1.5 |u|²) − f_q).

Solid cells throw back what comes. The lattice is a torus. The derivative is the gradient, by how
the flow began, of the squared momentum along one axis after some steps.
"""

import numpy as np

import tapeless as tp
from benchmarks.gradients.program import Example

VELOCITIES = np.array([
    [0, 0, 0],
    [1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1],
    [1, 1, 0], [-1, -1, 0], [1, -1, 0], [-1, 1, 0],
    [1, 0, 1], [-1, 0, -1], [1, 0, -1], [-1, 0, 1],
    [0, 1, 1], [0, -1, -1], [0, 1, -1], [0, -1, 1],
])  # fmt: skip
WEIGHTS = np.array([1 / 3, *[1 / 18] * 6, *[1 / 36] * 12])
OPPOSITE = np.array([0, 2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11, 14, 13, 16, 15, 18, 17])


def step(f, solid, velocities, weights, opposite):
    """Every cell takes in what flows towards it and relaxes towards equilibrium; walls throw it
    back. The lattice is a torus."""
    nx, ny, nz, _ = f.shape
    new = np.empty_like(f)
    for x in range(nx):
        for y in range(ny):
            for z in range(nz):
                here = np.empty(19)
                for q in range(19):
                    ex, ey, ez = velocities[q]
                    here[q] = f[(x - ex) % nx, (y - ey) % ny, (z - ez) % nz, q]
                if solid[x, y, z]:
                    for q in range(19):
                        new[x, y, z, q] = here[opposite[q]]
                else:
                    density = np.sum(here)
                    u = here @ velocities / density
                    still = 1.0 - 1.5 * np.sum(u * u)
                    for q in range(19):
                        along = 3.0 * np.sum(velocities[q] * u)
                        rest = weights[q] * density * (still + along + 0.5 * along * along)
                        new[x, y, z, q] = here[q] + 1.2 * (rest - here[q])
    return new


def flow(f, solid, velocities, weights, opposite, steps):
    """Σ over fluid cells of the momentum along the first axis, squared."""
    for _ in range(steps):
        f = step(f, solid, velocities, weights, opposite)
    total = 0.0
    for x in range(f.shape[0]):
        for y in range(f.shape[1]):
            for z in range(f.shape[2]):
                if not solid[x, y, z]:
                    total += np.sum(f[x, y, z] * velocities[:, 0]) ** 2
    return total


def arguments(rng, side, steps):
    f = WEIGHTS * (1.0 + 0.1 * rng.standard_normal((side, side, side, 19)))
    solid = rng.random((side, side, side)) < 0.1
    return f, solid, VELOCITIES, WEIGHTS, OPPOSITE, steps


EXAMPLES = [Example("lbm", flow, tp.grad(flow), arguments, (4, 2), (24, 10), 3.5)]
