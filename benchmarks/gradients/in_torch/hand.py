"""Hand tracking: only the vertices that are asked for are placed, and tangents of all directions go
through at once."""

import numpy as np
import torch

from benchmarks.gradients.in_torch import eager


def from_axis(r):
    square = torch.sum(r * r)
    is_small = square < 1e-8
    theta = torch.sqrt(torch.where(is_small, 1.0, square))
    x, y, z = r / theta
    o = torch.zeros_like(x)
    cross = torch.stack([o, -z, y, z, o, -x, -y, x, o]).reshape(3, 3)
    turned = torch.eye(3) + torch.sin(theta) * cross + (1.0 - torch.cos(theta)) * cross @ cross
    return torch.where(is_small, torch.eye(3), turned)


def from_angles(angles):
    """Rz(a1)·Ry(a2)·Rx(a0) of every bone, as matrices of four rows."""
    (sx, sz, sy), (cx, cz, cy) = torch.sin(angles).T, torch.cos(angles).T
    zero, one = torch.zeros_like(sx), torch.ones_like(sx)
    rows = [
        cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx, zero,
        sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx, zero,
        -sy, cy * sx, cy * cx, zero, zero, zero, zero, one,
    ]  # fmt: skip
    return torch.stack(rows, dim=1).reshape(-1, 4, 4)


JOINTS = ((1, 0, 0), (1, 1, 1), (2, 0, 2), (3, 0, 3))  # joint of a finger, axis, number
PLACES = [3 * (1 + joint + 4 * finger) + axis for finger in range(5) for joint, axis, _ in JOINTS]


def moves(theta, parents, model):
    """What moves each bone from its place at rest."""
    angles = torch.zeros(66).index_put((torch.tensor(PLACES),), theta[6:]).reshape(22, 3)
    own = model["base_relatives"] @ from_angles(angles)
    absolute = []
    for b, parent in enumerate(parents):
        absolute.append(own[b] if parent < 0 else absolute[parent] @ own[b])
    return torch.stack(absolute) @ model["inverse_base_absolutes"]


def placed(theta, parents, model, vertices):
    """Where the posed hand has these vertices."""
    weights, rest = model["weights"][vertices], model["base_positions"][vertices]
    blended = torch.tensordot(weights, moves(theta, parents, model)[:, :3], 1)
    at = torch.einsum("...rc,...c->...r", blended, rest) * model["mirror"]
    return at @ from_axis(theta[:3]).T + theta[3:6]


def hand(theta, us, model, found, points):
    parents = model["parents"].tolist()
    kept = ("base_relatives", "inverse_base_absolutes", "weights", "base_positions")
    data = {name: model[name] for name in kept}
    data["mirror"] = np.array([-1.0 if model["is_mirrored"] else 1.0, 1.0, 1.0])

    def simple(theta, us, data, found, points):
        return (points - placed(theta, parents, data, found)).ravel()

    def complicated(theta, us, data, corners, points):
        shares = torch.cat([us, 1.0 - torch.sum(us, dim=1, keepdim=True)], dim=1)
        at = placed(theta, parents, data, corners)
        return (points - torch.sum(shares[:, :, None] * at, dim=1)).ravel()

    def by_own_us(theta, us, *rest):
        def along(own, pose):
            def errors(theta, us):
                return complicated(theta, us, *rest)

            return torch.func.jvp(errors, (theta, us), (pose, own.expand(us.shape)))[1]

        seeds = torch.eye(28)
        return torch.func.vmap(along, out_dims=1)(seeds[:, :2], seeds[:, 2:])

    if len(us):
        corners = model["triangles"][found]
        return eager(complicated, by_own_us, (theta, us, data, corners, points))
    return eager(simple, torch.func.jacfwd(simple), (theta, us, data, found, points))


PEERS = {"hand": hand, "hand complicated": hand}
