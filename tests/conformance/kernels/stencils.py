"""Stencils and time loops over grids."""

import numpy as np
import scipy.linalg
import scipy.ndimage

from .registry import Kernel

FIVE_POINT = np.array([[0.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 0.0]])


def jacobi_1d(TSTEPS, A, B):
    for _ in range(1, TSTEPS):
        B[1:-1] = 0.33333 * (A[:-2] + A[1:-1] + A[2:])
        A[1:-1] = 0.33333 * (B[:-2] + B[1:-1] + B[2:])


def jacobi_1d_data(rng, size):
    return 6, rng.standard_normal(size), rng.standard_normal(size)


def jacobi_1d_oracle(TSTEPS, A, B):
    for _ in range(1, TSTEPS):
        B[1:-1] = np.convolve(A, np.full(3, 0.33333), "valid")
        A[1:-1] = np.convolve(B, np.full(3, 0.33333), "valid")


def jacobi_2d(TSTEPS, A, B):
    for _ in range(1, TSTEPS):
        B[1:-1, 1:-1] = 0.2 * (
            A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1]
        )
        A[1:-1, 1:-1] = 0.2 * (
            B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1]
        )


def jacobi_2d_data(rng, size):
    A, B = rng.standard_normal((2, size, size + 1))
    return 5, A, B


def jacobi_2d_oracle(TSTEPS, A, B):
    for _ in range(1, TSTEPS):
        B[1:-1, 1:-1] = scipy.ndimage.convolve(A, 0.2 * FIVE_POINT)[1:-1, 1:-1]
        A[1:-1, 1:-1] = scipy.ndimage.convolve(B, 0.2 * FIVE_POINT)[1:-1, 1:-1]


def jacobi_2d_in_place(steps, u):
    """One array: NumPy evaluates the right-hand side before it stores."""
    for _ in range(steps):
        u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])


def jacobi_2d_in_place_data(rng, size):
    return 5, rng.standard_normal((size, size + 1))


def jacobi_2d_in_place_oracle(steps, u):
    ring = 0.25 * (FIVE_POINT - np.diag([0.0, 1.0, 0.0]))
    for _ in range(steps):
        u[1:-1, 1:-1] = scipy.ndimage.convolve(u, ring)[1:-1, 1:-1]


def seidel_2d(TSTEPS, A):
    N = A.shape[0]
    for _ in range(TSTEPS - 1):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                A[i, j] = (
                    A[i - 1, j - 1] + A[i - 1, j] + A[i - 1, j + 1]
                    + A[i, j - 1] + A[i, j] + A[i, j + 1]
                    + A[i + 1, j - 1] + A[i + 1, j] + A[i + 1, j + 1]
                ) / 9.0  # fmt: skip


def seidel_2d_slices(TSTEPS, A):
    """The same sweep, whole rows first: the NPBench way of writing it."""
    N = A.shape[0]
    for _ in range(TSTEPS - 1):
        for i in range(1, N - 1):
            A[i, 1:-1] += (
                A[i - 1, :-2] + A[i - 1, 1:-1] + A[i - 1, 2:]
                + A[i, 2:] + A[i + 1, :-2] + A[i + 1, 1:-1] + A[i + 1, 2:]
            )  # fmt: skip
            for j in range(1, N - 1):
                A[i, j] += A[i, j - 1]
                A[i, j] /= 9.0


def seidel_2d_data(rng, size):
    return 4, rng.standard_normal((size, size))


def heat_3d(TSTEPS, A, B):
    for _ in range(1, TSTEPS):
        B[1:-1, 1:-1, 1:-1] = (
            0.125 * (A[2:, 1:-1, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[:-2, 1:-1, 1:-1])
            + 0.125 * (A[1:-1, 2:, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, :-2, 1:-1])
            + 0.125 * (A[1:-1, 1:-1, 2:] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, 1:-1, 0:-2])
            + A[1:-1, 1:-1, 1:-1]
        )
        A[1:-1, 1:-1, 1:-1] = (
            0.125 * (B[2:, 1:-1, 1:-1] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[:-2, 1:-1, 1:-1])
            + 0.125 * (B[1:-1, 2:, 1:-1] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[1:-1, :-2, 1:-1])
            + 0.125 * (B[1:-1, 1:-1, 2:] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[1:-1, 1:-1, 0:-2])
            + B[1:-1, 1:-1, 1:-1]
        )


def heat_3d_data(rng, size):
    n = min(size, 12)
    A, B = rng.standard_normal((2, n, n + 1, n + 2))
    return 4, A, B


def heat_3d_oracle(TSTEPS, A, B):
    inner = (slice(1, -1),) * 3
    for _ in range(1, TSTEPS):
        B[inner] = (A + 0.125 * scipy.ndimage.laplace(A))[inner]
        A[inner] = (B + 0.125 * scipy.ndimage.laplace(B))[inner]


