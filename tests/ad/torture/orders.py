"""Derivatives of derivatives"""

from __future__ import annotations

import numpy as np

import tapeless as tp
from tests.ad.torture.program import program

X = np.array([0.7, -1.2, 1.9])


@program(3.0, truth=lambda x: 1.0)
def perturbations_not_confused(x):
    """d/dx (x · d/dy (x + y)) = 1."""
    return x * tp.grad(lambda y: x + y)(1.0)


@program(2.0, truth=lambda x: 1.0 + 2 * x)
def perturbations_not_confused_forward(x):
    """d/dx (x · d/dy (x·y + y)) with the inner one forward."""
    return x * tp.jvp(lambda y: x * y + y, (1.0,), (1.0,))[1]


@program(0.5, truth=lambda x: -np.cos(x))
def third_derivative(x):
    """sin‴ = −cos; the gradient of the second derivative."""
    return tp.grad(tp.grad(np.sin))(x)


@program(1.3, truth=lambda x: 120.0)
def fifth_derivative(x):
    """Four derivatives of x⁵ inside, one outside."""
    return tp.grad(tp.grad(tp.grad(tp.grad(lambda v: v**5))))(x)


@program(X, truth=lambda x: np.full(3, 6.0))
def trace_of_a_hessian(x):
    """The gradient of Δ Σ x³."""
    return np.trace(tp.hessian(lambda v: np.sum(v**3))(x))


def cubed(v):
    return v * v * v


@program(X, truth=lambda x: 6 * x)
def gradient_in_a_map(x):
    """The slope of every element, summed."""
    return np.sum(np.array([tp.grad(cubed)(x[i]) for i in range(x.size)]))


def newton_step_truth(x, c):
    """Tangents by hand: x ← x − f/f'."""
    by_x, by_c = 1.0, 0.0
    for _ in range(4):
        f, slope, bend = x**3 - c * x - 1, 3 * x * x - c, 6 * x
        along_x = f * bend / slope**2
        by_x, by_c = by_x * along_x, by_c * along_x + x / slope - f / slope**2
        x = x - f / slope
    return by_x, by_c


@program(1.5, 0.8, wrt=(0, 1), truth=newton_step_truth)
def gradient_in_a_loop(x, c):
    """Newton's method with its own derivative, a few steps: differentiated through."""
    for _ in range(4):

        def f(v):
            return v * v * v - c * v - 1.0

        x = x - f(x) / tp.grad(f)(x)
    return x


@program(X, truth=lambda x: 12 * x * np.array([1.0, 2.0, 3.0]))
def product_with_a_hessian(x):
    """hvp inside a function."""
    v = np.array([1.0, 2.0, 3.0])
    return np.sum(tp.hvp(lambda y: np.sum(y**4), (x,), (v,))) / 2.0


@program(0.4)
def derivative_of_a_while(x):
    """The slope of a `while`, as a value that is used further."""

    def grown(v):
        while v < 5.0:
            v = v * v + 1.1 * v + 0.1
        return v

    value, slope = tp.value_and_grad(grown)(x)
    return np.log(slope) * value


@program(X)
def gradient_descent(x):
    """Steps of gradient descent on a captured function, differentiated by the start."""

    def energy(v):
        return np.sum(np.sin(v) ** 2) + v[0] * v[1] * v[2]

    for _ in range(3):
        x = x - 0.1 * tp.grad(energy)(x)
    return np.sum(x * x)


@program(X)
def jacobian_inside(x):
    """The determinant of a Jacobian."""

    def turn(v):
        return np.array([v[0] * v[1], np.sin(v[2]) + v[0], v[1] * v[2] * v[2]])

    return np.linalg.det(tp.jacrev(turn)(x)) + np.sum(tp.jacfwd(turn)(x) ** 2)


@program(np.array([0.3, 0.4, 0.9]))
def second_order_through_writes(x):
    """The squared gradient of a recurrence in place."""

    def run(a):
        for i in range(1, a.size):
            a[i] = a[i] * np.sin(a[i - 1]) + a[0]
        return np.sum(a * a)

    return np.sum(tp.grad(run)(x) ** 2)


@program(np.array([4.0, 0.0, -1.0]), truth=lambda x: np.array([-0.25 * 4**-1.5, 0.0, 0.0]))
def second_order_at_the_side_not_taken(x):
    """The slope of a masked root, differentiated again."""
    return np.sum(tp.grad(lambda v: np.sum(np.where(v > 0, np.sqrt(v), 0.0)))(x))


@program(1.2, 0.3, wrt=(0, 1))
def vjp_inside(a, b):
    """A pullback used twice."""
    out, back = tp.vjp(lambda u, v: (u * v, np.sin(u) * v), a, b)
    first = back((1.0, 0.0))
    second = back((out[0], 2.0))
    return first[0] * second[1] + second[0]


@program(0.7, truth=lambda x: 2 * np.cos(2 * x))
def linearized_inside(x):
    """The linear map at a point, applied."""
    out, push = tp.linearize(lambda v: np.sin(2 * v), x)
    return out * push(0.0) + np.sin(2 * x)
