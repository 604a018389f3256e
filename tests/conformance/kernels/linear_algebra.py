"""Dense and sparse linear algebra, after the PolyBench kernels of the same names."""

import numpy as np
import scipy.linalg
import scipy.sparse

from .registry import Kernel


def spd(rng, n):
    """A well-conditioned symmetric positive definite matrix."""
    a = rng.standard_normal((n, n))
    return a @ a.T / n + 2.0 * np.eye(n)


# ------------------------------------------------------------------ products


def gemm(alpha, beta, C, A, B):
    C[:] = alpha * A @ B + beta * C


def gemm_data(rng, size):
    n, m, k = size, size + 1, size + 2
    shapes = ((n, m), (n, k), (k, m))
    return 1.5, 1.2, *(rng.standard_normal(shape) for shape in shapes)


def gemm_oracle(alpha, beta, C, A, B):
    C[:] = scipy.linalg.blas.dgemm(alpha, A, B, beta, C)


def gemm_loops(alpha, beta, C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[i, j] *= beta
        for k in range(A.shape[1]):
            for j in range(C.shape[1]):
                C[i, j] += alpha * A[i, k] * B[k, j]


def two_mm(alpha, beta, A, B, C, D):
    D[:] = alpha * A @ B @ C + beta * D


def two_mm_data(rng, size):
    n, m, k, p = size, size + 1, size + 2, size + 3
    shapes = ((n, k), (k, m), (m, p), (n, p))
    return 1.5, 1.2, *(rng.standard_normal(shape) for shape in shapes)


def two_mm_oracle(alpha, beta, A, B, C, D):
    D[:] = alpha * np.einsum("ik,km,mp->ip", A, B, C) + beta * D


def three_mm(A, B, C, D):
    return A @ B @ (C @ D)


def three_mm_data(rng, size):
    shapes = ((size, size + 2), (size + 2, size + 1), (size + 1, size + 3), (size + 3, size))
    return tuple(rng.standard_normal(shape) for shape in shapes)


def three_mm_oracle(A, B, C, D):
    return np.einsum("ij,jk,kl,lm->im", A, B, C, D)


def atax(A, x):
    return (A @ x) @ A


def atax_data(rng, size):
    return rng.standard_normal((size + 2, size)), rng.standard_normal(size)


def atax_oracle(A, x):
    return np.einsum("ij,ik,k->j", A, A, x)


def atax_loops(A, x):
    m, n = A.shape
    y = np.zeros(n)
    for i in range(m):
        t = 0.0
        for j in range(n):
            t += A[i, j] * x[j]
        for j in range(n):
            y[j] += A[i, j] * t
    return y


def bicg(A, p, r):
    return r @ A, A @ p


def bicg_data(rng, size):
    n, m = size + 3, size
    return rng.standard_normal((n, m)), rng.standard_normal(m), rng.standard_normal(n)


def bicg_oracle(A, p, r):
    return np.einsum("i,ij->j", r, A), np.einsum("ij,j->i", A, p)


def mvt(x1, x2, y_1, y_2, A):
    x1 += A @ y_1
    x2 += y_2 @ A


def mvt_data(rng, size):
    return *(rng.standard_normal(size) for _ in range(4)), rng.standard_normal((size, size))


def mvt_oracle(x1, x2, y_1, y_2, A):
    x1[:] = x1 + np.einsum("ij,j->i", A, y_1)
    x2[:] = x2 + np.einsum("ji,j->i", A, y_2)


def gesummv(alpha, beta, A, B, x):
    return alpha * A @ x + beta * B @ x


def gesummv_data(rng, size):
    A, B = rng.standard_normal((2, size, size))
    return 1.5, 1.2, A, B, rng.standard_normal(size)


def gesummv_oracle(alpha, beta, A, B, x):
    return np.einsum("ij,j->i", alpha * A + beta * B, x)


def gemver(alpha, beta, A, u1, v1, u2, v2, w, x, y, z):
    A += np.outer(u1, v1) + np.outer(u2, v2)
    x += beta * y @ A + z
    w += alpha * A @ x


def gemver_data(rng, size):
    A = rng.standard_normal((size, size)) / size
    return 1.5, 1.2, A, *(rng.standard_normal(size) for _ in range(8))


def gemver_oracle(alpha, beta, A, u1, v1, u2, v2, w, x, y, z):
    A[:] = A + np.stack([u1, u2], axis=1) @ np.stack([v1, v2])
    x[:] = x + beta * A.T @ y + z
    w[:] = w + alpha * np.einsum("ij,j->i", A, x)


def syrk(alpha, beta, C, A):
    for i in range(A.shape[0]):
        C[i, : i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, : i + 1] += alpha * A[i, k] * A[: i + 1, k]


def syrk_data(rng, size):
    return 1.5, 1.2, rng.standard_normal((size, size)), rng.standard_normal((size, size + 2))


def syrk_oracle(alpha, beta, C, A):
    C[:] = np.tril(alpha * A @ A.T + beta * C) + np.triu(C, 1)


def syr2k(alpha, beta, C, A, B):
    for i in range(A.shape[0]):
        C[i, : i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, : i + 1] += A[: i + 1, k] * alpha * B[i, k] + B[: i + 1, k] * alpha * A[i, k]


def syr2k_data(rng, size):
    A, B = rng.standard_normal((2, size, size + 2))
    return 1.5, 1.2, rng.standard_normal((size, size)), A, B


def syr2k_oracle(alpha, beta, C, A, B):
    C[:] = np.tril(alpha * (A @ B.T + B @ A.T) + beta * C) + np.triu(C, 1)


def trmm(alpha, A, B):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] += np.dot(A[i + 1 :, i], B[i + 1 :, j])
    B *= alpha


