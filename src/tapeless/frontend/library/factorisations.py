"""One matrix factored, in plain loops: what LAPACK does for large matrices of real numbers.

Matrices are real or complex; each function takes them as floats and leaves its arguments alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapeless.frontend.intrinsics import (
    best_over,
    build,
    cast,
    copy,
    dtype_of,
    element,
    is_complex,
    make_complex,
    prim,
    reduce_over,
    select,
    sort_order,
    zeros,
)  # fmt: skip
from tapeless.frontend.library.static import epsilon, real_type

SWEEPS = 60  # of Jacobi's method, which converges in fewer than ten


def conj(z: Any) -> Any:
    return np.conjugate(z) if is_complex(z) else z


def square(z: Any) -> Any:
    """|z|²"""
    return z.real * z.real + z.imag * z.imag if is_complex(z) else z * z


def re(z: Any) -> Any:
    return z.real if is_complex(z) else z


def cholesky(a: Any) -> Any:
    """Lower L with a = L Lᴴ; only the lower triangle of `a` is read."""
    n = a.shape[0]
    t = dtype_of(a)
    low = zeros((n, n), t)
    for j in range(n):
        d = re(element(a, (j, j))) - reduce_over("+", j, lambda k: square(element(low, (j, k))))
        if not d > 0:
            raise np.linalg.LinAlgError("Matrix is not positive definite")
        root = np.sqrt(d)
        low[j, j] = root
        for i in range(j + 1, n):
            s = reduce_over("+", j, lambda k: element(low, (i, k)) * conj(element(low, (j, k))))
            low[i, j] = (element(a, (i, j)) - s) / root
    return low


def lu(a: Any) -> Any:
    """L (below the diagonal, ones on it) and U in one matrix, the order of rows, and its sign."""
    n = a.shape[0]
    m = copy(a)
    order = build(n, lambda i: i, np.int64)
    sign = cast(1, real_type(dtype_of(a)))
    for k in range(n):
        p = k + best_over("max", n - k, lambda i: abs(element(m, (k + i, k))))[1]
        if p != k:
            sign = -sign
            order[k], order[p] = order[p], order[k]
            for j in range(n):
                m[k, j], m[p, j] = m[p, j], m[k, j]
        pivot = m[k, k]
        if pivot != 0:
            for i in range(k + 1, n):
                f = m[i, k] / pivot
                m[i, k] = f
                for j in range(k + 1, n):
                    m[i, j] = m[i, j] - f * m[k, j]
    return m, order, sign


def solve_lower(low: Any, b: Any, unit: bool) -> Any:
    """x with L x = b, b of rank 2."""
    n, m = b.shape
    x = copy(b)
    for i in range(n):
        for j in range(m):
            s = reduce_over("+", i, lambda k: element(low, (i, k)) * element(x, (k, j)))
            rest = element(x, (i, j)) - s
            x[i, j] = rest if unit else rest / element(low, (i, i))
    return x


def solve_upper(up: Any, b: Any, unit: bool) -> Any:
    """x with U x = b, b of rank 2."""
    n, m = b.shape
    x = copy(b)
    for back in range(n):
        i = n - 1 - back
        for j in range(m):
            s = reduce_over(
                "+", back, lambda k: element(up, (i, i + 1 + k)) * element(x, (i + 1 + k, j))
            )
            rest = element(x, (i, j)) - s
            x[i, j] = rest if unit else rest / element(up, (i, i))
    return x


def check_diagonal(m: Any) -> None:
    """Raise if a triangular factor cannot be divided by."""
    for i in range(m.shape[0]):
        if element(m, (i, i)) == 0:
            raise np.linalg.LinAlgError("Singular matrix")


def solve(a: Any, b: Any) -> Any:
    """x with a x = b, b of rank 2."""
    m, order, _ = lu(a)
    check_diagonal(m)
    permuted = build(b.shape, lambda i, j: element(b, (element(order, (i,)), j)), dtype_of(b))
    return solve_upper(m, solve_lower(m, permuted, True), False)


def _reflector(m: Any, k: Any) -> Any:
    """LAPACK's Householder reflector of column k below row k: (τ, β, what scales the column)."""
    rows = m.shape[0]
    alpha = element(m, (k, k))
    rest = reduce_over("+", rows - k - 1, lambda i: square(element(m, (k + 1 + i, k))))
    norm = np.sqrt(square(alpha) + rest)
    beta = -np.copysign(norm, re(alpha))
    t = dtype_of(alpha)
    trivial = rest == 0
    if is_complex(alpha):
        trivial = trivial & (alpha.imag == 0)
    one = cast(1, real_type(t))
    safe = select(trivial, one, beta)
    tau = cast((safe - alpha) / safe, t) if not trivial else cast(0, t)
    scale = cast(1, t) / (alpha - safe) if not trivial else cast(0, t)
    return tau, cast(beta, t) if not trivial else alpha, scale


