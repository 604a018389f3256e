"""Shortest paths between all pairs of nodes (Floyd–Warshall), in place."""

import numpy as np

from benchmarks.program import Program, prange


def floyd(d):
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                d[i, j] = min(d[i, j], d[i, k] + d[k, j])


def floyd_numpy(d):
    for k in range(d.shape[0]):
        np.minimum(d, d[:, k, None] + d[k], out=d)


def floyd_parallel(d):
    n = d.shape[0]
    for k in range(n):
        for i in prange(n):
            through = d[i, k]
            for j in range(n):
                d[i, j] = min(d[i, j], through + d[k, j])


C = """
void kernel(double *restrict d, int64_t n) {
    #pragma omp parallel
    for (int64_t k = 0; k < n; k++) {
        const double *row = d + k * n;
        #pragma omp for
        for (int64_t i = 0; i < n; i++) {
            double through = d[i * n + k];
            #pragma omp simd
            for (int64_t j = 0; j < n; j++) {
                double t = through + row[j];
                d[i * n + j] = d[i * n + j] < t ? d[i * n + j] : t;
            }
        }
    }
}
"""


def arguments(rng, n):
    d = rng.uniform(1, 100, (n, n))
    np.fill_diagonal(d, 0.0)
    return (d,)


PROGRAM = Program(
    name="floyd",
    source=floyd,
    numpy=floyd_numpy,
    numba=(floyd, floyd_parallel),
    c=C,
    dims=lambda d: (d.shape[0],),
    writes=(0,),
    arguments=arguments,
    sizes={"small": (40,), "large": (400,)},
)
