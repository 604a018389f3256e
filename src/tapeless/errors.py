"""Errors in the user's words: file, line, caret, remedy; at most eight lines."""

from __future__ import annotations

import linecache
import re
from dataclasses import replace

from tapeless.core.names import Loc

DECORATORS = 30  # lines of them that are looked through


class TapelessError(Exception):
    """Base of every error that this package raises about a program."""


class CompileError(TapelessError, TypeError):
    """The program cannot be compiled as written. `loc` points at the cause."""

    def __init__(self, message: str, loc: Loc | None = None, remedy: str = "") -> None:
        self.message = message
        self.loc = loc
        self.remedy = remedy
        super().__init__(message)

    def __str__(self) -> str:
        return report(self.message, self.loc, self.remedy)


class UnsupportedError(CompileError):
    """A statement, function or keyword that the language does not have."""


class SourceError(CompileError):
    """The source of a function cannot be had, or does not match its code."""


class NameNotDefinedError(CompileError, NameError):
    """A name that is not defined, or not on every path."""


class SizeError(CompileError, ValueError):
    """Shapes that cannot meet, known at compile time."""


class ArgumentError(TapelessError, TypeError):
    """An argument of a call that the function cannot take. `loc` points at the function."""

    def __init__(self, message: str, loc: Loc | None = None, remedy: str = "") -> None:
        message, _, given = message.partition("\n  Remedy: ")
        remedy = remedy or given
        self.message = message
        self.loc = loc
        self.remedy = remedy
        super().__init__(message)

    def __str__(self) -> str:
        return report(self.message, self.loc, self.remedy)


class AliasError(ArgumentError, ValueError):
    """Arguments that share memory, of which one is written."""


class ReadOnlyError(ArgumentError, ValueError):
    """An argument that is written but cannot be."""


class ShapeError(ArgumentError, ValueError):
    """An argument whose rank or sizes are not the declared ones."""


def report(message: str, loc: Loc | None, remedy: str = "") -> str:
    """The message with the user's line and a caret under the cause."""
    lines = [message]
    if loc is not None:
        loc = _behind_decorators(loc)
        where = f", in {loc.function}" if loc.function else ""
        lines.append(f'  File "{loc.file}", line {loc.line}{where}')
        lines += caret(loc)
    if remedy:
        lines.append(f"  Remedy: {remedy}")
    return "\n".join(lines)


def _behind_decorators(loc: Loc) -> Loc:
    """Code tells only the first line of a function, which may be that of a decorator."""
    start = re.compile(rf"(async\s+)?def\s+{re.escape(loc.function)}\b")
    for line in range(loc.line, loc.line + DECORATORS if loc.function and not loc.end_line else 0):
        text = linecache.getline(loc.file, line)
        if start.match(text.lstrip()):
            return replace(loc, line=line, col=len(text) - len(text.lstrip()))
    return loc


def caret(loc: Loc) -> list[str]:
    """The source line of `loc` with the range under it marked; nothing when it cannot be had."""
    text = linecache.getline(loc.file, loc.line).rstrip("\n")
    if not text.strip():
        return []
    shift = len(text) - len(text.lstrip())
    end = loc.end_col if loc.end_line == loc.line else len(text)
    width = max(end - loc.col, 1)
    return ["    " + text.lstrip(), "    " + " " * max(loc.col - shift, 0) + "^" * width]
