"""Writes the table of constructs into docs/language.md, from the examples of the conformance tests.

`python -m tools.language_table` rewrites the part between its two marks; `--check` says whether it
is up to date.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import itertools
import sys
import textwrap
from pathlib import Path

from tests.conformance.constructs import EXAMPLES, Example

DOCUMENT = Path(__file__).parents[1] / "docs" / "language.md"
START, END = "<!-- constructs: start -->", "<!-- constructs: end -->"
WAYS = {
    "yes": "compiled",
    "differs": "compiled; plain Python gives something else, see the list above",
    "refused": "a compile error that says what to do instead",
}


def table() -> str:
    """The tables of all sections, in the order of the examples."""
    claim = "each is a test: plain Python, the interpreter and machine code give the same"
    parts = [f"{len(EXAMPLES)} constructs; {claim}.\n"]
    ordered = sorted(EXAMPLES, key=lambda e: SECTIONS.index(e.section))
    for section, examples in itertools.groupby(ordered, key=lambda e: e.section):
        parts += [f"\n### {section}\n", "| construct | example | supported |", "|---|---|---|"]
        parts += [row(e) for e in examples]
    return "\n".join(parts) + "\n"


SECTIONS = (
    "Values", "Sizes", "Statements", "Functions", "Places", "Indexing", "Arrays", "Libraries",
    "Parallel forms", "Sequential loops", "Known differences", "Refused",
)  # fmt: skip


def row(example: Example) -> str:
    way = "refused" if example.refused else "differs" if example.expect else "yes"
    types = f" ({', '.join(example.over)})" if example.over else ""
    return f"| {example.title} | {code(example)} | {way}{types} |"


def code(example: Example) -> str:
    """The function's text in one cell: lines as code, indented by hard spaces."""
    source = textwrap.dedent(inspect.getsource(example.function))
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    lines = source.splitlines()[function.lineno - 1 : function.end_lineno]
    return "<br>".join(cell(line.split("  # noqa")[0].rstrip()) for line in lines if line.strip())


def cell(line: str) -> str:
    text = line.lstrip()
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "&#124;")
    escaped = escaped.replace("](", "]&#40;")  # not a link
    return (
        f"<code>{'&nbsp;' * (len(line) - len(text))}{escaped.replace('  # fmt: skip', '')}</code>"
    )


def updated(document: str) -> str:
    before, rest = document.split(START)
    after = rest.split(END)[1]
    return f"{before}{START}\n{table()}{END}{after}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.language_table", description=__doc__)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    text = DOCUMENT.read_text()
    if options.check:
        return text != updated(text)
    DOCUMENT.write_text(updated(text))
    return 0


if __name__ == "__main__":
    sys.exit(main())
