"""Hand tracking: the skeleton is known to the compiler, only the vertices that are asked for are
placed, and tangents of all directions go through at once."""

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.gradients.in_jax import compiled


def from_axis(r):
    square = jnp.sum(r * r)
    is_small = square < 1e-8
    theta = jnp.sqrt(jnp.where(is_small, 1.0, square))
    x, y, z = r / theta
    cross = jnp.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    turned = jnp.eye(3) + jnp.sin(theta) * cross + (1.0 - jnp.cos(theta)) * cross @ cross
    return jnp.where(is_small, jnp.eye(3), turned)


def from_angles(angles):
    """Rz(a1)·Ry(a2)·Rx(a0) of every bone, as matrices of four rows."""
    (sx, sz, sy), (cx, cz, cy) = jnp.sin(angles).T, jnp.cos(angles).T
    zero, one = jnp.zeros_like(sx), jnp.ones_like(sx)
    rows = [
        [cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx, zero],
        [sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx, zero],
        [-sy, cy * sx, cy * cx, zero], [zero, zero, zero, one],
    ]  # fmt: skip
    return jnp.moveaxis(jnp.array(rows), 2, 0)


def moves(theta, parents, model):
    """What moves each bone from its place at rest."""
    fingers = theta[6:].reshape(5, 4)
    angles = jnp.zeros((22, 3))
    for joint, axis, number in ((1, 0, 0), (1, 1, 1), (2, 0, 2), (3, 0, 3)):
        angles = angles.at[1 + joint + 4 * np.arange(5), axis].set(fingers[:, number])
    own = model["base_relatives"] @ from_angles(angles)
    absolute = []
    for b, parent in enumerate(parents):
        absolute.append(own[b] if parent < 0 else absolute[parent] @ own[b])
    return jnp.stack(absolute) @ model["inverse_base_absolutes"]


def placed(theta, parents, model, vertices):
    """Where the posed hand has these vertices."""
    weights, rest = model["weights"][vertices], model["base_positions"][vertices]
    blended = jnp.tensordot(weights, moves(theta, parents, model)[:, :3], 1)
    at = jnp.einsum("...rc,...c->...r", blended, rest) * model["mirror"]
    return at @ from_axis(theta[:3]).T + theta[3:6]


def hand(theta, us, model, found, points):
    """Directions are tangents of (us of each point's own, theta); there are no us in the simple
    problem."""
    parents = model["parents"].tolist()
    kept = ("base_relatives", "inverse_base_absolutes", "weights", "base_positions")
    data = {name: model[name] for name in kept}
    data["mirror"] = np.array([-1.0 if model["is_mirrored"] else 1.0, 1.0, 1.0])

    def simple(theta, us, data, found, points):
        return (points - placed(theta, parents, data, found)).ravel()

    def complicated(theta, us, data, corners, points):
        shares = jnp.concatenate([us, 1.0 - jnp.sum(us, axis=1, keepdims=True)], axis=1)
        at = placed(theta, parents, data, corners)
        return (points - jnp.sum(shares[:, :, None] * at, axis=1)).ravel()

    def by_own_us(theta, us, *rest):
        def along(own, pose):
            seed = jnp.broadcast_to(own, us.shape)

            def errors(theta, us):
                return complicated(theta, us, *rest)

            return jax.jvp(errors, (theta, us), (pose, seed))[1]

        seeds = jnp.eye(28)
        return jax.vmap(along, out_axes=1)(seeds[:, :2], seeds[:, 2:])

    if len(us):
        corners = model["triangles"][found]
        return compiled(complicated, by_own_us, (theta, us, data, corners, points))
    return compiled(simple, jax.jacfwd(simple), (theta, us, data, found, points))


PEERS = {"hand": hand, "hand complicated": hand}
