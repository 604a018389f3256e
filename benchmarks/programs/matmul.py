"""The product of two matrices by three loops."""

import numpy as np

from benchmarks.program import Program, prange


def matmul(a, b):
    n, m = a.shape
    p = b.shape[1]
    c = np.zeros((n, p))
    for i in range(n):
        for j in range(p):
            for k in range(m):
                c[i, j] += a[i, k] * b[k, j]
    return c


def matmul_numpy(a, b):
    return a @ b


def matmul_rows(a, b):
    n, m = a.shape
    p = b.shape[1]
    c = np.zeros((n, p))
    for i in prange(n):
        for k in range(m):
            for j in range(p):
                c[i, j] += a[i, k] * b[k, j]
    return c


C = """
void kernel(const double *restrict a, const double *restrict b, int64_t n, int64_t m, int64_t p,
            double *restrict c) {
    #pragma omp parallel for
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < p; j++) c[i * p + j] = 0;
        for (int64_t k = 0; k < m; k++)
            for (int64_t j = 0; j < p; j++)
                c[i * p + j] += a[i * m + k] * b[k * p + j];
    }
}
"""


def arguments(rng, n):
    return rng.standard_normal((n, n)), rng.standard_normal((n, n))


PROGRAM = Program(
    name="matmul",
    source=matmul,
    numpy=matmul_numpy,
    numba=(matmul, matmul_rows),
    c=C,
    dims=lambda a, b: (*a.shape, b.shape[1]),
    outputs=lambda a, b: (np.empty((a.shape[0], b.shape[1])),),
    arguments=arguments,
    sizes={"small": (32,), "large": (384,)},
)
