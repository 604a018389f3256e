"""Choices: the side not taken has no part, ties go by the table of conventions"""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

import tapeless as tp
from tests.ad.torture.program import program

S = np.array([4.0, 0.0, -1.0, 0.25])  # √ of it has no derivative, or no value
ROOT = np.array([0.25, 0.0, 0.0, 1.0])
ROOT_BY_HAND = lambda x: ROOT  # noqa: E731


@program(S, truth=ROOT_BY_HAND)
def if_around_a_root(x):
    """An `if` keeps a singular function away."""
    total = 0.0
    for v in x:
        if v > 0.0:
            total += np.sqrt(v)
    return total


@program(S, truth=ROOT_BY_HAND)
def ternary_around_a_root(x):
    """A ternary in a map."""
    return np.sum(np.array([np.sqrt(v) if v > 0.0 else 0.0 for v in x]))


@program(S, truth=ROOT_BY_HAND)
def generator_clause_around_a_root(x):
    """The `if` clause of a sum."""
    return sum(np.sqrt(v) for v in x if v > 0.0)


@program(S, truth=ROOT_BY_HAND)
def bracket_around_a_root(x):
    """Iverson's bracket as a factor."""
    return sum(tp.iverson(v > 0.0) * np.sqrt(v) for v in x)


@program(S, truth=ROOT_BY_HAND)
def where_around_a_root(x):
    """Both sides of `np.where` are evaluated, one of them is nan."""
    return np.sum(np.where(x > 0, np.sqrt(x), 0.0))


@program(S, truth=lambda x: np.where(x > 0, np.log(np.where(x > 0, x, 1.0)) + 1.0, 1.0))
def where_around_a_logarithm(x):
    """x·log x against x: the singular factor is inside a product."""
    return np.sum(np.where(x > 0, x * np.log(x), x))


@program(S, truth=lambda x: np.where(x == 0, 0.0, -0.5 * np.sign(x) * abs(x) ** -1.5))
def where_around_a_chain(x):
    """1/√|x|: several singular steps on the side not taken."""
    return np.sum(np.where(x == 0.0, 1.0, 1.0 / np.sqrt(np.abs(x))))


@program(
    S, truth=lambda x: np.where(x > 0, 0.5 * np.cos(np.sqrt(abs(x))) / np.sqrt(abs(x)), 3 * x**2)
)
def where_in_a_loop(x):
    """`np.where` of numbers, in a loop that also uses the singular side elsewhere."""
    total = 0.0
    for v in x:
        r = np.sqrt(v)
        total += np.where(v > 0.0, np.sin(r), v**3)
    return total


@program(S, truth=lambda x: np.where(x > 1, 0.5 / np.sqrt(x), np.where(x > 0, -1 / x, 0.0)))
def where_inside_where(x):
    """Nested choices, each with a singular side."""
    return np.sum(np.where(x > 1, np.sqrt(x), np.where(x > 0, -np.log(x), 0.0)))


@program(np.array([0.0, 2.0]), truth=lambda x: np.array([0.0, 1 / x[1]]))
def where_after_a_long_way(x):
    """Several singular steps, one after the other, lead to the side not taken."""
    q = 1.0 / x
    return np.sum(np.where(x > 0, np.log(1.0 / q), 0.0))


@program(np.array([0.0, -1.0, 4.0]), truth=lambda x: np.array([0.0, 0.0, 0.25 + 0.5 * 3.0]))
def one_root_for_two_choices(x):
    """A singular value is used by two choices, on one side each, and by a comparison."""
    total = 0.0
    for v in x:
        r = np.sqrt(v)
        a = np.where(v > 0, r, 0.0)
        b = np.where(r > 1.0, r * v, 1.0)
        total += a + b * 0.5 + a * b * 0.0
    return total


@program(np.array([0.0, 1e-9, 0.5]), truth=lambda x: np.array([0.0, 0.0, 2.0]))
def clipped_logarithm(x):
    """max(log x, −10) is flat where x = 0."""
    return np.sum(np.maximum(np.log(x), -10.0))


@program(np.array([1.0, 900.0]), truth=lambda x: np.array([np.e, 1.0]))
def overflow_on_the_side_not_taken(x):
    """eˣ is infinite where it is not chosen."""
    return np.sum(np.where(x < 100.0, np.exp(x), x))


@program(np.array([1.0, np.nan, 3.0]), 0.5, wrt=1, truth=lambda y, m: -2 * (1 - m) - 2 * (3 - m))
def missing_data_masked(y, m):
    """Missing values are nan, and masked."""
    return np.sum(np.where(np.isnan(y), 0.0, (y - m) ** 2))


@program(np.zeros(3), truth=lambda x: np.zeros(3))
def norm_or_zero(x):
    """A reduction is behind the root on the side not taken."""
    s = np.sum(x * x)
    return np.where(s > 0.0, np.sqrt(s), 0.0)


@program(np.array([0.0, 2.0]), truth=lambda x: np.array([0.0, 0.5]))
def sum_of_logarithms_or_zero(x):
    """A whole loop is on the side not taken."""
    total = 0.0
    for i in range(x.size):
        logs = 0.0
        for _ in range(2):
            logs += np.log(x[i]) * 0.5
        total += np.where(x[i] > 0.0, logs, 0.0)
    return total


@program(S, truth=ROOT_BY_HAND)
def root_in_front_of_an_if(x):
    """A singular value is computed before the branch that uses it."""
    total = 0.0
    for v in x:
        r = np.sqrt(v)
        if v > 0.0:
            total += r
    return total