def _below(m: Any, k: Any, x: Any, j: Any) -> Any:
    """The product of column k of m and column j of x below row k."""
    return reduce_over(
        "+",
        m.shape[0] - k - 1,
        lambda i: conj(element(m, (k + 1 + i, k))) * element(x, (k + 1 + i, j)),
    )


def qr(a: Any, columns: Any) -> Any:
    """Q with so many orthonormal columns, and R: Householder's reflections as LAPACK makes them."""
    rows, n = a.shape
    steps = np.minimum(rows, n)
    m = copy(a)
    taus = zeros((steps,), dtype_of(a))
    for k in range(steps):
        tau, beta, scale = _reflector(m, k)
        taus[k] = tau
        for i in range(k + 1, rows):
            m[i, k] = m[i, k] * scale
        m[k, k] = beta
        for j in range(k + 1, n):
            s = conj(tau) * (m[k, j] + _below(m, k, m, j))
            m[k, j] = m[k, j] - s
            for i in range(k + 1, rows):
                m[i, j] = m[i, j] - m[i, k] * s
    q = build((rows, columns), lambda i, j: i == j, dtype_of(a))
    for back in range(steps):
        k = steps - 1 - back
        for j in range(k, columns):
            s = taus[k] * (q[k, j] + _below(m, k, q, j))
            q[k, j] = q[k, j] - s
            for i in range(k + 1, rows):
                q[i, j] = q[i, j] - m[i, k] * s
    nothing = cast(0, dtype_of(a))
    r = build(
        (np.minimum(columns, rows), n),
        lambda i, j: select(j >= i, element(m, (i, j)), nothing),
        dtype_of(a),
    )
    return q, r


def _rotation(app: Any, aqq: Any, size: Any) -> Any:
    """Cosine and tangent of the rotation that takes away an off-diagonal element of this size."""
    safe = select(size == 0, size * 0 + 1, size)
    theta = (aqq - app) / (2 * safe)
    t = np.copysign(size * 0 + 1, theta) / (abs(theta) + prim("hypot", theta, theta * 0 + 1))
    t = select(size == 0, t * 0, t)
    return 1 / np.sqrt(1 + t * t), t


def eigh(a: Any) -> Any:
    """Eigenvalues, rising, and eigenvectors of a Hermitian matrix by Jacobi's rotations; only the
    lower triangle is read."""
    n = a.shape[0]
    t = dtype_of(a)
    m = build((n, n), lambda i, j: _hermitian(a, i, j), t)
    v = build((n, n), lambda i, j: i == j, t)
    for _ in range(SWEEPS):
        total = reduce_over("+", (n, n), lambda i, j: square(element(m, (i, j))))
        off = reduce_over("+", (n, n), lambda i, j: square(element(m, (i, j))) * (i != j))
        if not off > 4 * epsilon(t) ** 2 * total:
            break
        for p in range(n - 1):
            for q in range(p + 1, n):
                _rotate(m, v, p, q)
    values = build(n, lambda i: re(element(m, (i, i))), real_type(t))
    order = sort_order(values)
    w = build(n, lambda i: element(values, (element(order, (i,)),)), real_type(t))
    return w, build((n, n), lambda i, j: element(v, (i, element(order, (j,)))), t)


