"""A sparse matrix in compressed rows times a vector."""

import numpy as np
import scipy.sparse

from benchmarks.program import Program, prange


def spmv(start, column, value, x):
    y = np.zeros(start.size - 1)
    for i in range(start.size - 1):
        for k in range(start[i], start[i + 1]):
            y[i] += value[k] * x[column[k]]
    return y


def spmv_numpy(start, column, value, x):
    shape = (start.size - 1, x.size)
    return scipy.sparse.csr_array((value, column, start), shape, copy=False) @ x


def spmv_parallel(start, column, value, x):
    y = np.empty(start.size - 1)
    for i in prange(start.size - 1):
        total = 0.0
        for k in range(start[i], start[i + 1]):
            total += value[k] * x[column[k]]
        y[i] = total
    return y


C = """
void kernel(const int64_t *restrict start, const int64_t *restrict column,
            const double *restrict value, const double *restrict x, int64_t n, double *restrict y) {
    #pragma omp parallel for
    for (int64_t i = 0; i < n; i++) {
        double total = 0;
        for (int64_t k = start[i]; k < start[i + 1]; k++) total += value[k] * x[column[k]];
        y[i] = total;
    }
}
"""


def arguments(rng, n, per_row):
    counts = rng.integers(0, 2 * per_row, n)
    start = np.concatenate([[0], np.cumsum(counts)])
    column = rng.integers(0, n, start[-1])
    return start, column, rng.standard_normal(start[-1]), rng.standard_normal(n)


PROGRAM = Program(
    name="spmv",
    source=spmv,
    numpy=spmv_numpy,
    numba=(spmv, spmv_parallel),
    c=C,
    dims=lambda start, column, value, x: (start.size - 1,),
    outputs=lambda start, column, value, x: (np.empty(start.size - 1),),
    arguments=arguments,
    sizes={"small": (500, 10), "large": (200_000, 20)},
)
