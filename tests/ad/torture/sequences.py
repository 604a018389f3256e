"""Dynamic programming, filters, simulations"""

from __future__ import annotations

import numpy as np

import tapeless as tp
from tests.ad.torture.program import program

RNG = np.random.default_rng(9)


@program(RNG.standard_normal((5, 6)), 0.4, wrt=(0, 1))
def smith_waterman(score, gap):
    """The best local alignment: a table of maxima, and the greatest of it."""
    m, n = score.shape
    h = np.zeros((m + 1, n + 1))
    best = 0.0
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            h[i, j] = max(
                0.0, h[i - 1, j - 1] + score[i - 1, j - 1], h[i - 1, j] - gap, h[i, j - 1] - gap
            )
            best = max(best, h[i, j])
    return best


@program(RNG.random((4, 3)), RNG.random((3, 3)), wrt=(0, 1))
def viterbi(emit, move):
    """The likeliest path, followed back by recorded choices."""
    steps, n = emit.shape
    best = emit[0].copy()
    came = np.zeros((steps, n), np.int64)
    for t in range(1, steps):
        new = np.zeros(n)
        for j in range(n):
            k = 0
            for i in range(1, n):
                if best[i] + move[i, j] > best[k] + move[k, j]:
                    k = i
            came[t, j] = k
            new[j] = best[k] + move[k, j] + emit[t, j]
        best = new
    j = int(np.argmax(best))
    total = emit[steps - 1, j] ** 2
    for t in range(steps - 1, 0, -1):
        k = came[t, j]
        total += emit[t - 1, k] ** 2 + move[k, j]
        j = k
    return total


@program(RNG.standard_normal((5, 3)), RNG.standard_normal((3, 3)), wrt=(0, 1))
def forward_algorithm(emit, move):
    """Log-likelihood of a hidden Markov model: logsumexp in every step."""
    a = emit[0]
    for t in range(1, emit.shape[0]):
        new = np.zeros(3)
        for j in range(3):
            v = a + move[:, j]
            top = np.max(v)
            new[j] = top + np.log(np.sum(np.exp(v - top))) + emit[t, j]
        a = new
    return np.log(np.sum(np.exp(a)))


@program(np.array([0.3, 0.9, 1.1, 1.8]), 0.2, 0.5, wrt=(0, 1, 2))
def kalman(z, q, r):
    """A filter of position and speed; the likelihood of what was measured."""
    f = np.array([[1.0, 1.0], [0.0, 1.0]])
    x = np.zeros(2)
    p = np.eye(2)
    total = 0.0
    for v in z:
        x = f @ x
        p = f @ p @ f.T + q * np.eye(2)
        s = p[0, 0] + r
        gain = p[:, 0] / s
        miss = v - x[0]
        x = x + gain * miss
        p = p - np.outer(gain, p[0])
        total += 0.5 * (miss * miss / s + np.log(s))
    return total


@program(np.array([0.3, 1.2, -0.4, 0.9]), np.array([0.1, 0.8, 1.0, -0.2, 0.5]), wrt=(0, 1))
def soft_time_warping(a, b):
    """Soft minima in a table with an infinite border."""
    m, n = a.size, b.size
    d = np.full((m + 1, n + 1), 1e10)
    d[0, 0] = 0.0
    for i in range(m):
        for j in range(n):
            x, y, z = d[i, j], d[i, j + 1], d[i + 1, j]
            low = min(x, y, z)
            soft = low - np.log(np.exp(low - x) + np.exp(low - y) + np.exp(low - z))
            d[i + 1, j + 1] = (a[i] - b[j]) ** 2 + soft
    return d[m, n]


@program(np.array([[0.0, 0.0], [1.0, 0.2], [0.3, 1.1]]), np.array([1.0, 0.5, 2.0]), wrt=(0, 1))
def bodies_that_attract(x, m):
    """A few leapfrog steps of three bodies, velocities in place."""
    n = m.size
    v = np.zeros_like(x)
    for _ in range(5):
        for i in range(n):
            for j in range(n):
                if i != j:
                    d = x[j] - x[i]
                    r2 = np.sum(d * d) + 0.1
                    v[i] += 0.05 * m[j] * d / (r2 * np.sqrt(r2))
        x += 0.05 * v
    return np.sum(x * x) + np.sum(v[0])


@program(np.linspace(0.0, 1.0, 9).reshape(3, 3) ** 2, 0.2, wrt=(0, 1))
def heat_with_two_buffers(u, k):
    """Two grids change places, walls stay."""
    new = u.copy()
    for _ in range(4):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                new[i, j] = u[i, j] + k * (
                    u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4 * u[i, j]
                )
        u, new = new, u
    return np.sum(u * u)


@program(RNG.standard_normal((4, 2)), np.array([[0.5, -0.5], [-0.4, 0.8]]), wrt=(0, 1))
def clusters(points, centres):
    """One step of k-means: nearest centres, counts, means; no point at all may be near."""
    k = centres.shape[0]
    sums = np.zeros_like(centres)
    counts = np.zeros(k)
    spread = 0.0
    for p in points:
        near = 0
        least = np.inf
        for c in range(k):
            d = np.sum((p - centres[c]) ** 2)
            if d < least:
                near, least = c, d
        sums[near] += p
        counts[near] += 1
        spread += least
    for c in range(k):
        if counts[c] > 0:
            sums[c] /= counts[c]
    return spread + np.sum(sums**2)


@program(
    np.array([0.6, 0.1]), RNG.standard_normal((3, 2)), RNG.standard_normal((2, 2)) / 2,
    wrt=(0, 1, 2),
)  # fmt: skip
def recurrent_net(h, xs, w):
    """A recurrent net with gates, ended early by a condition on its state."""
    for x in xs:
        gate = 1.0 / (1.0 + np.exp(-(w @ h)))
        h = gate * np.tanh(w.T @ x + h) + (1.0 - gate) * h
        if np.sum(h * h) > 50.0:
            break
    return np.sum(h**3)


@program(np.array([0.8, -0.3, 0.5, 0.9]))
def stack_machine(x):
    """A stack in an array with a pointer."""
    stack = np.zeros(8)
    top = 0
    for i in range(x.size):
        stack[top] = x[i] * x[i]
        top += 1
        while top > 1 and stack[top - 1] > stack[top - 2]:
            stack[top - 2] = stack[top - 2] * stack[top - 1] + 0.1
            top -= 1
    return np.sum(stack[:top] ** 2) + stack[0]


@program(np.array([0.5, 0.2, 0.9, 0.4]))
def bubble_sort(x):
    """A sort by exchanges, weighted."""
    n = x.size
    for i in range(n):
        swapped = False
        for j in range(n - 1 - i):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
                swapped = True
        if not swapped:
            break
    return np.sum(x**2 * np.arange(1.0, n + 1))


@program(np.array([1.0, 0.4, 0.7]), 4, wrt=0)
def grids_by_levels(x, levels):
    """Logs of changing sizes: each level works on half of an array, some levels are left out."""
    total = 0.0
    for level in range(levels):
        n = 2 ** (levels - level)
        u = np.zeros(n)
        for i in range(n):
            u[i] = x[i % 3] * (i + 1) / n
        if level % 2 == 0:
            for _ in tp.loop(level + 1):
                for i in range(1, n):
                    u[i] = np.sin(u[i - 1] + u[i])
            total += u[n - 1] * x[level % 3]
        else:
            total += np.sum(u * u)
    return total
