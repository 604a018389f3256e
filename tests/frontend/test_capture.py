"""A function's source is found in its file without parsing the rest, wherever its text stands."""

from __future__ import annotations

import ast
import functools
import math

import numpy as np
import pytest

from tapeless.errors import SourceError
from tapeless.frontend import capture
from tapeless.frontend.capture import source_of


def simple(x):
    return math.floor(np.sin(x)) + 1  # a comment is no part of it


@functools.cache
@functools.wraps(
    simple,
)
def decorated(
    x,
    y=2,
):
    """Two lines
    of words."""
    # fmt: off
    total = (x +
  y)
    # fmt: on
    return total


def with_text(x):
    words = """
no indentation
"""
    return len(words) + x


class Holder:
    def method(self, x):
        if x > 0:
            return x
        return -x

    def __private(self):
        return self.__private


def closure(y):
    def inner(x):
        return x + y

    return inner


pair = (lambda x: x + 1, lambda x: x + 2)


@pytest.fixture
def whole_files(monkeypatch):
    """The names of functions for which a whole file was parsed."""
    names: list[str] = []
    find = capture._find_in_file

    def noted(text, code):
        names.append(code.co_name)
        return find(text, code)

    monkeypatch.setattr(capture, "_CACHE", {})
    monkeypatch.setattr(capture, "_find_in_file", noted)
    return names


@pytest.mark.parametrize("f", [simple, decorated.__wrapped__, Holder.method])
def test_only_the_function_is_parsed(f, whole_files):
    source = source_of(f)
    assert source.node.name == f.__code__.co_name
    first = min([source.node.lineno, *(d.lineno for d in source.node.decorator_list)])
    assert first == f.__code__.co_firstlineno
    assert whole_files == []


@pytest.mark.parametrize(
    ("f", "body"),
    [
        (with_text, "return len(words) + x"),
        (closure(1.0), "return x + y"),
        (Holder._Holder__private, "return self.__private"),
    ],
)
def test_what_needs_its_surroundings_is_found_in_the_whole_file(f, body, whole_files):
    assert body in source_of(f).text
    assert whole_files == [f.__code__.co_name]


def test_two_lambdas_of_one_line_are_told_apart():
    assert [source_of(f).text for f in pair] == ["lambda x: x + 1", "lambda x: x + 2"]


def test_a_changed_file_is_noticed(tmp_path):
    file = tmp_path / "changing.py"
    file.write_text("def f(x):\n    return x + 1\n")
    scope: dict[str, object] = {}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    file.write_text("def f(x):\n    return x + 2\n")
    with pytest.raises(SourceError, match="has changed"):
        source_of(scope["f"])


def test_lambdas_that_return_constants():
    """Side by side: from Python 3.12 on, the code of such a lambda has no place of its own."""
    for f, body in ((lambda x: -1.0, "-1.0"), (lambda x: 2.0, "2.0"), (lambda x: x, "x")):
        assert ast.unparse(source_of(f).node.body) == body