def trmm_data(rng, size):
    return 1.5, rng.standard_normal((size, size)), rng.standard_normal((size, size + 2))


def trmm_oracle(alpha, A, B):
    B[:] = scipy.linalg.blas.dtrmm(alpha, A, B, lower=1, trans_a=1, diag=1)


def symm(alpha, beta, C, A, B):
    n, m = C.shape
    temp2 = np.empty((m,), dtype=C.dtype)
    C *= beta
    for i in range(n):
        for j in range(m):
            C[:i, j] += alpha * B[i, j] * A[i, :i]
            temp2[j] = B[:i, j] @ A[i, :i]
        C[i, :] += alpha * B[i, :] * A[i, i] + alpha * temp2


def symm_data(rng, size):
    C, B = rng.standard_normal((2, size, size + 1))
    return 1.5, 1.2, C, rng.standard_normal((size, size)), B


def symm_oracle(alpha, beta, C, A, B):
    C[:] = alpha * (np.tril(A) + np.tril(A, -1).T) @ B + beta * C


def doitgen(A, C4):
    nr, nq, _ = A.shape
    for r in range(nr):
        for q in range(nq):
            A[r, q, :] = A[r, q, :] @ C4


def doitgen_data(rng, size):
    return rng.standard_normal((size, size + 1, size + 2)), rng.standard_normal(
        (size + 2, size + 2)
    )


def doitgen_oracle(A, C4):
    A[:] = np.einsum("rqs,sp->rqp", A, C4)


# ------------------------------------------------------------------ solvers


def trisolv(L, x, b):
    for i in range(x.shape[0]):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]


def trisolv_data(rng, size):
    L = np.tril(rng.standard_normal((size, size))) / size + 2.0 * np.eye(size)
    return L, np.zeros(size), rng.standard_normal(size)


def trisolv_oracle(L, x, b):
    x[:] = scipy.linalg.solve_triangular(L, b, lower=True)


def lu(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, A.shape[0]):
            A[i, j] -= A[i, :i] @ A[:i, j]


def lu_data(rng, size):
    return (spd(rng, size),)


def lu_oracle(A):
    L = np.linalg.cholesky(A)
    d = np.diag(L)
    A[:] = np.tril(L / d, -1) + np.triu((L * d).T)


