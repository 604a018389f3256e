"""Log posterior of a Gaussian mixture with a Wishart prior (ADBench's objective)."""

import math

import numpy as np
from scipy.special import gammaln, logsumexp

from benchmarks.program import Program, prange

GAMMA, EXTRA = 1.0, 0


def gmm(x, alpha, mu, q, l):
    n, d = x.shape
    k = alpha.size
    diagonal = np.exp(q)
    beta = np.empty(k)
    z = np.empty(d)
    total = 0.0
    for i in range(n):
        for c in range(k):
            for r in range(d):
                z[r] = diagonal[c, r] * (x[i, r] - mu[c, r])
            at = 0
            for col in range(d):
                step = x[i, col] - mu[c, col]
                for row in range(col + 1, d):
                    z[row] += l[c, at] * step
                    at += 1
            square = 0.0
            for r in range(d):
                square += z[r] * z[r]
            beta[c] = alpha[c] + np.sum(q[c]) - 0.5 * square
        top = np.max(beta)
        total += top + np.log(np.sum(np.exp(beta - top)))
    top = np.max(alpha)
    total -= n * (top + np.log(np.sum(np.exp(alpha - top))))
    return total - 0.5 * n * d * math.log(2.0 * math.pi) + prior(q, diagonal, l, k, d)


def prior(q, diagonal, l, k, d):
    freedom = d + EXTRA + 1
    scale = freedom * d * math.log(GAMMA / math.sqrt(2.0)) - 0.25 * d * (d - 1) * math.log(math.pi)
    for j in range(d):
        scale -= math.lgamma(0.5 * freedom - 0.5 * j)
    squares = np.sum(diagonal * diagonal) + np.sum(l * l)
    return k * scale - 0.5 * GAMMA * GAMMA * squares + EXTRA * np.sum(q)


def gmm_numpy(x, alpha, mu, q, l):
    n, d = x.shape
    k = alpha.size
    diagonal = np.exp(q)
    factor = np.zeros((k, d, d))
    columns, rows = np.triu_indices(d, 1)
    factor[:, rows, columns] = l
    step = x[:, None, :] - mu
    z = diagonal * step + np.einsum("krc,ikc->ikr", factor, step, optimize=True)
    beta = alpha + q.sum(axis=1) - 0.5 * np.sum(z * z, axis=2)
    total = np.sum(logsumexp(beta, axis=1)) - n * logsumexp(alpha)
    freedom = d + EXTRA + 1
    scale = freedom * d * math.log(GAMMA / math.sqrt(2.0)) - 0.25 * d * (d - 1) * math.log(math.pi)
    scale -= np.sum(gammaln(0.5 * freedom - 0.5 * np.arange(d)))
    squares = np.sum(diagonal * diagonal) + np.sum(l * l)
    return (
        total - 0.5 * n * d * math.log(2.0 * math.pi)
        + k * scale - 0.5 * GAMMA * GAMMA * squares + EXTRA * np.sum(q)
    )  # fmt: skip


def gmm_parallel(x, alpha, mu, q, l):
    n, d = x.shape
    k = alpha.size
    diagonal = np.exp(q)
    known = np.empty(k)
    for c in range(k):
        known[c] = alpha[c]
        for r in range(d):
            known[c] += q[c, r]
    total = 0.0
    for i in prange(n):
        beta = np.empty(k)
        z = np.empty(d)
        for c in range(k):
            for r in range(d):
                z[r] = diagonal[c, r] * (x[i, r] - mu[c, r])
            at = 0
            for col in range(d):
                step = x[i, col] - mu[c, col]
                for row in range(col + 1, d):
                    z[row] += l[c, at] * step
                    at += 1
            square = 0.0
            for r in range(d):
                square += z[r] * z[r]
            beta[c] = known[c] - 0.5 * square
        top = beta[0]
        for c in range(1, k):
            top = max(top, beta[c])
        s = 0.0
        for c in range(k):
            s += np.exp(beta[c] - top)
        total += top + np.log(s)
    top = alpha[0]
    for c in range(1, k):
        top = max(top, alpha[c])
    s = 0.0
    for c in range(k):
        s += np.exp(alpha[c] - top)
    total -= n * (top + np.log(s))
    freedom = d + EXTRA + 1
    scale = freedom * d * math.log(GAMMA / math.sqrt(2.0)) - 0.25 * d * (d - 1) * math.log(math.pi)
    for j in range(d):
        scale -= math.lgamma(0.5 * freedom - 0.5 * j)
    squares = np.sum(diagonal * diagonal) + np.sum(l * l)
    return total - 0.5 * n * d * math.log(2.0 * math.pi) + k * scale - 0.5 * GAMMA * GAMMA * squares


