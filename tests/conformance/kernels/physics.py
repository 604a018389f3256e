"""Simulation: flow, particles, orbits, quantum toys, prices."""

import math

import numpy as np
import scipy.linalg
import scipy.special

from .registry import Kernel

# ------------------------------------------------------------------ flow


def build_up_b(b, rho, dt, u, v, dx, dy):
    du_dx = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx)
    dv_dy = (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dy)
    du_dy = (u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * dy)
    dv_dx = (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * dx)
    b[1:-1, 1:-1] = rho * ((du_dx + dv_dy) / dt - du_dx**2 - 2 * du_dy * dv_dx - dv_dy**2)


def pressure_poisson(p, dx, dy, b, nit):
    for _ in range(nit):
        pn = p.copy()
        p[1:-1, 1:-1] = (
            (pn[1:-1, 2:] + pn[1:-1, :-2]) * dy**2 + (pn[2:, 1:-1] + pn[:-2, 1:-1]) * dx**2
        ) / (2 * (dx**2 + dy**2)) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, 1:-1]
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]
        p[-1, :] = 0


def cavity_flow(nt, nit, u, v, dt, dx, dy, p, rho, nu):
    """Lid-driven cavity; the calls write their arguments."""
    b = np.zeros_like(u)
    for _ in range(nt):
        un = u.copy()
        vn = v.copy()
        build_up_b(b, rho, dt, u, v, dx, dy)
        pressure_poisson(p, dx, dy, b, nit)
        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[1:-1, :-2])
            - vn[1:-1, 1:-1] * dt / dy * (un[1:-1, 1:-1] - un[:-2, 1:-1])
            - dt / (2 * rho * dx) * (p[1:-1, 2:] - p[1:-1, :-2])
            + nu * dt / dx**2 * (un[1:-1, 2:] - 2 * un[1:-1, 1:-1] + un[1:-1, :-2])
            + nu * dt / dy**2 * (un[2:, 1:-1] - 2 * un[1:-1, 1:-1] + un[:-2, 1:-1])
        )
        v[1:-1, 1:-1] = (
            vn[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (vn[1:-1, 1:-1] - vn[1:-1, :-2])
            - vn[1:-1, 1:-1] * dt / dy * (vn[1:-1, 1:-1] - vn[:-2, 1:-1])
            - dt / (2 * rho * dy) * (p[2:, 1:-1] - p[:-2, 1:-1])
            + nu * dt / dx**2 * (vn[1:-1, 2:] - 2 * vn[1:-1, 1:-1] + vn[1:-1, :-2])
            + nu * dt / dy**2 * (vn[2:, 1:-1] - 2 * vn[1:-1, 1:-1] + vn[:-2, 1:-1])
        )
        u[0, :] = 0
        u[:, 0] = 0
        u[:, -1] = 0
        u[-1, :] = 1
        v[0, :] = 0
        v[-1, :] = 0
        v[:, 0] = 0
        v[:, -1] = 0


def cavity_flow_data(rng, size):
    u, v, p = 0.01 * rng.standard_normal((3, size, size + 1))
    return 3, 4, u, v, 0.001, 2 / (size - 1), 2 / (size - 1), p, 1.0, 0.1


def cavity_flow_oracle(nt, nit, u, v, dt, dx, dy, p, rho, nu):
    """Point by point, from the finite differences."""
    rows, cols = u.shape
    inner = [(i, j) for i in range(1, rows - 1) for j in range(1, cols - 1)]

    def central(f, i, j):
        return (f[i, j + 1] - f[i, j - 1]) / (2 * dx), (f[i + 1, j] - f[i - 1, j]) / (2 * dy)

    def second(f, i, j):
        f_xx = (f[i, j + 1] - 2 * f[i, j] + f[i, j - 1]) / dx**2
        return f_xx + (f[i + 1, j] - 2 * f[i, j] + f[i - 1, j]) / dy**2

    for _ in range(nt):
        b = {}
        for i, j in inner:
            (ux, uy), (vx, vy) = central(u, i, j), central(v, i, j)
            b[i, j] = rho * ((ux + vy) / dt - ux * ux - 2 * uy * vx - vy * vy)
        for _ in range(nit):
            pn = p.copy()
            for i, j in inner:
                across = (pn[i, j + 1] + pn[i, j - 1]) / dx**2
                along = (pn[i + 1, j] + pn[i - 1, j]) / dy**2
                p[i, j] = (across + along - b[i, j]) / (2 / dx**2 + 2 / dy**2)
            p[:, -1] = p[:, -2].copy()
            p[0] = p[1].copy()
            p[:, 0] = p[:, 1].copy()
            p[-1] = 0
        old = u.copy(), v.copy()
        for f, g, axis in ((u, old[0], 0), (v, old[1], 1)):
            for i, j in inner:
                upwind = old[0][i, j] * (g[i, j] - g[i, j - 1]) / dx
                upwind += old[1][i, j] * (g[i, j] - g[i - 1, j]) / dy
                f[i, j] += dt * (nu * second(g, i, j) - upwind - central(p, i, j)[axis] / rho)
            f[0] = f[:, 0] = f[:, -1] = f[-1] = 0
        u[-1] = 1


def channel_flow(nit, u, v, dt, dx, dy, p, rho, nu, F, limit):
    """Flow between plates driven by F, periodic along x, until it is steady or `limit` steps."""
    udiff = 1.0
    stepcount = 0
    while udiff > 0.001 and stepcount < limit:
        un = u.copy()
        vn = v.copy()
        east_u, west_u = np.roll(un, -1, axis=1), np.roll(un, 1, axis=1)
        east_v, west_v = np.roll(vn, -1, axis=1), np.roll(vn, 1, axis=1)
        du_dx = (east_u - west_u)[1:-1] / (2 * dx)
        dv_dx = (east_v - west_v)[1:-1] / (2 * dx)
        du_dy = (un[2:] - un[:-2]) / (2 * dy)
        dv_dy = (vn[2:] - vn[:-2]) / (2 * dy)
        b = rho * ((du_dx + dv_dy) / dt - du_dx**2 - 2 * du_dy * dv_dx - dv_dy**2)
        for _ in range(nit):
            pn = p.copy()
            p[1:-1] = (
                (np.roll(pn, -1, axis=1) + np.roll(pn, 1, axis=1))[1:-1] * dy**2
                + (pn[2:] + pn[:-2]) * dx**2
                - dx**2 * dy**2 * b
            ) / (2 * (dx**2 + dy**2))
            p[-1, :] = p[-2, :]
            p[0, :] = p[1, :]
        dp_dx = (np.roll(p, -1, axis=1) - np.roll(p, 1, axis=1))[1:-1] / (2 * dx)
        dp_dy = (p[2:] - p[:-2]) / (2 * dy)
        u[1:-1] += dt * (
            F
            - dp_dx / rho
            - un[1:-1] * (un - west_u)[1:-1] / dx
            - vn[1:-1] * (un[1:-1] - un[:-2]) / dy
            + nu * (east_u - 2 * un + west_u)[1:-1] / dx**2
            + nu * (un[2:] - 2 * un[1:-1] + un[:-2]) / dy**2
        )
        v[1:-1] += dt * (
            -dp_dy / rho
            - un[1:-1] * (vn - west_v)[1:-1] / dx
            - vn[1:-1] * (vn[1:-1] - vn[:-2]) / dy
            + nu * (east_v - 2 * vn + west_v)[1:-1] / dx**2
            + nu * (vn[2:] - 2 * vn[1:-1] + vn[:-2]) / dy**2
        )
        udiff = (np.sum(u) - np.sum(un)) / np.sum(u)
        stepcount += 1
    return stepcount


def channel_flow_data(rng, size):
    u, v, p = np.zeros((3, size, size + 1))
    u[1:-1] += 0.01 * rng.uniform(size=(size - 2, size + 1))
    return 3, u, v, 0.002, 2 / size, 2 / (size - 1), p, 1.0, 0.1, 1.0, 25


# ------------------------------------------------------------------ particles


def nbody_forces(position, mass, softening):
    n = position.shape[0]
    force = np.zeros((n, 3))
    for i in range(n):
        for j in range(n):
            if i == j:
                continue
            dx = position[j, 0] - position[i, 0]
            dy = position[j, 1] - position[i, 1]
            dz = position[j, 2] - position[i, 2]
            inv = (dx * dx + dy * dy + dz * dz + softening**2) ** -1.5
            force[i, 0] += mass[j] * dx * inv
            force[i, 1] += mass[j] * dy * inv
            force[i, 2] += mass[j] * dz * inv
    return force


def nbody_forces_data(rng, size):
    return rng.standard_normal((size, 3)), rng.uniform(0.5, 1.5, size), 0.1


def nbody_forces_oracle(position, mass, softening):
    d = position[None, :, :] - position[:, None, :]
    inv = (np.sum(d * d, axis=2) + softening**2) ** -1.5
    return np.einsum("j,ij,ijk->ik", mass, inv, d)


def acceleration(pos, mass, G, softening):
    x = pos[:, 0:1]
    y = pos[:, 1:2]
    z = pos[:, 2:3]
    dx = x.T - x
    dy = y.T - y
    dz = z.T - z
    inv_r3 = dx**2 + dy**2 + dz**2 + softening**2
    inv_r3 = np.where(inv_r3 > 0, inv_r3 ** (-1.5), inv_r3)
    ax = G * (dx * inv_r3) @ mass
    ay = G * (dy * inv_r3) @ mass
    az = G * (dz * inv_r3) @ mass
    return np.stack((ax, ay, az), axis=1)


def nbody(mass, pos, vel, steps, dt, G, softening):
    """Kick, drift, kick; kinetic and potential energy after every step."""
    vel -= np.sum(mass[:, np.newaxis] * vel, axis=0) / np.sum(mass)
    acc = acceleration(pos, mass, G, softening)
    kinetic = np.zeros(steps)
    potential = np.zeros(steps)
    for i in range(steps):
        vel += acc * dt / 2.0
        pos += vel * dt
        acc = acceleration(pos, mass, G, softening)
        vel += acc * dt / 2.0
        kinetic[i] = 0.5 * np.sum(mass[:, np.newaxis] * vel**2)
        d = pos[:, np.newaxis, :] - pos[np.newaxis, :, :]
        r = np.sqrt(np.sum(d * d, axis=2) + softening**2)
        pairs = np.triu(np.outer(mass, mass) / r, 1)
        potential[i] = -G * np.sum(pairs)
    return kinetic, potential


def nbody_data(rng, size):
    mass = 20.0 * rng.uniform(0.5, 1.5, size) / size
    return mass, rng.standard_normal((size, 3)), rng.standard_normal((size, 3)), 4, 0.01, 1.0, 0.1


def nbody_oracle(mass, pos, vel, steps, dt, G, softening):
    vel -= np.average(vel, axis=0, weights=mass)
    first, second = np.triu_indices(len(mass), 1)
    kinetic, potential = [], []
    acc = G * nbody_forces_oracle(pos, mass, softening)
    for _ in range(steps):
        new_pos = pos + vel * dt + acc * dt**2 / 2.0
        new_acc = G * nbody_forces_oracle(new_pos, mass, softening)
        vel += (acc + new_acc) * dt / 2.0
        pos[:], acc = new_pos, new_acc
        kinetic.append(0.5 * mass @ np.sum(vel**2, axis=1))
        r = np.hypot(np.linalg.norm(pos[first] - pos[second], axis=1), softening)
        potential.append(-G * np.sum(mass[first] * mass[second] / r))
    return np.array(kinetic), np.array(potential)


def harmonic_chain(x, v, k, dt, steps):
    """Verlet on a chain of springs with fixed ends."""
    n = len(x)
    f = np.zeros(n)
    for _ in range(steps):
        for i in range(n):
            left = x[i - 1] if i > 0 else 0.0
            right = x[i + 1] if i < n - 1 else 0.0
            f[i] = k * (left + right - 2.0 * x[i])
        for i in range(n):
            v[i] += dt * f[i]
            x[i] += dt * v[i]
    return 0.5 * np.sum(v**2)


def harmonic_chain_data(rng, size):
    return rng.standard_normal(size), rng.standard_normal(size), 2.0, 0.05, 10


def harmonic_chain_oracle(x, v, k, dt, steps):
    n = len(x)
    K = k * (2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1))
    step = np.block([[np.eye(n) - dt * dt * K, dt * np.eye(n)], [-dt * K, np.eye(n)]])
    state = np.linalg.matrix_power(step, steps) @ np.concatenate([x, v])
    x[:], v[:] = state[:n], state[n:]
    return 0.5 * v @ v


