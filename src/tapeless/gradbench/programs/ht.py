"""Hand tracking: how far a posed hand is from observed points, and the Jacobian by the pose."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from tapeless.api.derivatives import jacfwd
from tapeless.forms.elements import f64
from tapeless.gradbench.question import Module, Question

Array = Any
Us = Annotated[Any, f64["c", 2]]


def from_axis(r: Array) -> Array:
    """The matrix that turns around the axis r by the angle |r|."""
    theta = np.sqrt(np.sum(r * r))
    if theta < 1e-4:
        return np.eye(3)
    x, y, z = r[0] / theta, r[1] / theta, r[2] / theta
    s, c = np.sin(theta), np.cos(theta)
    v = 1.0 - c
    return np.array([
        [x * x * v + c, x * y * v - z * s, x * z * v + y * s],
        [x * y * v + z * s, y * y * v + c, y * z * v - x * s],
        [x * z * v - y * s, y * z * v + x * s, z * z * v + c],
    ])  # fmt: skip


def from_angles(a: Array) -> Array:
    """Rz(a1)·Ry(a2)·Rx(a0)."""
    sx, cx = np.sin(a[0]), np.cos(a[0])
    sz, cz = np.sin(a[1]), np.cos(a[1])
    sy, cy = np.sin(a[2]), np.cos(a[2])
    return np.array([
        [cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx],
        [sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx],
        [-sy, cy * sx, cy * cx],
    ])  # fmt: skip


def bone_angles(theta: Array) -> Array:
    """Three angles a bone. A finger has four bones and four numbers: the first bone is stiff, the
    second turns two ways, the third and the fourth bend."""
    angles = np.zeros((22, 3))
    for finger in range(5):
        bone, at = 1 + 4 * finger, 6 + 4 * finger
        angles[bone + 1, 0] = theta[at]
        angles[bone + 1, 1] = theta[at + 1]
        angles[bone + 2, 0] = theta[at + 2]
        angles[bone + 3, 0] = theta[at + 3]
    return angles


def bone_moves(theta: Array, model: dict[str, Any]) -> Array:
    """For every bone the 4×4 matrix that moves its part of the hand from its place at rest. A bone
    goes with its parent, which comes before it; the first one has none."""
    parents = model["parents"]
    bones = len(parents)
    angles = bone_angles(theta)
    relative, inverse = np.empty((bones, 4, 4)), np.empty((bones, 4, 4))
    relative[:] = model["base_relatives"]
    inverse[:] = model["inverse_base_absolutes"]
    absolute, moves = np.empty((bones, 4, 4)), np.empty((bones, 4, 4))
    for b in range(bones):
        turn = np.eye(4)
        turn[:3, :3] = from_angles(angles[b])
        own = relative[b] @ turn
        absolute[b] = own if parents[b] < 0 else absolute[parents[b]] @ own
        moves[b] = absolute[b] @ inverse[b]
    return moves


def place(vertex: int, moves: Array, model: dict[str, Any]) -> Array:
    """Where a vertex is before the hand moves: the mean of where its bones take it."""
    at = np.zeros(3)
    for b in range(len(moves)):
        at += model["weights"][vertex, b] * (moves[b, :3] @ model["base_positions"][vertex])
    if model["is_mirrored"]:
        at[0] = -at[0]
    return at


def simple(theta: Array, us: Array, model: dict[str, Any], found: Array, points: Array) -> Array:
    """How far each point is from its vertex. There is no `us`."""
    moves = bone_moves(theta, model)
    turn = from_axis(theta[:3])
    errors = np.empty(points.shape)
    for i in range(len(points)):
        errors[i] = points[i] - turn @ place(found[i], moves, model) - theta[3:6]
    return errors.ravel()


def gap(u: Array, theta: Array, turn: Array, moves: Array, model: dict[str, Any], corners: Array,
        point: Array) -> Array:  # fmt: skip
    """How far a point is from the point `u` of a triangle."""
    shares = np.array([u[0], u[1], 1.0 - u[0] - u[1]])
    at = np.zeros(3)
    for k in range(3):
        at += shares[k] * place(corners[k], moves, model)
    return point - turn @ at - theta[3:6]


def complicated(
    theta: Array, us: Array, model: dict[str, Any], found: Array, points: Array
) -> Array:
    """How far each point is from the point `us` of its triangle."""
    moves = bone_moves(theta, model)
    turn = from_axis(theta[:3])
    errors = np.empty(points.shape)
    for i in range(len(points)):
        corners = model["triangles"][found[i]]
        errors[i] = gap(us[i], theta, turn, moves, model, corners, points[i])
    return errors.ravel()


def by_pose_and_own_us(
    theta: Array, us: Us, model: dict[str, Any], found: Array, points: Array
) -> Array:
    """Each residual depends on its own `us` only: two columns serve them all."""
    moves = bone_moves(theta, model)
    turn = from_axis(theta[:3])
    by_us = np.empty((len(points), 3, 2))
    for i in range(len(points)):
        corners = model["triangles"][found[i]]
        by_us[i] = jacfwd(gap)(us[i], theta, turn, moves, model, corners, points[i])
    by_theta = jacfwd(complicated)(theta, us, model, found, points)
    return np.concatenate([by_us.reshape(-1, 2), by_theta], axis=1)


def objective(theta: Array, us: Array, *hand: Any) -> Array:
    return complicated(theta, us, *hand) if len(us) else simple(theta, us, *hand)


def jacobian(theta: Array, us: Us, *hand: Any) -> Array:
    return by_pose_and_own_us(theta, us, *hand) if len(us) else jacfwd(simple)(theta, us, *hand)


def arguments(given: Any) -> tuple[Any, ...]:
    data = given["data"]
    floats = ("base_relatives", "inverse_base_absolutes", "base_positions", "weights")
    model: dict[str, Any] = {name: np.array(data["model"][name], float) for name in floats}
    model |= {name: np.array(data["model"][name], int) for name in ("parents", "triangles")}
    model["is_mirrored"] = bool(data["model"]["is_mirrored"])
    us = np.array(given["us"], float).reshape(-1, 2)
    points = np.array(data["points"], float)
    return (
        np.array(given["theta"], float),
        us,
        model,
        np.array(data["correspondences"], int),
        points,
    )


MODULE = Module(arguments, {"objective": Question(objective), "jacobian": Question(jacobian)})