C = """
double kernel(const double *restrict x, const double *restrict alpha, const double *restrict mu,
              const double *restrict q, const double *restrict l, int64_t n, int64_t d, int64_t k) {
    int64_t w = d * (d - 1) / 2;
    double *diagonal = malloc(k * d * sizeof(double)), *known = malloc(k * sizeof(double));
    double squares = 0, total = 0;
    for (int64_t c = 0; c < k; c++) {
        known[c] = alpha[c];
        for (int64_t r = 0; r < d; r++) {
            double e = exp(q[c * d + r]);
            diagonal[c * d + r] = e;
            known[c] += q[c * d + r];
            squares += e * e;
        }
        for (int64_t r = 0; r < w; r++) squares += l[c * w + r] * l[c * w + r];
    }
    #pragma omp parallel reduction(+ : total)
    {
        double *beta = malloc(k * sizeof(double)), *z = malloc(d * sizeof(double));
        #pragma omp for
        for (int64_t i = 0; i < n; i++) {
            double top = -1e300, s = 0;
            for (int64_t c = 0; c < k; c++) {
                for (int64_t r = 0; r < d; r++)
                    z[r] = diagonal[c * d + r] * (x[i * d + r] - mu[c * d + r]);
                const double *entry = l + c * w;
                for (int64_t col = 0; col < d; col++) {
                    double step = x[i * d + col] - mu[c * d + col];
                    for (int64_t row = col + 1; row < d; row++) z[row] += *entry++ * step;
                }
                double square = 0;
                for (int64_t r = 0; r < d; r++) square += z[r] * z[r];
                beta[c] = known[c] - 0.5 * square;
                top = beta[c] > top ? beta[c] : top;
            }
            for (int64_t c = 0; c < k; c++) s += exp(beta[c] - top);
            total += top + log(s);
        }
        free(beta);
        free(z);
    }
    double top = -1e300, s = 0;
    for (int64_t c = 0; c < k; c++) top = alpha[c] > top ? alpha[c] : top;
    for (int64_t c = 0; c < k; c++) s += exp(alpha[c] - top);
    total -= n * (top + log(s));
    double freedom = d + 1;
    double scale = freedom * d * log(1.0 / sqrt(2.0)) - 0.25 * d * (d - 1) * log(M_PI);
    for (int64_t j = 0; j < d; j++) scale -= lgamma(0.5 * freedom - 0.5 * j);
    free(diagonal);
    free(known);
    return total - 0.5 * n * d * log(2 * M_PI) + k * scale - 0.5 * squares;
}
"""


def arguments(rng, n, d, k):
    return (
        rng.standard_normal((n, d)), rng.standard_normal(k), rng.random((k, d)),
        0.1 * rng.standard_normal((k, d)), 0.1 * rng.standard_normal((k, d * (d - 1) // 2)),
    )  # fmt: skip


PROGRAM = Program(
    name="gmm",
    source=gmm,
    numpy=gmm_numpy,
    numba=(gmm_parallel,),
    c=C,
    dims=lambda x, alpha, mu, q, l: (*x.shape, alpha.size),
    arguments=arguments,
    sizes={"small": (100, 4, 5), "large": (1_000, 32, 25)},
)