# ------------------------------------------------------------------ orbits and maps


def lorenz(state, sigma, rho, beta):
    x, y, z = state
    return np.array([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])


def rk4_lorenz(start, dt, steps):
    path = np.zeros((steps + 1, 3))
    path[0] = start
    for t in range(steps):
        s = path[t]
        k1 = lorenz(s, 10.0, 28.0, 8.0 / 3.0)
        k2 = lorenz(s + 0.5 * dt * k1, 10.0, 28.0, 8.0 / 3.0)
        k3 = lorenz(s + 0.5 * dt * k2, 10.0, 28.0, 8.0 / 3.0)
        k4 = lorenz(s + dt * k3, 10.0, 28.0, 8.0 / 3.0)
        path[t + 1] = s + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return path


def rk4_lorenz_data(rng, size):
    return rng.uniform(-1.0, 1.0, 3), 0.01, 2 * size


def rk4_linear(A, x, dt, steps):
    """RK4 with the right-hand side as a nested function."""

    def rhs(y):
        return A @ y

    for _ in range(steps):
        k1 = rhs(x)
        k2 = rhs(x + dt / 2 * k1)
        k3 = rhs(x + dt / 2 * k2)
        k4 = rhs(x + dt * k3)
        x = x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return x


def rk4_linear_data(rng, size):
    return rng.standard_normal((size, size)) / size, rng.standard_normal(size), 0.02, 10


