"""The known differences: where compiled code gives something else than plain Python, on purpose.

`expect` is what the language gives. There are no others.
"""

from __future__ import annotations

import math

import numpy as np

from tests.conformance.constructs.registry import A, X, example

SECTION = "Known differences"
INF, NAN = math.inf, math.nan


@example(SECTION, "sums may be re-associated: results agree to rounding",
         np.arange(1000.0) ** 3 / 7,
         expect=(math.fsum(np.arange(1000.0) ** 3 / 7),), tol=1e-13)  # fmt: skip
def sums(x):
    return sum(x)


@example(SECTION, "ints are i64 and wrap", 2**62, expect=(-(2**63), -(2**63)))
def ints_wrap(k):
    return k * 2, k + k


@example(SECTION, "float division by zero gives inf or nan", 1.0, 0.0, expect=(INF, -INF, NAN))
def division_by_zero(a, b):
    return a / b, -a / b, b / b


@example(
    SECTION, "math domain and range errors give nan or inf", -1.0, 1000.0, expect=(NAN, NAN, INF)
)
def domain_errors(a, b):
    return math.sqrt(a), math.log(a), math.exp(b)


@example(SECTION, "a negative float to a fractional power is nan", -2.0, 0.5, expect=(NAN,))
def fractional_power(a, b):
    return (a**b,)


@example(SECTION, "an int to a negative power is an error", 2, -1, expect=(ValueError,))
def negative_power(k, e):
    return k**e


@example(SECTION, "NaN propagates in min and max over a generator", np.array([1.0, NAN, 2.0]),
         expect=(NAN, NAN))  # fmt: skip
def nan_in_max(x):
    return max(v for v in x), min(v for v in x)


@example(SECTION, "two-scalar max is Python's", NAN, 1.0)
def max_of_two(a, b):
    return max(b, a), min(b, a)


@example(SECTION, "returned views are copies", A, expect=(A[1:],))
def returned_views(a):
    return (a[1:],)


@example(SECTION, "a list of numbers is returned as an array", X, expect=(X * 2,))
def returned_lists(x):
    return ([v * 2 for v in x],)


@example(SECTION, "nested brackets without rows keep their rank", np.zeros(0), X,
         expect=(np.zeros((0, 5)),))  # fmt: skip
def brackets_without_rows(x, y):
    return (np.array([[a * b for b in y] for a in x]),)


@example(SECTION, "a sum or product of nothing has the type of its elements", X[:0], A[:0],
         expect=(np.float64(0.0), np.float64(1.0), np.float64(0.0), np.zeros(4)))  # fmt: skip
def sums_of_nothing(x, a):
    return sum(v for v in x), math.prod(v for v in x), sum(x), sum(r for r in a)


@example(SECTION, "an int that is the greatest and does not fit the other's type",
         np.uint8(5), 300, expect=(OverflowError,))  # fmt: skip
def greatest_int(a, b):
    return max(a, b)


@example(SECTION, "floats that no integer holds become the nearest end",
         1e19, NAN, np.array([1e300, -INF, NAN, 3e9]),
         expect=(2**63 - 1, 0, np.array([2**63 - 1, -(2**63), 0, 3 * 10**9]),
                 np.array([2**31 - 1, -(2**31), 0, 2**31 - 1], "i4")))  # fmt: skip
def floats_beyond(a, b, x):
    return int(a), int(b), x.astype(np.int64), x.astype(np.int32)
