"""Bundle adjustment: where cameras see points, against where they were observed; the Jacobian of
all residuals as a sparse matrix."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from tapeless.api.derivatives import jacfwd
from tapeless.api.jit import jit
from tapeless.forms.elements import f64
from tapeless.gradbench.question import Module, Question

Array = Any
Cameras = Annotated[Any, f64["n", 11]]
Points = Annotated[Any, f64["m", 3]]
Weights = Annotated[Any, f64["p"]]
Features = Annotated[Any, f64["p", 2]]


def rotate(r: Array, x: Array) -> Array:
    """Rodrigues' formula: x turned around the axis r by the angle |r|."""
    square = np.sum(r * r)
    if square == 0.0:
        return x + np.cross(r, x)
    theta = np.sqrt(square)
    axis = r / theta
    turned = x * np.cos(theta) + np.cross(axis, x) * np.sin(theta)
    return turned + axis * (np.dot(axis, x) * (1.0 - np.cos(theta)))


def residual(cam: Array, x: Array, w: float, feat: Array) -> Array:
    """cam: rotation (3), centre (3), focal length, principal point (2), radial distortion (2)."""
    seen = rotate(cam[0:3], x - cam[3:6])
    p = seen[:2] / seen[2]
    rho = np.sum(p * p)
    p = p * (1.0 + cam[9] * rho + cam[10] * rho * rho)
    return w * (cam[6] * p + cam[7:9] - feat)


def objective(
    cams: Cameras, points: Points, weights: Weights, feats: Features
) -> tuple[Array, Array]:
    """The residuals of all observations: the i-th is of camera i mod n and point i mod m."""
    n, m = len(cams), len(points)
    errors = np.array([
        residual(cams[i % n], points[i % m], weights[i], feats[i]) for i in range(len(weights))
    ])  # fmt: skip
    return errors, 1.0 - weights * weights


def jacobian(cams: Cameras, points: Points, weights: Weights, feats: Features) -> Any:
    """Compressed rows (row starts, columns, values): two rows of 15 entries an observation, then a
    row of one entry for each weight."""
    n, m, p = len(cams), len(points), len(weights)
    starts = np.empty(3 * p + 1, dtype=np.int64)
    columns = np.empty(31 * p, dtype=np.int64)
    values = np.empty(31 * p)
    for i in range(p):
        c, x = i % n, i % m
        by_cam, by_point, by_weight = jacfwd(residual, (0, 1, 2))(
            cams[c], points[x], weights[i], feats[i]
        )
        for row in range(2):
            at = 30 * i + 15 * row
            starts[2 * i + row] = at
            for k in range(11):
                columns[at + k] = 11 * c + k
                values[at + k] = by_cam[row, k]
            for k in range(3):
                columns[at + 11 + k] = 11 * n + 3 * x + k
                values[at + 11 + k] = by_point[row, k]
            columns[at + 14] = 11 * n + 3 * m + i
            values[at + 14] = by_weight[row]
        starts[2 * p + i] = 30 * p + i
        columns[30 * p + i] = 11 * n + 3 * m + i
        values[30 * p + i] = -2.0 * weights[i]
    starts[3 * p] = 31 * p
    return starts, columns, values


def arguments(given: Any) -> tuple[Any, ...]:
    """One camera, point, weight and feature, each copied."""
    n, m, p = given["n"], given["m"], given["p"]
    return (
        np.tile(np.array(given["cam"], float), (n, 1)),
        np.tile(np.array(given["x"], float), (m, 1)),
        np.full(p, float(given["w"])),
        np.tile(np.array(given["feat"], float), (p, 1)),
    )


def tell_residuals(result: tuple[Array, Array]) -> Any:
    errors, excess = result
    return {
        "reproj_error": {"elements": errors[0].tolist(), "repeated": len(errors)},
        "w_err": {"element": float(excess[0]), "repeated": len(excess)},
    }


def tell_matrix(result: tuple[Array, Array, Array]) -> Any:
    """Of each array the first thirty and the last."""
    names = ("rows", "cols", "vals")
    return {
        name: [*part[:30].tolist(), part[-1].item()]
        for name, part in zip(names, result, strict=True)
    }


MODULE = Module(
    arguments,
    {
        "objective": Question(jit(objective), tell_residuals),
        "jacobian": Question(jit(jacobian), tell_matrix),
    },
)
