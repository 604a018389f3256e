"""Prefix sums."""

import numpy as np

from benchmarks.program import Program


def scan(x):
    return np.cumsum(x)


def scan_loop(x):
    out = np.empty_like(x)
    total = 0.0
    for i in range(x.size):
        total += x[i]
        out[i] = total
    return out


C = """
void kernel(const double *restrict x, int64_t n, double *restrict out) {
    double total = 0;
    for (int64_t i = 0; i < n; i++) {
        total += x[i];
        out[i] = total;
    }
}
"""


def arguments(rng, n):
    return (rng.standard_normal(n),)


PROGRAM = Program(
    name="scan",
    source=scan,
    numpy=np.cumsum,
    numba=(scan, scan_loop),
    c=C,
    dims=lambda x: (x.size,),
    outputs=lambda x: (np.empty_like(x),),
    arguments=arguments,
    sizes={"small": (4_000,), "large": (4_000_000,)},
    tol=1e-8,
)
