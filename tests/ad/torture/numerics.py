"""Numerical methods written by hand"""

from __future__ import annotations

import math

import numpy as np

import tapeless as tp
from tests.ad.torture.program import program

RNG = np.random.default_rng(3)
SQUARE = RNG.standard_normal((4, 4)) + 4 * np.eye(4)
POSITIVE = SQUARE @ SQUARE.T / 8
RIGHT = RNG.standard_normal(4)


@program(SQUARE, RIGHT, wrt=(0, 1), truth=lambda a, b: (
    -np.outer(np.linalg.solve(a.T, 2 * np.linalg.solve(a, b)), np.linalg.solve(a, b)),
    np.linalg.solve(a.T, 2 * np.linalg.solve(a, b)),
))  # fmt: skip
def elimination_with_pivots(a, b):
    """Gaussian elimination in place: rows change places by the greatest element."""
    n = b.size
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[p, k]):
                p = i
        if p != k:
            for j in range(n):
                a[k, j], a[p, j] = a[p, j], a[k, j]
            b[k], b[p] = b[p], b[k]
        for i in range(k + 1, n):
            f = a[i, k] / a[k, k]
            for j in range(k, n):
                a[i, j] -= f * a[k, j]
            b[i] -= f * b[k]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            b[i] -= a[i, j] * b[j]
        b[i] /= a[i, i]
    return np.sum(b * b)


@program(POSITIVE)
def cholesky_in_place(a):
    """The lower factor over the matrix."""
    n = a.shape[0]
    for j in range(n):
        for k in range(j):
            a[j, j] -= a[j, k] ** 2
        a[j, j] = math.sqrt(a[j, j])
        for i in range(j + 1, n):
            for k in range(j):
                a[i, j] -= a[i, k] * a[j, k]
            a[i, j] /= a[j, j]
    total = 0.0
    for i in range(n):
        for j in range(i + 1):
            total += a[i, j] * (i + 2 * j + 1)
    return total


@program(SQUARE[:, :3])
def householder_in_place(a):
    """Reflections applied to the columns behind, in slices of the matrix itself."""
    n = a.shape[1]
    for k in range(n):
        v = a[k:, k].copy()
        norm = np.sqrt(np.sum(v * v))
        v[0] += norm if v[0] > 0.0 else -norm
        scale = 2.0 / np.sum(v * v)
        for j in range(k, n):
            a[k:, j] -= scale * np.sum(v * a[k:, j]) * v
    return np.sum(np.abs(np.diag(a[:n])) * np.arange(1.0, n + 1)) + a[0, n - 1]


@program(np.array([2.0, 1.0, 0.5]))
def power_iteration(d):
    """A vector is multiplied and normed until it settles."""
    n = d.size
    v = np.ones(n)
    value, last = 1.0, 0.0
    while abs(value - last) > 1e-13:
        w = d * v + 0.1 * np.sum(v)
        last = value
        value = np.sqrt(np.sum(w * w))
        v = w / value
    return value


@program(0.6, 1.3, wrt=(0, 1))
def kepler(e, m):
    """E − e·sin E = M by Newton's iteration."""
    x = m
    for _ in range(50):
        step = (x - e * math.sin(x) - m) / (1.0 - e * math.cos(x))
        x -= step
        if abs(step) < 1e-15:
            break
    return math.cos(x) + x


@program(np.array([0.3, 0.2]))
def fixed_point_of_a_vector(c):
    """x ← cos(x)·c + 0.1, until all of it settles."""
    x = np.zeros(2)
    change = 1.0
    while change > 1e-14:
        new = np.cos(x) * c + 0.1 * x[::-1]
        change = np.max(np.abs(new - x))
        x = new
    return x[0] * x[1]


@program(np.array([1.0, 0.3]), np.array([1.5, 1.0, 3.0, 1.0]), 20, wrt=(0, 1))
def runge_kutta(y, p, steps):
    """Prey and predator, the classical method."""

    def f(y):
        return np.array([p[0] * y[0] - p[1] * y[0] * y[1], p[3] * y[0] * y[1] - p[2] * y[1]])

    h = 0.05
    for _ in range(steps):
        a = f(y)
        b = f(y + h / 2 * a)
        c = f(y + h / 2 * b)
        d = f(y + h * c)
        y = y + h / 6 * (a + 2 * b + 2 * c + d)
    return y[0] * y[1]


