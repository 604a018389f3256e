"""docs/examples.md says what the example programs say."""

from __future__ import annotations

from benchmarks.gradients.program import load_examples
from tools.examples_page import PAGE, functions_of, page


def test_the_page_is_up_to_date():
    assert PAGE.read_text() == page(), "run make docs"


def test_every_program_is_shown_whole():
    text = PAGE.read_text()
    for example in load_examples().values():
        assert f"`{example.name}`: the derivative is" in text
        assert example.primal in functions_of(example)
        assert all(f"def {f.__name__}(" in text for f in functions_of(example))
