"""An LLVM module as several, which are compiled side by side, and their object files as one.

Code generation is most of a compilation and takes one function at a time, so that functions may be
spread over modules of about equal length. How they are spread depends on the text alone: one text
gives the same code everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

PART = 1500  # lines of a module that are worth a thread
MOST = 4

_FUNCTION = re.compile(r"^define .*?^\}$\n?", re.MULTILINE | re.DOTALL)
_HEADER = re.compile(r"^define (?:internal )?(.*?) \{$", re.MULTILINE)
_SYMBOL = re.compile(r"@([\w.]+)\(")
_TABLE = re.compile(r"^(@[\w.]+) = internal .*\n", re.MULTILINE)
_MAGIC = b"tapeless objects\n"


def split(text: str, part: int = PART) -> list[str]:
    """Modules that together define what `text` does; itself if it is short, or has data that may
    be written, which no two modules can hold."""
    count = min(text.count("\n") // part + 1, MOST)
    functions = _FUNCTION.findall(text)
    readable = len(functions) == len(re.findall(r"^define ", text, re.MULTILINE))
    if count < 2 or len(functions) < 2 or not readable or re.search(r"^@.* global ", text, re.M):
        return [text]
    rest = _FUNCTION.sub("", text)
    tables = {name: line for line, name in ((m[0], m[1]) for m in _TABLE.finditer(rest))}
    others = _TABLE.sub("", rest)
    return [_module(own, functions, tables, others) for own in _shares(functions, count)]


def _shares(functions: Sequence[str], count: int) -> list[list[str]]:
    """The functions in `count` lots, the longest ones dealt out first."""
    lots: list[list[str]] = [[] for _ in range(count)]
    lengths = [0] * count
    for function in sorted(functions, key=len, reverse=True):
        shortest = lengths.index(min(lengths))
        lots[shortest].append(function)
        lengths[shortest] += len(function)
    return [lot for lot in lots if lot]


def _module(
    own: Sequence[str], functions: Sequence[str], tables: dict[str, str], others: str
) -> str:
    """Some functions with what they mention. A function is seen by the other modules, not from
    outside."""
    body = "".join(own).replace("define internal ", "define hidden ")
    mentioned = set(re.findall(r"@[\w.]+", body))
    used = [line for name, line in tables.items() if name in mentioned]
    declared = [
        f"declare hidden {_HEADER.findall(f)[0]}\n" for f in functions
        if f not in own and f"@{_SYMBOL.findall(f)[0]}" in mentioned
    ]  # fmt: skip
    return "".join([others, *used, *declared, body])


def bundle(objects: Sequence[bytes]) -> bytes:
    """Object files as one."""
    if len(objects) == 1:
        return objects[0]
    lengths = b"".join(len(data).to_bytes(8, "little") for data in objects)
    return b"".join([_MAGIC, len(objects).to_bytes(8, "little"), lengths, *objects])


def unbundle(data: bytes) -> Iterator[bytes]:
    """The object files of a bundle, or the single one that `data` is."""
    if not data.startswith(_MAGIC):
        yield data
        return
    words = memoryview(data)[len(_MAGIC) :]
    count = int.from_bytes(words[:8], "little")
    at = 8 * (count + 1)
    for k in range(count):
        length = int.from_bytes(words[8 * (k + 1) : 8 * (k + 2)], "little")
        yield bytes(words[at : at + length])
        at += length
