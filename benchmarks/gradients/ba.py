"""Bundle adjustment: where cameras see points, against where they were observed.

A camera has a rotation r (axis times angle), a centre C, a focal length f, a principal point (u, v)
and two coefficients of radial distortion k₁, k₂: eleven numbers. It sees the point X as

    Xc = R(r)·(X − C),   p = (Xc₀, Xc₁) / Xc₂,   ρ = |p|²,   seen = f·p·(1 + k₁ρ + k₂ρ²) + (u, v).

The residual of an observation is w·(seen − observed), two numbers, by Rodrigues' formula for R;
each weight w has a residual 1 − w² of its own. The derivative is the Jacobian of all residuals,
in compressed rows: two rows of 15 entries (camera, point, weight) for each observation, one of a
single entry for each weight.
"""

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