def fdtd_2d(TMAX, ex, ey, hz, _fict_):
    for t in range(TMAX):
        ey[0, :] = _fict_[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


def fdtd_2d_data(rng, size):
    ex, ey, hz = rng.standard_normal((3, size, size + 2))
    return 5, ex, ey, hz, rng.standard_normal(5)


def fdtd_2d_oracle(TMAX, ex, ey, hz, _fict_):
    for t in range(TMAX):
        ey[:] = np.concatenate(
            [np.full_like(ey[:1], _fict_[t]), ey[1:] - 0.5 * np.diff(hz, axis=0)]
        )
        ex[:, 1:] = ex[:, 1:] - 0.5 * np.diff(hz, axis=1)
        curl = np.diff(ex, axis=1)[:-1] + np.diff(ey, axis=0)[:, :-1]
        hz[:-1, :-1] = hz[:-1, :-1] - 0.7 * curl


def adi(TSTEPS, N, u):
    """Alternating directions: implicit in one direction, explicit in the other, boundary 1."""
    v = np.empty(u.shape, dtype=u.dtype)
    p = np.empty(u.shape, dtype=u.dtype)
    q = np.empty(u.shape, dtype=u.dtype)
    DX = 1.0 / N
    DT = 1.0 / TSTEPS
    mul1 = 2.0 * DT / (DX * DX)
    mul2 = 1.0 * DT / (DX * DX)
    a = -mul1 / 2.0
    b = 1.0 + mul1
    c = a
    d = -mul2 / 2.0
    e = 1.0 + mul2
    f = d
    for _ in range(1, TSTEPS + 1):
        v[0, 1 : N - 1] = 1.0
        p[1 : N - 1, 0] = 0.0
        q[1 : N - 1, 0] = v[0, 1 : N - 1]
        for j in range(1, N - 1):
            p[1 : N - 1, j] = -c / (a * p[1 : N - 1, j - 1] + b)
            q[1 : N - 1, j] = (
                -d * u[j, 0 : N - 2]
                + (1.0 + 2.0 * d) * u[j, 1 : N - 1]
                - f * u[j, 2:N]
                - a * q[1 : N - 1, j - 1]
            ) / (a * p[1 : N - 1, j - 1] + b)
        v[N - 1, 1 : N - 1] = 1.0
        for j in range(N - 2, 0, -1):
            v[j, 1 : N - 1] = p[1 : N - 1, j] * v[j + 1, 1 : N - 1] + q[1 : N - 1, j]

        u[1 : N - 1, 0] = 1.0
        p[1 : N - 1, 0] = 0.0
        q[1 : N - 1, 0] = u[1 : N - 1, 0]
        for j in range(1, N - 1):
            p[1 : N - 1, j] = -f / (d * p[1 : N - 1, j - 1] + e)
            q[1 : N - 1, j] = (
                -a * v[0 : N - 2, j]
                + (1.0 + 2.0 * a) * v[1 : N - 1, j]
                - c * v[2:N, j]
                - d * q[1 : N - 1, j - 1]
            ) / (d * p[1 : N - 1, j - 1] + e)
        u[1 : N - 1, N - 1] = 1.0
        for j in range(N - 2, 0, -1):
            u[1 : N - 1, j] = p[1 : N - 1, j] * u[1 : N - 1, j + 1] + q[1 : N - 1, j]


def adi_data(rng, size):
    return 4, size, rng.standard_normal((size, size))


def adi_half(u, implicit, explicit):
    """Rows of the result solve (1 - implicit δ²) v = (1 + explicit δ²) u with v = 1 at the ends."""
    n = u.shape[0]
    rhs = np.ones((n, n - 2))
    rhs[1:-1] = u[1:-1, 1:-1] + explicit * np.diff(u, 2, axis=1)[1:-1]
    bands = np.zeros((3, n))
    bands[1] = 1.0
    bands[1, 1:-1] += 2.0 * implicit
    bands[0, 2:] = bands[2, :-2] = -implicit
    return scipy.linalg.solve_banded((1, 1), bands, rhs)


def adi_oracle(TSTEPS, N, u):
    a, d = N * N / TSTEPS, N * N / TSTEPS / 2.0
    v = np.empty_like(u)
    for _ in range(TSTEPS):
        v[:, 1:-1] = adi_half(u, a, d)
        v[:, 0] = v[:, -1] = np.nan
        # the second half works on columns; only inner columns of v are read, its rows 0 and N-1 too
        u[1:-1, :] = adi_half(v.T, d, a).T


def hdiff(in_field, out_field, coeff):
    ni, nj, _ = out_field.shape
    lap = 4.0 * in_field[1 : ni + 3, 1 : nj + 3, :] - (
        in_field[2 : ni + 4, 1 : nj + 3, :]
        + in_field[0 : ni + 2, 1 : nj + 3, :]
        + in_field[1 : ni + 3, 2 : nj + 4, :]
        + in_field[1 : ni + 3, 0 : nj + 2, :]
    )
    res = lap[1:, 1 : nj + 1, :] - lap[:-1, 1 : nj + 1, :]
    flx = np.where(
        res * (in_field[2 : ni + 3, 2 : nj + 2, :] - in_field[1 : ni + 2, 2 : nj + 2, :]) > 0,
        0.0,
        res,
    )
    res2 = lap[1 : ni + 1, 1:, :] - lap[1 : ni + 1, :-1, :]
    fly = np.where(
        res2 * (in_field[2 : ni + 2, 2 : nj + 3, :] - in_field[2 : ni + 2, 1 : nj + 2, :]) > 0,
        0.0,
        res2,
    )
    out_field[:, :, :] = in_field[2 : ni + 2, 2 : nj + 2, :] - coeff[:, :, :] * (
        flx[1:, :, :] - flx[:-1, :, :] + fly[:, 1:, :] - fly[:, :-1, :]
    )


def hdiff_data(rng, size):
    shape = (size, size + 1, 3)
    field = rng.standard_normal((size + 4, size + 5, 3))
    return field, np.zeros(shape), rng.uniform(0.0, 0.1, shape)


def hdiff_oracle(in_field, out_field, coeff):
    layers = np.moveaxis(in_field, 2, 0)
    lap = -np.stack([scipy.ndimage.laplace(layer) for layer in layers], 2)

    def limited(axis):
        flux = np.diff(lap, axis=axis)
        return flux * ~(flux * np.diff(in_field, axis=axis) > 0)

    divergence_x = np.diff(limited(0), axis=0)[1:-1, 2:-2]
    divergence_y = np.diff(limited(1), axis=1)[2:-2, 1:-1]
    out_field[:] = in_field[2:-2, 2:-2] - coeff * (divergence_x + divergence_y)


def vadv(utens_stage, u_stage, wcon, u_pos, dtr_stage):
    """Implicit vertical advection: one tridiagonal system per column, all columns at once."""
    ni, nj, nk = utens_stage.shape
    ccol = np.zeros((ni, nj, nk), dtype=wcon.dtype)
    dcol = np.zeros((ni, nj, nk), dtype=wcon.dtype)
    data = np.zeros((ni, nj), dtype=wcon.dtype)
    for k in range(nk):
        gav = -0.25 * wcon[:, :, k] if k > 0 else np.zeros((ni, nj), dtype=wcon.dtype)
        gcv = 0.25 * wcon[:, :, k + 1] if k < nk - 1 else np.zeros((ni, nj), dtype=wcon.dtype)
        correction = np.zeros((ni, nj), dtype=wcon.dtype)
        if k > 0:
            correction += -gav * (u_stage[:, :, k - 1] - u_stage[:, :, k])
        if k < nk - 1:
            correction += -gcv * (u_stage[:, :, k + 1] - u_stage[:, :, k])
        bcol = dtr_stage - gav - gcv
        right = dtr_stage * u_pos[:, :, k] + utens_stage[:, :, k] + correction
        if k == 0:
            ccol[:, :, k] = gcv / bcol
            dcol[:, :, k] = right / bcol
        else:
            divided = 1.0 / (bcol - ccol[:, :, k - 1] * gav)
            ccol[:, :, k] = gcv * divided
            dcol[:, :, k] = (right - dcol[:, :, k - 1] * gav) * divided
    for k in range(nk - 1, -1, -1):
        if k == nk - 1:
            data[:] = dcol[:, :, k]
        else:
            data[:] = dcol[:, :, k] - ccol[:, :, k] * data
        utens_stage[:, :, k] = dtr_stage * (data - u_pos[:, :, k])


def vadv_data(rng, size):
    ni, nj, nk = 4, 3, size
    utens_stage, u_stage, u_pos = rng.standard_normal((3, ni, nj, nk))
    return utens_stage, u_stage, rng.standard_normal((ni, nj, nk)), u_pos, 3.0 / 20.0 + 3.0


def vadv_oracle(utens_stage, u_stage, wcon, u_pos, dtr_stage):
    ni, nj, nk = utens_stage.shape
    for i in range(ni):
        for j in range(nj):
            below, above = -0.25 * wcon[i, j, 1:], 0.25 * wcon[i, j, 1:]
            M = np.diag(below, -1) + np.diag(above, 1)
            M -= np.diag(M.sum(axis=1))
            right = dtr_stage * u_pos[i, j] + utens_stage[i, j] - M @ u_stage[i, j]
            x = np.linalg.solve(M + dtr_stage * np.eye(nk), right)
            utens_stage[i, j] = dtr_stage * (x - u_pos[i, j])


def wave_2d(u_prev, u, c2, steps):
    """Leapfrog wave equation; the three time levels change places."""
    old = u_prev.copy()
    now = u.copy()
    new = np.zeros_like(u)
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                lap = (
                    now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1] - 4.0 * now[i, j]
                )
                new[i, j] = 2.0 * now[i, j] - old[i, j] + c2 * lap
        old, now, new = now, new, old
    return now


