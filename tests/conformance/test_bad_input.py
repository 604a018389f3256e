"""Bad input in the user's words: file, line and caret, the smallest remedy, at most eight lines."""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tapeless as tp

LINES = 8
X = np.arange(5.0)


@dataclass(frozen=True)
class Case:
    function: Callable[..., Any]
    args: tuple[Any, ...]
    error: type[Exception]
    words: str


CASES: list[Case] = []


def bad(*args: Any, error: type[Exception], words: str) -> Callable[..., Any]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        CASES.append(Case(function, args, error, words))
        return function

    return register


# At a call --------------------------------------------------------------------------------------


@bad(X, X[1:], error=ValueError, words="overlap")
def overlapping(x, y):
    x[:4] = y


@bad(X, X, error=ValueError, words="same array")
def twice(x, y):
    x[0] = y[1]


def _locked() -> np.ndarray:
    x = np.arange(3.0)
    x.flags.writeable = False
    return x


@bad(_locked(), error=ValueError, words="read-only")
def read_only(x):
    x[0] = 1.0


@bad(X, error=TypeError, words="rank")
def wrong_rank(x: tp.f64[n, 3]):  # noqa: F821
    return x.sum()


@bad(X.astype("f4"), error=TypeError, words="float32")
def wrong_dtype(x: tp.f64[n]):  # noqa: F821
    return x.sum()


@bad(X, X[:3], error=ValueError, words="'n'")
def inconsistent_sizes(x: tp.f64[n], y: tp.f64[n]):  # noqa: F821
    return x.sum() + y.sum()


@bad(np.array(["a"]), error=TypeError, words="compiled form")
def strings(x):
    return x


# At run time ------------------------------------------------------------------------------------


@bad(X, 9, error=IndexError, words="index 9")
def out_of_range(x, k):
    return x[k]


@bad(X, np.array([0, 7]), error=IndexError, words="index 7")
def out_of_range_in_parallel(x, idx):
    out = np.zeros(2)
    for i in range(len(idx)):
        out[i] = x[idx[i]]
    return out


@bad(X, 9, error=IndexError, words="index 9")
def write_out_of_range(x, k):
    y = x.copy()
    y[k] = 1.0
    return y


@bad(7, 0, error=ZeroDivisionError, words="zero")
def division_by_zero(a, b):
    return a // b


@bad(np.arange(3), 0, error=ZeroDivisionError, words="zero")
def remainder_by_zero(x, b):
    total = 0
    for v in x:
        total += v % b
    return total


@bad(-1.0, error=AssertionError, words="a must be positive")
def failed_assertion(a):
    assert a > 0, "a must be positive"
    return a


@bad(3, 0, error=ValueError, words="zero")
def step_zero(n, step):
    total = 0
    for i in range(0, n, step):
        total += i
    return total


@bad(np.zeros(0), error=ValueError, words="max")
def empty_maximum(x):
    return max(x)


@bad(X, X[:3], error=ValueError, words="5 and 3")
def sizes_that_differ(x, y):
    return x + y


@bad(np.ones((3, 3)), np.ones(3), error=np.linalg.LinAlgError, words="ingular")
def singular(a, b):
    return np.linalg.solve(a, b)


@bad(X, error=TypeError, words="the result is an array on one path")
def two_kinds_of_results(x):
    if x[0] > 1:
        return x
    return 1.0


@bad(X, error=ValueError, words="the shapes of the rows do not agree")
def rows_of_different_lengths(x):
    return np.array([x[:i] for i in range(2)])


@bad(X, error=TypeError, words="a text of values known at run time")
def text_of_a_value(x):
    return "x is " + str(x[0])


@bad(X, error=TypeError, words="it takes a, axis, dtype")
def unknown_keyword(x):
    return np.sum(x, axes=0)


@bad(np.ones((3, 4)), error=ValueError, words="pass an array of rank 1")
def matrix_for_a_vector(x: tp.f64[n]):  # noqa: F821
    return x.sum()


@bad(X, X[1:], error=ValueError, words="make them agree")
def one_size_of_two(x: tp.f64[n], y: tp.f64[n]):  # noqa: F821
    return x.sum() + y.sum()


@bad(X, error=ValueError, words="pass 3 of them")
def wrong_size(x: tp.f64[3]):
    return x.sum()


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.function.__name__)
def test_message(case: Case):
    with pytest.raises(case.error) as error:
        tp.jit(case.function)(*case.args)
    text = str(error.value)
    assert case.words in text
    lines = text.splitlines()
    assert len(lines) <= LINES
    where = re.search(r'File "(.*)", line (\d+)', text)
    assert where is not None
    source, first = inspect.getsourcelines(case.function)
    assert where[1] == inspect.getsourcefile(case.function)
    assert first <= int(where[2]) < first + len(source)
    assert any(set(line.strip()) == {"^"} for line in lines)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.function.__name__)
def test_arguments_are_as_they_were(case: Case):
    """None of these writes before it fails."""
    before = copy.deepcopy(case.args)
    with pytest.raises(case.error):
        tp.jit(case.function)(*case.args)
    for was, now in zip(before, case.args, strict=True):
        assert np.array_equal(was, now)


@pytest.mark.parametrize(
    "case", [c for c in CASES if c.function in (read_only, wrong_rank, wrong_size)]
)
def test_errors_of_arguments_point_at_the_function_and_not_at_its_decorators(case: Case):
    with pytest.raises(case.error, match=rf"\n    def {case.function.__name__}\("):
        tp.jit(case.function)(*case.args)


def test_a_negative_step_is_an_empty_range():
    f = tp.jit(lambda n, step: sum(i for i in range(0, n, step)))
    assert f(5, -1) == 0
