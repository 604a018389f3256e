"""What the suite's modules compute, written once more: whole arrays in NumPy, analytic, so that a
complex step gives derivatives to rounding."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.linalg import expm
from scipy.special import multigammaln

STEP = 1e-30


def complex_step(f, x):
    """∂f/∂x, with the axes of x behind those of f: Im f(x + i·h·e_k) / h."""
    x = np.asarray(x, float)
    columns = []
    for k in range(x.size):
        moved = x.astype(complex)
        moved.flat[k] += 1j * STEP
        columns.append(np.imag(f(moved)) / STEP)
    return np.stack(columns, axis=-1).reshape(*np.shape(columns[0]), *x.shape)


def log_sum_exp(x, axis):
    top = np.max(x.real, axis=axis, keepdims=True)
    return np.log(np.sum(np.exp(x - top), axis=axis)) + np.squeeze(top, axis)


def gmm(alpha, mu, q, l, x, gamma, m):
    n, d = x.shape
    k = len(alpha)
    factor = np.zeros((k, d, d), np.result_type(q, l))
    columns, rows = np.triu_indices(d, 1)
    factor[:, rows, columns] = l
    factor += np.exp(q)[:, :, None] * np.eye(d)
    z = np.einsum("krc,ikc->ikr", factor, x[:, None] - mu)
    beta = alpha + q.sum(axis=1) - 0.5 * np.sum(z * z, axis=2)
    freedom = d + m + 1
    prior = k * (freedom * d * np.log(gamma / np.sqrt(2)) - multigammaln(freedom / 2, d))
    prior -= 0.5 * gamma**2 * (np.sum(np.exp(q) ** 2) + np.sum(l**2)) - m * np.sum(q)
    likelihood = np.sum(log_sum_exp(beta, 1)) - n * log_sum_exp(alpha, 0)
    return likelihood + prior - n * d / 2 * np.log(2 * np.pi)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm(main, extra, state, sequence):
    layers = np.split(main, len(main) // 2)
    hidden, cell = list(state[::2]), list(state[1::2])
    total = 0.0
    for now, then in pairwise(sequence):
        u = now * extra[0]
        for j, (weight, bias) in enumerate(layers):
            (wf, wi, wo, wg), (bf, bi, bo, bg) = np.split(weight, 4), np.split(bias, 4)
            change = sigmoid(hidden[j] * wi + bi) * np.tanh(hidden[j] * wg + bg)
            cell[j] = cell[j] * sigmoid(u * wf + bf) + change
            hidden[j] = u = sigmoid(u * wo + bo) * np.tanh(cell[j])
        y = u * extra[1] + extra[2]
        total += np.sum(then * (y - np.log(2 + np.sum(np.exp(y)))))
    return -total / sequence[1:].size


def skew(r):
    return np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])


def turn(r):
    """The matrix that turns around r by the angle |r|."""
    return expm(skew(r))


def ba_residual(parameters, feat):
    """parameters: camera (11), point (3), weight."""
    cam, x, w = parameters[:11], parameters[11:14], parameters[14]
    seen = turn(cam[:3]) @ (x - cam[3:6])
    p = seen[:2] / seen[2]
    rho = p @ p
    return w * (cam[6] * p * (1 + cam[9] * rho + cam[10] * rho**2) + cam[7:9] - feat)


def around(axis, angle):
    c, s = np.cos(angle), np.sin(angle)
    a, b = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[axis]
    r = np.eye(4, dtype=np.result_type(angle))
    r[a, a] = r[b, b] = c
    r[b, a], r[a, b] = s, -s
    return r


def ht(theta, us, model, found, points):
    """Residuals (c, 3), the whole hand posed."""
    angles = np.zeros((22, 3), theta.dtype)
    for finger in range(5):
        numbers = theta[6 + 4 * finger : 10 + 4 * finger]
        angles[2 + 4 * finger, :2] = numbers[:2]
        angles[3 + 4 * finger : 5 + 4 * finger, 0] = numbers[2:]
    absolute = []
    for parent, relative, (a0, a1, a2) in zip(
        model["parents"], np.array(model["base_relatives"]), angles, strict=True
    ):
        own = relative @ around("z", a1) @ around("y", a2) @ around("x", a0)
        absolute.append(own if parent < 0 else absolute[parent] @ own)
    moves = np.array(absolute) @ np.array(model["inverse_base_absolutes"])
    positions = np.array(model["base_positions"])
    skinned = np.einsum("vb,brc,vc->vr", np.array(model["weights"]), moves, positions)[:, :3]
    if model["is_mirrored"]:
        skinned = skinned * [-1, 1, 1]
    placed = skinned @ turn(theta[:3]).T + theta[3:6]
    if not len(us):
        return points - placed[found]
    corners = placed[np.array(model["triangles"])[found]]
    shares = np.c_[us, 1 - us.sum(axis=1)]
    return points - np.einsum("ik,ikr->ir", shares, corners)
