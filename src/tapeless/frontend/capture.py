"""The syntax tree of a function: found by code positions, checked against its code object."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import types
import weakref
from collections.abc import Sequence
from dataclasses import dataclass

from tapeless.core.names import Loc
from tapeless.errors import SourceError

FunctionNode = ast.FunctionDef | ast.Lambda
_LOCS: weakref.WeakKeyDictionary[ast.AST, Loc] = weakref.WeakKeyDictionary()


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A function's syntax tree with the file it stands in."""

    node: FunctionNode
    file: str
    name: str

    def loc(self, node: ast.AST) -> Loc:
        known = _LOCS.get(node)
        if known is None:
            known = _LOCS[node] = Loc(
                self.file,
                getattr(node, "lineno", self.node.lineno),
                getattr(node, "col_offset", 0),
                getattr(node, "end_lineno", 0) or 0,
                getattr(node, "end_col_offset", 0) or 0,
                self.name,
            )
        return known

    @property
    def text(self) -> str:
        """The source as the compiler sees it: comments and layout gone."""
        return ast.unparse(self.node)


def _file_lines(code: types.CodeType) -> list[str]:
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename)
    if not lines:
        try:
            lines = inspect.getsourcelines(code)[0]
        except (OSError, TypeError):
            lines = []
    if not lines:
        raise SourceError(
            f"no source for '{code.co_name}': it was defined in {code.co_filename!r}",
            remedy="put the function in a file or a notebook cell, or register its text with"
            " linecache before calling exec",
        )
    return lines


def _block(lines: Sequence[str], code: types.CodeType, imported: Sequence[str]) -> str:
    """The lines of a `def` alone, at their places in the file: files may be long.

    Python compiles calls of methods of imported names in a way of its own. Where indentation does
    not show the end, or other code depends on what stands around it, this text does not parse or
    does not match `code`."""
    first = code.co_firstlineno - 1
    indent = len(lines[first]) - len(lines[first].lstrip())
    end, in_body = first, False
    for end in range(first, len(lines)):
        text = lines[end].lstrip()
        if text and text[0] not in "#)]}" and len(lines[end]) - len(text) <= indent:
            if in_body:
                break
            in_body = text.startswith("def ")
    else:
        end = len(lines)
    head = [""] * first
    if indent:
        head[-1] = "if 1:"
    if imported and first > 1:
        head[0] = f"import {', '.join(imported)}"
    return "\n".join([*head, "".join(lines[first:end])])


@dataclass(frozen=True, slots=True)
class Parsed:
    """The functions in a text by name, and all code made from it."""

    nodes: dict[str, list[FunctionNode]]
    codes: dict[str, list[types.CodeType]]

    def candidates(self, code: types.CodeType) -> list[FunctionNode]:
        """Function nodes that may have made `code`, by name and first line."""
        return [n for n in self.nodes.get(code.co_name, ()) if _starts(n, code)]

    def matches(self, code: types.CodeType) -> bool:
        """Whether compiling the text gives this very code somewhere.

        pytest rewrites `assert` before compiling: then names and arguments must agree."""
        rewritten = any(name.startswith("@py") for name in code.co_names + code.co_varnames)
        return any(
            _same_code(c, code) or (rewritten and c.co_firstlineno == code.co_firstlineno)
            for c in self.codes.get(code.co_name, ())
        )


@functools.lru_cache(maxsize=1024)
def _parsed(text: str, file: str) -> Parsed:
    module = ast.parse(text, file)
    parsed = Parsed({}, {})
    for node in ast.walk(module):
        if isinstance(node, ast.Lambda):
            parsed.nodes.setdefault("<lambda>", []).append(node)
        elif isinstance(node, ast.FunctionDef):
            parsed.nodes.setdefault(node.name, []).append(node)
    for code in _codes(compile(text, file, "exec", dont_inherit=True)):
        parsed.codes.setdefault(code.co_name, []).append(code)
    return parsed