def rk4_linear_oracle(A, x, dt, steps):
    return scipy.linalg.expm(A * dt * steps) @ x


def mandelbrot1(xmin, xmax, ymin, ymax, xn, yn, maxiter, horizon):
    """Whole arrays and a mask, as NumPy users write it."""
    X = np.linspace(xmin, xmax, xn)
    Y = np.linspace(ymin, ymax, yn)
    C = X + Y[:, None] * 1j
    N = np.zeros(C.shape, dtype=np.int64)
    Z = np.zeros(C.shape, dtype=np.complex128)
    for n in range(maxiter):
        inside = np.abs(Z) < horizon
        N[inside] = n
        Z[inside] = Z[inside] ** 2 + C[inside]
    N[N == maxiter - 1] = 0
    return N


def mandelbrot2(xmin, xmax, ymin, ymax, xn, yn, maxiter, horizon):
    """Point by point with `while`, as Numba users write it."""
    X = np.linspace(xmin, xmax, xn)
    Y = np.linspace(ymin, ymax, yn)
    N = np.zeros((yn, xn), dtype=np.int64)
    for i in range(yn):
        for j in range(xn):
            x, y, n = 0.0, 0.0, 0
            while n < maxiter and x * x + y * y < horizon * horizon:
                x, y = x * x - y * y + X[j], 2.0 * x * y + Y[i]
                n += 1
            N[i, j] = n - 1 if n < maxiter else 0
    return N


