"""The tests that docs/testing.md names, sentence by sentence of the language, exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conformance.constructs import EXAMPLES

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "testing.md"
TABLE = PAGE.read_text().split("## The language, sentence by sentence")[1].split("\n## ")[0]
ROWS = [row.strip("| ").split(" | ") for row in TABLE.splitlines() if row.startswith("| ")][1:]
NAMES = {e.name for e in EXAMPLES}


def exists(name: str) -> bool:
    file, _, test = name.rpartition("::")
    if not file:
        return name in NAMES
    path = TESTS / file
    return path.exists() and f"def {test}(" in path.read_text()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_every_sentence_has_its_tests(row):
    names = re.findall(r"`([^`]+)`", row[1])
    assert names
    assert [n for n in names if not exists(n)] == []


def test_known_differences_are_all_listed():
    listed = re.findall(r"`([^`]+)`", TABLE)
    assert {e.name for e in EXAMPLES if e.expect} <= set(listed)
