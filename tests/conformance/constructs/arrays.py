"""Array functions, methods and attributes."""

from __future__ import annotations

import numpy as np

from tests.conformance.constructs.registry import (
    ALL,
    FLOATS,
    IDX,
    MASK,
    REAL,
    A,
    B,
    K,
    T,
    X,
    Y,
    example,
)

SECTION = "Arrays"


@example(SECTION, "attributes", A, T)
def attributes(a, t):
    return a.shape, a.ndim, a.size, len(a), t.shape[2], a.dtype == np.float64, a.T.shape


@example(SECTION, "creation", 4)
def creation(n):
    return (
        np.zeros(n), np.ones((n, 2)), np.full(n, 2.5), np.arange(n), np.arange(1.0, n, 0.5),
        np.linspace(0.0, 1.0, n), np.eye(n), np.identity(3), np.array([1.0, n, 2.0]),
        np.array([[1, n], [2, 3]]),
    )  # fmt: skip


@example(SECTION, "creation with a type or like another", X, over=REAL)
def creation_like(x):
    e = np.empty_like(x)
    e[:] = 1
    return np.zeros_like(x), np.ones_like(x), np.full_like(x, 3), np.zeros(3, x.dtype), e


@example(SECTION, "elementwise functions", X, over=FLOATS, tol=1e-5)
def elementwise(x):
    return (
        np.exp(x), np.log(np.abs(x) + 1), np.sin(x), np.cos(x), np.tanh(x), np.sqrt(np.abs(x)),
        np.floor(x), np.ceil(x), np.trunc(x), np.rint(x), np.sign(x), np.square(x),
        np.reciprocal(x), np.log1p(np.abs(x)), np.expm1(x), np.arctan(x), np.cbrt(x), np.exp2(x),
    )  # fmt: skip


@example(SECTION, "functions of two arrays", X, Y)
def two_arrays(x, y):
    return (
        np.maximum(x, y), np.minimum(x, y), np.hypot(x, y), np.arctan2(x, y), np.mod(x, y),
        np.fmod(x, y), np.power(np.abs(x), y), np.copysign(x, y), np.logaddexp(x, y), np.add(x, y),
        np.multiply(x, 2), np.floor_divide(x, y), np.heaviside(x, 0.5), np.fmax(x, y),
    )  # fmt: skip


@example(SECTION, "rounding", np.array([0.5, 1.5, -2.5, 2.34567]))
def rounding(x):
    return np.round(x), np.round(x, 2), x.round(1), round(x[3]), round(x[3], 2)


@example(SECTION, "reductions", A, over=REAL, tol=1e-6)
def reductions(a):
    return np.sum(a), a.min(), a.max(), np.prod(a[0]), a.mean(), a.any(), np.all(a), np.ptp(a)


@example(SECTION, "reductions over an axis", A, T)
def reductions_axis(a, t):
    return (
        a.sum(axis=0), np.max(a, axis=1), a.mean(0), a.prod(axis=-1), np.argmax(a, axis=1),
        t.sum(axis=(0, 2)), a.sum(axis=1, keepdims=True), np.any(a > 3, axis=0), a.argmin(),
    )  # fmt: skip


@example(SECTION, "statistics", A)
def statistics(a):
    return (
        np.mean(a),
        np.var(a),
        np.std(a, axis=0),
        a.std(ddof=1),
        np.median(a),
        np.average(a, axis=1),
    )


@example(SECTION, "products", A, A.T.copy(), X[:4])
def products(a, b, x):
    return (
        a @ b,
        a @ x,
        np.dot(x, x),
        np.matmul(a, b),
        np.outer(x, x),
        np.inner(x, x),
        np.vdot(x, x),
        x @ b,
    )


@example(SECTION, "batched products", T, T.transpose(0, 2, 1).copy())
def batched_products(t, u):
    return t @ u, np.matmul(t, u[0])


@example(SECTION, "einsum and tensordot", A, B, X[:3])
def einsum(a, b, x):
    return (
        np.einsum("ij,jk->ik", b, a), np.einsum("ii", b), np.einsum("i,ij,j", x, b, x),
        np.einsum("ij->ji", a), np.tensordot(b, a, axes=1), np.trace(b), np.kron(x, x),
        np.cross(x, b[0]),
    )  # fmt: skip


@example(SECTION, "shapes", A, T)
def shapes(a, t):
    return (
        a.reshape(2, 6), np.reshape(a, -1), np.ravel(a), a.T, np.transpose(t, (2, 0, 1)),
        np.swapaxes(t, 0, 1), np.moveaxis(t, 0, -1), np.expand_dims(a, 0), np.squeeze(a[:1]),
        a.flatten(),
    )  # fmt: skip


