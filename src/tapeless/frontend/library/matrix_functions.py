"""Norms, the exponential of a matrix, and matrices of a structure."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapeless.frontend.intrinsics import (
    as_array,
    build,
    cast,
    dtype_of,
    element,
    is_list,
    put_over,
    rank,
    reduce_over,
    result_type,
    select,
    unsupported,
    zeros,
)  # fmt: skip
from tapeless.frontend.library import reductions
from tapeless.frontend.library.factorisations import square
from tapeless.frontend.library.linear_algebra import svdvals
from tapeless.frontend.library.linear_systems import solve
from tapeless.frontend.library.matrices import as_floats, square_size
from tapeless.frontend.library.products import matrix_product
from tapeless.frontend.library.registry import implements
from tapeless.frontend.library.static import many_axes, one_axis, real_type

# Norms ------------------------------------------------------------------------------------------


def _of_squares(x: Any, axis: Any, keepdims: bool) -> Any:
    """The root of a sum of squares; chosen so that its derivative at 0 is 0."""
    t = real_type(dtype_of(x))
    total = reductions.over_axes(
        x, axis, keepdims, lambda box, f: reduce_over("+", box, lambda *r: square(f(*r))), t,
    )  # fmt: skip
    return np.where(total > 0, np.sqrt(total), total)[()]


def _vector_norm(x: Any, p: Any, axis: Any, keepdims: bool) -> Any:
    if p is None or (not isinstance(p, str) and p == 2):
        return _of_squares(x, axis, keepdims)
    t = real_type(dtype_of(x))
    sizes = np.abs(x)
    if p == np.inf:
        return reductions.max(sizes, axis, None, keepdims)
    if p == -np.inf:
        return reductions.min(sizes, axis, None, keepdims)
    if p == 0:
        return cast(reductions.count_nonzero(x, axis, keepdims=keepdims), t)
    if p == 1:
        return reductions.sum(sizes, axis, keepdims=keepdims)
    return reductions.sum(sizes ** cast(p, t), axis, keepdims=keepdims) ** (1 / cast(p, t))


def _matrix_norm(x: Any, p: Any, axis: Any, keepdims: bool) -> Any:
    if p is None or p == "fro":
        return _of_squares(x, axis, keepdims)
    rows, columns = one_axis(axis[0], rank(x)), one_axis(axis[1], rank(x))
    if p in (2, -2, "nuc"):
        s = svdvals(np.moveaxis(x, (rows, columns), (-2, -1)))
        if keepdims:
            unsupported("a spectral norm with 'keepdims'", "reshape the result")
        if p == "nuc":
            return np.sum(s, axis=-1)
        return np.max(s, axis=-1) if p == 2 else np.min(s, axis=-1)
    if p in (np.inf, -np.inf):
        rows, columns = columns, rows
    sums = reductions.sum(np.abs(x), rows, keepdims=True)
    if p in (1, np.inf):
        best = reductions.max(sums, columns, None, True)
    elif p in (-1, -np.inf):
        best = reductions.min(sums, columns, None, True)
    else:
        unsupported(f"the matrix norm of order {p!r}")
    return best if keepdims else np.squeeze(best, (rows, columns))[()]


@implements(np.linalg.norm, ("scipy.linalg", "norm"))
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    v = as_floats(x)
    if axis is None:
        if ord is None:
            return _of_squares(v, None, keepdims)
        if rank(v) == 2:
            return _matrix_norm(v, ord, (0, 1), keepdims)
        return _vector_norm(v, ord, None, keepdims)
    if is_list(axis) and len(axis) == 2:
        return _matrix_norm(v, ord, axis, keepdims)
    return _vector_norm(v, ord, many_axes(axis, rank(v)), keepdims)


@implements(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    return _vector_norm(as_floats(x), ord, axis, keepdims)


@implements(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    return _matrix_norm(as_floats(x), ord, (-2, -1), keepdims)


@implements(np.linalg.trace)
def linalg_trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return np.trace(x, offset, -2, -1, dtype)


@implements(np.linalg.diagonal)
def linalg_diagonal(x: Any, /, *, offset: int = 0) -> Any:
    return np.diagonal(x, offset, -2, -1)


# The exponential --------------------------------------------------------------------------------

PADE = (64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0,
        129060195264000.0, 10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0,
        40840800.0, 960960.0, 16380.0, 182.0, 1.0)  # fmt: skip


@implements(("scipy.linalg", "expm"))
def expm(A: Any) -> Any:
    x = as_floats(A)
    square_size(x)
    if rank(x) > 2:
        return build(x.shape[:-2], lambda *i: _expm(x[i]))
    return _expm(x)


def _expm(a: Any) -> Any:
    """Padé's quotient of degree 13 of a / 2ˢ, squared s times (Higham 2005)."""
    t = dtype_of(a)
    top = _matrix_norm(a, 1, (0, 1), False)
    halvings = int(np.maximum(np.ceil(np.log2(np.maximum(top, 1e-300) / 5.37)), 0.0))
    m = a * cast(2.0 ** float(-halvings), t)
    one = build(m.shape, lambda i, j: i == j, t)
    m2 = matrix_product(m, m, t)
    m4 = matrix_product(m2, m2, t)
    m6 = matrix_product(m4, m2, t)
    b = PADE
    odd = matrix_product(m6, b[13] * m6 + b[11] * m4 + b[9] * m2, t)
    u = matrix_product(m, odd + b[7] * m6 + b[5] * m4 + b[3] * m2 + b[1] * one, t)
    even = matrix_product(m6, b[12] * m6 + b[10] * m4 + b[8] * m2, t)
    v = even + b[6] * m6 + b[4] * m4 + b[2] * m2 + b[0] * one
    out = solve(cast(v - u, t), cast(v + u, t))
    for _ in range(halvings):
        out = matrix_product(out, out, t)
    return out


