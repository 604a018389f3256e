"""Cross sections of neutrons by the multipole method (RSBench).

A lookup has an energy E and a material. For each nuclide of the material it adds up the
resonances in one window of energy: Re(strength · ψ) / E, where ψ = i / (pole − √E), broadened
near the pole by the Faddeeva function, here by the asymptotic and rational form that Monte Carlo
codes take. Densities weigh the nuclides. The derivative is the gradient of the mean over many
lookups by all poles and densities: complex arithmetic, windows of any width, and sums into
tables at places that data name.
"""

import numpy as np

import tapeless as tp
from benchmarks.gradients.program import Example


def broadened(z):
    """w(z) of the upper half plane by three poles, for |z| > 6 all that is needed."""
    square = z * z
    return 1j * z * (0.2749957 / (square - 0.2755105) + 2.724745 / (square - 2.724745)
                     + 0.5 / np.sqrt(np.pi) / square)  # fmt: skip


def lookup(energy, material, nuclides, densities, poles, windows):
    """Macroscopic cross section of a material at an energy in (0, 1): Σ density · Re Σ_poles."""
    root = np.sqrt(energy)
    total = 0.0
    for slot in range(nuclides.shape[1]):
        nuclide = nuclides[material, slot]
        window = int(energy * (windows.shape[1] - 1))
        micro = 0.0
        for p in range(windows[nuclide, window], windows[nuclide, window + 1]):
            place = complex(poles[nuclide, p, 0], poles[nuclide, p, 1])
            strength = complex(poles[nuclide, p, 2], poles[nuclide, p, 3])
            z = (root - place) * 20.0
            psi = broadened(z) if abs(z) > 6.0 else 1j / (place - root)
            micro += (strength * psi).real / energy
        total += densities[material, slot] * micro
    return total


def mean(poles, densities, energies, materials, nuclides, windows):
    total = 0.0
    for i in range(len(energies)):
        total += lookup(energies[i], materials[i], nuclides, densities, poles, windows)
    return total / len(energies)


def arguments(rng, lookups, nuclides, poles, windows, materials=4, slots=6):
    table = rng.standard_normal((nuclides, poles, 4))
    table[:, :, 0] = np.sort(rng.random((nuclides, poles)), axis=1)
    table[:, :, 1] = -0.05 - 0.1 * rng.random((nuclides, poles))  # below the real axis
    cuts = np.sort(rng.integers(0, poles + 1, (nuclides, windows + 1)), axis=1)
    return (
        table, rng.random((materials, slots)), 0.01 + 0.98 * rng.random(lookups),
        rng.integers(0, materials, lookups), rng.integers(0, nuclides, (materials, slots)), cuts,
    )  # fmt: skip


EXAMPLES = [
    Example(
        "rsbench",
        mean,
        tp.grad(mean, (0, 1)),
        arguments,
        (15, 5, 20, 6),
        (50_000, 60, 200, 25),
        3.0,
    )
]
