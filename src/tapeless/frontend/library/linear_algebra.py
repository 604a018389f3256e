"""Factors of matrices: Cholesky, QR, eigenvalues, singular values, and what is read off them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.linalg._linalg import EighResult, QRResult, SVDResult

from tapeless.frontend.intrinsics import (
    as_array,
    build,
    dtype_of,
    element,
    rank,
    select,
    transpose,
    unsupported,
)  # fmt: skip
from tapeless.frontend.library import factorisations as plain
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
    counted,
    epsilon,
    kind,
    moved,
    one_of,
)


def lower_cholesky(a: Any) -> Any:
    return by_size(
        a.shape[0], a, lambda: call("potrf", "Matrix is not positive definite", a),
        lambda: plain.cholesky(a),
    )  # fmt: skip


@implements(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    x = as_floats(a)
    square_size(x)
    if upper:
        return adjoint(each_matrix(lower_cholesky, adjoint(x)))
    return each_matrix(lower_cholesky, x)


def adjoint(x: Any) -> Any:
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
    return EighResult(*each_matrix(_eigh, adjoint(x) if upper else x))


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


def svd_of(a: Any, full: bool) -> Any:
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
    u, s, v = _tall_svd(adjoint(a), columns if full else rows)
    return adjoint(v), s, adjoint(u)


def _tall_svd(a: Any, columns: Any) -> Any:
    u, s, v = plain.svd(a)
    return plain.completed(u, s, columns), s, v


@implements(np.linalg.svd)
def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    x = as_floats(a)
    parts = each_matrix(lambda m: svd_of(m, full_matrices and compute_uv), x)
    return SVDResult(*parts) if compute_uv else parts[1]


@implements(("scipy.linalg", "svd"))
def scipy_svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    parts = svd(a, full_matrices, compute_uv)
    return (parts[0], parts[1], parts[2]) if compute_uv else parts


@implements(np.linalg.svdvals, ("scipy.linalg", "svdvals"))
def svdvals(x: Any, /) -> Any:
    return svd(x, False, False)


# What factors are good for ----------------------------------------------------------------------


def scaled_columns(u: Any, s: Any, cutoff: Any) -> Any:
    """The columns of u divided by s, those with s ≤ cutoff left out."""
    return build(
        (u.shape[0], s.shape[0]),
        lambda i, j: element(u, (i, j)) * select(
            element(s, (j,)) > cutoff, 1 / element(s, (j,)), element(s, (j,)) * 0),
        dtype_of(u),
    )  # fmt: skip


def _pinv(a: Any, rcond: Any) -> Any:
    u, s, v = svd_of(np.conjugate(a) if kind(dtype_of(a)) == "c" else a, False)
    t = dtype_of(a)
    return matrix_product(
        scaled_columns(transpose(v, (1, 0)), s, rcond * s[0]), transpose(u, (1, 0)), t
    )


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
        s = svd_of(m, False)[1]
        return np.count_nonzero(s > (s[0] * share if tol is None else tol))

    return each_matrix(count, x)


@implements(np.linalg.multi_dot)
def multi_dot(arrays: Any, *, out: Any = None) -> Any:
    one_of(out, (None,), "out")
    product = as_array(arrays[0])
    for k in counted(len(arrays))[1:]:
        product = np.dot(product, arrays[k])
    return product
