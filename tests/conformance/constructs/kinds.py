"""Kinds of numbers, indices and functions at large, with NumPy's special cases."""

from __future__ import annotations

import math

import numpy as np

from tests.conformance.constructs.registry import A, B, T, X, example


@example("Values", "assignment converts to the array's type", X)
def assignment_casts(x):
    y = np.zeros(5, dtype=np.float32)
    y[0] = x[0]
    y += x
    z = np.zeros(3, dtype=int)
    z[0] = 2.7
    z[1:] = x[:2]
    z += 1
    w = np.zeros(2, complex)
    w[0] = x[0]
    b = np.zeros(3, bool)
    b[0] = x[0]
    b[1] = 0.0
    return (y, z, w, b)


@example("Values", "in-place operators of integers", X)
def integer_operators(x):
    z = np.arange(5)
    z //= 2
    z **= 2
    z %= 3
    z <<= 1
    z |= 1
    u = np.arange(5, dtype=np.uint8)
    u -= 3
    u *= 100
    u = u // 7
    return (z, u, -u, ~u)


@example("Values", "min and max of numbers", X)
def two_argument_extrema(x):
    return (
        max(x[0], x[1]), min(x[0], 2), max(1, 2.5), max(x[0], x[1], x[2]), min([x[0], x[3]]),
        np.maximum(x, 0), np.fmax(x, np.nan), max(np.nan, 1.0), max(1.0, np.nan),
        min(x[2], np.nan),
    )  # fmt: skip


@example("Values", "NaN in functions and reductions", np.array([1.0, np.nan, 3.0]))
def not_a_number(x):
    return (
        np.max(x), np.nanmax(x), x.max(), np.argmax(x), np.maximum(x, 2.0), np.sort(x), x.min(),
        (x > 0).all(), x == x, np.isnan(x).any(), np.sum(x), np.nansum(x), np.median(x),
        np.clip(x, 0, 2), np.sign(x), np.where(np.isnan(x), 0, x),
    )  # fmt: skip


@example("Values", "infinities and signed zeros", np.array([np.inf, -np.inf, 0.0, -0.0]))
def infinities(x):
    return (
        x + x, x * 0, 1 / x, x ** 2, np.sqrt(x), np.exp(x), np.arctan(x), x - x, np.sign(x),
        np.copysign(1, x), x // 1, x % 2, np.hypot(x, 1), abs(x), np.log1p(x), np.floor(x),
        x.sum(), np.cumsum(x),
    )  # fmt: skip


@example(
    "Values", "roundings of every kind", calls=[(3.7,), (-3.7,), (0.5,), (1.5,), (2.5,), (-0.5,)]
)
def roundings(a):
    return (
        round(a), round(a, 0), int(a), math.floor(a), math.ceil(a), math.trunc(a), np.round(a),
        np.rint(a), np.trunc(a), np.fix(a), a // 1, a % 1, -a // 1, divmod(a, 1.0),
        math.modf(a), math.frexp(a), np.floor(a), int(np.round(a * 10)), float(int(a)),
    )  # fmt: skip


@example("Indexing", "slices with bounds and steps of run time", X, 2)
def run_time_slices(x, k):
    return (
        x[k:], x[:-k], x[-k:], x[k:k + 2], x[::k], x[::-k], x[k::-1], x[k - 5:], x[:k - 7],
        x[k:k], x[len(x) - k:], x[k - 2:k],
    )  # fmt: skip


@example("Indexing", "indices of run time on two axes", A, 1, 2)
def run_time_indices(a, i, j):
    return (
        a[i], a[:, j], a[i:, :j], a[i, j:], a[-i], a[i][j], a[i:j][0], a[::-1][i],
        a[:, ::-1][i, j], a[a.shape[0] - 1, -j], a[..., j], a[None, i], a[i, None, :],
        a[i:i + 1, j:j + 1],
    )  # fmt: skip


