"""Heat on a plate: 200 steps of a five-point stencil, two arrays taking turns."""

from benchmarks.program import Program, prange

STEPS = 200


def stencil(u, v, steps):
    n, m = u.shape
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                v[i, j] = 0.2 * (u[i, j] + u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                u[i, j] = 0.2 * (v[i, j] + v[i - 1, j] + v[i + 1, j] + v[i, j - 1] + v[i, j + 1])


def stencil_numpy(u, v, steps):
    for _ in range(steps):
        for new, old in ((v, u), (u, v)):
            new[1:-1, 1:-1] = old[1:-1, 1:-1]
            new[1:-1, 1:-1] += old[:-2, 1:-1]
            new[1:-1, 1:-1] += old[2:, 1:-1]
            new[1:-1, 1:-1] += old[1:-1, :-2]
            new[1:-1, 1:-1] += old[1:-1, 2:]
            new[1:-1, 1:-1] *= 0.2


def stencil_parallel(u, v, steps):
    n, m = u.shape
    for _ in range(steps):
        for i in prange(1, n - 1):
            for j in range(1, m - 1):
                v[i, j] = 0.2 * (u[i, j] + u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
        for i in prange(1, n - 1):
            for j in range(1, m - 1):
                u[i, j] = 0.2 * (v[i, j] + v[i - 1, j] + v[i + 1, j] + v[i, j - 1] + v[i, j + 1])


C = """
static void step(const double *restrict u, double *restrict v, int64_t n, int64_t m) {
    #pragma omp for
    for (int64_t i = 1; i < n - 1; i++)
        for (int64_t j = 1; j < m - 1; j++)
            v[i * m + j] = 0.2 * (u[i * m + j] + u[(i - 1) * m + j] + u[(i + 1) * m + j]
                                  + u[i * m + j - 1] + u[i * m + j + 1]);
}
void kernel(double *restrict u, double *restrict v, int64_t steps, int64_t n, int64_t m) {
    #pragma omp parallel
    for (int64_t t = 0; t < steps; t++) {
        step(u, v, n, m);
        step(v, u, n, m);
    }
}
"""


def arguments(rng, n):
    u = rng.standard_normal((n, n))
    return u, u.copy(), STEPS


PROGRAM = Program(
    name="stencil",
    source=stencil,
    numpy=stencil_numpy,
    numba=(stencil, stencil_parallel),
    c=C,
    dims=lambda u, v, steps: u.shape,
    writes=(0, 1),
    arguments=arguments,
    sizes={"small": (34,), "large": (402,)},
)
