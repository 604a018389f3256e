"""Static and dynamic: sizes, annotations, guards."""

from __future__ import annotations

from typing import Annotated

import numpy as np

import tapeless as tp
from tests.conformance.constructs.registry import A, X, Y, example

SECTION = "Sizes"


@example(
    SECTION, "any length", calls=[(X,), (X[:2],), (np.zeros(0),), (X[:1],), (np.arange(100.0),)]
)
def any_length(x):
    y = np.zeros(len(x) + 2)
    y[1:-1] = x
    return y[2:] - y[:-2]


@example(SECTION, "sizes that meet are checked", calls=[(X, Y), (X, Y[:4])])
def sizes_that_meet(x, y):
    return x * y + x


@example(SECTION, "sizes in arithmetic", A, calls=[(A,), (A[:1],), (A[:, :1],)])
def sizes_in_arithmetic(a):
    m, n = a.shape
    return np.zeros((m + 1, n // 2)), m * n, a.sum() / a.size


@example(SECTION, "annotated sizes", np.arange(6.0).reshape(2, 3), np.ones(3))
def annotated_sizes(a: tp.f64[n, 3], w: tp.f64[3]) -> tp.f64[n]:  # noqa: F821
    return np.array([sum(a[i, k] * w[k] for k in range(3)) for i in range(len(a))])


@example(SECTION, "annotations inside Annotated", X)
def annotated_inside(x: Annotated[np.ndarray, tp.f64["n"]]):
    return x.sum()


@example(
    SECTION,
    "small trailing axes",
    np.arange(12.0).reshape(4, 3),
    calls=[(np.arange(12.0).reshape(4, 3),), (np.arange(8.0).reshape(4, 2),)],
)
def small_trailing(points):
    d = points[:, None] - points[None]
    return np.sqrt((d * d).sum(-1))


@example(
    SECTION,
    "strides and orders",
    calls=[(A,), (np.asfortranarray(A),), (A[:, ::-1],), (A[::2, 1:],), (A.T,)],
)
def strides_and_orders(a):
    return a * 2, a.sum(axis=0), a[0]


@example(SECTION, "static_argnames", X, 3, options={"static_argnames": ("k",)})
def static_numbers(x, k):
    return x[:k] * k, [x[i] for i in range(k)]


@example(SECTION, "byte order", X.astype(">f8"))
def byte_order(x):
    return (x + 1).sum()