def _starts(node: FunctionNode, code: types.CodeType) -> bool:
    if isinstance(node, ast.Lambda):
        return node.lineno <= code.co_firstlineno <= (node.end_lineno or node.lineno)
    return min([node.lineno, *(d.lineno for d in node.decorator_list)]) == code.co_firstlineno


def _codes(code: types.CodeType) -> list[types.CodeType]:
    found = [code]
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            found += _codes(const)
    return found


def _same_code(a: types.CodeType, b: types.CodeType) -> bool:
    """Two code objects made from the same text (constants compared without nested code)."""

    def constants(code: types.CodeType) -> list[object]:
        return [repr(c) for c in code.co_consts if not isinstance(c, types.CodeType)]

    return (
        a.co_code == b.co_code
        and a.co_names == b.co_names
        and a.co_varnames == b.co_varnames
        and constants(a) == constants(b)
    )


def _positions(code: types.CodeType) -> list[tuple[int | None, ...]]:
    return list(code.co_positions())


_CACHE: dict[types.CodeType, Source] = {}


def source_of(function: types.FunctionType) -> Source:
    """The checked source of a Python function."""
    code = function.__code__
    if code not in _CACHE:
        _CACHE[code] = _find(code, function.__globals__)
    return _CACHE[code]


def note_source(code: types.CodeType, source: Source) -> None:
    """The source of code that was made from a tree, not from a file."""
    _CACHE[code] = source


def _find(code: types.CodeType, scope: dict[str, object]) -> Source:
    file = code.co_filename
    lines = _file_lines(code)
    if code.co_name != "<lambda>" and code.co_firstlineno <= len(lines):
        names = dict.fromkeys(name for c in _codes(code) for name in c.co_names)
        imported = [name for name in names if isinstance(scope.get(name), types.ModuleType)]
        try:
            parsed = _parsed(_block(lines, code, imported), file)
        except SyntaxError:
            pass
        else:
            nodes = parsed.candidates(code)
            if len(nodes) == 1 and parsed.matches(code):
                return Source(nodes[0], file, code.co_name)
    return _find_in_file("".join(lines), code)


def _find_in_file(text: str, code: types.CodeType) -> Source:
    file = code.co_filename
    try:
        parsed = _parsed(text, file)
    except SyntaxError as error:
        raise SourceError(f"the source of '{code.co_name}' does not parse: {error}") from None
    nodes = parsed.candidates(code)
    if len(nodes) > 1 and code.co_name == "<lambda>":
        nodes = [n for n in nodes if _spans(n, code)]
    if not nodes or not parsed.matches(code):
        raise SourceError(
            f"the source of '{code.co_name}' has changed since it was compiled by Python",
            Loc(file, code.co_firstlineno, function=code.co_name),
            "reload the module, or run the cell again",
        )
    return Source(nodes[-1], file, code.co_name)  # a lambda in a lambda comes after it


def _gives_constant(node: ast.Lambda, code: types.CodeType) -> bool:
    """Whether a lambda returns one of the constants of `code` and has its parameters: from Python
    3.12 on the return of a constant has no place of its own."""
    try:
        value = ast.literal_eval(node.body)
    except ValueError:
        return False
    names = tuple(a.arg for a in (*node.args.posonlyargs, *node.args.args))
    return names == code.co_varnames[: len(names)] and repr(value) in map(repr, code.co_consts)


def _spans(node: FunctionNode, code: types.CodeType) -> bool:
    """A lambda's body contains every instruction of its code."""
    assert isinstance(node, ast.Lambda)
    body = node.body
    start, end = (body.lineno, body.col_offset), (body.end_lineno or 0, body.end_col_offset or 0)
    spots = [
        ((line, col), (end_line, end_col))
        for line, end_line, col, end_col in _positions(code)
        if None not in (line, end_line, col, end_col) and (col, end_col) != (0, 0)
    ]
    inside = [s for s in spots if s[0] >= (node.lineno, node.col_offset)]
    if not inside:
        return _gives_constant(node, code)
    return all(
        start <= (s[0][0] or 0, s[0][1] or 0) and (s[1][0] or 0, s[1][1] or 0) <= end
        for s in inside
    )
