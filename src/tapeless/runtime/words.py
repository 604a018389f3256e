"""A systems language in Python's syntax: functions over 64-bit words, translated to LLVM text.

The part of the runtime that runs without the interpreter lock is written in it (`native/`). Every
value is a signed 64-bit word; pointers are words; a comparison is 0 or 1. There are assignments,
`if`, `while`, `for … in range`, `return`, arithmetic, calls of other such functions, of `extern`
symbols and of the memory operations below. Integers of the module are constants. The functions are
never run as Python.
"""

from __future__ import annotations

from typing import NoReturn, TypeAlias

Word: TypeAlias = int
I32: TypeAlias = int  # as annotation: a C int, extended to a word inside


def _only_translated(*_: object) -> NoReturn:
    raise TypeError("a function over words runs only as machine code")


class Extern:
    """A C symbol with its signature: result, then parameters, each w(ord), i(nt), d(ouble), v(oid).

    A double travels as the word of its bits."""

    def __init__(self, symbol: str, signature: str) -> None:
        self.symbol = symbol
        self.signature = signature

    def __call__(self, *args: Word) -> Word:
        _only_translated(self, args)


class Static:
    """Zeroed memory of the module: `address_of` it is a word."""

    def __init__(self, symbol: str, words: int) -> None:
        self.symbol = symbol
        self.words = words


def load(address: Word, slot: Word) -> Word:
    """The word number `slot` behind `address`."""
    _only_translated(address, slot)


def store(address: Word, slot: Word, value: Word) -> None:
    _only_translated(address, slot, value)


def load_i32(address: Word, offset: Word) -> Word:
    """The C int `offset` bytes behind `address`."""
    _only_translated(address, offset)


def load_u8(address: Word, offset: Word) -> Word:
    _only_translated(address, offset)


def exchange(address: Word, slot: Word, value: Word) -> Word:
    """Stores and returns what was there, atomically, and nothing later happens before it."""
    _only_translated(address, slot, value)


def publish(address: Word, slot: Word, value: Word) -> None:
    """Stores, and everything earlier has happened before it."""
    _only_translated(address, slot, value)


def add_atomically(address: Word, slot: Word, value: Word) -> Word:
    """Adds and returns what was there."""
    _only_translated(address, slot, value)


def see(address: Word, slot: Word) -> Word:
    """Loads what another thread may be writing; nothing later happens before it."""
    _only_translated(address, slot)


def replace(address: Word, slot: Word, old: Word, new: Word) -> Word:
    """Stores `new` if `old` is there, atomically; whether it was."""
    _only_translated(address, slot, old, new)


def relax() -> None:
    """Tells the processor that this thread waits in a loop."""
    _only_translated()


def divide(a: Word, b: Word) -> Word:
    """The quotient, rounded towards zero; `b` is not 0."""
    _only_translated(a, b)


def remainder(a: Word, b: Word) -> Word:
    _only_translated(a, b)


def leading_zeros(a: Word) -> Word:
    _only_translated(a)


def local(words: int) -> Word:
    """The address of a local array of that many words (a literal)."""
    _only_translated(words)


def address_of(function: object) -> Word:
    """The address of a native function, an extern or a static."""
    _only_translated(function)


def indirect(signature: str, function: Word, *args: Word) -> Word:
    """Calls a function by its address."""
    _only_translated(signature, function, args)
