"""Sums, moments, likelihoods and other small data kernels."""

import math

import numpy as np
import scipy.special
import scipy.stats

from .registry import Kernel


def correlation(data):
    M, N = data.shape[1], data.shape[0]
    mean = np.mean(data, axis=0)
    stddev = np.std(data, axis=0)
    stddev[stddev <= 0.1] = 1.0
    data -= mean
    data /= np.sqrt(N) * stddev
    corr = np.eye(M, dtype=data.dtype)
    for i in range(M - 1):
        corr[i + 1 : M, i] = data[:, i] @ data[:, i + 1 : M]
        corr[i, i + 1 : M] = corr[i + 1 : M, i]
    return corr


def table_data(rng, size):
    return (rng.standard_normal((size + 3, size)),)


def correlation_oracle(data):
    result = np.corrcoef(data, rowvar=False)
    data[:] = scipy.stats.zscore(data) / np.sqrt(len(data))
    return result


def covariance(data):
    N, M = data.shape
    mean = np.mean(data, axis=0)
    data -= mean
    cov = np.zeros((M, M), dtype=data.dtype)
    for i in range(M):
        cov[i:M, i] = data[:, i] @ data[:, i:M] / (N - 1.0)
        cov[i, i:M] = cov[i:M, i]
    return cov


def covariance_oracle(data):
    result = np.cov(data, rowvar=False)
    data[:] = scipy.stats.zmap(data, data) * np.std(data, axis=0)
    return result


def go_fast(a):
    trace = 0.0
    for i in range(a.shape[0]):
        trace += np.tanh(a[i, i])
    return a + trace


def square_data(rng, size):
    return (rng.standard_normal((size, size)),)


def go_fast_oracle(a):
    return a + sum(math.tanh(v) for v in np.diag(a))


def compute(array_1, array_2, a, b, c):
    return np.clip(array_1, 2, 10) * a + array_2 * b + c


def compute_data(rng, size):
    array_1, array_2 = rng.integers(0, 1000, (2, size, size + 1))
    return array_1, array_2, 4, 3, 9


def compute_oracle(array_1, array_2, a, b, c):
    clipped = np.where(array_1 < 2, 2, np.where(array_1 > 10, 10, array_1))
    return np.einsum("k,kij->ij", np.array([a, b, c]), [clipped, array_2, np.ones_like(clipped)])


def arc_distance(theta_1, phi_1, theta_2, phi_2):
    temp = (
        np.sin((theta_2 - theta_1) / 2) ** 2
        + np.cos(theta_1) * np.cos(theta_2) * np.sin((phi_2 - phi_1) / 2) ** 2
    )
    return 2 * np.arctan2(np.sqrt(temp), np.sqrt(1 - temp))


def arc_distance_data(rng, size):
    return tuple(rng.uniform(0.0, 1.0, (4, size)))


def arc_distance_oracle(theta_1, phi_1, theta_2, phi_2):
    def unit(theta, phi):
        return np.stack([np.cos(theta) * np.cos(phi), np.cos(theta) * np.sin(phi), np.sin(theta)])

    a, b = unit(theta_1, phi_1), unit(theta_2, phi_2)
    return 2 * np.arcsin(np.linalg.norm(a - b, axis=0) / 2)


def logsumexp_rows(x):
    top = np.max(x, axis=1)
    return top + np.log(np.sum(np.exp(x - top[:, None]), axis=1))


def logsumexp_rows_data(rng, size):
    return (20.0 * rng.standard_normal((size, size + 2)),)


def logsumexp_rows_oracle(x):
    return scipy.special.logsumexp(x, axis=1)


def logsumexp_online(x):
    """One pass per row: the sum is rescaled when the maximum moves."""
    out = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        top = x[i, 0]
        total = 1.0
        for j in range(1, x.shape[1]):
            if x[i, j] > top:
                total = total * math.exp(top - x[i, j]) + 1.0
                top = x[i, j]
            else:
                total += math.exp(x[i, j] - top)
        out[i] = top + math.log(total)
    return out


