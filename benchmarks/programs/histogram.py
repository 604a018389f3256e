"""How many values fall into each bin of equal width."""

import numpy as np

from benchmarks.program import Program

BINS = 256


def histogram(x, bins):
    count = np.zeros(bins, dtype=np.int64)
    for i in range(x.size):
        count[min(int(x[i] * bins), bins - 1)] += 1
    return count


def histogram_numpy(x, bins):
    return np.bincount(np.minimum((x * bins).astype(np.int64), bins - 1), minlength=bins)


C = """
void kernel(const double *restrict x, int64_t bins, int64_t n, int64_t *restrict count) {
    memset(count, 0, bins * sizeof *count);
    #pragma omp parallel for reduction(+ : count[:bins])
    for (int64_t i = 0; i < n; i++) {
        int64_t k = (int64_t)(x[i] * bins);
        count[k < bins - 1 ? k : bins - 1] += 1;
    }
}
"""


def arguments(rng, n):
    return rng.random(n), BINS


PROGRAM = Program(
    name="histogram",
    source=histogram,
    numpy=histogram_numpy,
    numba=(histogram,),
    c=C,
    dims=lambda x, bins: (x.size,),
    outputs=lambda x, bins: (np.empty(bins, dtype=np.int64),),
    arguments=arguments,
    sizes={"small": (4_000,), "large": (4_000_000,)},
)
