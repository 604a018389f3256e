"""Bundle adjustment: a Jacobian for every observation, joined to compressed rows."""

import jax
import jax.numpy as jnp

from benchmarks.gradients.in_jax import compiled


def rotate(r, x):
    square = jnp.sum(r * r)
    is_zero = square == 0.0
    theta = jnp.sqrt(jnp.where(is_zero, 1.0, square))  # not NaN on the side that is not taken
    axis = r / theta
    turned = x * jnp.cos(theta) + jnp.cross(axis, x) * jnp.sin(theta)
    turned += axis * (jnp.dot(axis, x) * (1.0 - jnp.cos(theta)))
    return jnp.where(is_zero, x + jnp.cross(r, x), turned)


def residual(cam, x, w, feat):
    seen = rotate(cam[0:3], x - cam[3:6])
    p = seen[:2] / seen[2]
    rho = jnp.sum(p * p)
    p = p * (1.0 + cam[9] * rho + cam[10] * rho * rho)
    return w * (cam[6] * p + cam[7:9] - feat)


def spread(cams, points, weights):
    """The camera and the point of every observation, by number."""
    at = jnp.arange(weights.size)
    return at, at % cams.shape[0], at % points.shape[0]


def objective(cams, points, weights, feats):
    _, c, x = spread(cams, points, weights)
    return jax.vmap(residual)(cams[c], points[x], weights, feats), 1.0 - weights * weights


def jacobian(cams, points, weights, feats):
    at, c, x = spread(cams, points, weights)
    n, m, p = cams.shape[0], points.shape[0], weights.size
    blocks = jax.vmap(jax.jacfwd(residual, (0, 1, 2)))(cams[c], points[x], weights, feats)
    by_cam, by_point, by_weight = blocks
    rows = jnp.concatenate([by_cam, by_point, by_weight[:, :, None]], axis=2)
    own = jnp.concatenate([
        11 * c[:, None] + jnp.arange(11), 11 * n + 3 * x[:, None] + jnp.arange(3),
        11 * n + 3 * m + at[:, None],
    ], axis=1)  # fmt: skip
    columns = jnp.repeat(own, 2, axis=0).ravel()
    starts = jnp.concatenate([15 * jnp.arange(2 * p), 30 * p + jnp.arange(p + 1)])
    return (
        starts, jnp.concatenate([columns, own[:, -1]]),
        jnp.concatenate([rows.ravel(), -2.0 * weights]),
    )  # fmt: skip


def ba(*args):
    return compiled(objective, jacobian, args)


PEERS = {"ba": ba}