def welford(x):
    mean, m2 = 0.0, 0.0
    for i, value in enumerate(x):
        delta = value - mean
        mean += delta / (i + 1)
        m2 += delta * (value - mean)
    return mean, m2 / (len(x) - 1)


def vector_data(rng, size):
    return (rng.standard_normal(size),)


def welford_oracle(x):
    return np.mean(x), np.var(x, ddof=1)


def moments(x):
    """Mean, standard deviation, skewness, excess kurtosis."""
    d = x - x.mean()
    m2, m3, m4 = np.mean(d**2), np.mean(d**3), np.mean(d**4)
    return x.mean(), np.sqrt(m2), m3 / m2**1.5, m4 / m2**2 - 3.0


def moments_oracle(x):
    return x.sum() / x.size, np.std(x), scipy.stats.skew(x), scipy.stats.kurtosis(x)


def weighted_histogram(x, weights, low, high, bins):
    total = np.zeros(bins)
    for v, w in zip(x, weights):
        if v < low or v >= high:
            continue
        total[int((v - low) / (high - low) * bins)] += w
    return total


def weighted_histogram_data(rng, size):
    return rng.standard_normal(10 * size), rng.uniform(size=10 * size), -2.0, 2.0, 8


def weighted_histogram_oracle(x, weights, low, high, bins):
    return np.histogram(x, bins, (low, high), weights=weights)[0]


def bootstrap_means(x, picks):
    """`picks` holds the indices of every resample."""
    return np.array([x[picks[b]].mean() for b in range(picks.shape[0])])


def bootstrap_means_data(rng, size):
    return rng.standard_normal(size), rng.integers(0, size, (7, size))


def bootstrap_means_oracle(x, picks):
    counts = np.stack([np.bincount(p, minlength=len(x)) for p in picks])
    return counts @ x / picks.shape[1]


def group_means(values, groups, count):
    sums = np.zeros(count)
    members = np.zeros(count, dtype=np.int64)
    np.add.at(sums, groups, values)
    np.add.at(members, groups, 1)
    return np.where(members > 0, sums / np.maximum(members, 1), 0.0)


def group_means_data(rng, size):
    return rng.standard_normal(3 * size), rng.integers(0, size, 3 * size), size


def group_means_oracle(values, groups, count):
    chosen = [values[groups == g] for g in range(count)]
    return np.array([np.mean(v) if len(v) else 0.0 for v in chosen])


def linear_regression(X, y):
    A = np.concatenate((np.ones((X.shape[0], 1)), X), axis=1)
    return np.linalg.solve(A.T @ A, A.T @ y)


def linear_regression_data(rng, size):
    return rng.standard_normal((3 * size, 4)), rng.standard_normal(3 * size)


def linear_regression_oracle(X, y):
    return np.linalg.lstsq(np.column_stack([np.ones(len(X)), X]), y)[0]


def garch_likelihood(returns, omega, alpha, beta):
    variance = np.var(returns)
    total = 0.0
    for r in returns:
        total -= 0.5 * (math.log(2.0 * math.pi * variance) + r * r / variance)
        variance = omega + alpha * r * r + beta * variance
    return total


def garch_likelihood_data(rng, size):
    return rng.standard_normal(size), 0.1, 0.2, 0.6


def garch_likelihood_oracle(returns, omega, alpha, beta):
    t = np.arange(len(returns))
    decay = np.tril(beta ** np.abs(t[:, None] - 1 - t), -1)
    variance = beta**t * np.var(returns) + decay @ (omega + alpha * returns**2)
    return scipy.stats.norm.logpdf(returns, 0.0, np.sqrt(variance)).sum()


def kalman_1d(observed, q, r):
    """Local level model; filtered means and log-likelihood."""
    means = np.zeros_like(observed)
    mean, variance, likelihood = 0.0, 10.0, 0.0
    for t in range(observed.shape[0]):
        variance += q
        s = variance + r
        innovation = observed[t] - mean
        gain = variance / s
        mean += gain * innovation
        variance *= 1.0 - gain
        likelihood -= 0.5 * (np.log(2.0 * np.pi * s) + innovation**2 / s)
        means[t] = mean
    return means, likelihood