def ludcmp(A, b):
    n = A.shape[0]
    x = np.zeros_like(b)
    y = np.zeros_like(b)
    for i in range(n):
        for j in range(i):
            w = A[i, j]
            for k in range(j):
                w -= A[i, k] * A[k, j]
            A[i, j] = w / A[j, j]
        for j in range(i, n):
            w = A[i, j]
            for k in range(i):
                w -= A[i, k] * A[k, j]
            A[i, j] = w
    for i in range(n):
        y[i] = b[i] - A[i, :i] @ y[:i]
    for i in range(n - 1, -1, -1):
        x[i] = (y[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return x, y


def ludcmp_data(rng, size):
    return spd(rng, size), rng.standard_normal(size)


def ludcmp_oracle(A, b):
    x = np.linalg.solve(A, b)
    lu_oracle(A)
    y = np.triu(A) @ x
    return x, y


def cholesky(A):
    A[0, 0] = np.sqrt(A[0, 0])
    for i in range(1, A.shape[0]):
        for j in range(i):
            A[i, j] -= np.dot(A[i, :j], A[j, :j])
            A[i, j] /= A[j, j]
        A[i, i] -= np.dot(A[i, :i], A[i, :i])
        A[i, i] = np.sqrt(A[i, i])


def cholesky_oracle(A):
    A[:] = np.linalg.cholesky(A) + np.triu(A, 1)


def durbin(r):
    y = np.empty_like(r)
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


def durbin_data(rng, size):
    return (0.5 ** np.arange(1, size + 1) + 0.02 * rng.standard_normal(size) / size,)


def durbin_oracle(r):
    column = np.concatenate([[1.0], r[:-1]])
    return scipy.linalg.solve(scipy.linalg.toeplitz(column), -r)


def gramschmidt(A):
    Q = np.zeros_like(A)
    R = np.zeros((A.shape[1], A.shape[1]), dtype=A.dtype)
    for k in range(A.shape[1]):
        nrm = np.dot(A[:, k], A[:, k])
        R[k, k] = np.sqrt(nrm)
        Q[:, k] = A[:, k] / R[k, k]
        for j in range(k + 1, A.shape[1]):
            R[k, j] = np.dot(Q[:, k], A[:, j])
            A[:, j] -= Q[:, k] * R[k, j]
    return Q, R


def gramschmidt_data(rng, size):
    return (rng.standard_normal((size + 4, size)) + 2.0 * np.eye(size + 4, size),)


def gramschmidt_oracle(A):
    Q, R = np.linalg.qr(A)
    signs = np.sign(np.diag(R))
    Q, R = Q * signs, signs[:, None] * R
    A[:] = Q * np.diag(R)
    return Q, R


def conjugate_gradient(A, b, tol, limit):
    x = np.zeros_like(b)
    r = b - A @ x
    p = r.copy()
    rs = r @ r
    steps = 0
    while steps < limit:
        Ap = A @ p
        alpha = rs / (p @ Ap)
        x += alpha * p
        r -= alpha * Ap
        rs_new = r @ r
        steps += 1
        if np.sqrt(rs_new) < tol:
            break
        p = r + (rs_new / rs) * p
        rs = rs_new
    return x


def conjugate_gradient_data(rng, size):
    return spd(rng, size), rng.standard_normal(size), 1e-12, 10 * size


def conjugate_gradient_oracle(A, b, tol, limit):
    return np.linalg.solve(A, b)


def jacobi_solver(A, b, steps):
    n = A.shape[0]
    x = np.zeros(n)
    y = np.zeros(n)
    for _ in range(steps):
        for i in range(n):
            s = b[i]
            for j in range(n):
                if j == i:
                    continue
                s -= A[i, j] * x[j]
            y[i] = s / A[i, i]
        x, y = y, x
    return x


def jacobi_solver_data(rng, size):
    A = rng.uniform(-1.0, 1.0, (size, size)) / size + 3.0 * np.eye(size)
    return A, rng.standard_normal(size), 60


def jacobi_solver_oracle(A, b, steps):
    return np.linalg.solve(A, b)


def thomas(lower, diag, upper, rhs):
    n = diag.shape[0]
    c = np.empty(n)
    d = np.empty(n)
    c[0] = upper[0] / diag[0]
    d[0] = rhs[0] / diag[0]
    for i in range(1, n):
        m = 1.0 / (diag[i] - lower[i] * c[i - 1])
        c[i] = upper[i] * m
        d[i] = (rhs[i] - lower[i] * d[i - 1]) * m
    for i in range(n - 2, -1, -1):
        d[i] -= c[i] * d[i + 1]
    return d


def thomas_data(rng, size):
    lower, upper, rhs = rng.standard_normal((3, size))
    return lower, 4.0 + rng.uniform(0.0, 1.0, size), upper, rhs


def thomas_oracle(lower, diag, upper, rhs):
    return np.linalg.solve(np.diag(diag) + np.diag(lower[1:], -1) + np.diag(upper[:-1], 1), rhs)


# ------------------------------------------------------------------ other


def spmv(A_row, A_col, A_val, x):
    y = np.empty(A_row.size - 1, A_val.dtype)
    for i in range(A_row.size - 1):
        cols = A_col[A_row[i] : A_row[i + 1]]
        vals = A_val[A_row[i] : A_row[i + 1]]
        y[i] = vals @ x[cols]
    return y


def spmv_data(rng, size):
    matrix = scipy.sparse.random(size, size + 3, density=0.3, format="csr", random_state=rng)
    rows, cols = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
    return rows, cols, matrix.data, rng.standard_normal(size + 3)


def spmv_oracle(A_row, A_col, A_val, x):
    shape = (A_row.size - 1, x.size)
    return scipy.sparse.csr_matrix((A_val, A_col, A_row), shape=shape) @ x


def spmv_loops(A_row, A_col, A_val, x):
    n = len(A_row) - 1
    y = np.zeros(n)
    for i in range(n):
        for k in range(A_row[i], A_row[i + 1]):
            y[i] += A_val[k] * x[A_col[k]]
    return y


def matrix_power(A, n):
    result = np.eye(A.shape[0])
    base = A.copy()
    while n > 0:
        if n % 2 == 1:
            result = result @ base
        base = base @ base
        n //= 2
    return result


def matrix_power_data(rng, size):
    return rng.standard_normal((size, size)) / np.sqrt(size), 13


def matrix_power_oracle(A, n):
    return np.linalg.matrix_power(A, n)


def power_iteration(A, v, limit):
    value = 0.0
    for _ in range(limit):
        w = A @ v
        norm = np.sqrt(np.sum(w * w))
        v = w / norm
        new = v @ A @ v
        if abs(new - value) < 1e-14 * abs(new):
            break
        value = new
    return value


def power_iteration_data(rng, size):
    u = rng.standard_normal(size)
    return spd(rng, size) + 4.0 * np.outer(u, u), np.ones(size), 2000


def power_iteration_oracle(A, v, limit):
    return np.linalg.eigvalsh(A)[-1]


def contour_integral(Hs, zs, slab_count, Y):
    P0 = np.zeros_like(Y)
    P1 = np.zeros_like(Y)
    for z in zs:
        Tz = np.zeros_like(Hs[0])
        for n in range(slab_count):
            Tz += np.power(z, slab_count / 2 - n - 1) * Hs[n]
        X = np.linalg.solve(Tz, Y)
        if abs(z) < 1.0:
            X = -X
        P0 += X
        P1 += z * X
    return P0, P1


def contour_integral_data(rng, size):
    slabs = 3
    Hs = rng.standard_normal((slabs, size, size)) + 1j * rng.standard_normal((slabs, size, size))
    Hs[1] += 8.0 * size * np.eye(size)
    angles = rng.uniform(0.0, 2.0 * np.pi, 6)
    radii = np.where(np.arange(6) % 2 == 0, 0.5, 2.0)
    Y = rng.standard_normal((size, 2)) + 1j * rng.standard_normal((size, 2))
    return Hs, radii * np.exp(1j * angles), slabs, Y


def contour_integral_oracle(Hs, zs, slab_count, Y):
    powers = zs[:, None] ** (slab_count / 2 - np.arange(slab_count) - 1)
    matrices = np.einsum("zn,nij->zij", powers, Hs)
    signs = np.where(np.abs(zs) < 1.0, -1.0, 1.0)
    X = signs[:, None, None] * (np.linalg.inv(matrices) @ Y)
    return X.sum(axis=0), np.einsum("z,zij->ij", zs, X)


def scattering_self_energies(neigh_idx, dH, G, D, Sigma):
    """Sum over neighbours, energies, momenta of the products dH G dH D, on small blocks."""
    NA, NB = neigh_idx.shape
    Nkz, NE = G.shape[:2]
    Nqz, Nw, _, _, N3D, _ = D.shape
    for k in range(Nkz):
        for E in range(NE):
            for q in range(Nqz):
                for w in range(Nw):
                    for i in range(N3D):
                        for j in range(N3D):
                            for a in range(NA):
                                for b in range(NB):
                                    if E - w >= 0:
                                        dHG = G[k, E - w, neigh_idx[a, b]] @ dH[a, b, i]
                                        dHD = dH[a, b, j] * D[q, w, a, b, i, j]
                                        Sigma[k, E, a] += dHG @ dHD


def scattering_self_energies_data(rng, size):
    NA, NB, Nkz, NE, Nqz, Nw, N3D = 3, 2, 2, min(size, 6), 2, 2, 2
    norb = 2

    def random_complex(*shape):
        return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)

    neigh_idx = rng.integers(0, NA, (NA, NB))
    dH = random_complex(NA, NB, N3D, norb, norb)
    G = random_complex(Nkz, NE, NA, norb, norb)
    D = random_complex(Nqz, Nw, NA, NB, N3D, N3D)
    return neigh_idx, dH, G, D, np.zeros_like(G)


def scattering_self_energies_oracle(neigh_idx, dH, G, D, Sigma):
    for w in range(D.shape[1]):
        earlier = G[:, : G.shape[1] - w][:, :, neigh_idx]
        Sigma[:, w:] += np.einsum("keabxy,abiyz,abjzv,qabij->keaxv", earlier, dH, dH, D[:, w])


KERNELS = [
    Kernel("gemm", gemm, gemm_data, ("C",), oracle=gemm_oracle),
    Kernel("gemm_loops", gemm_loops, gemm_data, ("C",), oracle=gemm_oracle),
    Kernel("two_mm", two_mm, two_mm_data, ("D",), oracle=two_mm_oracle),
    Kernel("three_mm", three_mm, three_mm_data, tol=1e-11, oracle=three_mm_oracle),
    Kernel("atax", atax, atax_data, oracle=atax_oracle),
    Kernel("atax_loops", atax_loops, atax_data, oracle=atax_oracle),
    Kernel("bicg", bicg, bicg_data, oracle=bicg_oracle),
    Kernel("mvt", mvt, mvt_data, ("x1", "x2"), oracle=mvt_oracle),
    Kernel("gesummv", gesummv, gesummv_data, oracle=gesummv_oracle),
    Kernel("gemver", gemver, gemver_data, ("A", "x", "w"), tol=1e-11, oracle=gemver_oracle),
    Kernel("syrk", syrk, syrk_data, ("C",), oracle=syrk_oracle),
    Kernel("syr2k", syr2k, syr2k_data, ("C",), oracle=syr2k_oracle),
    Kernel("trmm", trmm, trmm_data, ("B",), oracle=trmm_oracle),
    Kernel("symm", symm, symm_data, ("C",), oracle=symm_oracle),
    Kernel("doitgen", doitgen, doitgen_data, ("A",), oracle=doitgen_oracle),
    Kernel("trisolv", trisolv, trisolv_data, ("x",), oracle=trisolv_oracle),
    Kernel("lu", lu, lu_data, ("A",), oracle=lu_oracle),
    Kernel("ludcmp", ludcmp, ludcmp_data, ("A",), oracle=ludcmp_oracle),
    Kernel("cholesky", cholesky, lu_data, ("A",), oracle=cholesky_oracle),
    Kernel("durbin", durbin, durbin_data, tol=1e-11, oracle=durbin_oracle),
    Kernel(
        "gramschmidt", gramschmidt, gramschmidt_data, ("A",), tol=1e-10, oracle=gramschmidt_oracle
    ),
    Kernel(
        "conjugate_gradient",
        conjugate_gradient,
        conjugate_gradient_data,
        tol=1e-10,
        oracle=conjugate_gradient_oracle,
    ),
    Kernel("jacobi_solver", jacobi_solver, jacobi_solver_data, oracle=jacobi_solver_oracle),
    Kernel("thomas", thomas, thomas_data, oracle=thomas_oracle),
    Kernel("spmv", spmv, spmv_data, oracle=spmv_oracle),
    Kernel("spmv_loops", spmv_loops, spmv_data, oracle=spmv_oracle),
    Kernel("matrix_power", matrix_power, matrix_power_data, tol=1e-10, oracle=matrix_power_oracle),
    Kernel(
        "power_iteration",
        power_iteration,
        power_iteration_data,
        tol=1e-9,
        oracle=power_iteration_oracle,
    ),
    Kernel(
        "contour_integral",
        contour_integral,
        contour_integral_data,
        tol=1e-10,
        oracle=contour_integral_oracle,
    ),
    Kernel(
        "scattering_self_energies",
        scattering_self_energies,
        scattering_self_energies_data,
        ("Sigma",),
        tol=1e-10,
        oracle=scattering_self_energies_oracle,
    ),
]
