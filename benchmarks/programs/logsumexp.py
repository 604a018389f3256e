"""log Σ exp of every row, with the maximum taken out."""

import numpy as np
from scipy.special import logsumexp as scipy_logsumexp

from benchmarks.program import Program, prange


def logsumexp(x):
    top = np.max(x, axis=1)
    return top + np.log(np.sum(np.exp(x - top[:, None]), axis=1))


def logsumexp_numpy(x):
    return scipy_logsumexp(x, axis=1)


def logsumexp_loop(x):
    n, m = x.shape
    out = np.empty(n)
    for i in prange(n):
        top = x[i, 0]
        for j in range(1, m):
            top = max(top, x[i, j])
        total = 0.0
        for j in range(m):
            total += np.exp(x[i, j] - top)
        out[i] = top + np.log(total)
    return out


C = """
void kernel(const double *restrict x, int64_t n, int64_t m, double *restrict out) {
    #pragma omp parallel for
    for (int64_t i = 0; i < n; i++) {
        double top = x[i * m], total = 0;
        for (int64_t j = 1; j < m; j++) top = x[i * m + j] > top ? x[i * m + j] : top;
        for (int64_t j = 0; j < m; j++) total += exp(x[i * m + j] - top);
        out[i] = top + log(total);
    }
}
"""


def arguments(rng, n, m):
    return (rng.standard_normal((n, m)),)


PROGRAM = Program(
    name="logsumexp",
    source=logsumexp,
    numpy=logsumexp_numpy,
    numba=(logsumexp_loop,),
    c=C,
    dims=lambda x: x.shape,
    outputs=lambda x: (np.empty(x.shape[0]),),
    arguments=arguments,
    sizes={"small": (40, 100), "large": (2_000, 1_000)},
    exponential=True,
)