def kalman_1d_data(rng, size):
    return np.cumsum(rng.standard_normal(size)), 0.5, 1.0


def kalman_1d_oracle(observed, q, r):
    """The joint normal distribution of levels and observations."""
    t = np.arange(1, len(observed) + 1)
    level = 10.0 + q * np.minimum(t[:, None], t)
    joint = level + r * np.eye(len(t))
    means = [
        level[i, : i + 1] @ np.linalg.solve(joint[: i + 1, : i + 1], observed[: i + 1])
        for i in t - 1
    ]
    return np.array(means), scipy.stats.multivariate_normal.logpdf(
        observed, np.zeros(len(t)), joint
    )


def pairwise_distances(x, y):
    n, m = x.shape[0], y.shape[0]
    out = np.empty((n, m))
    for i in range(n):
        for j in range(m):
            d = 0.0
            for k in range(x.shape[1]):
                tmp = x[i, k] - y[j, k]
                d += tmp * tmp
            out[i, j] = np.sqrt(d)
    return out


def pairwise_distances_data(rng, size):
    return rng.standard_normal((size, 3)), rng.standard_normal((size + 2, 3))


def pairwise_distances_oracle(x, y):
    return np.linalg.norm(x[:, None, :] - y, axis=2)


def clip_outliers(x, limit):
    """Masks: read, count, write."""
    centre = np.median(x)
    spread = np.median(np.abs(x - centre))
    far = np.abs(x - centre) > limit * spread
    x[far] = centre + limit * spread * np.sign(x[far] - centre)
    return np.count_nonzero(far)


def clip_outliers_data(rng, size):
    return rng.standard_normal(size) ** 3, 3.0


def clip_outliers_oracle(x, limit):
    centre = np.quantile(x, 0.5)
    radius = limit * scipy.stats.median_abs_deviation(x)
    clipped = np.clip(x, centre - radius, centre + radius)
    count = np.sum(clipped != x)
    x[:] = clipped
    return count


KERNELS = [
    Kernel("correlation", correlation, table_data, ("data",), oracle=correlation_oracle),
    Kernel("covariance", covariance, table_data, ("data",), oracle=covariance_oracle),
    Kernel("go_fast", go_fast, square_data, oracle=go_fast_oracle),
    Kernel("compute", compute, compute_data, oracle=compute_oracle),
    Kernel("arc_distance", arc_distance, arc_distance_data, oracle=arc_distance_oracle),
    Kernel("logsumexp_rows", logsumexp_rows, logsumexp_rows_data, oracle=logsumexp_rows_oracle),
    Kernel("logsumexp_online", logsumexp_online, logsumexp_rows_data, oracle=logsumexp_rows_oracle),
    Kernel("welford", welford, vector_data, oracle=welford_oracle),
    Kernel("moments", moments, vector_data, tol=1e-11, oracle=moments_oracle),
    Kernel(
        "weighted_histogram",
        weighted_histogram,
        weighted_histogram_data,
        oracle=weighted_histogram_oracle,
    ),
    Kernel("bootstrap_means", bootstrap_means, bootstrap_means_data, oracle=bootstrap_means_oracle),
    Kernel("group_means", group_means, group_means_data, oracle=group_means_oracle),
    Kernel(
        "linear_regression",
        linear_regression,
        linear_regression_data,
        tol=1e-10,
        oracle=linear_regression_oracle,
    ),
    Kernel(
        "garch_likelihood",
        garch_likelihood,
        garch_likelihood_data,
        oracle=garch_likelihood_oracle,
    ),
    Kernel("kalman_1d", kalman_1d, kalman_1d_data, tol=1e-10, oracle=kalman_1d_oracle),
    Kernel(
        "pairwise_distances",
        pairwise_distances,
        pairwise_distances_data,
        oracle=pairwise_distances_oracle,
    ),
    Kernel("clip_outliers", clip_outliers, clip_outliers_data, ("x",), oracle=clip_outliers_oracle),
]
