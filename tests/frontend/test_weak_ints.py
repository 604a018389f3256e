"""Python ints that meet narrow or unsigned integer types: by value, as NumPy takes them."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import tapeless as tp

TYPES = ("i1", "u1", "i2", "u4", "i8", "u8")
NUMBERS = (0, 3, -6, 300, -(2**40))
OPERATORS = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("op", OPERATORS, ids=lambda f: f.__name__)
def test_comparisons_are_by_value(dtype: str, op):
    def left(q, c):
        return op(q, c)

    def right(q, c):
        return op(c, q[1])

    q = np.array([0, 3, 100], dtype)
    for f in (left, right):
        compiled = tp.jit(f)
        for c in NUMBERS:
            np.testing.assert_array_equal(compiled(q, c), f(q, c), err_msg=f"{f.__name__} {c}")


@pytest.mark.parametrize("op", OPERATORS, ids=lambda f: f.__name__)
def test_signed_and_unsigned_compare_by_value(op):
    def f(a, b):
        return op(a, b), op(b, a)

    a, b = np.array([0, 3, 2**63 + 5], "u8"), np.array([-1, 3, 5])
    np.testing.assert_array_equal(tp.jit(f)(a, b), f(a, b))


def added(q, c):
    return q + c


def stored(q, c):
    q[1] = c
    return q


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("f", [added, stored], ids=lambda f: f.__name__)
def test_what_does_not_fit_is_an_overflow(dtype: str, f):
    compiled = tp.jit(f)
    for c in NUMBERS:
        q = np.array([0, 3, 100], dtype)
        try:
            expected = f(q.copy(), c)
        except OverflowError:
            with pytest.raises(OverflowError, match="out of bounds"):
                compiled(q, c)
        else:
            np.testing.assert_array_equal(compiled(q, c), expected)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4"])
def test_the_greater_of_two_is_by_value(dtype: str):
    def greater(q, c):
        return max(q[0], c), min(c, q[1])

    q = np.array([5, -3 if dtype[0] == "i" else 3], dtype)
    assert tp.jit(greater)(q, 4) == greater(q, 4)
    if dtype == "u1":
        assert tp.jit(lambda q, c: max(q[0], c))(q, -6) == 5