@example(SECTION, "joining and splitting", X, Y, A)
def joining(x, y, a):
    first, second = np.split(a, 2, axis=1)
    return (
        np.concatenate((x, y)), np.concatenate([a, a], axis=1), np.stack((x, y)),
        np.stack((x, y), axis=1), np.vstack((x, y)), np.hstack((x, y)), np.column_stack((x, y)),
        np.append(x, 1.0), first, second,
    )  # fmt: skip


@example(SECTION, "repetition", X, A)
def repetition(x, a):
    return (
        np.repeat(x, 2),
        np.tile(x, 2),
        np.tile(a, (2, 1)),
        np.repeat(a, 2, axis=0),
        np.broadcast_to(x, (2, 5)),
    )


@example(SECTION, "flip, roll, diff, pad", X, A)
def rearranged(x, a):
    return (
        np.flip(x), np.flip(a, axis=1), np.flipud(a), np.fliplr(a), np.roll(x, 2),
        np.roll(a, -1, axis=0), np.diff(x), np.diff(a, axis=0), np.pad(x, 1),
        np.pad(x, (1, 2), mode="edge"), np.rot90(a),
    )  # fmt: skip


@example(SECTION, "scans", X, A)
def scans(x, a):
    return (
        np.cumsum(x), np.cumprod(x), np.cumsum(a, axis=0), np.maximum.accumulate(x),
        np.minimum.accumulate(x), a.cumsum(), np.add.reduce(x), np.multiply.reduce(x),
    )  # fmt: skip


@example(
    SECTION, "sorting and searching", X, K, calls=[(X, K), (np.array([2.0, 1.0, 2.0, 1.0, 0.0]), K)]
)
def sorting(x, k):
    s = np.sort(x)
    return (
        s, np.argsort(x, kind="stable"), np.searchsorted(s, 0.5),
        np.searchsorted(s, x, side="right"), np.sort(k)[::-1], np.sort(np.stack((x, x)), axis=1),
        x[np.argsort(k)],
    )  # fmt: skip


@example(SECTION, "selection", X, Y, IDX, MASK)
def selection(x, y, idx, mask):
    return (
        np.where(mask, x, y), np.select([x > 1, x < 0], [x, -x], 0.5), np.clip(x, -1.0, 1.0),
        np.take(x, idx), np.choose(IDX_SMALL, (x, y)), np.count_nonzero(mask),
        np.argwhere(mask).size,
    )  # fmt: skip


IDX_SMALL = np.array([0, 1, 1, 0, 1])


@example(SECTION, "diagonals and triangles", B, X)
def diagonals(b, x):
    return (
        np.diag(b),
        np.diag(x[:2]),
        np.trace(b),
        np.triu(b),
        np.tril(b, -1),
        np.diagonal(b),
        np.triu(b, 1),
    )


@example(SECTION, "meshgrid and indices", X[:2], Y[:3])
def grids(x, y):
    xx, yy = np.meshgrid(x, y)
    ii, jj = np.meshgrid(np.arange(2), np.arange(3), indexing="ij")
    return xx * yy, ii + jj


@example(SECTION, "methods", A, over=FLOATS, tol=1e-6)
def methods(a):
    b = a.copy()
    b.fill(2.0)
    return (
        a.sum(),
        a.astype(np.int64),
        b,
        a.tolist() == a.tolist(),
        a.clip(0, 2),
        a.dot(a.T),
        a.transpose(),
    )


@example(SECTION, "comparison of arrays", X, Y)
def array_comparison(x, y):
    return np.allclose(x, x + 1e-12), np.array_equal(x, y), np.isclose(x, y), (x == x).all()


@example(SECTION, "type of results", np.arange(4, dtype="i4"), np.ones(4, "f4"))
def result_types(i, f):
    return (
        i.sum(),
        i.mean(),
        f.sum(),
        f.mean(),
        i.cumsum(),
        np.sum(i > 1),
        i.max(),
        np.sum(f, dtype=np.float64),
    )


@example(SECTION, "interpolation and convolution", X, np.array([0.0, 1.0, 2.0, 3.0, 4.0]), Y)
def interpolation(x, grid, y):
    return np.interp(x, grid, y), np.convolve(x, y[:3]), np.trapezoid(y, grid), np.gradient(y)


@example(SECTION, "polynomials", X, Y[:3])
def polynomials(x, c):
    return np.polyval(c, x), np.polyval(c, 0.5)


@example(SECTION, "nan-aware reductions", np.array([1.0, np.nan, -2.0]))
def nan_reductions(x):
    return np.nansum(x), np.nanmax(x), np.nan_to_num(x), np.max(x), np.nanmean(x)


@example(SECTION, "reductions of every type", X, over=ALL, tol=1e-6)
def sum_of_every_type(x):
    return x.sum(), np.prod(x[:3])
