"""Loading object code without LLVM: a linker for the x86-64 ELF objects that it emits, one or
several that call each other.

A kernel from the disk cache must start in milliseconds; importing LLVM alone takes longer. Code and
constants are laid out first, data behind them. External symbols are reached by stubs through a
table of addresses.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tapeless.runtime.parts import unbundle

SUPPORTED = sys.platform == "linux" and platform.machine() == "x86_64"

_X86_64 = 62
_SYMTAB, _RELA, _NOBITS = 2, 4, 8
_WRITE, _ALLOC = 1, 2
_UNDEFINED, _ABSOLUTE, _SECTION_SYMBOL = 0, 0xFFF1, 3
_LOCAL = 0
_ABS64, _PC32, _PLT32, _PC64 = 1, 2, 4, 24
_GOTPCREL = (9, 41, 42)
_STUB = bytes.fromhex("ff25")  # jmp *[rip + displacement]
_STUB_BYTES = 8
_SKIPPED = (".eh_frame", ".note", ".comment", ".llvm")
_PROCESS = ctypes.CDLL(None)


class ImageError(Exception):
    """An object that this linker cannot load."""


@dataclass(frozen=True, slots=True)
class _Section:
    name: str
    kind: int
    flags: int
    contents: bytes
    size: int
    link: int
    info: int
    align: int

    @property
    def loaded(self) -> bool:
        return bool(self.flags & _ALLOC) and not self.name.startswith(_SKIPPED)


@dataclass(frozen=True, slots=True)
class _Symbol:
    name: str
    section: int
    value: int
    local: bool


@dataclass(frozen=True, slots=True)
class _Relocation:
    section: int
    offset: int
    kind: int
    symbol: int
    addend: int


class Image:
    """Machine code in memory, for as long as this object lives."""

    def __init__(self, data: bytes) -> None:
        try:
            self._sections, symbols, relocations = _read(data)
            self._symbols = list(_resolved(symbols))
            self._slots = self._table_slots(relocations)
            self._lay_out()
            self._fill_table()
            for relocation in relocations:
                self._apply(relocation)
        except (struct.error, IndexError, UnicodeDecodeError) as e:
            raise ImageError(f"not an object file: {e}") from e
        _protect(self._base, self._code_size)

    def address(self, name: str) -> int:
        for symbol in self._symbols:
            if symbol.name == name and symbol.section != _UNDEFINED:
                return self._place(symbol)
        raise ImageError(f"no symbol {name}")

    def _table_slots(self, relocations: list[_Relocation]) -> dict[int, int]:
        """Symbols that are reached through the table of addresses, with their place in it."""
        slots: dict[int, int] = {}
        for relocation in relocations:
            external = self._symbols[relocation.symbol].section == _UNDEFINED
            if external or relocation.kind in _GOTPCREL:
                slots.setdefault(relocation.symbol, len(slots))
        return slots

    def _lay_out(self) -> None:
        """Choose every section's place and copy its contents."""
        places: dict[int, int] = {}
        end = 0
        for writable in (0, _WRITE):
            for index, section in enumerate(self._sections):
                if section.loaded and section.flags & _WRITE == writable:
                    places[index] = end = -(-end // section.align) * section.align
                    end += section.size
            if not writable:
                stubs = -(-end // 16) * 16
                end = stubs + _STUB_BYTES * len(self._slots)
                table = end = -(-end // mmap.PAGESIZE) * mmap.PAGESIZE
                end += 8 * len(self._slots)
        self._memory = memory = mmap.mmap(-1, max(end, 1))
        self._base = base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        self._code_size, self._stubs, self._table = table, base + stubs, base + table
        self._places = {index: base + place for index, place in places.items()}
        for index, place in places.items():
            section = self._sections[index]
            if section.kind != _NOBITS:
                memory[place : place + section.size] = section.contents

    def _fill_table(self) -> None:
        for index, slot in self._slots.items():
            symbol = self._symbols[index]
            external = symbol.section == _UNDEFINED
            target = external_address(symbol.name) if external else self._place(symbol)
            self._write("<Q", self._table + 8 * slot, target)
            stub = self._stubs + _STUB_BYTES * slot
            self._write("<2si", stub, _STUB, self._table + 8 * slot - stub - 6)

    def _write(self, form: str, address: int, *values: int | bytes) -> None:
        struct.pack_into(form, self._memory, address - self._base, *values)

    def _place(self, symbol: _Symbol) -> int:
        if symbol.section == _ABSOLUTE:
            return symbol.value
        if symbol.section not in self._places:
            raise ImageError(f"symbol {symbol.name!r} is not in memory")
        return self._places[symbol.section] + symbol.value

    def _apply(self, relocation: _Relocation) -> None:
        start = self._places.get(relocation.section)
        if start is None:
            return
        at = start + relocation.offset
        if relocation.kind in _GOTPCREL:
            target = self._table + 8 * self._slots[relocation.symbol]
            self._write("<i", at, target + relocation.addend - at)
            return
        symbol = self._symbols[relocation.symbol]
        if symbol.section != _UNDEFINED:
            target = self._place(symbol)
        elif relocation.kind in (_PC32, _PLT32):
            target = self._stubs + _STUB_BYTES * self._slots[relocation.symbol]
        else:
            target = external_address(symbol.name)
        target += relocation.addend
        if relocation.kind in (_PC32, _PLT32):
            self._write("<i", at, target - at)
        elif relocation.kind == _PC64:
            self._write("<q", at, target - at)
        elif relocation.kind == _ABS64:
            self._write("<Q", at, target)
        else:
            raise ImageError(f"relocation of kind {relocation.kind}")


def external_address(name: str) -> int:
    """The address of a symbol of this process."""
    try:
        return ctypes.cast(_PROCESS[name], ctypes.c_void_p).value or 0
    except AttributeError as e:
        raise ImageError(f"no symbol {name} in this process") from e


def _protect(base: int, size: int) -> None:
    result = _PROCESS.mprotect(
        ctypes.c_void_p(base), ctypes.c_size_t(size), mmap.PROT_READ | mmap.PROT_EXEC
    )
    if size and result != 0:
        raise ImageError("this system forbids new machine code")


def _text(data: bytes, start: int) -> str:
    return data[start : data.index(b"\0", start)].decode()


def _read(data: bytes) -> tuple[list[_Section], list[_Symbol], list[_Relocation]]:
    """What is in the object files, numbered through."""
    sections: list[_Section] = []
    symbols: list[_Symbol] = []
    relocations: list[_Relocation] = []
    for one in unbundle(data):
        first, first_symbol = len(sections), len(symbols)
        own = list(_sections(one))
        for symbol in _symbols(own):
            known = symbol.section in (_UNDEFINED, _ABSOLUTE)
            symbols.append(symbol if known else replace(symbol, section=first + symbol.section))
        for r in _relocations(own):
            numbered = replace(r, section=first + r.section, symbol=first_symbol + r.symbol)
            relocations.append(numbered)
        sections += own
    return sections, symbols, relocations


def _resolved(symbols: list[_Symbol]) -> Iterator[_Symbol]:
    """Symbols that one object file lacks and another one has stand for those."""
    defined = {s.name: s for s in symbols if s.section != _UNDEFINED and not s.local}
    for symbol in symbols:
        yield defined.get(symbol.name, symbol) if symbol.section == _UNDEFINED else symbol


def _sections(data: bytes) -> Iterator[_Section]:
    kind, machine = struct.unpack_from("<HH", data, 16)
    if data[:5] != b"\x7fELF\x02" or kind != 1 or machine != _X86_64:
        raise ImageError("not an x86-64 ELF object")
    (table,) = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, table + size * i) for i in range(count)]
    for name, kind, flags, _, offset, length, link, info, align, _ in headers:
        if kind != _NOBITS and offset + length > len(data):
            raise ImageError("truncated")
        title = _text(data, headers[names][4] + name)
        contents = b"" if kind == _NOBITS else data[offset : offset + length]
        yield _Section(title, kind, flags, contents, length, link, info, max(align, 1))


def _symbols(sections: list[_Section]) -> Iterator[_Symbol]:
    for section in sections:
        if section.kind == _SYMTAB:
            names = sections[section.link].contents
            for name, info, _, where, value, _ in struct.iter_unpack("<IBBHQQ", section.contents):
                title = "" if info & 0xF == _SECTION_SYMBOL else _text(names, name)
                yield _Symbol(title, where, value, info >> 4 == _LOCAL)


def _relocations(sections: list[_Section]) -> Iterator[_Relocation]:
    for section in sections:
        if section.kind == _RELA and sections[section.info].loaded:
            for offset, info, addend in struct.iter_unpack("<QQq", section.contents):
                yield _Relocation(section.info, offset, info & 0xFFFFFFFF, info >> 32, addend)
