"""Tokens of the text form of Core, and a cursor over them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from tapeless.core.types import DTYPES

_DTYPE = "|".join(DTYPES)
_TOKEN = re.compile(
    rf"""(?P<skip>\s+|\#[^\n]*)
    |(?P<number>-?(?:\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|inf\b|nan\b)(?::(?:{_DTYPE})\b)?)
    |(?P<string>"(?:[^"\\]|\\.)*")
    |(?P<name>[^\W\d][\w.]*)
    |(?P<symbol><-|<<|>>|<=|==|!=|\*\*|//|(?:\+|\*|\bmin|\bmax)=|[-+*/%&|^<=(){{}}\[\],:?~!])""",
    re.VERBOSE,
)
_COMPOUND = re.compile(r"(min|max)=(?!=)")  # before names: `min=` opens an accumulator
T = TypeVar("T")


class ParseError(Exception):
    """The text is not in the language; the message opens with its line."""


@dataclass(frozen=True, slots=True)
class Token:
    kind: str
    text: str
    line: int


def _tokens(text: str) -> list[Token]:
    """All tokens of a text, closed by one of kind "end"."""
    tokens: list[Token] = []
    at, line = 0, 1
    while at < len(text):
        compound = _COMPOUND.match(text, at)
        found = compound or _TOKEN.match(text, at)
        if found is None:
            raise ParseError(f"line {line}: unexpected character {text[at]!r}")
        kind = "symbol" if compound else str(found.lastgroup)
        if kind != "skip":
            tokens.append(Token(kind, found.group(), line))
        line += found.group().count("\n")
        at = found.end()
    tokens.append(Token("end", "end of text", line))
    return tokens


class Tokens:
    """The tokens of a text and how far they have been read."""

    def __init__(self, text: str) -> None:
        self.tokens = _tokens(text)
        self.at = 0

    @property
    def next(self) -> Token:
        return self.tokens[self.at]

    @property
    def after(self) -> str:
        """The token after the next, as text."""
        return self.tokens[self.at + 1].text if self.next.kind != "end" else ""

    def error(self, message: str) -> ParseError:
        return ParseError(f"line {self.next.line}: {message}")

    def take(self) -> Token:
        token = self.next
        self.at += token.kind != "end"
        return token

    def sees(self, *texts: str) -> bool:
        return self.next.kind != "string" and self.next.text in texts

    def accept(self, text: str) -> bool:
        if self.sees(text):
            self.at += 1
            return True
        return False

    def expect(self, text: str) -> None:
        if not self.accept(text):
            raise self.error(f"expected {text!r}, found {self.next.text!r}")

    def end(self) -> None:
        if self.next.kind != "end":
            raise self.error(f"expected the end, found {self.next.text!r}")

    def list(self, item: Callable[[], T], close: str) -> tuple[T, ...]:
        """Items with commas up to and including `close`."""
        items: list[T] = []
        while not self.accept(close):
            if items:
                self.expect(",")
            items.append(item())
        return tuple(items)

    def word(self) -> str:
        if self.next.kind != "name":
            raise self.error(f"expected a name, found {self.next.text!r}")
        return self.take().text

    def integer(self) -> int:
        token = self.take()
        if not re.fullmatch(r"-?\d+", token.text):
            raise self.error(f"expected an integer, found {token.text!r}")
        return int(token.text)
