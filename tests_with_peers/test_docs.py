"""The programs of docs/interop.md that need JAX or PyTorch run."""

from __future__ import annotations

import linecache
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "interop.md"
PROGRAMS = [
    block for block in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    if ">>>" not in block
]  # fmt: skip


def test_there_is_one_for_each():
    assert [p.split("import tapeless.")[1].split()[0] for p in PROGRAMS] == ["torch", "jax"]


@pytest.mark.parametrize("k", range(len(PROGRAMS)))
def test_program(k):
    name = f"<interop.md {k}>"
    linecache.cache[name] = (len(PROGRAMS[k]), None, PROGRAMS[k].splitlines(True), name)
    exec(compile(PROGRAMS[k], name, "exec"), {"__name__": name})
