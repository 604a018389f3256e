"""Products of arrays: dot, matmul, einsum, and what is made of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapeless.frontend.intrinsics import (
    as_array,
    broadcast_shapes,
    broadcast_to,
    build,
    cast,
    dtype_of,
    element,
    fail,
    foreign,
    is_static,
    prim,
    rank,
    reduce_over,
    reshape,
    result_type,
    same_size,
    transpose,
)  # fmt: skip
from tapeless.frontend.library.einstein import (
    contraction,
    contraction_axes,
    label_axes,
    matrix_roles,
    read_subscripts,
)
from tapeless.frontend.library.reductions import deliver
from tapeless.frontend.library.registry import implements
from tapeless.frontend.library.static import counted, kind, moved, routine

NO_MEMORY = "no memory for a copy of a matrix"
BLAS_PAYS = 40_000  # multiplications from which a call of BLAS is faster than a plain nest


@implements(np.matmul)
def matmul(x1: Any, x2: Any, /, out: Any = None, *, dtype: Any = None) -> Any:
    a, b = as_array(x1), as_array(x2)
    t = result_type(dtype_of(a), dtype_of(b)) if dtype is None else dtype
    if rank(a) == 0 or rank(b) == 0:
        fail("matmul takes no numbers", "use '*'")
    return deliver(_matmul(a, b, t), out)


def _matmul(a: Any, b: Any, t: Any) -> Any:
    if rank(a) == 1 and rank(b) == 1:
        return inner_product(a, b, t)
    if rank(a) == 2 and rank(b) == 1:
        return build(a.shape[0], lambda i: inner_product(a[i], b, t), t)
    if rank(a) == 1 and rank(b) == 2:
        columns = transpose(b, (1, 0))
        return build(b.shape[1], lambda j: inner_product(a, columns[j], t), t)
    if rank(a) == 2 and rank(b) == 2:
        return matrix_product(a, b, t)
    if rank(a) == 1:
        return _matmul(reshape(a, (1, *a.shape)), b, t)[..., 0, :]
    if rank(b) == 1:
        return _matmul(a, reshape(b, (*b.shape, 1)), t)[..., 0]
    lead = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    k = same_size(a.shape[-1], b.shape[-2], "matmul: the inner sizes differ")
    aw = broadcast_to(a, (*lead, *a.shape[-2:]))
    bw = broadcast_to(b, (*lead, *b.shape[-2:]))
    return build(
        (*lead, a.shape[-2], b.shape[-1]),
        lambda *i: _sum_of_products(
            k, lambda p: element(aw, (*i[:-1], p)), lambda p: element(bw, (*i[:-2], p, i[-1])), t
        ),
        t,
    )  # fmt: skip


def _sum_of_products(size: Any, f: Any, g: Any, t: Any) -> Any:
    if kind(t) == "b":
        return reduce_over("or", size, lambda *p: f(*p) & g(*p))
    return reduce_over("+", size, lambda *p: cast(f(*p), t) * cast(g(*p), t))


def inner_product(a: Any, b: Any, t: Any) -> Any:
    """Σ aₚ bₚ of two arrays of rank 1."""
    k = same_size(a.shape[0], b.shape[0], "the inner sizes differ")
    return _sum_of_products(k, lambda p: element(a, (p,)), lambda p: element(b, (p,)), t)


def matrix_product(a: Any, b: Any, t: Any) -> Any:
    """Σ aᵢₚ bₚⱼ: by BLAS where the sizes say that it pays."""
    k = same_size(a.shape[1], b.shape[0], "matmul: the inner sizes differ")
    n, m = a.shape[0], b.shape[1]
    if kind(t) == "f" and not (is_static(n * m * k) and n * m * k < BLAS_PAYS):
        if n * m * k >= BLAS_PAYS:
            product = foreign(routine("gemm", t), NO_MEMORY, as_array(a, t), as_array(b, t))
        else:
            product = _plain_product(a, b, n, m, k, t)
        return product
    return _plain_product(a, b, n, m, k, t)


def _plain_product(a: Any, b: Any, n: Any, m: Any, k: Any, t: Any) -> Any:
    return build(
        (n, m),
        lambda i, j: _sum_of_products(
            k, lambda p: element(a, (i, p)), lambda p: element(b, (p, j)), t
        ),
        t,
    )  # fmt: skip


@implements(np.dot, "dot")
def dot(a: Any, b: Any, out: Any = None) -> Any:
    if rank(a) == 0 or rank(b) == 0:
        return deliver(np.multiply(a, b), out)
    x, y = as_array(a), as_array(b)
    t = result_type(dtype_of(x), dtype_of(y))
    if rank(x) <= 2 and rank(y) <= 2:
        return deliver(_matmul(x, y, t), out)
    return deliver(tensordot(x, y, ((-1,), (-1 if rank(y) == 1 else -2,))), out)


@implements(np.inner)
def inner(a: Any, b: Any) -> Any:
    if rank(a) == 0 or rank(b) == 0:
        return np.multiply(a, b)
    return tensordot(as_array(a), as_array(b), ((-1,), (-1,)))


@implements(np.vdot)
def vdot(a: Any, b: Any) -> Any:
    x, y = as_array(a), as_array(b)
    t = result_type(dtype_of(x), dtype_of(y))
    p, q = reshape(x, (math.prod(x.shape),)), reshape(y, (math.prod(y.shape),))
    k = same_size(p.shape[0], q.shape[0], "vdot: the sizes differ")
    return _sum_of_products(
        k, lambda i: np.conjugate(element(p, (i,))), lambda i: element(q, (i,)), t
    )


@implements(np.linalg.vecdot, np.vecdot)
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    a, b = as_array(x1), as_array(x2)
    return np.sum(np.conjugate(a) * b, axis=axis)


@implements(np.outer, np.linalg.outer)
def outer(a: Any, b: Any, out: Any = None) -> Any:
    x, y = np.ravel(a), np.ravel(b)
    t = result_type(dtype_of(x), dtype_of(y))
    product = build(
        (x.shape[0], y.shape[0]),
        lambda i, j: cast(element(x, (i,)), t) * cast(element(y, (j,)), t),
        t,
    )
    return deliver(product, out)


@implements(np.tensordot, np.linalg.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    x, y = as_array(a), as_array(b)
    t = result_type(dtype_of(x), dtype_of(y))
    left, right, order_x, order_y = contraction_axes(axes, rank(x), rank(y))
    p, q = transpose(x, order_x), transpose(y, order_y)
    nx, ny = rank(x) - len(left), rank(y) - len(right)
    for d in counted(len(left)):
        same_size(p.shape[nx + d], q.shape[d], "tensordot: the inner sizes differ")
    if nx == 1 and ny == 1 and len(left) == 1:
        return matrix_product(p, q, t)
    box = p.shape[nx:]
    if nx + ny == 0:
        return _sum_of_products(box, lambda *r: element(p, r), lambda *r: element(q, r), t)
    return build(
        (*p.shape[:nx], *q.shape[len(right) :]),
        lambda *i: reduce_over(
            "+", box,
            lambda *r: cast(element(p, (*i[:nx], *r)), t) * cast(element(q, (*r, *i[nx:])), t),
        ),
        t,
    )  # fmt: skip


@implements(np.kron)
def kron(a: Any, b: Any) -> Any:
    x, y = as_array(a), as_array(b)
    n = max(rank(x), rank(y))
    x = reshape(x, (1,) * (n - rank(x)) + x.shape)
    y = reshape(y, (1,) * (n - rank(y)) + y.shape)
    sizes = y.shape
    return build(
        tuple(x.shape[d] * sizes[d] for d in counted(n)),
        lambda *i: element(x, tuple(prim("floordiv", i[d], sizes[d]) for d in counted(n)))
        * element(y, tuple(prim("mod", i[d], sizes[d]) for d in counted(n))),
        result_type(dtype_of(x), dtype_of(y)),
    )  # fmt: skip


@implements(np.cross, np.linalg.cross)
def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None
) -> Any:
    if axis is not None:
        axisa, axisb, axisc = axis, axis, axis
    x = as_array(a)
    y = as_array(b)
    x = transpose(x, moved(axisa, -1, rank(x)))
    y = transpose(y, moved(axisb, -1, rank(y)))
    same_size(x.shape[-1], 3, "np.cross takes vectors of size 3")
    same_size(y.shape[-1], 3, "np.cross takes vectors of size 3")
    lead = broadcast_shapes(x.shape[:-1], y.shape[:-1])
    x, y = broadcast_to(x, (*lead, 3)), broadcast_to(y, (*lead, 3))
    t = result_type(dtype_of(x), dtype_of(y))
    if len(lead) == 0:
        return _cross(x, y, (), t)
    out = build(lead, lambda *i: _cross(x, y, i, t), t)
    return transpose(out, moved(-1, axisc, rank(out)))


def _cross(x: Any, y: Any, at: Any, t: Any) -> Any:
    p = tuple(element(x, (*at, k)) for k in (0, 1, 2))
    q = tuple(element(y, (*at, k)) for k in (0, 1, 2))
    return as_array(
        [p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]], t
    )


# Einstein's notation ----------------------------------------------------------------------------


def _next_pair(ins: Any, result: Any) -> Any:
    """The two operands of many that are best contracted first, and the labels of their product."""
    return contraction(ins, result) if len(ins) > 2 else None


@implements(np.einsum)
def einsum(
    subscripts: str, *operands: Any, out: Any = None, dtype: Any = None, optimize: Any = False
) -> Any:
    xs = tuple(as_array(x) for x in operands)
    t = result_type(*(dtype_of(x) for x in xs)) if dtype is None else dtype
    ins, result = read_subscripts(subscripts, tuple(rank(x) for x in xs))
    step = _next_pair(ins, result)
    while step is not None:
        i, j, labels = step
        pair = _contract((ins[i], ins[j]), labels, (xs[i], xs[j]), t)
        rest = tuple(k for k in counted(len(xs)) if k not in (i, j))
        ins, xs = (*(ins[k] for k in rest), labels), (*(xs[k] for k in rest), as_array(pair))
        step = _next_pair(ins, result)
    return deliver(_contract(ins, result, xs, t), out)


def _contract(ins: Any, result: Any, xs: Any, t: Any) -> Any:
    """Σ over all labels not in `result` of the product of elements."""
    roles = matrix_roles(ins, result)
    if roles is not None and kind(t) == "f":
        x, y = transpose(xs[0], roles[0]), transpose(xs[1], roles[1])
        return transpose(matrix_product(x, y, t), roles[2])
    labels, sites, places = label_axes(ins, result)
    sizes = tuple(_common_size(where, xs) for where in sites)
    free = len(result)

    def term(*i: Any) -> Any:
        value = cast(element(xs[0], tuple(i[p] for p in places[0])), t)
        for k in counted(len(xs))[1:]:
            value = value * cast(element(xs[k], tuple(i[p] for p in places[k])), t)
        return value

    def summed(*i: Any) -> Any:
        if free == len(labels):
            return term(*i)
        return reduce_over("+", sizes[free:], lambda *r: term(*i, *r))

    return summed() if free == 0 else build(sizes[:free], summed, t)


def _common_size(where: Any, xs: Any) -> Any:
    """The one size of the axes at `where`, pairs (operand, axis)."""
    size = xs[where[0][0]].shape[where[0][1]]
    for k, d in where[1:]:
        size = same_size(size, xs[k].shape[d], "einsum: sizes of one index differ")
    return size


# Sliding products -------------------------------------------------------------------------------


def _window(mode: str, n: Any, m: Any, start_if_same: Any) -> Any:
    """First index and number of the terms kept of n + m − 1."""
    low, high = np.minimum(n, m), np.maximum(n, m)
    if mode == "full":
        return 0, n + m - 1
    if mode == "same":
        return start_if_same, high
    if mode == "valid":
        return low - 1, high - low + 1
    fail(f"mode {mode!r} is not supported", "use 'full', 'same' or 'valid'")


@implements(np.convolve)
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    x, y = np.atleast_1d(a), np.atleast_1d(v)
    low = np.minimum(x.shape[0], y.shape[0])
    return _slide(x, y, _window(mode, x.shape[0], y.shape[0], (low - 1) // 2))


def _slide(x: Any, y: Any, window: Any) -> Any:
    """The terms of the product of two polynomials that lie in a window."""
    t = result_type(dtype_of(x), dtype_of(y))
    n, m = x.shape[0], y.shape[0]
    start, size = window

    def at(i: Any) -> Any:
        k = i + start
        low = np.maximum(k - (m - 1), 0)
        high = np.minimum(k, n - 1)
        return reduce_over(
            "+", high - low + 1,
            lambda p: cast(element(x, (low + p,)), t) * cast(element(y, (k - low - p,)), t),
        )  # fmt: skip

    return build(size, at, t)


@implements(np.correlate)
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    x, y = np.atleast_1d(a), np.conjugate(np.atleast_1d(v))[::-1]
    n, m = x.shape[0], y.shape[0]
    start = (m - 1) // 2 if n >= m else n // 2
    return _slide(x, y, _window(mode, n, m, start))


# Polynomials ------------------------------------------------------------------------------------


@implements(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    coefficients = as_array(p)
    if rank(x) > 0:
        points = as_array(x)
        t = result_type(dtype_of(coefficients), dtype_of(points))
        return build(
            points.shape, lambda *i: _horner(coefficients, cast(element(points, i), t), t), t
        )
    t = result_type(coefficients, x)
    return _horner(coefficients, cast(x, t), t)


def _horner(p: Any, x: Any, t: Any) -> Any:
    y = cast(0, t)
    for k in range(p.shape[0]):
        y = y * x + cast(element(p, (k,)), t)
    return y
