"""The table of kinks and ties in docs/derivatives.md is true, in both modes."""

from __future__ import annotations

import linecache
import re
from pathlib import Path

import numpy as np
import pytest

import tapeless as tp

PAGE = (Path(__file__).parents[2] / "docs" / "derivatives.md").read_text()
ROWS = re.findall(r"^\| `(.+?)` \| `(.+?)` \| `(.+?)` \|", PAGE, re.M)


def function(text: str):
    """A function of x, from a file that linecache knows."""
    name = f"<kink {text}>"
    source = f"def f(x):\n    return {text}\n"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    scope = {"np": np}
    exec(compile(source, name, "exec"), scope)
    return scope["f"]


def test_the_table_is_found():
    assert len(ROWS) > 20


@pytest.mark.parametrize(("text", "at", "derivative"), ROWS, ids=[r[0] for r in ROWS])
def test_row(text, at, derivative):
    f, x, expected = function(text), eval(at), eval(derivative)
    np.testing.assert_array_equal(tp.grad(f)(x), expected)
    if isinstance(x, complex):
        return
    found = tp.jacfwd(f)(x)
    np.testing.assert_array_equal(found, expected)
