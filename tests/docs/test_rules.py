"""docs/rules.md says what the code says, and pipeline.py lists all passes."""

from __future__ import annotations

import inspect

import pytest

from tapeless import pipeline
from tapeless.simplify import laws
from tools.rules_page import GROUPS, LAWS, PAGE, modules, page

PASSES = [module for module in modules() if hasattr(module, "run")]


def test_the_page_is_up_to_date():
    assert PAGE.read_text() == page(), "run make docs"


@pytest.mark.parametrize("module", PASSES, ids=lambda m: m.__name__)
def test_pass_is_listed_once(module):
    listed = [step for group in GROUPS for step in getattr(pipeline, group)]
    assert listed.count(module.run) == 1


def test_all_functions_of_laws_with_equations_are_shown():
    functions = inspect.getmembers(laws, inspect.isfunction)
    mine = {n for n, f in functions if f.__module__ == laws.__name__ and "⇒" in (f.__doc__ or "")}
    shown = {name for names in LAWS.values() for name in names}
    assert mine == shown - {"fold"}
