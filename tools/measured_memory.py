"""What a compiled call really takes from its arena and gives as results, counted to the byte.

A kernel runs with a context made by hand (docs/architecture.md, "The kernel ABI") whose arena is
always full, so that it asks for every single piece of memory."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from tapeless.runtime import layout
from tapeless.runtime.abi import ArraySlot
from tapeless.runtime.kernel import Kernel
from tapeless.runtime.slots import array_words, result_words, scalar_word

_Word = ctypes.c_int64
_Take = ctypes.CFUNCTYPE(_Word, _Word, _Word)
_Poll = ctypes.CFUNCTYPE(ctypes.c_int32, _Word)
_Kernel = ctypes.CFUNCTYPE(ctypes.c_int32, _Word, _Word, _Word)
ROOM = 1 << 28  # bytes of address space for the arena; only what is used takes memory


class Meter:
    """A context that serves memory and notes the most that was in use at one time."""

    def __init__(self, foreign: int) -> None:
        self.results: list[np.ndarray[Any, Any]] = []
        self.result_bytes = self.peak = 0
        self.arena = np.empty(ROOM, np.uint8)
        self.base = self.arena.ctypes.data + -self.arena.ctypes.data % 64
        self.words = (_Word * layout.CONTEXT_WORDS)()
        self.callbacks = _Take(self.grow), _Take(self.result), _Poll(lambda ctx: 0)
        self.words[0] = self.words[1] = self.base
        self.words[12], self.words[13], self.words[20] = 1 << 60, 1, foreign
        for slot, function in zip((14, 15, 16), self.callbacks, strict=True):
            self.words[slot] = ctypes.cast(function, ctypes.c_void_p).value or 0

    def grow(self, ctx: int, size: int) -> int:
        """The next piece of the arena, which then is full again: its top is its end."""
        here = self.words[0]
        self.words[0] = self.words[1] = here + size
        self.note()
        return here

    def result(self, ctx: int, size: int) -> int:
        memory = np.empty(size + 64, np.uint8)
        self.results.append(memory)
        self.result_bytes += size
        self.note()
        return memory.ctypes.data + -memory.ctypes.data % 64

    def note(self) -> None:
        self.peak = max(self.peak, self.words[0] - self.base + self.result_bytes)


def peak_bytes(f: Any, *args: Any) -> int:
    """The most bytes that f(*args), a jitted function, held at one time beside its arguments."""
    f(*args)
    arguments = f.bind(args, {})
    program = f.store.find(f.python, arguments, f.signature(arguments))
    kernel: Kernel = program.kernel(program.layouts(f.python, arguments), f.python, arguments)
    words: list[int] = []
    for slot, read in zip(kernel.type.params, program.inputs, strict=True):
        value = read(f.python, arguments)
        if isinstance(slot, ArraySlot):
            words += array_words(slot, value)
        else:
            words.append(scalar_word(slot.dtype, value))
    meter = Meter(kernel.foreign_table)
    flat = (_Word * max(len(words), 1))(*words)
    results = (_Word * max(sum(map(result_words, kernel.type.results)), 1))()
    places = map(ctypes.addressof, (meter.words, flat, results))
    if _Kernel(kernel.address)(*places):
        raise AssertionError("the call failed")
    return meter.peak
