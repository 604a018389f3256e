"""A chain of elementwise operations: z = (a x + y)(x − y) / (1 + x²) + √|y|."""

import numpy as np

from benchmarks.program import Program, prange


def chain(a, x, y):
    return (a * x + y) * (x - y) / (1.0 + x * x) + np.sqrt(np.abs(y))


def chain_numpy(a, x, y):
    z = a * x
    z += y
    d = x - y
    z *= d
    np.multiply(x, x, out=d)
    d += 1.0
    z /= d
    np.abs(y, out=d)
    np.sqrt(d, out=d)
    z += d
    return z


def chain_loop(a, x, y):
    z = np.empty_like(x)
    for i in prange(x.size):
        z[i] = (a * x[i] + y[i]) * (x[i] - y[i]) / (1.0 + x[i] * x[i]) + np.sqrt(np.abs(y[i]))
    return z


C = """
void kernel(double a, const double *restrict x, const double *restrict y, int64_t n,
            double *restrict z) {
    #pragma omp parallel for
    for (int64_t i = 0; i < n; i++)
        z[i] = (a * x[i] + y[i]) * (x[i] - y[i]) / (1.0 + x[i] * x[i]) + sqrt(fabs(y[i]));
}
"""


def arguments(rng, n):
    return 1.7, rng.standard_normal(n), rng.standard_normal(n)


PROGRAM = Program(
    name="chain",
    source=chain,
    numpy=chain_numpy,
    numba=(chain, chain_loop),
    c=C,
    dims=lambda a, x, y: (x.size,),
    outputs=lambda a, x, y: (np.empty_like(x),),
    arguments=arguments,
    sizes={"small": (4_000,), "large": (2_000_000,)},
)
