"""Sums into neighbouring cells: the way back of a stencil reads neighbours, as its way forward."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as tp


def double_buffer(u, steps):
    u = u.copy()
    new = u.copy()
    for _ in range(steps):
        for i in range(1, u.size - 1):
            new[i] = u[i] + 0.1 * (u[i + 1] - 2.0 * u[i] + u[i - 1])
        u, new = new, u
    return np.sum(u * u)


def joined(u, steps):
    for _ in range(steps):
        inner = u[1:-1] + 0.1 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        u = np.concatenate(([0.0], inner, [0.0]))
    return np.sum(u * u)


def plane(u, steps):
    v = np.zeros_like(u)
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                around = u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1]
                v[i, j] = 0.2 * (around + u[i, j])
        u, v = v.copy(), u
    return np.sum(u * u * u)


U = np.random.default_rng(3).random(40)


@pytest.mark.parametrize("size", [2, 3, 4, 5, 40])
@pytest.mark.parametrize("steps", [0, 1, 2, 5])
@pytest.mark.parametrize("f", [double_buffer, joined], ids=lambda f: f.__name__)
def test_slopes(f, steps, size):
    u = U[:size]
    slope, along = tp.grad(f)(u, steps), np.cos(np.arange(size))
    step = 1e-3  # f is a quadratic
    ends = f(u + step * along, steps) - f(u - step * along, steps)
    assert np.sum(slope * along) == pytest.approx(ends / (2 * step), rel=1e-9)


@pytest.mark.parametrize("shape", [(2, 5), (3, 3), (7, 40)])
def test_slopes_in_the_plane(shape):
    u = np.random.default_rng(4).random(shape)
    along = np.cos(np.arange(u.size)).reshape(shape)
    ends = plane(u + 1e-5 * along, 3) - plane(u - 1e-5 * along, 3)
    assert np.sum(tp.grad(plane)(u, 3) * along) == pytest.approx(ends / 2e-5, rel=1e-7)


@pytest.mark.parametrize("f", [double_buffer, joined], ids=lambda f: f.__name__)
def test_no_array_of_parts_is_made(f):
    """What is added is computed where it is added: there is nothing to hold but the cotangents."""
    g, (small, big) = tp.grad(f), (np.ones(1_000), np.ones(2_000))
    more = tp.cost(g, big, 3).peak_bytes - tp.cost(g, small, 3).peak_bytes
    assert more <= 4 * 8 * (big.size - small.size)
