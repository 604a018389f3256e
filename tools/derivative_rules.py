"""Writes docs/derivative-rules.md: the rules of differentiation, from their docstrings.

`python -m tools.derivative_rules` writes it; a test says whether it is up to date.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType

from tapeless import ad
from tapeless.ad import jvp, linear_algebra, prepare, vjp
from tapeless.ad.elementary import ELEMENTARY
from tapeless.ad.partials import ARITHMETIC
from tools.rules_page import section

PAGE = Path(__file__).parents[1] / "docs" / "derivative-rules.md"
HEAD = """# Rules of differentiation

Written by `python -m tools.derivative_rules` from the docstrings of `src/tapeless/ad`: edit them
there. ẋ is the tangent of x, x̄ its cotangent. How the rules work together is told in
[Reverse mode without a tape](reverse-mode.md).
"""
EQUATION = re.compile("[\u0304\u0307ẋẏāēīōūȳ]")  # with a bar or a dot on a letter
Rules = Mapping[str, Callable[..., object]]


def page() -> str:
    parts = [HEAD, "## Scalar operators\n", *listed({**ARITHMETIC, **ELEMENTARY})]
    parts += ["", "## Statements in reverse\n", *listed(methods(vjp.Reverse))]
    parts += ["", "## Statements forward\n", *listed(methods(jvp._Forward))]
    parts += ["", "## Before a program is differentiated in reverse\n"]
    parts += listed({rule.__name__: rule for rule in prepare.REVERSE})
    parts += ["", "## Linear algebra in reverse\n", *listed(linear_algebra.PULL)]
    parts += ["", "## Linear algebra forward\n", *listed(linear_algebra.PUSH)]
    parts += ["", "## How it is done\n", *map(section, modules())]
    return "\n".join(parts).rstrip() + "\n"


def listed(rules: Rules) -> list[str]:
    return [f"- `{name}`: {flat(rule)}" for name, rule in rules.items()]


def flat(rule: Callable[..., object]) -> str:
    """The docstring of a rule, or the head of its module's, in one line."""
    text = inspect.getdoc(rule)
    if text is None:
        text = (inspect.getdoc(inspect.getmodule(rule)) or "").split("\n\n")[0]
    return re.sub(r"\s+", " ", text)


def methods(cls: type) -> Rules:
    """Methods whose docstring is an equation of tangents or cotangents."""
    found = inspect.getmembers(cls, inspect.isfunction)
    return {name: m for name, m in found if EQUATION.search(inspect.getdoc(m) or "")}


def modules() -> Iterator[ModuleType]:
    for found in pkgutil.iter_modules(ad.__path__, f"{ad.__name__}."):
        yield importlib.import_module(found.name)


def main() -> None:
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
