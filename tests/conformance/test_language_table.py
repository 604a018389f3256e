"""docs/language.md shows the constructs that are tested."""

from __future__ import annotations

from tests.conformance.constructs import EXAMPLES
from tools.language_table import DOCUMENT, SECTIONS, code, updated


def test_the_table_is_up_to_date():
    text = DOCUMENT.read_text()
    assert text == updated(text), "run python -m tools.language_table"


def test_every_section_of_the_examples_is_shown():
    assert {e.section for e in EXAMPLES} == set(SECTIONS)


def test_a_cell_holds_the_whole_function_on_one_line():
    example = next(e for e in EXAMPLES if e.name == "while_loop")
    assert code(example).startswith("<code>def while_loop(k):</code><br>")
    assert code(example).endswith("return steps</code>")
    assert "\n" not in code(example)
