"""Gravity between all pairs of bodies, softened."""

import numpy as np

from benchmarks.program import Program, prange


def nbody(position, mass):
    n = mass.size
    force = np.zeros((n, 3))
    for i in range(n):
        for j in range(n):
            dx = position[j, 0] - position[i, 0]
            dy = position[j, 1] - position[i, 1]
            dz = position[j, 2] - position[i, 2]
            r2 = dx * dx + dy * dy + dz * dz + 1e-3
            w = mass[j] / (r2 * np.sqrt(r2))
            force[i, 0] += w * dx
            force[i, 1] += w * dy
            force[i, 2] += w * dz
    return force


def nbody_numpy(position, mass):
    d = position[None, :, :] - position[:, None, :]
    r2 = np.einsum("ijk,ijk->ij", d, d) + 1e-3
    return np.einsum("ij,ijk->ik", mass / (r2 * np.sqrt(r2)), d)


def nbody_parallel(position, mass):
    n = mass.size
    force = np.empty((n, 3))
    for i in prange(n):
        x, y, z = position[i, 0], position[i, 1], position[i, 2]
        fx = fy = fz = 0.0
        for j in range(n):
            dx = position[j, 0] - x
            dy = position[j, 1] - y
            dz = position[j, 2] - z
            r2 = dx * dx + dy * dy + dz * dz + 1e-3
            w = mass[j] / (r2 * np.sqrt(r2))
            fx += w * dx
            fy += w * dy
            fz += w * dz
        force[i, 0] = fx
        force[i, 1] = fy
        force[i, 2] = fz
    return force


C = """
void kernel(const double *restrict p, const double *restrict mass, int64_t n,
            double *restrict force) {
    #pragma omp parallel for
    for (int64_t i = 0; i < n; i++) {
        double fx = 0, fy = 0, fz = 0;
        for (int64_t j = 0; j < n; j++) {
            double dx = p[3 * j] - p[3 * i], dy = p[3 * j + 1] - p[3 * i + 1];
            double dz = p[3 * j + 2] - p[3 * i + 2];
            double r2 = dx * dx + dy * dy + dz * dz + 1e-3;
            double w = mass[j] / (r2 * sqrt(r2));
            fx += w * dx;
            fy += w * dy;
            fz += w * dz;
        }
        force[3 * i] = fx;
        force[3 * i + 1] = fy;
        force[3 * i + 2] = fz;
    }
}
"""


def arguments(rng, n):
    return rng.standard_normal((n, 3)), rng.random(n)


PROGRAM = Program(
    name="nbody",
    source=nbody,
    numpy=nbody_numpy,
    numba=(nbody, nbody_parallel),
    c=C,
    dims=lambda position, mass: (mass.size,),
    outputs=lambda position, mass: (np.empty_like(position),),
    arguments=arguments,
    sizes={"small": (64,), "large": (2_000,)},
)
