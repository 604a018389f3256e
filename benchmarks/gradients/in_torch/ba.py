"""Bundle adjustment: a Jacobian for every observation, joined to compressed rows."""

import torch

from benchmarks.gradients.in_torch import eager


def rotate(r, x):
    square = torch.sum(r * r)
    is_zero = square == 0.0
    theta = torch.sqrt(torch.where(is_zero, 1.0, square))  # not NaN on the side that is not taken
    axis = r / theta
    turned = x * torch.cos(theta) + torch.linalg.cross(axis, x) * torch.sin(theta)
    turned = turned + axis * (torch.dot(axis, x) * (1.0 - torch.cos(theta)))
    return torch.where(is_zero, x + torch.linalg.cross(r, x), turned)


def residual(cam, x, w, feat):
    seen = rotate(cam[0:3], x - cam[3:6])
    p = seen[:2] / seen[2]
    rho = torch.sum(p * p)
    p = p * (1.0 + cam[9] * rho + cam[10] * rho * rho)
    return w * (cam[6] * p + cam[7:9] - feat)


def spread(cams, points, weights):
    """The camera and the point of every observation, by number."""
    at = torch.arange(len(weights))
    return at, at % len(cams), at % len(points)


def objective(cams, points, weights, feats):
    _, c, x = spread(cams, points, weights)
    return torch.func.vmap(residual)(cams[c], points[x], weights, feats), 1.0 - weights * weights


def jacobian(cams, points, weights, feats):
    at, c, x = spread(cams, points, weights)
    n, m, p = len(cams), len(points), len(weights)
    blocks = torch.func.vmap(torch.func.jacrev(residual, (0, 1, 2)))
    by_cam, by_point, by_weight = blocks(cams[c], points[x], weights, feats)
    rows = torch.cat([by_cam, by_point, by_weight[:, :, None]], dim=2)
    own = torch.cat([
        11 * c[:, None] + torch.arange(11), 11 * n + 3 * x[:, None] + torch.arange(3),
        11 * n + 3 * m + at[:, None],
    ], dim=1)  # fmt: skip
    columns = torch.repeat_interleave(own, 2, dim=0).ravel()
    starts = torch.cat([15 * torch.arange(2 * p), 30 * p + torch.arange(p + 1)])
    return (
        starts, torch.cat([columns, own[:, -1]]), torch.cat([rows.ravel(), -2.0 * weights])
    )  # fmt: skip


def ba(*args):
    return eager(objective, jacobian, args)


PEERS = {"ba": ba}
