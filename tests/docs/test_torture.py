"""docs/torture.md says what the programs say."""

from __future__ import annotations

from tests.ad.torture import all_programs
from tools.torture_page import PAGE, page


def test_the_page_is_up_to_date():
    assert PAGE.read_text() == page(), "run make docs"


def test_every_program_says_what_it_stresses():
    assert all((p.run.__doc__ or "").strip() for p in all_programs())
