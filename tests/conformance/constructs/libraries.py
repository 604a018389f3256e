"""np.linalg, np.fft, math, cmath, scipy.special."""

from __future__ import annotations

import cmath
import math

import numpy as np
import scipy.linalg
import scipy.special

from tests.conformance.constructs.registry import FLOATS, A, B, X, Y, Z, example

SECTION = "Libraries"
SPD = B @ B.T + np.eye(3)
NEAR = 1e-9


@example(SECTION, "np.linalg: systems", B, X[:3], SPD, tol=NEAR)
def linear_systems(b, x, spd):
    return (
        np.linalg.solve(b, x),
        np.linalg.inv(b),
        np.linalg.det(b),
        np.linalg.slogdet(b),
        np.linalg.cholesky(spd),
    )


@example(SECTION, "np.linalg: norms", A, X, tol=NEAR)
def norms(a, x):
    return (
        np.linalg.norm(x),
        np.linalg.norm(a),
        np.linalg.norm(a, axis=1),
        np.linalg.norm(x, 1),
        np.linalg.norm(x, np.inf),
    )


@example(SECTION, "np.linalg: decompositions", B, SPD, tol=NEAR)
def decompositions(b, spd):
    q, r = np.linalg.qr(b)
    w, v = np.linalg.eigh(spd)
    s = np.linalg.svd(b, compute_uv=False)
    u, t, vt = np.linalg.svd(b)
    return q @ r, w, np.abs(v), s, (u * t) @ vt


@example(SECTION, "scipy.linalg", SPD, X[:3], tol=NEAR)
def scipy_systems(spd, x):
    lower = scipy.linalg.solve_triangular(np.tril(spd), x, lower=True)
    c = scipy.linalg.cho_factor(spd)
    return lower, scipy.linalg.cho_solve(c, x)


@example(SECTION, "singular systems raise", np.ones((3, 3)), X[:3])
def singular(b, x):
    return np.linalg.solve(b, x)


@example(SECTION, "np.fft", X, Z, tol=NEAR)
def transforms(x, z):
    return (
        np.fft.fft(z),
        np.fft.ifft(z),
        np.fft.rfft(x),
        np.fft.irfft(np.fft.rfft(x), 5),
        np.fft.fftfreq(5),
    )


@example(SECTION, "math", calls=[(0.5, 2), (1.25, 7)])
def math_functions(a, k):
    return (
        math.sin(a), math.cos(a), math.exp(a), math.log(a), math.sqrt(a), math.atan2(a, 2.0),
        math.pow(a, 2), math.floor(a), math.ceil(a), math.trunc(a), math.fabs(-a),
        math.hypot(a, 1.0), math.log2(a), math.erf(a), math.gamma(a), math.lgamma(a),
        math.copysign(1.0, -a), math.isnan(a), math.degrees(a), math.gcd(12, k), math.factorial(5),
        math.comb(7, 2), math.isclose(a, a), math.log(a, 3.0), math.pi, math.inf,
    )  # fmt: skip


@example(SECTION, "cmath", 0.5 - 1.5j)
def cmath_functions(z):
    return cmath.exp(z), cmath.sqrt(z), cmath.log(z), cmath.phase(z), cmath.sin(z), abs(z)


@example(SECTION, "scipy.special", np.array([0.25, 0.5, 1.75, 3.5]), over=FLOATS, tol=1e-5)
def special_functions(x):
    s = scipy.special
    return (
        s.gammaln(x), s.digamma(x), s.erf(x), s.erfc(x), s.logsumexp(x), s.expit(x), s.ndtr(x),
        s.softmax(x), s.log_ndtr(x), s.xlogy(x, x), s.logit(x / 4), s.i0(x), s.j0(x),
        s.log_softmax(x), s.betaln(x, 2.0),
    )  # fmt: skip


@example(SECTION, "logsumexp of rows", A, Y)
def logsumexp_rows(a, y):
    return scipy.special.logsumexp(a, axis=1), scipy.special.logsumexp(y)


@example(SECTION, "min and max with key= and default=",
         calls=[(X, np.array([1.0, -7.0, 7.0])), (X, np.zeros(0)), (Y[:1], X[1:])])  # fmt: skip
def best_by_key(x, y):
    return (
        max(x, key=abs), min(x, key=lambda v: (v - 2) ** 2), max(range(len(x)), key=lambda i: x[i]),
        max(((v, i) for i, v in enumerate(x)), key=lambda p: -p[0]),
        min(y, default=0.5), max((v for v in y if v > 3), default=-1.0),
        max((abs(v) for v in y), default=2.5), max(y, key=abs, default=9.0),
        min(x[0], -2.0, 3.0, key=abs), max([1, -5, 4], key=abs), max((), default=3),
    )  # fmt: skip


@example(SECTION, "sorted by what is known at compile time", X)
def sorted_by_names(x):
    sums = {"b": x[0], "a": x[1], "c": x[2]}
    total = 0.0
    for name, value in sorted(sums.items()):
        total = total * 2 + len(name) * value
    for name in sorted(sums, reverse=True):
        total = total * 3 + sums[name]
    pairs = sorted([(2, x[0]), (1, x[1]), (2, x[2])], key=lambda p: p[0], reverse=True)
    return total, pairs[0][1], pairs[1][1], sorted(["pear", "fig"], key=len)[0] == "fig"


@example(SECTION, "sorted with a key and backwards",
         calls=[(X, np.array([2.0, -1.0, 1.0, -2.0])), (X[:1], np.zeros(0))])  # fmt: skip
def sorted_by_key(x, y):
    pairs = sorted([(abs(v), v) for v in y], key=lambda p: p[0])
    numbers = {"b": 1.0, "a": 2.0, "c": 4.0}
    return (
        sorted(x), sorted(x, reverse=True), sorted(y, key=abs), sorted(y, key=abs, reverse=True),
        sorted(range(len(x)), key=lambda i: x[i]), sorted([3, -1, 2], key=lambda v: v * v),
        np.array([p[1] for p in pairs]), sorted((v * 2 for v in x), key=lambda v: -v),
        [numbers[k] for k in sorted(numbers)], sorted((2, 3, 1), reverse=True),
    )  # fmt: skip


ENDS = np.array([-np.inf, np.inf, -1.0, 0.0, -0.0, np.nan, -1e30, 2.5])


@example(SECTION, "logarithms of the gamma function at the ends", ENDS, -np.inf, over=FLOATS)
def log_gamma_ends(x, a):
    return scipy.special.gammaln(x), math.lgamma(a), scipy.special.gammaln(a), math.lgamma(a + 1.0)