@example("Arrays", "functions of arrays of three axes", T)
def three_axes(t):
    return (
        t[0, 1], t[..., 0], t[:, 0], t.sum((0, 2)), t.max(axis=1, keepdims=True),
        t.transpose(2, 0, 1)[1], t.swapaxes(0, 1)[0], t.reshape(6, 4)[::2], t[:, :, [0, 2]],
        t[[0, 1], [1, 2]], t[[0, 1], :, [1, 2]], t[:, [True, False, True]],
        np.moveaxis(t, 0, -1).shape, t[t > 1].sum(), t.argmax(axis=2), np.einsum('ijk->kj', t),
        t.mean(axis=(0, 1)), t.any(axis=0), t.cumsum(axis=1), np.diff(t, axis=2),
        np.sort(t, axis=0), np.flip(t, 1), np.roll(t, 1, axis=2), t.squeeze().ndim,
        np.expand_dims(t, 1).shape, np.tile(t, (1, 2, 1)).shape,
        np.concatenate((t, t), axis=1).shape, np.stack((t, t), axis=-1).shape,
    )  # fmt: skip


@example("Values", "kinds of results", X)
def kinds_of_results(x):
    return (
        None, True, 3, 'abc', 2.5, (1, (2.0, x)), [x, x * 2], {'a': x[0], 'b': {'c': x}},
        np.float32(1.5), x[0] > 0, x.shape, x.dtype == np.float64, np.int8(3), 1j, x.size > 3,
    )  # fmt: skip


@example("Arrays", "functions that create arrays", X)
def creations(x):
    return (
        np.linspace(0, 1, 5), np.linspace(0, 1, 5, endpoint=False), np.arange(0, 1, 0.25),
        np.logspace(0, 2, 3), np.full(3, x[0]), np.full((2, 2), 7), np.eye(2, 3, 1),
        np.identity(2), np.zeros((2, 3), int), np.ones_like(x, dtype=int),
        np.empty_like(x).shape, np.tri(3), np.diag(x[:2]), np.arange(5)[::-1].dtype == np.int64,
        np.zeros(3, dtype=x.dtype), np.array([[1, 2], [3, 4.5]]), np.array([1, True]),
        np.array(3), np.array([x[0], 1]), np.asarray(x) is x, np.atleast_2d(x).shape,
    )  # fmt: skip


@example("Arrays", "orders, ranks and searches", X)
def orders(x):
    o = np.argsort(x)
    inv = np.empty_like(o)
    inv[o] = np.arange(len(x))
    u, c = np.unique(np.array([3, 1, 3]), return_counts=True)
    return (
        x[o], inv, u, c, np.argsort(-x)[:2], np.sort(x)[::-1], np.partition(x, 2)[2],
        np.median(x), np.percentile(x, 30), np.searchsorted(np.sort(x), [0.0, 1.0]),
        np.digitize(x, [0.0, 2.0]),
    )  # fmt: skip


@example("Libraries", "np.linalg at large", A, B, tol=1e-9)
def linear_algebra(a, b):
    return (
        np.linalg.solve(b, a), np.linalg.inv(b), np.linalg.det(b), np.linalg.norm(a, axis=1),
        np.linalg.norm(b, 'fro'), np.trace(b), np.linalg.matrix_power(b, 3),
        np.kron(b, b[:2, :1]), np.cross(b[0], b[1]), b @ b @ a, np.linalg.eigvalsh(b @ b.T),
        np.linalg.lstsq(b, a, rcond=None)[0], np.linalg.qr(b)[1].shape,
    )  # fmt: skip


@example("Arrays", "choices by conditions", X)
def choices(x):
    return (
        np.where(x > 0)[0], np.where(x > 0, x, 0), np.where(x > 0, 1, 2),
        np.where(x > 0, [1.0] * 5, x), np.select([x > 2, x > 0], [x, x * 2], -1.0),
        np.clip(x, -1, 1), np.clip(x, None, 1), np.nonzero(x > 0)[0], np.argwhere(x > 0),
        np.extract(x > 0, x), np.compress(x > 0, x), np.take(x, [0, -1]),
        np.choose([0, 1], [x[:2], x[2:4]]), np.piecewise is None,
    )  # fmt: skip


@example(
    "Values",
    "single precision with Python's numbers",
    np.arange(5, dtype="f4"),
    np.arange(5, dtype="i4"),
)
def single_precision(f, i):
    t = 0.0
    s = 0
    u = f.dtype.type(0)
    for v in f:
        t += v
        s += v
        u = u + v * 0.1
    k = 0
    for q in i:
        k += q
    m = f[0]
    for v in f:
        m = max(m, v)
    return (
        t, s, u, k, m, f * 0.1, f[0] * 0.1, f + np.float64(1), f.sum(), f.mean(), np.sqrt(f),
        np.sqrt(i), f * i, f[1] ** 2, f ** 0.5, 2 ** f, np.exp(f[0]), math.exp(f[0]), f.dot(f),
        np.float32(2) * 3.0, f / 3, i / 2, abs(f[0]), np.sin(i), math.sqrt(f[1]), f[0] // 2,
        f[1] % 2,
    )  # fmt: skip


