"""Imports go only downwards, as docs/architecture.md says, and stand at the top of files."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "tapeless"
ABOVE_ALL = frozenset({"__init__", "__main__"})


def layer_table() -> dict[str, frozenset[str]]:
    """Package -> the packages it may import, read from docs/architecture.md."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    section = text.split("## Layers")[1].split("\n## ")[0]
    table: dict[str, frozenset[str]] = {}
    for names, imports in re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| ([^|]*) \|", section, re.M):
        allowed = frozenset(re.findall(r"`(\w+)`", imports))
        peers = frozenset(re.findall(r"`(\w+)`", names))
        if "all above" in imports:
            allowed |= frozenset(table)
        for name in peers:
            # The topmost row is what users touch: its members may use each other.
            table[name] = allowed | peers if "api" in peers else allowed
    return table


TABLE = layer_table()


def layer_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports_of(tree: ast.AST) -> Iterator[tuple[ast.stmt, str]]:
    """Every imported module, relative ones refused: one spelling is enough."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names):
                for alias in names:
                    yield node, alias.name
            case ast.ImportFrom(module, names, level):
                assert level == 0, f"line {node.lineno}: relative import"
                if module == "tapeless":
                    for alias in names:
                        yield node, f"tapeless.{alias.name}"
                else:
                    yield node, str(module)


FILES = sorted(SOURCE.rglob("*.py"))
over_files = pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))


def test_table_names_every_package():
    layers = {layer_of(path) for path in FILES} - ABOVE_ALL
    assert layers <= TABLE.keys(), f"not in docs/architecture.md: {layers - TABLE.keys()}"


def test_table_goes_downwards():
    """No package may import, through any chain, one that may import it (the top row aside)."""
    top = {name for name, allowed in TABLE.items() if name in allowed}
    for name in TABLE.keys() - top:
        reached: set[str] = set()
        front = set(TABLE[name])
        while front:
            reached |= front
            front = set().union(*(TABLE[m] for m in front)) - reached
        assert name not in reached, f"{name} reaches itself"


@over_files
def test_imports_follow_the_table(path: Path):
    layer = layer_of(path)
    tree = ast.parse(path.read_text())
    allowed = None if layer in ABOVE_ALL else TABLE[layer] | {layer}
    for node, module in imports_of(tree):
        if module.split(".")[0] != "tapeless" or allowed is None:
            continue
        target = module.partition(".")[2].partition(".")[0]
        assert target in allowed, f"{path.name}:{node.lineno}: {layer} may not import {module}"


@over_files
def test_imports_stand_at_the_top(path: Path):
    tree = ast.parse(path.read_text())
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            inner = [n for n in ast.walk(function) if isinstance(n, ast.Import | ast.ImportFrom)]
            assert not inner, f"{path.name}:{inner[0].lineno}: import inside a function"


def test_llvmlite_is_imported_only_where_code_is_made():
    for path in FILES:
        modules = {module.split(".")[0] for _, module in imports_of(ast.parse(path.read_text()))}
        if "llvmlite" in modules:
            assert layer_of(path) in {"emit", "runtime"}, path
