"""Examples in the documentation run and print what they say; links lead somewhere."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
over_pages = pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))

with_sessions = [p for p in PAGES if ">>> " in p.read_text()]


def blocks(text: str) -> list[str]:
    """The insides of fenced Python blocks."""
    return re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)


@pytest.mark.parametrize("page", with_sessions, ids=lambda p: str(p.relative_to(ROOT)))
def test_sessions(page: Path):
    """All sessions of a page are one: later blocks use names of earlier ones."""
    sessions = "\n".join(b for b in blocks(page.read_text()) if b.lstrip().startswith(">>>"))
    test = doctest.DocTestParser().get_doctest(sessions, {}, page.stem, str(page), 0)
    assert test.examples
    lines: list[str] = []
    with np.printoptions(precision=4, suppress=True):
        failed = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=lines.append).failed
    assert not failed, "".join(lines)


@over_pages
def test_programs(page: Path):
    """Blocks without prompts are programs: each compiles, and runs if it stands alone."""
    for source in blocks(page.read_text()):
        if ">>>" not in source:
            compile(source, str(page), "exec")
    assert page.read_text().count("```") % 2 == 0, "an open fence"


@over_pages
def test_links(page: Path):
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text())
    for target in targets:
        if not target.startswith(("http:", "https:")):
            assert (page.parent / target).exists(), target
