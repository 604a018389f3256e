"""Linear systems: LU, triangles, Cholesky, least squares; inverses, determinants, powers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.linalg._linalg import SlogdetResult

from tapeless.frontend.intrinsics import (
    as_array,
    broadcast_shapes,
    broadcast_to,
    build,
    cast,
    dtype_of,
    element,
    is_static,
    rank,
    reshape,
    result_type,
    same_size,
    static,
    transpose,
    unsupported,
)  # fmt: skip
from tapeless.frontend.library import factorisations as plain
from tapeless.frontend.library.linear_algebra import (
    adjoint,
    lower_cholesky,
    scaled_columns,
    svd_of,
    svdvals,
)
from tapeless.frontend.library.matrices import (
    NO_MEMORY,
    as_floats,
    by_size,
    call,
    each_matrix,
    square_size,
)
from tapeless.frontend.library.products import matrix_product
from tapeless.frontend.library.registry import implements
from tapeless.frontend.library.static import (
    epsilon,
    one_of,
    real_type,
)


def _solve(a: Any, b: Any) -> Any:
    return by_size(
        a.shape[0], a, lambda: call("gesv", "Singular matrix", a, b), lambda: plain.solve(a, b)
    )


@implements(np.linalg.solve)
def solve(a: Any, b: Any) -> Any:
    x, y = as_floats(a), as_floats(b)
    t = result_type(dtype_of(x), dtype_of(y))
    x, y = as_array(x, t), as_array(y, t)
    n = square_size(x)
    same_size(
        n, y.shape[0] if rank(y) == 1 else y.shape[-2], "the right side does not fit the matrix"
    )
    if rank(x) == 2 and rank(y) == 1:
        return _solve(x, reshape(y, (n, 1)))[:, 0]
    if rank(x) == 2 and rank(y) == 2:
        return _solve(x, y)
    if rank(y) == 1:
        return build(x.shape[:-2], lambda *i: _solve(x[i], reshape(y, (n, 1)))[:, 0])
    lead = broadcast_shapes(x.shape[:-2], y.shape[:-2])
    xs, ys = broadcast_to(x, (*lead, *x.shape[-2:])), broadcast_to(y, (*lead, *y.shape[-2:]))
    return build(lead, lambda *i: _solve(xs[i], ys[i]))


@implements(("scipy.linalg", "solve"))
def scipy_solve(a: Any, b: Any, lower: bool = False, *, assume_a: Any = None) -> Any:
    if assume_a in ("pos", "positive definite"):
        return cho_solve(cho_factor(a, lower), b)
    return solve(a, b)


@implements(np.linalg.inv, ("scipy.linalg", "inv"))
def inv(a: Any) -> Any:
    x = as_floats(a)
    n = square_size(x)
    one = build((n, n), lambda i, j: i == j, dtype_of(x))
    return each_matrix(lambda m: _solve(m, one), x)


def lu(a: Any) -> Any:
    """L and U in one matrix, and the sign of the exchanges of rows."""
    return by_size(a.shape[0], a, lambda: _large_lu(a), lambda: plain.lu(a)[::2])


def _large_lu(a: Any) -> Any:
    m, sign = call("getrf", NO_MEMORY, a)
    return m, sign[0]


@implements(("scipy.linalg", "lu_factor"))
def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    unsupported("scipy.linalg.lu_factor", "use scipy.linalg.solve, or np.linalg.solve")


def _columns(b: Any) -> Any:
    return reshape(b, (b.shape[0], 1)) if rank(b) == 1 else b


def _triangular(a: Any, b: Any, lower: bool, unit: bool) -> Any:
    """x with a x = b; the other triangle of `a` is not read."""
    if not unit:
        plain.check_diagonal(a)
    if lower:
        return by_size(
            b.shape[0], a,
            lambda: call("trsm_lower_unit" if unit else "trsm_lower", NO_MEMORY, a, b),
            lambda: plain.solve_lower(a, b, unit),
        )  # fmt: skip
    return by_size(
        b.shape[0], a, lambda: call("trsm_upper_unit" if unit else "trsm_upper", NO_MEMORY, a, b),
        lambda: plain.solve_upper(a, b, unit),
    )  # fmt: skip


@implements(("scipy.linalg", "solve_triangular"))
def solve_triangular(
    a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False,
    overwrite_b: bool = False, check_finite: bool = True,
) -> Any:  # fmt: skip
    x, y = as_floats(a), as_floats(b)
    t = result_type(dtype_of(x), dtype_of(y))
    x, y = as_array(x, t), as_array(y, t)
    same_size(square_size(x), y.shape[0], "the right side does not fit the matrix")
    how = one_of(trans, (0, 1, 2, "N", "T", "C"), "trans")
    if how in (1, "T"):
        x, lower = transpose(x, (1, 0)), not lower
    if how in (2, "C"):
        x, lower = adjoint(x), not lower
    out = _triangular(x, _columns(y), lower, unit_diagonal)
    return out[:, 0] if rank(y) == 1 else out


@implements(("scipy.linalg", "cholesky"))
def scipy_cholesky(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    x = as_floats(a)
    square_size(x)
    return lower_cholesky(x) if lower else adjoint(lower_cholesky(adjoint(x)))


@implements(("scipy.linalg", "cho_factor"))
def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    return scipy_cholesky(a, lower), lower


@implements(("scipy.linalg", "cho_solve"))
def cho_solve(
    c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    c, lower = c_and_lower
    first, second = (c, adjoint(c)) if lower else (adjoint(c), c)
    y = as_array(as_floats(b), dtype_of(c))
    out = _triangular(second, _triangular(first, _columns(y), True, False), False, False)
    return out[:, 0] if rank(y) == 1 else out


@implements(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    x, y = as_floats(a), as_floats(b)
    t = result_type(dtype_of(x), dtype_of(y))
    x, y = as_array(x, t), as_array(y, t)
    rows, columns = x.shape
    u, s, v = svd_of(x, False)
    share = np.maximum(rows, columns) * epsilon(t) if rcond is None else rcond
    cutoff = share * s[0]
    right = _columns(y)
    solution = matrix_product(
        transpose(v, (1, 0)), matrix_product(adjoint(scaled_columns(u, s, cutoff)), right, t), t
    )
    found = np.count_nonzero(s > cutoff)
    rest = right - matrix_product(x, solution, t)
    sums = np.sum(plain.square(rest), axis=0)
    residuals = sums[: sums.shape[0] if (found == columns) & (rows > columns) else 0]
    return solution[:, 0] if rank(y) == 1 else solution, residuals, cast(found, np.int32), s


def _det(a: Any) -> Any:
    m, sign = lu(a)
    out = cast(sign, dtype_of(a))
    for i in range(a.shape[0]):
        out = out * element(m, (i, i))
    return out


@implements(np.linalg.det, ("scipy.linalg", "det"))
def det(a: Any) -> Any:
    x = as_floats(a)
    square_size(x)
    return each_matrix(_det, x)


def _slogdet(a: Any) -> Any:
    m, start = lu(a)
    sign = cast(start, dtype_of(a))
    total = cast(0, real_type(dtype_of(a)))
    for i in range(a.shape[0]):
        pivot = element(m, (i, i))
        sign = sign * np.sign(pivot)
        total = total + np.log(abs(pivot))
    return sign, total


@implements(np.linalg.slogdet)
def slogdet(a: Any) -> Any:
    x = as_floats(a)
    square_size(x)
    return SlogdetResult(*each_matrix(_slogdet, x))


@implements(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Any:
    if p is None or p == 2:
        s = svdvals(x)
        return s[..., 0] / s[..., -1]
    if p == -2:
        s = svdvals(x)
        return s[..., -1] / s[..., 0]
    return np.linalg.norm(x, p) * np.linalg.norm(inv(x), p)


@implements(np.linalg.matrix_power)
def matrix_power(a: Any, n: int) -> Any:
    x = as_array(a)
    size = square_size(x)
    power = static(n, "the power of a matrix") if is_static(n) else n
    t = dtype_of(x)
    if not is_static(n):
        out = build((size, size), lambda i, j: i == j, t)
        for _ in range(power):
            out = matrix_product(out, x, t)
        return out
    if power < 0:
        return matrix_power(inv(x), -power)
    if power == 0:
        return each_matrix(lambda m: build((size, size), lambda i, j: i == j, t), x)
    if power == 1:
        return x
    half = matrix_power(x, power // 2)
    whole = np.matmul(half, half)
    return np.matmul(whole, x) if power % 2 == 1 else whole