def wave_2d_data(rng, size):
    u_prev, u = np.zeros((2, size, size + 3))
    u[1:-1, 1:-1] = rng.standard_normal((size - 2, size + 1))
    u_prev[1:-1, 1:-1] = u[1:-1, 1:-1]
    return u_prev, u, 0.2, 6


def wave_2d_oracle(u_prev, u, c2, steps):
    inside = np.zeros_like(u)
    inside[1:-1, 1:-1] = 1.0
    old, now = u_prev, u
    for _ in range(steps):
        old, now = now, inside * (2.0 * now - old + c2 * scipy.ndimage.laplace(now))
    return now


def relaxation(u, tol, limit):
    """Gauss-Seidel sweeps until the largest change is small; returns the number of sweeps."""
    n, m = u.shape
    for sweep in range(limit):
        change = 0.0
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                old = u[i, j]
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
                change = max(change, abs(u[i, j] - old))
        if change < tol:
            return sweep + 1
    return limit


def relaxation_data(rng, size):
    u = np.zeros((min(size, 12), 8))
    u[0] = rng.uniform(0.0, 1.0, 8)
    return u, 1e-13, 2000


def relaxation_oracle(u, tol, limit):
    n, m = u.shape
    sweeps = relaxation(u.copy(), tol, limit)
    inner = np.zeros_like(u, dtype=bool)
    inner[1:-1, 1:-1] = True
    number = np.arange(n * m).reshape(n, m)
    A = np.eye(n * m)
    for i, j in np.argwhere(inner):
        for di, dj in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            A[number[i, j], number[i + di, j + dj]] = -0.25
    u[:] = np.linalg.solve(A, np.where(inner, 0.0, u).ravel()).reshape(n, m)
    return sweeps


