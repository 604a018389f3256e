"""Bundle adjustment: the Jacobian of all residuals in compressed rows (the program is in
tapeless.gradbench)."""

import numpy as np

import tapeless as tp
from benchmarks.gradients.program import Example
from tapeless.gradbench.programs.ba import jacobian, objective


def arguments(rng, cameras, points, observations):
    cams = rng.standard_normal((cameras, 11))
    cams[:, :3] *= 0.2
    cams[:, 5] += 10.0  # everything lies on one side of the cameras
    cams[:, 9:] *= np.array([1e-2, 1e-3])
    feats = rng.standard_normal((observations, 2))
    return cams, rng.standard_normal((points, 3)), rng.random(observations), feats


EXAMPLES = [
    Example(
        "ba", objective, tp.jit(jacobian), arguments, (3, 5, 12), (49, 7_776, 31_843), 6.0
    )
]  # fmt: skip
