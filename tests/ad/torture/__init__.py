"""One-page programs, written as users write them, on which derivatives go wrong easily."""

from __future__ import annotations

import importlib

from tests.ad.torture.program import PROGRAMS, Program

THEMES = (
    "writes", "control", "choices", "gathers", "operators", "structure", "orders", "numerics",
    "sequences", "shapes",
)  # fmt: skip


def all_programs() -> list[Program]:
    """The programs of all themes, in their order."""
    for theme in THEMES:
        importlib.import_module(f"{__name__}.{theme}")
    return PROGRAMS