def upwind(u, velocity, dx, dt, steps):
    """Periodic upwind advection whose direction depends on the local velocity."""
    for _ in range(steps):
        left = u - np.roll(u, 1)
        right = np.roll(u, -1) - u
        u -= dt / dx * velocity * np.where(velocity > 0.0, left, right)
    return u.sum()


def upwind_data(rng, size):
    return rng.standard_normal(size), rng.standard_normal(size), 0.1, 0.01, 7


def upwind_oracle(u, velocity, dx, dt, steps):
    n = u.size
    step = np.eye(n)
    for i in range(n):
        r = dt / dx * abs(velocity[i])
        step[i, i] -= r
        step[i, (i - 1 if velocity[i] > 0 else i + 1) % n] += r
    u[:] = np.linalg.matrix_power(step, steps) @ u
    return np.sum(u)


KERNELS = [
    Kernel("jacobi_1d", jacobi_1d, jacobi_1d_data, ("A", "B"), oracle=jacobi_1d_oracle),
    Kernel("jacobi_2d", jacobi_2d, jacobi_2d_data, ("A", "B"), oracle=jacobi_2d_oracle),
    Kernel(
        "jacobi_2d_in_place",
        jacobi_2d_in_place,
        jacobi_2d_in_place_data,
        ("u",),
        oracle=jacobi_2d_in_place_oracle,
    ),
    Kernel("seidel_2d", seidel_2d, seidel_2d_data, ("A",), oracle=seidel_2d_slices),
    Kernel("seidel_2d_slices", seidel_2d_slices, seidel_2d_data, ("A",), oracle=seidel_2d),
    Kernel("heat_3d", heat_3d, heat_3d_data, ("A", "B"), oracle=heat_3d_oracle),
    Kernel("fdtd_2d", fdtd_2d, fdtd_2d_data, ("ex", "ey", "hz"), oracle=fdtd_2d_oracle),
    Kernel("adi", adi, adi_data, ("u",), tol=1e-10, oracle=adi_oracle),
    Kernel("hdiff", hdiff, hdiff_data, ("out_field",), oracle=hdiff_oracle),
    Kernel("vadv", vadv, vadv_data, ("utens_stage",), tol=1e-11, oracle=vadv_oracle),
    Kernel("wave_2d", wave_2d, wave_2d_data, oracle=wave_2d_oracle),
    Kernel("relaxation", relaxation, relaxation_data, ("u",), tol=1e-10, oracle=relaxation_oracle),
    Kernel("upwind", upwind, upwind_data, ("u",), tol=1e-11, oracle=upwind_oracle),
]
