"""The work of all passes hardly grows faster than a program's size: calls are counted."""

from __future__ import annotations

import linecache
import sys
from typing import Any

import numpy as np
import pytest

import tapeless as tp
from tapeless import pipeline
from tapeless.api.inspection import look


def straight(count: int) -> list[str]:
    """Scalars that depend on the last one and on one long before."""
    lines = ["a0, a1 = x[0], y[0]"]
    lines += [f"a{k} = np.sin(a{k - 1}) * {k}.5 + a{k // 2}" for k in range(2, count)]
    return [*lines, f"return a{count - 1}"]


def maps(count: int) -> list[str]:
    """Loops that change one array in place."""
    body = [
        ("for i in range(x.size):", f"    y[i] = abs(y[i]) * {k}.5 + x[i]") for k in range(count)
    ]
    return [line for pair in body for line in pair] + ["return y[0]"]


def mixed(count: int) -> list[str]:
    """Sums and recurrences by turns."""
    lines = ["t = 0.0"]
    for k in range(count):
        lines += ["for i in range(1, x.size):"]
        lines += [
            f"    t += x[i] * y[i] * {k}.5" if k % 2 else "    y[i] = y[i - 1] * 0.5 + x[i] + t"
        ]
    return [*lines, "return t"]


def chained(count: int) -> list[str]:
    """Whole arrays, each made of those before."""
    lines = ["a0, a1 = x, y"]
    lines += [f"a{k} = np.cumsum(a{k - 1}) + a{k - 2}" for k in range(2, count)]
    return [*lines, f"return a{count - 1}"]


def calls(lines: list[str]) -> int:
    """Calls of Python functions that optimising a function with this body takes."""
    text = "\n".join(["def f(x, y):", *(f"    {line}" for line in lines)]) + "\n"
    name = f"<growth {hash(text)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), scope)
    fun = look(tp.jit(scope["f"]), (np.ones(9), np.ones(9)), {}).traced
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        pipeline.optimise(fun)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    ("body", "size"), [(straight, 200), (maps, 20), (mixed, 20), (chained, 20)],
    ids=lambda x: getattr(x, "__name__", ""),
)  # fmt: skip
def test_twice_the_program_is_hardly_more_than_twice_the_work(body, size, monkeypatch):
    monkeypatch.setattr(pipeline, "CHECKED", False)
    assert calls(body(2 * size)) < 2.8 * calls(body(size))
