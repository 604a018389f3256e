"""Programs of the tour, as anybody would write them."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any


def black_scholes(spot: Array, strike: Array, years: Array, rate: float, sigma: float) -> Array:
    """Prices of call options: a chain of elementwise NumPy."""
    root = sigma * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * sigma**2) * years) / root
    d2 = d1 - root
    cdf1 = 1.0 / (1.0 + np.exp(-1.5976 * d1 - 0.07056 * d1**3))
    cdf2 = 1.0 / (1.0 + np.exp(-1.5976 * d2 - 0.07056 * d2**3))
    return spot * cdf1 - strike * np.exp(-rate * years) * cdf2


def heat(u: Array, steps: int) -> None:
    """A five-point stencil, in place, step after step."""
    for _ in range(steps):
        u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])


def edit_distance(a: Array, b: Array) -> Any:
    """Dynamic programming: nothing that NumPy's array functions could do."""
    row = np.arange(len(b) + 1)
    for i in range(len(a)):
        corner = row[0]
        row[0] = i + 1
        for j in range(len(b)):
            above = row[j + 1]
            cost = corner if a[i] == b[j] else 1 + min(corner, above, row[j])
            corner = above
            row[j + 1] = cost
    return row[len(b)]


def mandelbrot(width: int, height: int, limit: int) -> Array:
    """A `while` loop for every pixel of an image."""
    image = np.zeros((height, width), np.int64)
    for y in range(height):
        for x in range(width):
            cr, ci = 3.0 * x / width - 2.0, 2.0 * y / height - 1.0
            zr = zi = 0.0
            n = 0
            while n < limit and zr * zr + zi * zi < 4.0:
                zr, zi = zr * zr - zi * zi + cr, 2.0 * zr * zi + ci
                n += 1
            image[y, x] = n
    return image


def forces(position: Array, mass: Array) -> Array:
    """Gravity between all pairs of bodies."""
    n = len(mass)
    force = np.zeros((n, 3))
    for i in range(n):
        for j in range(n):
            d = position[j] - position[i]
            r2 = d[0] ** 2 + d[1] ** 2 + d[2] ** 2 + 1e-6
            force[i] += mass[j] / (r2 * np.sqrt(r2)) * d
    return force


# Programs to differentiate


def cooled(u: Array, steps: int) -> Any:
    """How much heat is left, squared, after some steps in place."""
    for _ in range(steps):
        u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return np.sum(u * u)


def energy(position: Array) -> Any:
    """Of all pairs of bodies, by their distance."""
    total = 0.0
    for i in range(len(position)):
        for j in range(i):
            far = np.sqrt(np.sum((position[i] - position[j]) ** 2) + 0.01)
            total -= 1.0 / far
    return total


def worth(spot: Array, strike: Array, years: Array, rate: float, sigma: float) -> Any:
    """Of many options together: its gradient is what each share's price does to it."""
    return np.sum(black_scholes(spot, strike, years, rate, sigma))


def root(c: float) -> float:
    y = 1.0
    while abs(y * y - c) > 1e-12 * c:
        y = 0.5 * (y + c / y)
    return y
