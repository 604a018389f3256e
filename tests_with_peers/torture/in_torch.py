"""Programs of the torture suite in PyTorch: eager, with Python's loops and branches, writing in
place where the program does."""

from __future__ import annotations

import torch
from torch import where

# Choices


def if_around_a_root(x):
    total = 0.0
    for v in x:
        if v > 0.0:
            total = total + torch.sqrt(v)
    return total


def ternary_around_a_root(x):
    return torch.sum(torch.stack([torch.sqrt(v) if v > 0.0 else 0.0 * v for v in x]))


def generator_clause_around_a_root(x):
    return torch.sum(torch.sqrt(x[x > 0.0]))


def bracket_around_a_root(x):
    return torch.sum((x > 0.0) * torch.sqrt(x))


def where_around_a_root(x):
    return torch.sum(where(x > 0, torch.sqrt(x), 0.0))


def where_around_a_logarithm(x):
    return torch.sum(where(x > 0, x * torch.log(x), x))


def where_around_a_chain(x):
    return torch.sum(where(x == 0.0, 1.0, 1.0 / torch.sqrt(torch.abs(x))))


def where_inside_where(x):
    return torch.sum(where(x > 1, torch.sqrt(x), where(x > 0, -torch.log(x), 0.0)))


def where_after_a_long_way(x):
    q = 1.0 / x
    return torch.sum(where(x > 0, torch.log(1.0 / q), 0.0))


def one_root_for_two_choices(x):
    r = torch.sqrt(x)
    a = where(x > 0, r, 0.0)
    b = where(r > 1.0, r * x, 1.0)
    return torch.sum(a + b * 0.5 + a * b * 0.0)


def clipped_logarithm(x):
    return torch.sum(torch.clamp(torch.log(x), min=-10.0))


def overflow_on_the_side_not_taken(x):
    return torch.sum(where(x < 100.0, torch.exp(x), x))


def missing_data_masked(y, m):
    return torch.sum(where(torch.isnan(y), 0.0, (y - m) ** 2))


def norm_or_zero(x):
    s = torch.sum(x * x)
    return where(s > 0.0, torch.sqrt(s), 0.0)


def norm_at_the_origin(x):
    s = torch.sum(x * x)
    return torch.sqrt(s) if s > 0.0 else 0.0 * s


def sum_of_logarithms_or_zero(x):
    logs = torch.zeros_like(x)
    for _ in range(2):
        logs = logs + torch.log(x) * 0.5
    return torch.sum(where(x > 0.0, logs, 0.0))


def entropy_with_a_zero(p):
    return torch.sum(where(p > 0.0, p * torch.log(p), 0.0))


def ties_of_min_and_max(x, y):
    return 6 * torch.minimum(x, y) + 7 * torch.maximum(x, y) + torch.max(x, y) - torch.max(x, y)


def tie_of_the_greatest(x):
    return torch.amax(x)


def kink_of_abs(x):
    return torch.sum(torch.abs(x))


def sorted_with_ties(x):
    return torch.sum(torch.sort(x, stable=True).values * torch.arange(1.0, 5.0))


def product_with_one_zero(x):
    return torch.prod(x)


def product_with_two_zeros(x):
    return torch.prod(x)


def argmin_then_gather(x, y):
    return y[torch.argmin(x)] ** 2 + 0.0 * torch.sum(x)


def clipped(x):
    return torch.sum(torch.clamp(x, 0.0, 2.0)) + 0.0 * torch.sum(torch.floor(x) + torch.sign(x))


def power_at_zero(x, p):
    return torch.sum(x**p)


def xlogy_at_zero(x, y):
    return torch.sum(torch.xlogy(x, y))


def greatest_of_masked_logarithms(x):
    return torch.max(where(x > 0, torch.log(x), -10.0))


def cross_entropy_of_the_certain(x):
    p = torch.clamp(x, 1e-9, 1 - 1e-9)
    return torch.sum(x * torch.log(p) + (1 - x) * torch.log(1 - p))


def choice_of_three(x):
    total = torch.sum(where(x > 0, torch.sqrt(x), 0.0))
    return total + torch.sum(where(x > 1, torch.log(x), where(x > 0, torch.sqrt(x), 0.0)))


# Control flow


def while_doubling(x):
    c = torch.tensor(1.0)
    while c < 10.0:
        c = c * x
    return c


def newton(c):
    x = torch.tensor(1.0)
    while abs(x * x - c) > 1e-14 * c:
        x = 0.5 * (x + c / x)
    return x


