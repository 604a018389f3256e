"""Writes docs/torture.md: the programs that derivatives are tortured with, and what each stresses,
from their docstrings.

`python -m tools.torture_page` writes it; a test says whether it is up to date.
"""

from __future__ import annotations

import inspect
import json
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
arrays are as they were. All of them are right here.

{peers} of the programs were also written for JAX and PyTorch, as their users would write them, in
`tests_with_peers/torture/`. What became of these is in the last columns: **wrong** is wrong without
an error, "refuses" is an error, "another convention" is another answer where several are right. Of
these, {counts}.
"""
VERDICTS = json.loads(
    (PAGE.parents[1] / "tests_with_peers" / "torture" / "verdicts.json").read_text()
)
SYSTEMS = ("JAX", "PyTorch")


def page() -> str:
    programs = all_programs()
    parts = [HEAD.format(count=len(programs), peers=len(VERDICTS), counts=counts())]
    for module, group in groupby(programs, key=lambda p: p.run.__module__):
        parts += [f"## {sentence(sys.modules[module])}\n", table(list(group)), ""]
    return "\n".join(parts).rstrip() + "\n"


def table(programs: list[Program]) -> str:
    rows = ["| program | what it stresses | truth | JAX | PyTorch |", "|---|---|---|---|---|"]
    for p in programs:
        truth = "differences" if p.truth is None else "closed form"
        found = VERDICTS.get(p.run.__name__, {})
        theirs = " | ".join(found.get(system, "") for system in SYSTEMS)
        rows.append(f"| `{p.run.__name__}` | {sentence(p.run)} | {truth} | {theirs} |")
    return "\n".join(rows)


def counts() -> str:
    """How many verdicts there are of each kind, by system."""
    told = []
    for system in SYSTEMS:
        found = [row[system] for row in VERDICTS.values() if system in row]
        wrong = sum("wrong" in verdict for verdict in found)
        told.append(
            f"{system} has {wrong} wrong without an error, refuses {found.count('refuses')},"
            f" and has {found.count('right')} right"
        )
    return "; ".join(told)


def sentence(thing: object) -> str:
    """The docstring on one line, safe in a table."""
    return " ".join((inspect.getdoc(thing) or "").split()).replace("|", "\\|")


def main() -> None:
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
