"""Cross sections of neutrons from tables (XSBench).

A lookup has an energy and a material. For each nuclide of the material it finds the energy in
the nuclide's grid by bisection and interpolates five cross sections linearly; densities weigh
the nuclides. The derivative is the gradient, by tables and densities, of the mean over many
lookups of the greatest of the five: a search whose steps have no derivative, and sums into
tables.
"""

import numpy as np

import tapeless as tp
from benchmarks.gradients.program import Example


def below(grid, energy):
    """The last interval of an ascending grid that begins at or below an energy."""
    low, high = 0, len(grid) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if grid[middle] > energy:
            high = middle
        else:
            low = middle
    return low


def lookup(energy, material, grids, tables, nuclides, densities):
    """Five macroscopic cross sections: Σ density · (the table, interpolated)."""
    total = np.zeros(5)
    for slot in range(nuclides.shape[1]):
        nuclide = nuclides[material, slot]
        k = below(grids[nuclide], energy)
        start, stop = grids[nuclide, k], grids[nuclide, k + 1]
        share = (energy - start) / (stop - start)
        for c in range(5):
            value = (1.0 - share) * tables[nuclide, k, c] + share * tables[nuclide, k + 1, c]
            total[c] += densities[material, slot] * value
    return total


def mean(tables, densities, grids, energies, materials, nuclides):
    """Mean over the lookups of the greatest of the five."""
    total = 0.0
    for i in range(len(energies)):
        found = lookup(energies[i], materials[i], grids, tables, nuclides, densities)
        total += np.max(found)
    return total / len(energies)


def arguments(rng, lookups, nuclides, points, materials=4, slots=6):
    grids = np.sort(rng.random((nuclides, points)), axis=1)
    grids[:, 0], grids[:, -1] = 0.0, 1.0
    return (
        rng.random((nuclides, points, 5)), rng.random((materials, slots)), grids,
        rng.random(lookups), rng.integers(0, materials, lookups),
        rng.integers(0, nuclides, (materials, slots)),
    )  # fmt: skip


EXAMPLES = [
    Example(
        "xsbench", mean, tp.grad(mean, (0, 1)), arguments, (15, 5, 12), (100_000, 60, 1_000), 3.0
    )
]