def mandelbrot_data(rng, size):
    return -1.75, 0.25, -1.0, 1.03, size, size + 1, 30, 2.0


# ------------------------------------------------------------------ chance


def black_scholes(spot, strike, time, rate, volatility):
    root = volatility * np.sqrt(time)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * time) / root
    d2 = d1 - root
    discount = strike * np.exp(-rate * time)
    call = spot * scipy.special.ndtr(d1) - discount * scipy.special.ndtr(d2)
    return call, call - spot + discount


def black_scholes_data(rng, size):
    spot, strike = rng.uniform(50.0, 150.0, (2, size))
    return spot, strike, rng.uniform(0.1, 2.0, size), 0.03, 0.25


def black_scholes_loops(spot, strike, time, rate, volatility):
    n = len(spot)
    call = np.empty(n)
    put = np.empty(n)
    for i in range(n):
        root = volatility * math.sqrt(time[i])
        d1 = (math.log(spot[i] / strike[i]) + (rate + 0.5 * volatility**2) * time[i]) / root
        d2 = d1 - root
        n1 = 0.5 * math.erfc(-d1 / math.sqrt(2.0))
        n2 = 0.5 * math.erfc(-d2 / math.sqrt(2.0))
        discount = strike[i] * math.exp(-rate * time[i])
        call[i] = spot[i] * n1 - discount * n2
        put[i] = discount * (1.0 - n2) - spot[i] * (1.0 - n1)
    return call, put


