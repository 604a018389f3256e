"""Writes docs/rules.md: the passes in their order and the laws, from their docstrings.

`python -m tools.rules_page` writes it; a test says whether it is up to date.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

from tapeless import fuse, pipeline, raising, simplify
from tapeless.simplify import laws

PAGE = Path(__file__).parents[1] / "docs" / "rules.md"
HEAD = """# Rules

Written by `python -m tools.rules_page` from the docstrings of the passes and laws: edit them there.
"""
GROUPS = {
    "TIDY": "Tidying, after every other group",
    "CLEAN": "Cleaning",
    "RAISE": "Raising loops, once more for every level of a nest",
    "FUSE": "Fusing nests",
    "LAST": "When nothing else makes a loop parallel",
    "PROMISED": "What the program promises",
}
LAWS = {
    "Of all, when an expression is built": ("fold",),
    "Of truth values": ("_boolean", "_negation"),
    "Of choices": ("_choice",),
    "Of floats": ("_float", "_negated_operand", "_sign", "_power"),
    "Of integers": ("_integer",),
}


def page() -> str:
    parts = [HEAD]
    for group, title in GROUPS.items():
        parts.append(f"## {title}\n")
        parts += [section(inspect.getmodule(step)) for step in getattr(pipeline, group)]
    parts.append("## What the passes are made of\n")
    parts += [section(module) for module in modules() if is_part(module)]
    parts.append("## Laws of operators\n")
    parts.append(shaped(inspect.getdoc(laws) or ""))
    for title, names in LAWS.items():
        parts.append(f"### {title}\n")
        parts += [f"- {law}" for name in names for law in equations(getattr(laws, name))]
        parts.append("")
    return "\n".join(parts).rstrip() + "\n"


def modules() -> Iterator[ModuleType]:
    """All modules that rewrite Core."""
    for package in (simplify, raising, fuse):
        for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            yield importlib.import_module(found.name)


def is_part(module: ModuleType) -> bool:
    return not hasattr(module, "run") and module is not laws


def section(module: ModuleType | None) -> str:
    assert module is not None
    name = module.__name__.removeprefix("tapeless.")
    return f"### `{name}`\n\n{shaped(inspect.getdoc(module) or '')}"


def shaped(doc: str) -> str:
    """Paragraphs as prose, but what has equations or is indented as it stands."""
    parts = []
    for paragraph in doc.split("\n\n"):
        as_it_stands = "⇒" in paragraph or '"+"' in paragraph or paragraph.startswith("    ")
        text = textwrap.dedent(paragraph)
        parts.append(f"```text\n{text}\n```\n" if as_it_stands else f"{text}\n")
    return "\n".join(parts)


def equations(function: Callable[..., object]) -> list[str]:
    """The laws that a docstring ends with, one by one."""
    text = (inspect.getdoc(function) or "").split("\n\n")[-1].replace("\n", " ")
    return [part.strip().rstrip(".") for part in text.split(";")]


def main() -> None:
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