@program(1.0, 0.4, wrt=(0, 1))
def adaptive_steps(y, k):
    """Steps are refused and repeated: the sizes of steps count too."""
    t, h = 0.0, 0.3
    while t < 1.0 - 1e-12:
        if t + h > 1.0:
            h = 1.0 - t
        one = y + h * (-k * y * y)
        middle = y + h / 2 * (-k * y * y)
        two = middle + h / 2 * (-k * middle * middle)
        wrong = abs(one - two)
        if wrong > 1e-3:
            h = h / 2
            continue
        t, y = t + h, 2 * two - one
        if wrong < 2e-4:
            h = h * 1.5
    return y


@program(np.array([0.0, 0.0, -3.0]), 1.0, wrt=(0, 1))
def ray_marching(eye, radius):
    """Steps along a ray as far as the distance allows, until a sphere is met."""
    direction = np.array([0.1, 0.2, 1.0])
    direction = direction / np.sqrt(np.sum(direction**2))
    t = 0.0
    d = 1.0
    while d > 1e-12 and t < 20.0:
        p = eye + t * direction
        d = np.sqrt(np.sum(p * p)) - radius
        t += d
    return t


@program(-0.75, 0.26, wrt=(0, 1))
def distance_to_the_mandelbrot_set(cx, cy):
    """z² + c with its slope by c, until z is far away."""
    x, y, dx, dy = 0.0, 0.0, 0.0, 0.0
    for _ in range(200):
        if x * x + y * y > 100.0:
            break
        dx, dy = 2 * (x * dx - y * dy) + 1.0, 2 * (x * dy + y * dx)
        x, y = x * x - y * y + cx, 2 * x * y + cy
    r = math.sqrt(x * x + y * y)
    return r * math.log(r) / math.sqrt(dx * dx + dy * dy)


@program(0.3, 0.8, 7, wrt=(0, 1))
def random_walk(drift, spread, seed):
    """Random numbers are replayed in reverse; the walk turns at a wall."""
    total = 0.0
    for path in range(4):
        x = 1.0
        for t in range(12):
            x = x + 0.1 * drift * x + 0.2 * spread * tp.random.normal(seed, path, t)
            if x < 0.5:
                x = 1.0 - x
        total += x * x
    return total / 4


@program(0.4, 11, truth=lambda p, seed: 0.0)
def choice_by_chance(p, seed):
    """A coin that the parameter bends: the path has no slope by it."""
    heads = 0
    for k in range(20):
        if tp.random.uniform(seed, k) < p:
            heads += 1
    return float(heads)


@program(np.array([1.0, 0.5, 0.25]), 0.7, wrt=(0, 1))
def horner_and_its_slope(c, x):
    """A polynomial and its derivative by one loop from the last coefficient."""
    p, d = 0.0, 0.0
    for k in range(c.size - 1, -1, -1):
        d = d * x + p
        p = p * x + c[k]
    return p * d


@program(np.array([0.2, 0.9, 0.4, 0.7]))
def divided_differences(y):
    """A triangle of differences in place, from the end."""
    n = y.size
    for j in range(1, n):
        for i in range(n - 1, j - 1, -1):
            y[i] = (y[i] - y[i - 1]) / j
    return np.sum(y * y) + y[n - 1]


@program(np.array([1.0, 2.0, 0.5, 1.5, 0.7]), 0.3, wrt=(0, 1))
def thomas(d, c):
    """A tridiagonal system: sweep down, sweep up."""
    n = d.size
    b = np.full(n, 4.0)
    x = d.copy()
    for i in range(1, n):
        w = c / b[i - 1]
        b[i] -= w * c
        x[i] -= w * x[i - 1]
    x[n - 1] /= b[n - 1]
    for i in range(n - 2, -1, -1):
        x[i] = (x[i] - c * x[i + 1]) / b[i]
    return np.sum(x * x)


@program(np.linspace(0.2, 1.1, 8))
def butterflies(x):
    """A fast Walsh transform in place: strides double."""
    h = 1
    while h < x.size:
        for i in range(0, x.size, 2 * h):
            for j in range(i, i + h):
                a, b = x[j], x[j + h]
                x[j], x[j + h] = a + b, (a - b) * np.cos(b)
        h *= 2
    return np.sum(x**2 * np.arange(8.0))


@program(0.3, 1.9, wrt=(0, 1))
def simpson(a, b):
    """An integral by its bounds: the width of steps depends on both."""
    n = 10
    h = (b - a) / n
    total = np.exp(-a * a) + np.exp(-b * b)
    for k in range(1, n):
        x = a + k * h
        total += (4 if k % 2 else 2) * np.exp(-x * x)
    return total * h / 3