def skipping_with_continue(x):
    total = 1.0
    for v in x:
        if v < 0.0:
            continue
        total = total * (v + 1.0)
        if total > 3.0:
            continue
        total = total + v * v
    return total


def stopping_with_break(x):
    total = 0.0
    for v in x:
        total = total + v * v
        if total > 2.0:
            break
        total = torch.sin(total)
    return total * 2


def while_inside_a_map(x):
    def halve(v):
        while v > 1.0:
            v = v * 0.5 * torch.cos(v * 0.1)
        return v

    return torch.sum(torch.stack([halve(v) for v in x]))


def trip_count_from_data(x, c):
    total = 0.0
    for i in range(int(c) + 1):
        total = total + x[i] * c**i
    return total


def long_loop(x, n):
    p = torch.tensor(1.0)
    for _ in range(n):
        p = p * x
    return p


# Values that are overwritten


def read_then_overwritten(x, b):
    total = 0.0
    for _ in range(4):
        total = total + x * b
        b = b + 100.0
    return total


def recurrence_in_place(a, x):
    for i in range(1, len(a)):
        a[i] = a[i - 1] * x[i] / 2 + a[i]
    return torch.sum(a * a)


def squared_in_place(x):
    for _ in range(3):
        for i in range(len(x)):
            x[i] = torch.sin(x[i]) * x[(i + 1) % len(x)]
    return torch.sum(x)


def index_from_the_array_written(a, v):
    for k in range(len(a)):
        a[int(a[k])] = v * a[k] + 0.3
    return torch.sum(a**3)


def overlapping_slices(u, a):
    for _ in range(4):
        u[1:-1] = u[1:-1] - a * u[1:-1] * (u[2:] - u[:-2])
    return torch.sum(u * u)


def constant_written_over(x):
    x[2] = 5.0
    return torch.sum(x * x)


# Indices


def gather_with_repeats(x, k):
    return torch.sum(torch.sin(x[k]) * torch.arange(6.0))


def scatter_with_duplicates(x, v, k):
    return torch.sum(torch.scatter(x, 0, k, v) ** 2)


def scatter_out_of_range(x, v, k):
    return torch.sum(torch.exp(torch.scatter(x, 0, k, v)))


def histogram_by_product(x, v, k):
    return torch.sum(torch.scatter_reduce(x, 0, k, v, "prod") ** 2)


def histogram_by_maximum(x, v, k):
    return torch.sum(torch.scatter_reduce(x, 0, k, v, "amax") ** 3)


def masks(x):
    y = torch.cos(x)
    y[x > 0] = x[x > 0] ** 2
    return torch.sum(y[y > 0.6] ** 3) + torch.sum(x[x < 0])


def cumulative(x):
    total = torch.sum(torch.cumsum(x, 0) ** 2) + torch.sum(torch.cumprod(x, 0))
    return total + torch.sum(torch.cummax(x, 0).values * torch.arange(5.0))


# Folds, derivatives of derivatives, methods


def scan_of_products_with_zeros(a):
    return torch.sum(torch.cumprod(a, 0))


def scan_of_linear_maps(a, b):
    slope, start, total = torch.tensor(1.0), torch.tensor(0.0), 0.0
    for i in range(len(a)):
        slope, start = slope * a[i], start * a[i] + b[i]
        total = total + slope**2 + start * i
    return total


def perturbations_not_confused(x):
    return x * torch.func.grad(lambda y: x + y)(torch.tensor(1.0))


def fifth_derivative(x):
    g = torch.func.grad
    return g(g(g(g(lambda v: v**5))))(x)


def second_order_at_the_side_not_taken(x):
    return torch.sum(torch.func.grad(lambda v: torch.sum(where(v > 0, torch.sqrt(v), 0.0)))(x))


def derivative_of_a_while(x):
    v = x
    while v < 5.0:
        v = v * v + 1.1 * v + 0.1
    (slope,) = torch.autograd.grad(v, x, create_graph=True)
    return torch.log(slope) * v


def fixed_point_of_a_vector(c):
    x, change = torch.zeros(2), 1.0
    while change > 1e-14:
        new = torch.cos(x) * c + 0.1 * torch.flip(x, (0,))
        change = torch.max(torch.abs(new - x)).item()
        x = new
    return x[0] * x[1]


def power_iteration(d):
    v, value, last = torch.ones(len(d)), torch.tensor(1.0), 0.0
    while abs(value - last) > 1e-13:
        w = d * v + 0.1 * torch.sum(v)
        last = value
        value = torch.sqrt(torch.sum(w * w))
        v = w / value
    return value
