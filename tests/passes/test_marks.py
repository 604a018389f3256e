"""Loops that the program calls independent: what a run checks, and what becomes parallel."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import tapeless as tp
from tapeless.ir.syntax import Check, Each, Loop
from tapeless.ir.walk import statements
from tests.conformance import roads

X = np.arange(6.0)
SQUARE = np.arange(16.0).reshape(4, 4)
AGAIN = np.array([2, 0, 2])


def permuted(x, perm):
    y = np.zeros(len(x))
    for i in tp.each(len(perm)):
        y[perm[i]] = x[i]
    return y


def gathered(x, to):
    """An iteration reads an element that another one may write."""
    for i in tp.each(len(to)):
        x[to[i]] = x[i]
    return x


def in_rows(a, which):
    """An iteration reads what it wrote."""
    for k in tp.each(len(which)):
        for j in range(1, a.shape[1]):
            a[which[k], j] += a[which[k], j - 1]
    return a


def read_by_all(x, which):
    for i in tp.each(len(x)):
        x[i] = x[which[0]] * 0.5
    return x


def in_boxes(a, which):
    for i in tp.each(len(which)):
        for j in range(2):
            a[which[i] + j, j] = i
    return a


def with_sums(x, which):
    h = np.zeros(2)
    for i in tp.each(len(which)):
        h[which[i] % 2] += 1
        x[which[i]] = i
    return h.sum() + x[0]


def sometimes(x, which):
    """What is only read may be shared."""
    for i in tp.each(len(which)):
        v = x[which[i]]
        if v > 1:
            x[which[i]] = v * 2
    return x


def stages_of(function, *args):
    return [f for _, f in roads.stages(roads.traced(function, args))]


def outcomes(function, *args):
    program = roads.traced(function, args)
    for _, fun in [list(roads.stages(program))[-1]]:
        yield roads.interpreted(function, program, fun, args)
    yield roads.call(tp.jit(function), args)
    yield roads.call(tp.jit(function, parallel=False), args)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (permuted, (X, np.array([5, 3, -6, 1]))),
        (permuted, (X, np.array([], int))),
        (gathered, (X, np.array([4, 5, 3]))),
        (gathered, (X, np.array([-6, 1, 2]))),
        (gathered, (X, np.array([3]))),
        (in_rows, (SQUARE, np.array([3, 0]))),
        (in_rows, (SQUARE, np.array([1, -1]))),
        (read_by_all, (X[:1], np.array([0]))),
        (in_boxes, (SQUARE, np.array([2, 0, 1]))),
        (with_sums, (X, np.array([5, 3, 0, 1]))),
        (sometimes, (X, np.array([0, 1, 0, 3, 1]))),
    ],
)  # fmt: skip
def test_independent_iterations_give_what_python_gives(function, args):
    assert roads.compare(function, [args]) is None


@pytest.mark.parametrize(
    ("function", "args", "word"),
    [
        (permuted, (X, AGAIN), "y["),
        (permuted, (X, np.array([5, -1])), "y["),
        (gathered, (X, np.array([4, 0])), "x["),
        (gathered, (X, np.array([1, 5])), "x["),
        (gathered, (X, np.array([3, -3])), "x["),
        (in_rows, (SQUARE, AGAIN), "a["),
        (in_rows, (SQUARE, np.array([3, -1])), "a["),
        (read_by_all, (X, np.array([1])), "x["),
        (in_boxes, (SQUARE, AGAIN), "a["),
        (with_sums, (X, AGAIN), "x["),
        (sometimes, (X, AGAIN), "x["),
    ],
)  # fmt: skip
def test_iterations_that_meet_are_an_error_of_their_line(function, args, word):
    for got in outcomes(function, *args):
        assert got.error is RuntimeError
        assert "another one writes" in got.message
    with pytest.raises(RuntimeError) as error:
        tp.jit(function)(*(a.copy() for a in args))
    source, first = inspect.getsourcelines(function)
    line = str(error.value).split("line ")[1].split(",")[0]
    assert word in source[int(line) - first]


def test_index_out_of_range_touches_nothing():
    x = np.zeros(8)
    with pytest.raises(IndexError):
        tp.jit(gathered)(x[1:7], np.array([2, 6]))
    assert x[7] == 0.0


def test_what_is_checked_becomes_parallel():
    last = stages_of(permuted, X, np.array([1, 2]))[-1]
    exps = [s.exp for s in statements(last.body)]
    assert not any(isinstance(e, Loop) for e in exps)
    assert any(isinstance(e, Each) and any(a.op == "=" for a in e.accs) for e in exps)
    assert any(isinstance(e, Check) and e.error == "RuntimeError" for e in exps)


def test_what_is_proved_is_not_checked():
    def spread(x):
        y = np.zeros(2 * len(x))
        for i in tp.each(len(x)):
            y[2 * i + 1] = x[i]
            if x[i] > 1:
                y[2 * i + 1] += x[i] * y[2 * i]
        return y

    assert roads.compare(spread, [(X,)]) is None
    exps = [s.exp for s in statements(stages_of(spread, X)[-1].body)]
    assert not any(isinstance(e, Loop | Check) for e in exps)


def test_an_element_written_twice_is_written_once():
    """Also in loops that promise nothing."""

    def clipped(x):
        y = np.zeros(len(x))
        for i in range(len(x)):
            y[i] = x[i] * 2
            if y[i] > 3:
                y[i] = y[i] - 3
        return y

    assert roads.compare(clipped, [(X,)]) is None
    assert not any(isinstance(s.exp, Loop) for s in statements(stages_of(clipped, X)[-1].body))


def test_an_element_on_a_branch_may_be_out_of_range_elsewhere():
    """It is not read before the test that guards it: that would be outside of all memory."""

    def grown(y, at):
        for i in range(len(at)):
            k = at[i]
            if 0 <= k < len(y):
                y[k] += 1.0
                if y[k] < 3:
                    y[k] *= 2.0

    far = 10**12
    assert roads.compare(grown, [(X, np.array([0, far, 3, -far, 0]))]) is None


def test_derivatives_pass_through():
    weights = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0])
    perm = np.array([3, 0, 5, 1, 2, 4])

    def weighted(x, perm, weights):
        y = np.zeros(len(x))
        for i in tp.each(len(x)):
            y[perm[i]] = x[i] * x[i]
        return (y * weights).sum()

    got = tp.grad(weighted)(X, perm, weights)
    np.testing.assert_allclose(got, 2 * X * weights[perm], rtol=1e-14)