# Matrices of a structure ------------------------------------------------------------------------


@implements(("scipy.linalg", "block_diag"))
def block_diag(*arrs: Any) -> Any:
    parts = tuple(np.atleast_2d(a) for a in arrs)
    rows, columns = 0, 0
    for p in parts:
        rows, columns = rows + p.shape[0], columns + p.shape[1]
    out = zeros((rows, columns), result_type(*(dtype_of(p) for p in parts)))
    row, column = 0, 0
    for p in parts:
        _put_block(out, p, row, column)
        row, column = row + p.shape[0], column + p.shape[1]
    return out


def _put_block(out: Any, block: Any, row: Any, column: Any) -> None:
    put_over(
        "=", out, block.shape, lambda i, j: (i + row, j + column),
        lambda i, j: element(block, (i, j)), "proved",
    )  # fmt: skip


@implements(("scipy.linalg", "toeplitz"))
def toeplitz(c: Any, r: Any = None) -> Any:
    first = np.ravel(c)
    row = np.conjugate(first) if r is None else np.ravel(r)
    t = result_type(dtype_of(first), dtype_of(row))
    return build(
        (first.shape[0], row.shape[0]),
        lambda i, j: cast(first[i - j], t) if i >= j else cast(row[j - i], t), t,
    )  # fmt: skip


@implements(("scipy.linalg", "circulant"))
def circulant(c: Any) -> Any:
    v = as_array(c)
    n = v.shape[0]
    return build((n, n), lambda i, j: v[select(i >= j, i - j, i - j + n)], dtype_of(v))


@implements(("scipy.linalg", "hankel"))
def hankel(c: Any, r: Any = None) -> Any:
    first = np.ravel(c)
    row = first * 0 if r is None else np.ravel(r)
    n = first.shape[0]
    t = result_type(dtype_of(first), dtype_of(row))
    return build(
        (n, row.shape[0]),
        lambda i, j: cast(first[i + j], t) if i + j < n else cast(row[i + j - n + 1], t), t,
    )  # fmt: skip
