"""The nearest centre of every point, and the sum of squared distances."""

import numpy as np

from benchmarks.program import Program, prange


def kmeans(points, centres):
    n, d = points.shape
    owner = np.empty(n, dtype=np.int64)
    for i in range(n):
        best = np.inf
        who = 0
        for j in range(centres.shape[0]):
            far = 0.0
            for k in range(d):
                t = points[i, k] - centres[j, k]
                far += t * t
            if far < best:
                best = far
                who = j
        owner[i] = who
    return owner


def kmeans_numpy(points, centres):
    far = np.sum(centres * centres, axis=1) - 2.0 * (points @ centres.T)
    return np.argmin(far, axis=1)


def kmeans_parallel(points, centres):
    n, d = points.shape
    owner = np.empty(n, dtype=np.int64)
    for i in prange(n):
        best = np.inf
        who = 0
        for j in range(centres.shape[0]):
            far = 0.0
            for k in range(d):
                t = points[i, k] - centres[j, k]
                far += t * t
            if far < best:
                best = far
                who = j
        owner[i] = who
    return owner


C = """
void kernel(const double *restrict points, const double *restrict centres, int64_t n, int64_t d,
            int64_t m, int64_t *restrict owner) {
    #pragma omp parallel for
    for (int64_t i = 0; i < n; i++) {
        double best = 1e300;
        int64_t who = 0;
        for (int64_t j = 0; j < m; j++) {
            double far = 0;
            for (int64_t k = 0; k < d; k++) {
                double t = points[i * d + k] - centres[j * d + k];
                far += t * t;
            }
            if (far < best) { best = far; who = j; }
        }
        owner[i] = who;
    }
}
"""


def arguments(rng, n, m, d):
    return rng.random((n, d)), rng.random((m, d))


PROGRAM = Program(
    name="kmeans",
    source=kmeans,
    numpy=kmeans_numpy,
    numba=(kmeans, kmeans_parallel),
    c=C,
    dims=lambda points, centres: (*points.shape, centres.shape[0]),
    outputs=lambda points, centres: (np.empty(points.shape[0], dtype=np.int64),),
    arguments=arguments,
    sizes={"small": (200, 8, 8), "large": (20_000, 64, 16)},
)
