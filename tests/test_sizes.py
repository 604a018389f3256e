"""Files and functions stay small enough to be read whole."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILE_LINES = 400
FUNCTION_LINES = 50

# What reads better whole, with the reason. A file: its bound. A function: "file:function".
EXCEPTIONS: dict[str, tuple[int, str]] = {
    "src/tapeless/emit/math/special_coefficients.py": (800, "numbers that a program wrote"),
}

FILES = sorted(
    path for folder in ("src", "tools", "benchmarks") for path in (ROOT / folder).rglob("*.py")
)
over_files = pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))


def bound(name: str, usual: int) -> int:
    return EXCEPTIONS.get(name, (usual, ""))[0]


def functions_of(path: Path) -> dict[str, int]:
    """Qualified name -> lines, from the `def` to the last line, docstring not counted."""
    sizes: dict[str, int] = {}

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            name = prefix
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                name = f"{prefix}.{child.name}" if prefix else child.name
            if isinstance(child, ast.FunctionDef):
                first = child.body[0]
                doc = 0
                if ast.get_docstring(child, clean=False) is not None:
                    doc = (first.end_lineno or first.lineno) - first.lineno + 1
                sizes[name] = (child.end_lineno or child.lineno) - child.lineno + 1 - doc
            visit(child, name)

    visit(ast.parse(path.read_text()), "")
    return sizes


@over_files
def test_file_size(path: Path):
    name = str(path.relative_to(ROOT))
    lines = len(path.read_text().splitlines())
    assert lines <= bound(name, FILE_LINES), f"{name} has {lines} lines"


@over_files
def test_function_sizes(path: Path):
    file = str(path.relative_to(ROOT))
    long = {
        name: lines
        for name, lines in functions_of(path).items()
        if lines > bound(f"{file}:{name}", FUNCTION_LINES)
    }
    assert not long, f"{file}: {long}"


def test_exceptions_are_needed_and_reasoned():
    """An exception that has become unnecessary, or has no reason, goes."""
    for name, (limit, reason) in EXCEPTIONS.items():
        assert reason, name
        file, _, function = name.partition(":")
        path = ROOT / file
        assert path.exists(), name
        if function:
            assert FUNCTION_LINES < functions_of(path)[function] <= limit, name
        else:
            assert FILE_LINES < len(path.read_text().splitlines()) <= limit, name
