"""Bundle adjustment: where cameras see points, against where they were observed."""

import math

import numpy as np

from benchmarks.program import Program, prange


def project(r, c, f, u, k, x):
    ox, oy, oz = x[0] - c[0], x[1] - c[1], x[2] - c[2]
    theta = math.sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2])
    ax, ay, az = r[0] / theta, r[1] / theta, r[2] / theta
    co, si = math.cos(theta), math.sin(theta)
    along = (ax * ox + ay * oy + az * oz) * (1.0 - co)
    px = ox * co + (ay * oz - az * oy) * si + ax * along
    py = oy * co + (az * ox - ax * oz) * si + ay * along
    pz = oz * co + (ax * oy - ay * ox) * si + az * along
    px = px / pz
    py = py / pz
    rho = px * px + py * py
    lens = 1.0 + rho * (k[0] + k[1] * rho)
    return f * px * lens + u[0], f * py * lens + u[1]


def bundle(cameras, points, weights, observed, pairs):
    n = weights.size
    residual = np.empty((n, 2))
    excess = np.empty(n)
    for i in range(n):
        cam = cameras[pairs[i, 0]]
        px, py = project(cam[0:3], cam[3:6], cam[6], cam[7:9], cam[9:11], points[pairs[i, 1]])
        residual[i, 0] = weights[i] * (px - observed[i, 0])
        residual[i, 1] = weights[i] * (py - observed[i, 1])
        excess[i] = 1.0 - weights[i] * weights[i]
    return residual, excess


def bundle_numpy(cameras, points, weights, observed, pairs):
    cam = cameras[pairs[:, 0]]
    o = points[pairs[:, 1]] - cam[:, 3:6]
    theta = np.sqrt(np.sum(cam[:, :3] ** 2, axis=1))[:, None]
    axis = cam[:, :3] / theta
    along = np.sum(axis * o, axis=1)[:, None] * (1.0 - np.cos(theta))
    p = o * np.cos(theta) + np.cross(axis, o) * np.sin(theta) + axis * along
    p = p[:, :2] / p[:, 2:]
    rho = np.sum(p * p, axis=1)
    p *= (cam[:, 6] * (1.0 + rho * (cam[:, 9] + cam[:, 10] * rho)))[:, None]
    p += cam[:, 7:9]
    p -= observed
    p *= weights[:, None]
    return p, 1.0 - weights * weights


def bundle_parallel(cameras, points, weights, observed, pairs):
    n = weights.size
    residual = np.empty((n, 2))
    excess = np.empty(n)
    for i in prange(n):
        a = pairs[i, 0]
        b = pairs[i, 1]
        ox = points[b, 0] - cameras[a, 3]
        oy = points[b, 1] - cameras[a, 4]
        oz = points[b, 2] - cameras[a, 5]
        rx, ry, rz = cameras[a, 0], cameras[a, 1], cameras[a, 2]
        theta = math.sqrt(rx * rx + ry * ry + rz * rz)
        ax, ay, az = rx / theta, ry / theta, rz / theta
        co, si = math.cos(theta), math.sin(theta)
        along = (ax * ox + ay * oy + az * oz) * (1.0 - co)
        px = ox * co + (ay * oz - az * oy) * si + ax * along
        py = oy * co + (az * ox - ax * oz) * si + ay * along
        pz = oz * co + (ax * oy - ay * ox) * si + az * along
        px = px / pz
        py = py / pz
        rho = px * px + py * py
        lens = cameras[a, 6] * (1.0 + rho * (cameras[a, 9] + cameras[a, 10] * rho))
        residual[i, 0] = weights[i] * (lens * px + cameras[a, 7] - observed[i, 0])
        residual[i, 1] = weights[i] * (lens * py + cameras[a, 8] - observed[i, 1])
        excess[i] = 1.0 - weights[i] * weights[i]
    return residual, excess


C = """
void kernel(const double *restrict cameras, const double *restrict points,
            const double *restrict weights, const double *restrict observed,
            const int64_t *restrict pairs, int64_t n,
            double *restrict residual, double *restrict excess) {
    #pragma omp parallel for
    for (int64_t i = 0; i < n; i++) {
        const double *c = cameras + 11 * pairs[2 * i], *x = points + 3 * pairs[2 * i + 1];
        double ox = x[0] - c[3], oy = x[1] - c[4], oz = x[2] - c[5];
        double theta = sqrt(c[0] * c[0] + c[1] * c[1] + c[2] * c[2]);
        double ax = c[0] / theta, ay = c[1] / theta, az = c[2] / theta;
        double co = cos(theta), si = sin(theta);
        double along = (ax * ox + ay * oy + az * oz) * (1 - co);
        double px = ox * co + (ay * oz - az * oy) * si + ax * along;
        double py = oy * co + (az * ox - ax * oz) * si + ay * along;
        double pz = oz * co + (ax * oy - ay * ox) * si + az * along;
        px /= pz;
        py /= pz;
        double rho = px * px + py * py, lens = c[6] * (1 + rho * (c[9] + c[10] * rho));
        residual[2 * i] = weights[i] * (lens * px + c[7] - observed[2 * i]);
        residual[2 * i + 1] = weights[i] * (lens * py + c[8] - observed[2 * i + 1]);
        excess[i] = 1 - weights[i] * weights[i];
    }
}
"""


def arguments(rng, cameras, points, observations):
    cam = rng.standard_normal((cameras, 11))
    cam[:, :3] *= 0.2
    cam[:, 5] += 10.0  # everything lies on one side of the cameras
    pairs = np.stack([np.arange(observations) % cameras, np.arange(observations) % points], axis=1)
    return (
        cam, rng.standard_normal((points, 3)), rng.random(observations),
        rng.standard_normal((observations, 2)), pairs,
    )  # fmt: skip


PROGRAM = Program(
    name="bundle",
    source=bundle,
    numpy=bundle_numpy,
    numba=(bundle_parallel,),
    c=C,
    dims=lambda cameras, points, weights, observed, pairs: (weights.size,),
    outputs=lambda cameras, points, weights, observed, pairs: (
        np.empty((weights.size, 2)),
        np.empty(weights.size),
    ),
    arguments=arguments,
    sizes={"small": (10, 100, 500), "large": (49, 7_776, 200_000)},
    tol=1e-8,
    exponential=True,
)
