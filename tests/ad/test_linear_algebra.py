"""Derivatives through linear algebra: forward against differences, reverse against forward; small
matrices go through plain loops, large ones through LAPACK."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import tapeless as tp

RNG = np.random.default_rng(5)


def spread(n: int) -> np.ndarray:
    """A well-conditioned square matrix."""
    return RNG.standard_normal((n, n)) + 2 * np.sqrt(n) * np.eye(n)


def positive(n: int) -> np.ndarray:
    x = RNG.standard_normal((n, n))
    return x @ x.T + n * np.eye(n)


def symmetric(n: int) -> np.ndarray:
    """Eigenvalues far apart."""
    q, _ = np.linalg.qr(RNG.standard_normal((n, n)))
    return q @ np.diag(np.arange(1.0, n + 1)) @ q.T


def tall(n: int) -> np.ndarray:
    """Singular values far apart."""
    u, _ = np.linalg.qr(RNG.standard_normal((n + 3, n)))
    v, _ = np.linalg.qr(RNG.standard_normal((n, n)))
    return u @ np.diag(np.arange(1.0, n + 1)) @ v.T


def vectors(n: int) -> np.ndarray:
    return RNG.standard_normal((n, 3))


Case = tuple[Callable[..., Any], tuple[Callable[[int], np.ndarray], ...]]
CASES: dict[str, Case] = {
    "product": (lambda a, b: a @ b, (spread, vectors)),
    "square": (lambda a: a @ a.T, (spread,)),
    "solve": (np.linalg.solve, (spread, vectors)),
    "inv": (np.linalg.inv, (spread,)),
    "det": (lambda a: np.linalg.det(a / 5.0), (spread,)),
    "slogdet": (lambda a: np.linalg.slogdet(a)[1], (spread,)),
    "cholesky": (np.linalg.cholesky, (positive,)),
    "lower": (lambda a, b: scipy.linalg.solve_triangular(a, b, lower=True), (spread, vectors)),
    "upper": (scipy.linalg.solve_triangular, (spread, vectors)),
    "unit": (
        lambda a, b: scipy.linalg.solve_triangular(a / 9.0, b, lower=True, unit_diagonal=True),
        (spread, vectors),
    ),
    "eigh": (lambda a: np.linalg.eigh(a)[0], (symmetric,)),
    "eigenvectors": (lambda a: np.linalg.eigh(a)[1] ** 2, (symmetric,)),
    "svd": (lambda a: np.linalg.svd(a, full_matrices=False)[1], (tall,)),
    "left": (lambda a: np.linalg.svd(a, full_matrices=False)[0] ** 2, (tall,)),
    "right": (lambda a: np.linalg.svd(a, full_matrices=False)[2] ** 2, (tall,)),
    "q": (lambda a: np.linalg.qr(a)[0] ** 2, (tall,)),
    "r": (lambda a: np.linalg.qr(a)[1] ** 2, (tall,)),
    "norm": (np.linalg.norm, (spread,)),
}


@pytest.mark.parametrize("n", [4, 30], ids=["loops", "lapack"])
@pytest.mark.parametrize("name", CASES)
def test_forward_and_reverse(name: str, n: int):
    f, makers = CASES[name]
    args = tuple(make(n) for make in makers)
    along = tuple(RNG.standard_normal(a.shape) for a in args)
    step = 1e-6
    up, down = (f(*(a + s * d for a, d in zip(args, along, strict=True))) for s in (step, -step))
    slope = (up - down) / (2 * step)
    value, dot = tp.jvp(f, args, along)
    np.testing.assert_allclose(value, f(*args), rtol=1e-9, atol=1e-9)
    size = 1.0 + np.max(np.abs(slope))
    np.testing.assert_allclose(dot, slope, rtol=1e-5, atol=1e-6 * size)

    weight = RNG.standard_normal(np.shape(value))
    grads = tp.grad(lambda *xs: np.sum(weight * f(*xs)), argnums=tuple(range(len(args))))(*args)
    left = np.sum(dot * weight)
    right = sum(np.sum(g * d) for g, d in zip(grads, along, strict=True))
    scale = np.sum(np.abs(dot * weight)) + sum(
        np.sum(np.abs(g * d)) for g, d in zip(grads, along, strict=True)
    )
    assert abs(left - right) <= 1e-11 * scale
