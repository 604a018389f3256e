"""Hand tracking: how far a posed hand is from observed points.

A hand has 22 bones; the pose θ holds 26 numbers: a rotation, a translation, and four angles for
each of five fingers. A bone's matrix is its parent's, times its own place at rest, times the
rotation by its angles; a vertex is the mean, by its weights, of where the bones take it.
"Simple": a residual is an observed point minus its vertex. "Complicated": minus the point of a
triangle of vertices, whose place u in the triangle, two numbers for each point, is unknown too.
The derivative is the Jacobian of the residuals by θ (26 columns), and by each residual's own u
(two more): many rows, few columns, so that forward mode with all directions at once is right.
"""

import numpy as np
from scipy.spatial.transform import Rotation

import tapeless as tp
from benchmarks.gradients.program import Example
from tapeless.gradbench.programs.ht import by_pose_and_own_us, complicated, simple


def skeleton(rng):
    """Parents, relative places and inverse absolute places of 22 bones: a wrist, five fingers of
    four bones, a forearm."""
    parents = np.array([-1, *(0 if b % 4 == 1 else b - 1 for b in range(1, 21)), 0])
    relatives = np.tile(np.eye(4), (22, 1, 1))
    relatives[:, :3, :3] = Rotation.random(22, rng).as_matrix()
    relatives[:, :3, 3] = 0.3 * rng.standard_normal((22, 3))
    absolutes = relatives.copy()
    for b in range(1, 22):
        absolutes[b] = absolutes[parents[b]] @ relatives[b]
    return parents, relatives, np.linalg.inv(absolutes)


def arguments(rng, vertices, correspondences, with_us):
    parents, relatives, inverses = skeleton(rng)
    weights = np.zeros((vertices, 22))
    for row in weights:
        row[rng.choice(22, 4, replace=False)] = rng.dirichlet(np.ones(4))
    model = {
        "parents": parents, "base_relatives": relatives, "inverse_base_absolutes": inverses,
        "base_positions": np.c_[rng.standard_normal((vertices, 3)), np.ones(vertices)],
        "weights": weights, "is_mirrored": False,
        "triangles": rng.integers(0, vertices, (2 * vertices, 3)),
    }  # fmt: skip
    us = rng.random((correspondences if with_us else 0, 2))
    found = rng.integers(0, vertices, correspondences)
    points = rng.standard_normal((correspondences, 3))
    return 0.5 * rng.standard_normal(26), us, model, found, points


EXAMPLES = [
    Example(
        "hand", simple, tp.jacfwd(simple), arguments, (30, 6, False), (544, 200, False), 6.0
    ),
    Example(
        "hand complicated", complicated, tp.jit(by_pose_and_own_us), arguments,
        (30, 6, True), (544, 200, True), 6.0,
    ),
]  # fmt: skip