@program(np.array([0.0, 0.3, 0.7]), truth=lambda p: np.log(np.where(p == 0, 1.0, p)) + (p > 0))
def entropy_with_a_zero(p):
    """Σ p·log p with its limit at 0."""
    return sum(v * np.log(v) if v > 0.0 else 0.0 for v in p)


@program(2.0, 2.0, wrt=(0, 1), truth=lambda x, y: (2 + 3 + 4 + 5.0, 0.0))
def ties_of_min_and_max(x, y):
    """Of two equals the first one has it all."""
    return 2 * min(x, y) + 3 * max(x, y) + 4 * np.minimum(x, y) + 5 * np.maximum(x, y)


@program(np.array([1.0, 3.0, 3.0, 2.0]), truth=lambda x: np.array([0.0, 1.0, 0.0, 0.0]))
def tie_of_the_greatest(x):
    """The first of the greatest elements has it all."""
    return np.max(x)


@program(np.array([2.0, 1.0, 1.0]), truth=lambda x: np.array([0.0, 1.0, 0.0]))
def tie_of_the_least_in_a_generator(x):
    """The first of the least."""
    return min(v for v in x)


@program(np.array([-2.0, 0.0, 3.0]), truth=np.sign)
def kink_of_abs(x):
    """|x| has slope 0 at 0."""
    return np.sum(np.abs(x))


@program(np.array([0.3, -1.0, 0.3, 2.0]), truth=lambda x: np.array([2.0, 1.0, 3.0, 4.0]))
def sorted_with_ties(x):
    """A stable sort sends slopes back to where values came from."""
    return np.sum(np.sort(x) * np.arange(1.0, 5.0))


@program(np.array([0.3, -1.0, 0.7, 2.0]), truth=lambda x: np.array([2.0, 1.0, 3.0, 4.0]))
def argsort_then_gather(x):
    """The permutation is no function with a slope, what it moves is."""
    return np.sum(x[np.argsort(x)] * np.arange(1.0, 5.0))


@program(np.array([2.0, 0.0, 3.0]), truth=lambda x: np.array([0.0, 6.0, 0.0]))
def product_with_one_zero(x):
    """∂∏/∂xᵢ is the product of the others, not the product divided by xᵢ."""
    return np.prod(x)


@program(np.array([2.0, 0.0, 3.0, 0.0]), truth=lambda x: np.zeros(4))
def product_with_two_zeros(x):
    """All slopes are 0."""
    p = 1.0
    for v in x:
        p *= v
    return p


@program(np.array([3.0, 0.5, 2.0]), np.array([1.5, -2.0, 0.3]), wrt=(0, 1),
         truth=lambda x, y: (np.zeros(3), np.array([0.0, -4.0, 0.0])))  # fmt: skip
def argmin_then_gather(x, y):
    """The position of the least is flat, the element found there is not."""
    return y[np.argmin(x)] ** 2


@program(np.array([0.2, 1.7, -0.4, 2.6]), truth=lambda x: np.array([1.0, 1.0, 0.0, 0.0]))
def clipped(x):
    """Outside of its bounds np.clip is flat."""
    return np.sum(np.clip(x, 0.0, 2.0)) + 0.0 * np.sum(np.floor(x) + np.sign(x))


@program(np.array([2.0, -1.0, 0.5]), truth=lambda x: np.where(x > 0, 1.0, 0.1))
def leaky_by_mask(x):
    """Elements chosen by a mask are scaled in place."""
    y = x.copy()
    y[x < 0] *= 0.1
    return np.sum(y)


@program(np.zeros(3), truth=lambda x: np.zeros(3))
def norm_at_the_origin(x):
    """√(x·x) guarded by hand."""
    s = np.sum(x * x)
    return np.sqrt(s) if s > 0.0 else 0.0


@program(np.array([0.0, 1.5]), 2.0, truth=lambda x, p: p * x)
def power_at_zero(x, p):
    """xᵖ at x = 0 by x only."""
    return np.sum(x**p)


@program(np.array([0.0, 0.5]), np.array([0.0, 0.5]), wrt=1,
         truth=lambda x, y: np.array([0.0, 1.0]))  # fmt: skip
def xlogy_at_zero(x, y):
    """0·log 0 = 0, whatever y does."""
    return np.sum(xlogy(x, y))


@program(S, truth=lambda x: np.array([0.25, 0.0, 0.0, 0.0]))
def greatest_of_masked_logarithms(x):
    """An extremum over choices, one of which has no value."""
    return np.max(np.where(x > 0, np.log(x), -10.0))


@program(S, truth=lambda x: ROOT * 2 * (1 - 0.5 ** (4.0 - np.arange(4))))
def masked_root_then_recurrence(x):
    """A choice between arrays, written in place afterwards."""
    y = np.where(x > 0, np.sqrt(x), 0.0)
    for i in range(1, y.size):
        y[i] += y[i - 1] * 0.5
    return np.sum(y)


def log_odds(x):
    p = np.clip(x, 1e-9, 1 - 1e-9)
    return np.log(p) - np.log(1 - p)


@program(np.array([0.0, 1.0, 0.5]), truth=log_odds)
def cross_entropy_of_the_certain(x):
    """Logarithms of clipped probabilities: the bounds are flat."""
    p = np.clip(x, 1e-9, 1 - 1e-9)
    return np.sum(x * np.log(p) + (1 - x) * np.log(1 - p))


@program(S, truth=lambda x: ROOT + np.array([0.25, 0.0, 0.0, 1.0]))
def choice_of_three(x):
    """np.select among logarithm, root and constant, beside a fold of masked roots."""
    total = tp.reduce(lambda a, b: a + b, np.where(x > 0, np.sqrt(x), 0.0), 0.0)
    return total + np.sum(np.select([x > 1, x > 0], [np.log(x), np.sqrt(x)], 0.0))
