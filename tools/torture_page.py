"""Writes docs/torture.md: the programs that derivatives are tortured with, and what each stresses,
from their docstrings.

`python -m tools.torture_page` writes it; a test says whether it is up to date.
"""

from __future__ import annotations

import inspect
import sys
from itertools import groupby
from pathlib import Path

from tests.ad.torture import all_programs
from tests.ad.torture.program import Program

PAGE = Path(__file__).parents[1] / "docs" / "torture.md"
HEAD = """# The torture suite

Written by `python -m tools.torture_page` from the docstrings of `tests/ad/torture/`: edit them
there.

{count} programs of one page, written as users write them, on which derivatives go wrong easily:
wrong without an error, not a number, or far too slow. Each has its truth: a closed form where one
is known, else differences of plain Python, of three steps, extrapolated. `tests/ad/test_torture.py`
compares reverse mode with it, forward mode along a direction, and the value with plain Python; the
second derivative of what has no kinks by both ways with differences of the first; and the caller's
arrays are as they were.
"""


def page() -> str:
    programs = all_programs()
    parts = [HEAD.format(count=len(programs))]
    for module, group in groupby(programs, key=lambda p: p.run.__module__):
        parts += [f"## {sentence(sys.modules[module])}\n", table(list(group)), ""]
    return "\n".join(parts).rstrip() + "\n"


def table(programs: list[Program]) -> str:
    rows = ["| program | what it stresses | truth |", "|---|---|---|"]
    for p in programs:
        truth = "differences" if p.truth is None else "closed form"
        rows.append(f"| `{p.run.__name__}` | {sentence(p.run)} | {truth} |")
    return "\n".join(rows)


def sentence(thing: object) -> str:
    """The docstring on one line, safe in a table."""
    return " ".join((inspect.getdoc(thing) or "").split()).replace("|", "\\|")


def main() -> None:
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
