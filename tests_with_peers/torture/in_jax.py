"""Programs of the torture suite in JAX: pure, under `jit`, with `scan`, `cond`, `while_loop`,
`vmap` and `where` in the place of loops and branches."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax


def each(f, x):
    return jnp.sum(jax.vmap(f)(x))


def folded(step, start, xs):
    """A loop over the rows of `xs`."""
    return lax.scan(lambda carry, x: (step(carry, x), None), start, xs)[0]


# Choices


def if_around_a_root(x):
    def step(total, v):
        return total + lax.cond(v > 0.0, jnp.sqrt, lambda v: 0.0 * v, v)

    return folded(step, 0.0, x)


def ternary_around_a_root(x):
    return each(lambda v: lax.cond(v > 0.0, jnp.sqrt, jnp.zeros_like, v), x)


def generator_clause_around_a_root(x):
    return jnp.sum(jnp.sqrt(x), where=x > 0.0)


def bracket_around_a_root(x):
    return jnp.sum((x > 0.0) * jnp.sqrt(x))


def where_around_a_root(x):
    return jnp.sum(jnp.where(x > 0, jnp.sqrt(x), 0.0))


def where_around_a_logarithm(x):
    return jnp.sum(jnp.where(x > 0, x * jnp.log(x), x))


def where_around_a_chain(x):
    return jnp.sum(jnp.where(x == 0.0, 1.0, 1.0 / jnp.sqrt(jnp.abs(x))))


def where_inside_where(x):
    return jnp.sum(jnp.where(x > 1, jnp.sqrt(x), jnp.where(x > 0, -jnp.log(x), 0.0)))


def where_after_a_long_way(x):
    q = 1.0 / x
    return jnp.sum(jnp.where(x > 0, jnp.log(1.0 / q), 0.0))


def one_root_for_two_choices(x):
    r = jnp.sqrt(x)
    a = jnp.where(x > 0, r, 0.0)
    b = jnp.where(r > 1.0, r * x, 1.0)
    return jnp.sum(a + b * 0.5 + a * b * 0.0)


def clipped_logarithm(x):
    return jnp.sum(jnp.maximum(jnp.log(x), -10.0))


def overflow_on_the_side_not_taken(x):
    return jnp.sum(jnp.where(x < 100.0, jnp.exp(x), x))


def missing_data_masked(y, m):
    return jnp.sum(jnp.where(jnp.isnan(y), 0.0, (y - m) ** 2))


def norm_or_zero(x):
    s = jnp.sum(x * x)
    return jnp.where(s > 0.0, jnp.sqrt(s), 0.0)


def norm_at_the_origin(x):
    s = jnp.sum(x * x)
    return lax.cond(s > 0.0, jnp.sqrt, jnp.zeros_like, s)


def sum_of_logarithms_or_zero(x):
    def one(v):
        logs = lax.fori_loop(0, 2, lambda _, total: total + jnp.log(v) * 0.5, 0.0)
        return jnp.where(v > 0.0, logs, 0.0)

    return each(one, x)


def entropy_with_a_zero(p):
    return jnp.sum(jnp.where(p > 0.0, p * jnp.log(p), 0.0))


def ties_of_min_and_max(x, y):
    return 5 * jnp.minimum(x, y) + 8 * jnp.maximum(x, y) + jnp.minimum(x, y) - jnp.maximum(x, y)


def tie_of_the_greatest(x):
    return jnp.max(x)


def kink_of_abs(x):
    return jnp.sum(jnp.abs(x))


def sorted_with_ties(x):
    return jnp.sum(jnp.sort(x) * jnp.arange(1.0, 5.0))


def product_with_one_zero(x):
    return jnp.prod(x)


def product_with_two_zeros(x):
    return jnp.prod(x)


def argmin_then_gather(x, y):
    return y[jnp.argmin(x)] ** 2


def clipped(x):
    return jnp.sum(jnp.clip(x, 0.0, 2.0)) + 0.0 * jnp.sum(jnp.floor(x) + jnp.sign(x))


def power_at_zero(x, p):
    return jnp.sum(x**p)


def xlogy_at_zero(x, y):
    return jnp.sum(jax.scipy.special.xlogy(x, y))


def greatest_of_masked_logarithms(x):
    return jnp.max(jnp.where(x > 0, jnp.log(x), -10.0))


def cross_entropy_of_the_certain(x):
    p = jnp.clip(x, 1e-9, 1 - 1e-9)
    return jnp.sum(x * jnp.log(p) + (1 - x) * jnp.log(1 - p))


def choice_of_three(x):
    total = jnp.sum(jnp.where(x > 0, jnp.sqrt(x), 0.0))
    return total + jnp.sum(jnp.select([x > 1, x > 0], [jnp.log(x), jnp.sqrt(x)], 0.0))


# Control flow


def while_doubling(x):
    return lax.while_loop(lambda c: c < 10.0, lambda c: c * x, 1.0)


def newton(c):
    return lax.while_loop(
        lambda x: jnp.abs(x * x - c) > 1e-14 * c, lambda x: 0.5 * (x + c / x), 1.0
    )


def skipping_with_continue(x):
    def step(total, v):
        more = total * (v + 1.0)
        more = jnp.where(more > 3.0, more, more + v * v)
        return jnp.where(v < 0.0, total, more)

    return folded(step, 1.0, x)


def stopping_with_break(x):
    def step(state, v):
        total, is_over = state
        more = total + v * v
        stops = more > 2.0
        new = jnp.where(stops, more, jnp.sin(more))
        return jnp.where(is_over, total, new), is_over | stops

    return folded(step, (0.0, False), x)[0] * 2


def while_inside_a_map(x):
    def halve(v):
        return lax.while_loop(lambda v: v > 1.0, lambda v: v * 0.5 * jnp.cos(v * 0.1), v)

    return each(halve, x)


def trip_count_from_data(x, c):
    n = c.astype(int) + 1
    return lax.fori_loop(0, n, lambda i, total: total + x[i] * c**i, 0.0)


def long_loop(x, n):
    return lax.fori_loop(0, n, lambda _, p: p * x, 1.0)


# Values that are overwritten


def read_then_overwritten(x, b):
    def step(state, _):
        total, b = state
        return total + x * b, b + 100.0

    return folded(step, (0.0, b), jnp.arange(4))[0]


def recurrence_in_place(a, x):
    def step(i, a):
        return a.at[i].set(a[i - 1] * x[i] / 2 + a[i])

    a = lax.fori_loop(1, a.size, step, a)
    return jnp.sum(a * a)


def squared_in_place(x):
    def step(k, x):
        i = k % x.size
        return x.at[i].set(jnp.sin(x[i]) * x[(i + 1) % x.size])

    return jnp.sum(lax.fori_loop(0, 3 * x.size, step, x))


def index_from_the_array_written(a, v):
    def step(k, a):
        return a.at[a[k].astype(int)].set(v * a[k] + 0.3)

    return jnp.sum(lax.fori_loop(0, a.size, step, a) ** 3)


def overlapping_slices(u, a):
    def step(_, u):
        return u.at[1:-1].set(u[1:-1] - a * u[1:-1] * (u[2:] - u[:-2]))

    u = lax.fori_loop(0, 4, step, u)
    return jnp.sum(u * u)


def constant_written_over(x):
    x = x.at[2].set(5.0)
    return jnp.sum(x * x)


# Indices


def gather_with_repeats(x, k):
    return jnp.sum(jnp.sin(x[k]) * jnp.arange(6.0))


def scatter_with_duplicates(x, v, k):
    return jnp.sum(x.at[k].set(v) ** 2)


def scatter_out_of_range(x, v, k):
    return jnp.sum(jnp.exp(x.at[jnp.where(k < 0, x.size, k)].set(v, mode="drop")))


def histogram_by_product(x, v, k):
    return jnp.sum(x.at[k].multiply(v) ** 2)


def histogram_by_maximum(x, v, k):
    return jnp.sum(x.at[k].max(v) ** 3)


def masks(x):
    y = jnp.where(x > 0, x**2, jnp.cos(x))
    return jnp.sum(y**3, where=y > 0.6) + jnp.sum(x, where=x < 0)


def cumulative(x):
    total = jnp.sum(jnp.cumsum(x) ** 2) + jnp.sum(jnp.cumprod(x))
    return total + jnp.sum(lax.cummax(x) * jnp.arange(5.0))


# Folds, derivatives of derivatives, methods


def scan_of_products_with_zeros(a):
    return jnp.sum(jnp.cumprod(a))


def scan_of_linear_maps(a, b):
    def after(p, q):
        return p[0] * q[0], p[1] * q[0] + q[1]

    slopes, starts = lax.associative_scan(after, (a, b))
    return jnp.sum(slopes**2) + jnp.sum(starts * jnp.arange(4.0))


def perturbations_not_confused(x):
    return x * jax.grad(lambda y: x + y)(1.0)


def fifth_derivative(x):
    return jax.grad(jax.grad(jax.grad(jax.grad(lambda v: v**5))))(x)


def second_order_at_the_side_not_taken(x):
    return jnp.sum(jax.grad(lambda v: jnp.sum(jnp.where(v > 0, jnp.sqrt(v), 0.0)))(x))


def derivative_of_a_while(x):
    def grown(v):
        return lax.while_loop(lambda v: v < 5.0, lambda v: v * v + 1.1 * v + 0.1, v)

    value, slope = jax.value_and_grad(grown)(x)
    return jnp.log(slope) * value


def fixed_point_of_a_vector(c):
    def step(state):
        x, _ = state
        new = jnp.cos(x) * c + 0.1 * x[::-1]
        return new, jnp.max(jnp.abs(new - x))

    x, _ = lax.while_loop(lambda state: state[1] > 1e-14, step, (jnp.zeros(2), 1.0))
    return x[0] * x[1]


def power_iteration(d):
    def step(state):
        v, value, _ = state
        w = d * v + 0.1 * jnp.sum(v)
        new = jnp.sqrt(jnp.sum(w * w))
        return w / new, new, value

    start = (jnp.ones(d.size), 1.0, 0.0)
    return lax.while_loop(lambda s: jnp.abs(s[1] - s[2]) > 1e-13, step, start)[1]
