"""Errors: in the user's words, with file, line and caret, at most eight lines."""

from __future__ import annotations

import traceback

import numpy as np
import pytest

import tapeless as tp
from tapeless.errors import CompileError

X = np.arange(3.0)


def uses_print(x):
    print(x)
    return x


def uses_try(x):
    try:
        return x[0]
    except IndexError:
        return 0.0


def undefined_name(x):
    return x + missing_name  # noqa: F821


def not_on_every_path(x):
    if x[0] > 1.0:
        y = 2.0
    return y


def changes_rank(x):
    y = x
    for _ in range(3):
        y = y[0]
    return y


def unknown_function(x):
    return np.busday_count(x, x)


def unknown_keyword(x):
    return np.sum(x, where=[True, False, True], initial="nothing")


def endless(x):
    return endless(x)


def ragged(x):
    return np.array([x[:i] for i in range(len(x))])


def yields(x):
    yield x


BAD = [
    uses_print, uses_try, undefined_name, not_on_every_path, changes_rank, unknown_function,
    unknown_keyword, endless, ragged, yields,
]  # fmt: skip


@pytest.mark.parametrize("function", BAD, ids=lambda f: f.__name__)
def test_compile_errors(function):
    with pytest.raises(CompileError) as caught:
        tp.jit(function)(X)
    shown = str(caught.value)
    assert len(shown.splitlines()) <= 8
    assert __file__ in shown
    assert "^" in shown
    assert caught.value.__cause__ is None and caught.value.__suppress_context__
    frames = traceback.extract_tb(caught.value.__traceback__)
    ours = [f for f in frames if "tapeless" in f.filename and "/frontend/" in f.filename]
    assert not ours


RUN_TIME = [
    (lambda x, k: x[k], 5, IndexError, "5"),
    (lambda x, k: x[k], -4, IndexError, "-4"),
    (lambda x, k: 7 // k, 0, ZeroDivisionError, ""),
    (lambda x, k: 7 % k, 0, ZeroDivisionError, ""),
]


@pytest.mark.parametrize("function, k, error, words", RUN_TIME)
def test_run_time_errors(function, k, error, words):
    compiled = tp.jit(function)
    for _ in range(3):  # the first call, and those by the fast entry
        with pytest.raises(error, match=words):
            compiled(X, k)


def test_run_time_errors_name_the_line():
    @tp.jit
    def f(x, k):
        return x[k]

    with pytest.raises(IndexError) as caught:
        f(X, 9)
    notes = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])
    assert __file__ in notes and "x[k]" in notes


def test_assert_and_raise():
    @tp.jit
    def f(k):
        assert k != 1, f"k is {k}"
        if k == 2:
            raise ValueError(f"not {k} either")
        return k

    assert f(0) == 0
    with pytest.raises(AssertionError, match="k is 1"):
        f(1)
    with pytest.raises(ValueError, match="not 2 either"):
        f(2)


def test_overflow_check():
    def f(a, b):
        return a * b + 1

    big = 2**62
    assert tp.jit(f)(big, 4) == 1
    with pytest.raises(OverflowError):
        tp.jit(f, check="overflow")(big, 4)


def test_too_large_an_int():
    with pytest.raises(OverflowError):
        tp.jit(lambda k: k + 1)(2**70)


def test_an_error_does_not_spoil_later_calls():
    @tp.jit
    def f(x, bad):
        if bad:
            return x.frobnicate()
        return x

    with pytest.raises(CompileError):
        f(X, True)
    np.testing.assert_array_equal(tp.jit(lambda x: x + 1.0)(X), X + 1.0)


def test_a_missing_key_keeps_its_message():
    @tp.jit
    def f(k):
        if k > 2:
            raise KeyError("no such key")
        return k

    with pytest.raises(KeyError) as caught:
        f(3)
    assert caught.value.args == ("no such key",)
    (note,) = caught.value.__notes__
    assert __file__ in note and "^" in note


WRONG_CALLS = {
    "sum": lambda x: sum(x, 0, 1),
    "max": lambda x: max(),
    "sorted": lambda x: sorted(x, x),
    "enumerate": lambda x: list(enumerate(x, 1, 2)),
    "append": lambda x: [1].append(1, 2),
    "get": lambda x: {"a": 1}.get("a", 1, 2),
    "sin": lambda x: np.sin(x, x, x),
}


@pytest.mark.parametrize("function", WRONG_CALLS.values(), ids=WRONG_CALLS.keys())
def test_wrong_calls_of_builtins(function):
    with pytest.raises(TypeError):
        function(X)
    with pytest.raises(CompileError) as caught:
        tp.jit(function)(X)
    assert "^" in str(caught.value)