def asian_option(normals, spot, strike, rate, volatility, dt):
    """Monte Carlo price from given normal numbers, one path after the other."""
    paths, steps = normals.shape
    total = 0.0
    for p in range(paths):
        price = spot
        mean = 0.0
        for t in range(steps):
            shock = volatility * math.sqrt(dt) * normals[p, t]
            price *= math.exp((rate - 0.5 * volatility * volatility) * dt + shock)
            mean += price / steps
        total += max(mean - strike, 0.0)
    return math.exp(-rate * steps * dt) * total / paths


def asian_option_data(rng, size):
    return rng.standard_normal((4 * size, size)), 100.0, 95.0, 0.03, 0.2, 0.02


def asian_option_oracle(normals, spot, strike, rate, volatility, dt):
    logs = np.cumsum((rate - volatility**2 / 2) * dt + volatility * dt**0.5 * normals, axis=1)
    payoff = np.clip(np.mean(spot * np.exp(logs), axis=1) - strike, 0.0, None)
    return np.mean(payoff) * np.exp(-rate * normals.shape[1] * dt)


def monte_carlo_pi(x, y):
    return 4.0 * sum(1 for i in range(len(x)) if x[i] * x[i] + y[i] * y[i] <= 1.0) / len(x)


def monte_carlo_pi_data(rng, size):
    return rng.uniform(size=20 * size), rng.uniform(size=20 * size)


def monte_carlo_pi_oracle(x, y):
    return 4.0 * np.mean(np.hypot(x, y) <= 1.0)


def ising(spins, uniforms, beta):
    """Metropolis sweeps over a periodic lattice with given random numbers."""
    n, m = spins.shape
    accepted = 0
    for sweep in range(uniforms.shape[0]):
        for i in range(n):
            for j in range(m):
                around = spins[i - 1, j] + spins[(i + 1) % n, j]
                around += spins[i, j - 1] + spins[i, (j + 1) % m]
                change = 2 * spins[i, j] * around
                if change <= 0 or uniforms[sweep, i, j] < math.exp(-beta * change):
                    spins[i, j] = -spins[i, j]
                    accepted += 1
    return accepted


def ising_data(rng, size):
    spins = 2 * rng.integers(0, 2, (size, size)) - 1
    return spins, rng.uniform(size=(3, size, size)), 0.4


KERNELS = [
    Kernel(
        "cavity_flow", cavity_flow, cavity_flow_data, ("u", "v", "p"), 1e-10, cavity_flow_oracle
    ),
    Kernel("channel_flow", channel_flow, channel_flow_data, ("u", "v", "p"), 1e-10),
    Kernel("nbody_forces", nbody_forces, nbody_forces_data, tol=1e-11, oracle=nbody_forces_oracle),
    Kernel("nbody", nbody, nbody_data, ("pos", "vel"), 1e-10, nbody_oracle),
    Kernel(
        "harmonic_chain",
        harmonic_chain,
        harmonic_chain_data,
        ("x", "v"),
        1e-11,
        harmonic_chain_oracle,
    ),
    Kernel("rk4_lorenz", rk4_lorenz, rk4_lorenz_data, tol=1e-10),
    Kernel("rk4_linear", rk4_linear, rk4_linear_data, tol=1e-8, oracle=rk4_linear_oracle),
    Kernel("mandelbrot1", mandelbrot1, mandelbrot_data, oracle=mandelbrot2),
    Kernel("mandelbrot2", mandelbrot2, mandelbrot_data, oracle=mandelbrot1),
    Kernel(
        "black_scholes", black_scholes, black_scholes_data, tol=1e-11, oracle=black_scholes_loops
    ),
    Kernel(
        "black_scholes_loops",
        black_scholes_loops,
        black_scholes_data,
        tol=1e-11,
        oracle=black_scholes,
    ),
    Kernel("asian_option", asian_option, asian_option_data, tol=1e-11, oracle=asian_option_oracle),
    Kernel("monte_carlo_pi", monte_carlo_pi, monte_carlo_pi_data, oracle=monte_carlo_pi_oracle),
    Kernel("ising", ising, ising_data, ("spins",)),
]
