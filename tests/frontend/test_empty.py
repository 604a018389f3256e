"""Arrays that turn out to be empty: errors come when the program runs, and only where it runs."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as tp
from tests.conformance import roads


def last_column(a, c):
    if c:
        return a[0, -1]
    return 1.5


def wrapped(a, c):
    if c:
        return a[0, 1 % a.shape[1]]
    return 1.5


@pytest.mark.parametrize("f", [last_column, wrapped], ids=lambda f: f.__name__)
def test_constants_that_do_not_fit_an_empty_array(f):
    empty = np.zeros((3, 0))
    assert tp.jit(f)(empty, False) == 1.5
    with pytest.raises((IndexError, ZeroDivisionError)):
        tp.jit(f)(empty, True)


def test_an_empty_list_becomes_an_array_without_being_read():
    def squares(n):
        return [i * i for i in range(n)]

    assert roads.compare(squares, [(0,), (3,)]) is None
