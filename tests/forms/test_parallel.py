"""map, reduce, scan, scatter, reduce_by_index and brackets against plain loops and NumPy."""

from __future__ import annotations

import doctest
import operator
from typing import NamedTuple

import numpy as np
import pytest

from tapeless import forms
from tapeless.forms import brackets, loops, parallel, random


@pytest.mark.parametrize("module", [parallel, brackets, loops, random])
def test_examples_run(module):
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0


class Pair(NamedTuple):
    total: float
    count: int


def test_map_gives_arrays_and_tuples_of_arrays():
    x = np.arange(5.0)
    assert np.array_equal(forms.map(np.square, x), x**2)
    a, (b, c) = forms.map(lambda v, w: (v + w, (v - w, v > w)), x, x[::-1])
    assert np.array_equal(a, x + x[::-1])
    assert np.array_equal(b, x - x[::-1])
    assert c.dtype == bool
    pair = forms.map(lambda v: Pair(v, 1), x)
    assert isinstance(pair, Pair)
    assert pair.count.tolist() == [1] * 5


def test_map_over_rows_and_of_nothing():
    m = np.arange(6.0).reshape(3, 2)
    assert np.array_equal(forms.map(lambda row: row[::-1], m), m[:, ::-1])
    a, b = forms.map(lambda v: (v, v > 0), np.empty(0, np.float32))
    assert (a.dtype, b.dtype, a.shape) == (np.float32, bool, (0,))


def test_reduce_and_scan_follow_any_associative_operator():
    x = np.array([3.0, 1.0, 2.0])

    def compose(f, g):
        return (f[0] * g[0], f[1] * g[0] + g[1])

    slope, offset = forms.reduce(compose, (x, x + 1), (1.0, 0.0))
    at = 5.0
    for a, b in zip(x, x + 1, strict=True):
        at = a * at + b
    assert slope * 5.0 + offset == at
    slopes, offsets = forms.scan(compose, (x, x + 1), (1.0, 0.0))
    assert np.array_equal(slopes, np.cumprod(x))
    assert (slopes[-1], offsets[-1]) == (slope, offset)
    assert np.array_equal(forms.scan(np.maximum, x, -np.inf), np.maximum.accumulate(x))


def test_reduce_of_nothing_is_the_neutral_element():
    assert forms.reduce(operator.add, np.empty(0), 0.0) == 0.0
    assert forms.scan(operator.add, np.empty(0, np.float32), 0.0).dtype == np.float32


def test_scatter_ignores_what_is_outside_and_the_last_wins():
    dest = np.arange(4.0)
    out = forms.scatter(dest, np.array([2, -1, 4, 2]), np.array([7.0, 8.0, 9.0, 6.0]))
    assert out.tolist() == [0.0, 1.0, 6.0, 3.0]
    assert dest.tolist() == [0.0, 1.0, 2.0, 3.0]
    rows = forms.scatter(np.zeros((3, 2)), [1], np.array([[4.0, 5.0]]))
    assert rows.tolist() == [[0, 0], [4, 5], [0, 0]]
    cells = forms.scatter(np.zeros((2, 2)), (np.array([0, 1, 1]), np.array([1, 0, 2])), 3.0)
    assert cells.tolist() == [[0, 3], [3, 0]]


def test_reduce_by_index_is_a_histogram_of_any_operator():
    rng = np.random.default_rng(1)
    idx, vals = rng.integers(-2, 7, 50), rng.normal(size=50)
    inside = (idx >= 0) & (idx < 5)
    want = np.bincount(idx[inside], vals[inside], 5)
    assert np.allclose(forms.reduce_by_index(np.zeros(5), idx, vals), want)
    got = forms.reduce_by_index(np.full(5, -np.inf), idx, vals, np.maximum, -np.inf)
    assert got.tolist() == [vals[idx == i].max() for i in range(5)]


def test_reduce_by_index_of_tuples():
    def best(a, b):
        return a if a[0] >= b[0] else b

    dest = (np.full(2, -np.inf), np.full(2, -1))
    value, where = forms.reduce_by_index(
        dest, np.array([0, 0, 1]), (np.array([1.0, 4.0, 2.0]), np.arange(3)), best, (-np.inf, -1)
    )
    assert (value.tolist(), where.tolist()) == ([4.0, 2.0], [1, 2])


def test_brackets_win_against_nan():
    nan = float("nan")
    assert forms.iverson(False) * nan == 0.0
    assert nan * forms.iverson(np.False_) == 0.0
    assert type(np.float32(nan) * forms.iverson(False)) is np.float32
    assert type(forms.iverson(False) * 3) is int
    x = np.array([1.0, nan])
    assert (forms.iverson(x == 1) * x).tolist() == [1.0, 0.0]
    assert (x * forms.iverson(x == 1)).tolist() == [1.0, 0.0]
    assert (forms.iverson(False) * x).tolist() == [0.0, 0.0]
    assert (forms.iverson(True) * forms.iverson(False)) * nan == 0.0
    assert sum(forms.iverson(v > 1) for v in (1, 2, 3)) == 2


def test_each_and_loop_are_what_they_iterate_over():
    assert forms.each(4) == range(4)
    assert forms.loop(3, reverse="store") == range(3)
    x = np.arange(3)
    assert forms.loop(x) is x


WRONG = [
    (TypeError, lambda: forms.map(3, [1])),
    (TypeError, lambda: forms.map(np.sin)),
    (TypeError, lambda: forms.map(np.sin, 3.0)),
    (ValueError, lambda: forms.map(np.add, [1, 2], [1])),
    (TypeError, lambda: forms.reduce(0, [1], 0)),
    (ValueError, lambda: forms.reduce(operator.add, ([1], [2]), (0, 0, 0))),
    (TypeError, lambda: forms.reduce(lambda a, b: (a, b), [1], 0)),
    (TypeError, lambda: forms.scan(lambda a, b: (1, 2, 3), ([1], [2]), (0, 0))),
    (TypeError, lambda: forms.scatter(np.zeros(2), [0.5], [1.0])),
    (TypeError, lambda: forms.scatter(np.zeros(2, int), [0], [0.5])),
    (ValueError, lambda: forms.scatter(np.zeros(2), [0, 1], [1.0])),
    (ValueError, lambda: forms.scatter(np.zeros(2), (np.array([0]), np.array([0])), [1.0])),
    (TypeError, lambda: forms.reduce_by_index((np.zeros(2),), [0], [1.0])),
    (TypeError, lambda: forms.iverson(1.0)),
    (ValueError, lambda: forms.loop(3, reverse="tape")),
    (ValueError, lambda: forms.loop(3, slots=0)),
    (TypeError, lambda: forms.loop(3, memory=1.5)),
    (ValueError, lambda: forms.loop(3, reverse="store", levels=2)),
    (ValueError, lambda: forms.loop(3, slots=2, levels=2)),
    (TypeError, lambda: forms.loop(2.5)),
]


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_wrong_use_is_an_error(case):
    error, call = WRONG[case]
    with pytest.raises(error):
        call()