def _hermitian(a: Any, i: Any, j: Any) -> Any:
    low = element(a, (np.maximum(i, j), np.minimum(i, j)))
    if not is_complex(a):
        return low
    zero = low.real * 0
    return make_complex(low.real, select(i == j, zero, select(i < j, -low.imag, low.imag)))


def _rotate(m: Any, v: Any, p: Any, q: Any) -> None:
    """Makes m[p, q] vanish: m ← Gᴴ m G, v ← v G."""
    apq = m[p, q]
    size = abs(apq)
    c, s_over_c = _rotation(re(m[p, p]), re(m[q, q]), size)
    s = c * s_over_c
    phase = apq / select(size == 0, size * 0 + 1, size)
    n = m.shape[0]
    for k in range(n):
        x, y = m[k, p], m[k, q]
        m[k, p], m[k, q] = c * x - s * conj(phase) * y, s * phase * x + c * y
        x, y = v[k, p], v[k, q]
        v[k, p], v[k, q] = c * x - s * conj(phase) * y, s * phase * x + c * y
    for k in range(n):
        x, y = m[p, k], m[q, k]
        m[p, k], m[q, k] = c * x - s * phase * y, s * conj(phase) * x + c * y


def svd(a: Any) -> Any:
    """U, the singular values, falling, and Vᴴ of a tall matrix (rows ≥ columns), by one-sided
    Jacobi rotations of its columns."""
    rows, n = a.shape
    t = dtype_of(a)
    u = copy(a)
    v = build((n, n), lambda i, j: i == j, t)
    for _ in range(SWEEPS):
        turned = 0
        for p in range(n - 1):
            for q in range(p + 1, n):
                app = reduce_over("+", rows, lambda i: square(element(u, (i, p))))
                aqq = reduce_over("+", rows, lambda i: square(element(u, (i, q))))
                apq = reduce_over(
                    "+", rows, lambda i: conj(element(u, (i, p))) * element(u, (i, q))
                )
                size = abs(apq)
                if size > epsilon(t) * rows * np.sqrt(app * aqq):
                    turned = turned + 1
                    c, tangent = _rotation(app, aqq, size)
                    _turn(u, p, q, c, c * tangent, apq / size)
                    _turn(v, p, q, c, c * tangent, apq / size)
        if turned == 0:
            break
    norms = build(
        n,
        lambda j: np.sqrt(reduce_over("+", rows, lambda i: square(element(u, (i, j))))),
        real_type(t),
    )
    order = sort_order(-norms)
    s = build(n, lambda j: element(norms, (element(order, (j,)),)), real_type(t))
    left = build(
        (rows, n),
        lambda i, j: element(u, (i, element(order, (j,)))) / _divisor(element(s, (j,))),
        t,
    )
    right = build((n, n), lambda i, j: conj(element(v, (j, element(order, (i,))))), t)
    return completed(left, s, n), s, right


def _divisor(s: Any) -> Any:
    return select(s == 0, s * 0 + 1, s)


def _turn(u: Any, p: Any, q: Any, c: Any, s: Any, phase: Any) -> None:
    """Columns p and q turned into each other."""
    for k in range(u.shape[0]):
        x, y = u[k, p], u[k, q]
        u[k, p], u[k, q] = c * x - s * conj(phase) * y, s * phase * x + c * y


def completed(left: Any, s: Any, columns: Any) -> Any:
    """The columns of `left`, orthonormal where s > 0, completed to so many orthonormal ones."""
    q = qr(left, columns)[0]
    n = s.shape[0]
    return build(
        (left.shape[0], columns),
        lambda i, j: element(left, (i, j))
        if j < n and s[np.minimum(j, n - 1)] > 0 else element(q, (i, j)),
        dtype_of(left),
    )  # fmt: skip