@example(
    "Values",
    "small integers in arithmetic and reductions",
    np.arange(5, dtype="i2"),
    np.arange(5, dtype="u4"),
)
def small_integers(i, u):
    return (
        i * 300, i.sum(), u.sum(), i + 1, i[0] + 1, i * 2.0, i + u, i.mean(), -i, i ** 2,
        np.cumsum(i), i.max(), u - 1, i.prod(), i // 2, i << 4, i.astype('f4') / 3,
        np.dot(i, i), i @ i, np.abs(i - 3), i == u, np.sum(i * i), max(i), sum(i),
        np.arange(3, dtype='i1') * 100, i[1] * i[2], i[2] * 20000, np.bitwise_and(i, 3),
        np.where(i > 2, i, 0),
    )  # fmt: skip


@example("Values", "arithmetic of booleans", np.array([True, False, True]))
def arithmetic_of_bools(b):
    return (
        b.sum(), b + b, b * 2, b * 1.5, ~b, b & True, b | b, b ^ b, b.mean(), b.any(),
        np.logical_not(b), b.astype(int), b[0] + b[2], b[0] * 2, not b[0], b == np.True_,
        np.sum(b), np.cumsum(b), b.argmax(), np.where(b, 1, 0), b[b].size, sum(b), -1 * b,
        b / 2, np.maximum(b, False), b.max(), b.prod(), b * b, b > False, np.count_nonzero(b),
    )  # fmt: skip


@example("Libraries", "functions of math", 1.5, 2, tol=1e-9)
def math_at_large(a, k):
    return (
        math.sin(a), math.atan2(a, k), math.hypot(a, k), math.pow(a, k), math.log(a),
        math.log(a, 2), math.log2(a), math.log10(a), math.exp(a), math.fabs(-a),
        math.factorial(5), math.comb(5, 2), math.isqrt(17), math.copysign(a, -1.0),
        math.isclose(a, 1.5), math.isnan(a), math.isinf(a), math.degrees(a), math.radians(a),
        math.gamma(a), math.lgamma(a), math.erf(a), math.tau, math.inf,
        math.dist((0, 0), (3, 4)), math.fsum([a, k]), math.ldexp(a, 2),
        math.cbrt(a) if hasattr(math, 'cbrt') else 0, math.remainder(a, k), math.expm1(a),
        math.log1p(a), math.tanh(a), math.sinh(a), math.trunc(a), math.perm(5, 2),
        math.prod([a, k]),
    )  # fmt: skip


FRACTIONS = np.array([-1.0, -1.5, 300.7, -129.0, 70000.0, 0.99, -(2.0**31)])


@example("Values", "floats that become integers", FRACTIONS, np.array([-1.0, -9e18, 1.5e19]))
def floats_to_integers(x, y):
    return (
        x.astype(np.uint8), x.astype(np.int8), x.astype(np.uint16), x.astype(np.int16),
        x.astype(np.int32), x.astype(np.int64), x.astype(np.uint64), y.astype(np.uint64),
        (x * 0.5).astype(np.float32).astype(np.uint8),
    )  # fmt: skip


BYTES = np.array([1, 200, 3], "u1")


# np.where(u > 1, u, 300) wraps before NumPy 2.5, which raises.
@example(
    "Values", "Python numbers that a type does not hold", calls=[(BYTES, 300, -1), (BYTES, 7, 0)]
)
def numbers_beyond(u, k, m):
    return (
        np.where(u > 1, u, k),
        np.where(u > 1, m, u),
        max(u[0], 300),
        min(u[0], -3),
        max(u[1], -3),
        np.clip(u, -5, 300),
        np.clip(u.astype(np.int16), -70000, 100),
    )


@example("Values", "a Python float stored where it does not fit",
         calls=[(BYTES, -1.0), (BYTES, 255.5), (BYTES.astype("i2"), 4e4)])  # fmt: skip
def stored_float(u, x):
    u[0] = x
    return u


@example("Values", "a number of an unsigned type from a negative float", calls=[(-1.0,), (2.5,)])
def unsigned_of_float(x):
    return np.uint64(x), np.uint8(x)
