"""np.linalg and scipy.linalg: LAPACK for large real matrices, plain loops for small and complex
ones, and wherever a size is known to be small."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.linalg._linalg import EighResult, QRResult, SlogdetResult, SVDResult

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
    rank,
    reshape,
    result_type,
    same_size,
    select,
    static,
    transpose,
    unsupported,
)  # fmt: skip
from tapeless.frontend.library import factorisations as plain
from tapeless.frontend.library.products import matrix_product
from tapeless.frontend.library.registry import implements
from tapeless.frontend.library.static import (
    counted,
    epsilon,
    kind,
    moved,
    one_of,
    real_type,
    routine,
)

NO_MEMORY = "no memory for a copy of a matrix"
LAPACK_PAYS = 24  # the size of a matrix from which a call of LAPACK is faster than plain loops


def as_floats(a: Any) -> Any:
    """An array of floats or complex numbers."""
    x = as_array(a)
    return x if kind(dtype_of(x)) in "fc" else cast(x, np.float64)


def square_size(a: Any) -> Any:
    """The size of square matrices."""
    if rank(a) < 2:
        fail("a matrix is needed, of rank 2 at least")
    return same_size(a.shape[-1], a.shape[-2], "the matrix is not square")


def by_size(n: Any, a: Any, large: Callable[[], Any], small: Callable[[], Any]) -> Any:
    """large() for real matrices whose size n pays for a call, else small()."""
    if kind(dtype_of(a)) == "c" or (is_static(n) and n < LAPACK_PAYS):
        return small()
    if is_static(n):
        return large()
    return large() if n >= LAPACK_PAYS else small()


def call(name: str, message: str, a: Any, *more: Any) -> Any:
    """The foreign function of this name for the element type of `a`."""
    return foreign(routine(name, dtype_of(a)), message, a, *more)


def each_matrix(f: Callable[[Any], Any], a: Any) -> Any:
    """f of every matrix in a stack."""
    if rank(a) == 2:
        return f(a)
    return build(a.shape[:-2], lambda *i: f(a[i]))


# Factors ----------------------------------------------------------------------------------------


def _cholesky(a: Any) -> Any:
    return by_size(
        a.shape[0], a, lambda: call("potrf", "Matrix is not positive definite", a),
        lambda: plain.cholesky(a),
    )  # fmt: skip


@implements(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    x = as_floats(a)
    square_size(x)
    if upper:
        return _adjoint(each_matrix(_cholesky, _adjoint(x)))
    return each_matrix(_cholesky, x)


def _adjoint(x: Any) -> Any:
    y = transpose(x, moved(-1, -2, rank(x)))
    return np.conjugate(y) if kind(dtype_of(y)) == "c" else y


def _qr(a: Any, columns: Any) -> Any:
    return by_size(
        np.minimum(a.shape[0], a.shape[1]), a, lambda: call("qr", NO_MEMORY, a, columns),
        lambda: plain.qr(a, columns),
    )  # fmt: skip


@implements(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    one_of(mode, ("reduced", "complete", "r"), "mode")
    x = as_floats(a)
    rows, columns = x.shape[-2], x.shape[-1]
    size = rows if mode == "complete" else np.minimum(rows, columns)
    q, r = each_matrix(lambda m: _qr(m, size), x)
    return r if mode == "r" else QRResult(q, r)


def _eigh(a: Any) -> Any:
    return by_size(
        a.shape[0], a, lambda: call("syevd", "Eigenvalues did not converge", a),
        lambda: plain.eigh(a),
    )  # fmt: skip


@implements(np.linalg.eigh)
def eigh(a: Any, UPLO: str = "L") -> Any:
    x = as_floats(a)
    square_size(x)
    upper = one_of(UPLO, ("L", "U"), "UPLO") == "U"
    return EighResult(*each_matrix(_eigh, _adjoint(x) if upper else x))


@implements(np.linalg.eigvalsh, ("scipy.linalg", "eigvalsh"))
def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    return eigh(a, UPLO)[0]


@implements(("scipy.linalg", "eigh"))
def scipy_eigh(a: Any, b: Any = None, *, lower: bool = True, eigvals_only: bool = False) -> Any:
    if b is not None:
        unsupported(
            "scipy.linalg.eigh of two matrices", "multiply by the inverse factor of b first"
        )
    w, v = eigh(a, "L" if lower else "U")
    return w if eigvals_only else (w, v)


def _svd(a: Any, full: bool) -> Any:
    rows, columns = a.shape
    return by_size(
        np.minimum(rows, columns), a,
        lambda: call("gesdd_full" if full else "gesdd", "SVD did not converge", a,
                        np.minimum(rows, columns)),
        lambda: _plain_svd(a, full),
    )  # fmt: skip


def _plain_svd(a: Any, full: bool) -> Any:
    """Of a tall matrix, or of the adjoint of a wide one."""
    rows, columns = a.shape
    if rows >= columns:
        return _tall_svd(a, rows if full else columns)
    u, s, v = _tall_svd(_adjoint(a), columns if full else rows)
    return _adjoint(v), s, _adjoint(u)


def _tall_svd(a: Any, columns: Any) -> Any:
    u, s, v = plain.svd(a)
    return plain.completed(u, s, columns), s, v


@implements(np.linalg.svd)
def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    x = as_floats(a)
    parts = each_matrix(lambda m: _svd(m, full_matrices and compute_uv), x)
    return SVDResult(*parts) if compute_uv else parts[1]


@implements(("scipy.linalg", "svd"))
def scipy_svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    parts = svd(a, full_matrices, compute_uv)
    return (parts[0], parts[1], parts[2]) if compute_uv else parts


@implements(np.linalg.svdvals, ("scipy.linalg", "svdvals"))
def svdvals(x: Any, /) -> Any:
    return svd(x, False, False)


# Systems ----------------------------------------------------------------------------------------


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


def _lu(a: Any) -> Any:
    """L and U in one matrix, and the sign of the exchanges of rows."""
    return by_size(a.shape[0], a, lambda: _large_lu(a), lambda: plain.lu(a)[::2])


def _large_lu(a: Any) -> Any:
    m, sign = call("getrf", NO_MEMORY, a)
    return m, sign[0]


def _det(a: Any) -> Any:
    m, sign = _lu(a)
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
    m, start = _lu(a)
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
        x, lower = _adjoint(x), not lower
    out = _triangular(x, _columns(y), lower, unit_diagonal)
    return out[:, 0] if rank(y) == 1 else out


@implements(("scipy.linalg", "cholesky"))
def scipy_cholesky(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    x = as_floats(a)
    square_size(x)
    return _cholesky(x) if lower else _adjoint(_cholesky(_adjoint(x)))


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
    first, second = (c, _adjoint(c)) if lower else (_adjoint(c), c)
    y = as_array(as_floats(b), dtype_of(c))
    out = _triangular(second, _triangular(first, _columns(y), True, False), False, False)
    return out[:, 0] if rank(y) == 1 else out


# What factors are good for ----------------------------------------------------------------------


def _scaled(u: Any, s: Any, cutoff: Any) -> Any:
    """The columns of u divided by s, those with s ≤ cutoff left out."""
    return build(
        (u.shape[0], s.shape[0]),
        lambda i, j: element(u, (i, j)) * select(
            element(s, (j,)) > cutoff, 1 / element(s, (j,)), element(s, (j,)) * 0),
        dtype_of(u),
    )  # fmt: skip


def _pinv(a: Any, rcond: Any) -> Any:
    u, s, v = _svd(np.conjugate(a) if kind(dtype_of(a)) == "c" else a, False)
    t = dtype_of(a)
    return matrix_product(_scaled(transpose(v, (1, 0)), s, rcond * s[0]), transpose(u, (1, 0)), t)


@implements(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    x = as_floats(a)
    share = rcond if rtol is None else rtol
    if share is None:
        share = 1e-15 if rcond is None and rtol is None else 0.0
    return each_matrix(lambda m: _pinv(m, share), x)


@implements(np.linalg.matrix_rank)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    x = as_floats(A)
    share = np.maximum(x.shape[-2], x.shape[-1]) * epsilon(dtype_of(x)) if rtol is None else rtol

    def count(m: Any) -> Any:
        s = _svd(m, False)[1]
        return np.count_nonzero(s > (s[0] * share if tol is None else tol))

    return each_matrix(count, x)


@implements(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    x, y = as_floats(a), as_floats(b)
    t = result_type(dtype_of(x), dtype_of(y))
    x, y = as_array(x, t), as_array(y, t)
    rows, columns = x.shape
    u, s, v = _svd(x, False)
    share = np.maximum(rows, columns) * epsilon(t) if rcond is None else rcond
    cutoff = share * s[0]
    right = _columns(y)
    solution = matrix_product(
        transpose(v, (1, 0)), matrix_product(_adjoint(_scaled(u, s, cutoff)), right, t), t
    )
    found = np.count_nonzero(s > cutoff)
    rest = right - matrix_product(x, solution, t)
    sums = np.sum(plain.square(rest), axis=0)
    residuals = sums[: sums.shape[0] if (found == columns) & (rows > columns) else 0]
    return solution[:, 0] if rank(y) == 1 else solution, residuals, cast(found, np.int32), s


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


@implements(np.linalg.multi_dot)
def multi_dot(arrays: Any, *, out: Any = None) -> Any:
    one_of(out, (None,), "out")
    product = as_array(arrays[0])
    for k in counted(len(arrays))[1:]:
        product = np.dot(product, arrays[k])
    return product
