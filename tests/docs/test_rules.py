"""docs/rules.md says what the code says, and pipeline.py lists all passes."""

from __future__ import annotations

import inspect

import pytest

from tapeless import pipeline
from tapeless.simplify import laws
from tools import derivative_rules
from tools.rules_page import GROUPS, LAWS, PAGE, modules, page

PASSES = [module for module in modules() if hasattr(module, "run")]


def test_the_page_is_up_to_date():
    assert PAGE.read_text() == page(), "run make docs"


def test_the_page_of_derivatives_is_up_to_date():
    assert derivative_rules.PAGE.read_text() == derivative_rules.page(), "run make docs"


def test_every_rule_says_what_it_is():
    lines = derivative_rules.page().split("## How it is done")[0].splitlines()
    rules = [line for line in lines if line.startswith("- ")]
    assert len(rules) > 80
    assert not [line for line in rules if line.endswith(": ")]


@pytest.mark.parametrize("module", PASSES, ids=lambda m: m.__name__)
def test_pass_is_listed_once(module):
    listed = [step for group in GROUPS for step in getattr(pipeline, group)]
    assert listed.count(module.run) == 1


def test_all_functions_of_laws_with_equations_are_shown():
    functions = inspect.getmembers(laws, inspect.isfunction)
    mine = {n for n, f in functions if f.__module__ == laws.__name__ and "⇒" in (f.__doc__ or "")}
    shown = {name for names in LAWS.values() for name in names}
    assert mine == shown - {"fold"}
