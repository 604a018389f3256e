"""docs/ir.md shows the grammar on one screen, and it is the grammar of ir/syntax.py."""

from __future__ import annotations

import dataclasses
import re
import typing
from pathlib import Path

from tapeless.ir import syntax
from tapeless.ir.parse import parse
from tapeless.ir.print import ACC_MARKS, MODE_MARKS, show
from tapeless.ir.syntax import KNOWN_OPS
from tapeless.ir.verify import REVERSE_KINDS, verify

DOCUMENT = (Path(__file__).parents[2] / "docs" / "ir.md").read_text()
SCREEN = 50


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", DOCUMENT, re.M | re.S)


GRAMMAR = blocks("grammar")[0]


def kind(annotation: str) -> str:
    """A type annotation as the document writes it: Var* is a tuple, Atom? may be missing."""
    annotation = re.sub(r"tuple\[(.*), \.\.\.\]$", r"\1*", annotation.replace(" | None", "?"))
    annotation = re.sub(r"^tuple\[(.*)\]\*$", r"(\1)*", annotation)
    return re.sub(r"^(\w+(?: \| \w+)+)\*$", r"(\1)*", annotation)


def production(cls: type) -> str:
    fields = (f"{kind(str(f.type))} {f.name}" for f in dataclasses.fields(cls))
    return f"{cls.__name__}({', '.join(fields)})"


CLASSES = [
    c for c in vars(syntax).values()
    if dataclasses.is_dataclass(c) and c.__module__ == syntax.__name__
]  # fmt: skip


def test_every_construct_is_shown_as_it_is():
    shown = re.findall(r"\b[A-Z]\w+\((?:[^()]|\([^()]*\))*\)", GRAMMAR)
    assert sorted(shown) == sorted(production(c) for c in CLASSES)


def test_expressions_are_those_of_the_grammar():
    exp = GRAMMAR.split("exp ")[1].split("\n\n")[0]
    names = re.findall(r"[=|]\s+([A-Z]\w+)\(", "=" + exp.split("=", 1)[1])
    assert names == [c.__name__ for c in typing.get_args(syntax.Exp)]


def test_it_fits_on_one_screen():
    lines = GRAMMAR.splitlines()
    assert len(lines) <= SCREEN
    assert max(map(len, lines)) <= 110


def test_tables_name_every_mode_operator_and_strategy():
    for mode, mark in MODE_MARKS.items():
        assert f"| `{mode}` | `x[k{mark}]` |" in DOCUMENT
    for op in KNOWN_OPS:
        assert f"`{ACC_MARKS[op]}`" in DOCUMENT
    for strategy in REVERSE_KINDS:
        assert f"`{strategy}`" in DOCUMENT


def test_programs_of_the_document_are_programs():
    programs = blocks("core")
    assert programs
    for text in programs:
        verify(parse(text))
        assert show(parse(text)) == text.rstrip()
