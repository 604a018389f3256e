"""How many steps of z ← z² + c stay within the circle of radius 2."""

import numpy as np

from benchmarks.program import Program, prange


def mandelbrot(cx, cy, most):
    out = np.zeros((cy.size, cx.size), dtype=np.int64)
    for i in range(cy.size):
        for j in range(cx.size):
            x = y = 0.0
            steps = 0
            while x * x + y * y <= 4.0 and steps < most:
                x, y = x * x - y * y + cx[j], 2.0 * x * y + cy[i]
                steps += 1
            out[i, j] = steps
    return out


def mandelbrot_numpy(cx, cy, most):
    c = cx[None, :] + 1j * cy[:, None]
    z = np.zeros_like(c)
    out = np.zeros(c.shape, dtype=np.int64)
    for _ in range(most):
        inside = z.real**2 + z.imag**2 <= 4.0
        if not inside.any():
            break
        out += inside
        z = np.where(inside, z * z + c, z)
    return out


def mandelbrot_parallel(cx, cy, most):
    out = np.zeros((cy.size, cx.size), dtype=np.int64)
    for i in prange(cy.size):
        for j in range(cx.size):
            x = 0.0
            y = 0.0
            steps = 0
            while x * x + y * y <= 4.0 and steps < most:
                x, y = x * x - y * y + cx[j], 2.0 * x * y + cy[i]
                steps += 1
            out[i, j] = steps
    return out


C = """
void kernel(const double *restrict cx, const double *restrict cy, int64_t most, int64_t n,
            int64_t m, int64_t *restrict out) {
    #pragma omp parallel for schedule(dynamic)
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) {
            double x = 0, y = 0;
            int64_t steps = 0;
            while (x * x + y * y <= 4.0 && steps < most) {
                double t = x * x - y * y + cx[j];
                y = 2.0 * x * y + cy[i];
                x = t;
                steps++;
            }
            out[i * m + j] = steps;
        }
}
"""


def arguments(rng, n):
    return np.linspace(-2.0, 0.6, n), np.linspace(-1.2, 1.2, n), 200


PROGRAM = Program(
    name="mandelbrot",
    source=mandelbrot,
    numpy=mandelbrot_numpy,
    numba=(mandelbrot, mandelbrot_parallel),
    c=C,
    dims=lambda cx, cy, most: (cy.size, cx.size),
    outputs=lambda cx, cy, most: (np.empty((cy.size, cx.size), dtype=np.int64),),
    arguments=arguments,
    sizes={"small": (40,), "large": (400,)},
    tol=0.02,  # contraction to fused operations moves single pixels of the border
)
