"""Calling a kernel by its ABI (docs/architecture.md, "The kernel ABI") with flat arguments."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

from tapeless.core.lazy import Lazy
from tapeless.core.types import dtype_named
from tapeless.runtime.abi import ArraySlot, KernelType, ScalarSlot
from tapeless.runtime.failures import raiser
from tapeless.runtime.machine import Loaded
from tapeless.runtime.slots import (
    array_words,
    result_words,
    scalar_word,
    slot_words,
    word_scalar,
)
from tapeless.runtime.support import support
from tapeless.runtime.threads import prepare

foreign = Lazy("tapeless.runtime.foreign")

_W = ctypes.c_int64
_Kernel = ctypes.CFUNCTYPE(ctypes.c_int32, _W, _W, _W)


class Kernel:
    """Machine code with its description. `kernel(*flat)` takes numbers and arrays in the order of
    `type.params`, arrays of the slots' element types, ranks and layouts, and returns the flat
    results."""

    def __init__(self, type: KernelType, loaded: Loaded) -> None:
        prepare()
        self.type = type
        self.address = loaded.address(type.symbol)
        self.raiser = raiser(type.sites)
        self._loaded = loaded
        self._run = _Kernel(self.address)
        pointers = [foreign.address(name) for name in type.foreign]
        self._foreign = (_W * len(pointers))(*pointers)
        self.foreign_table = ctypes.addressof(self._foreign) if pointers else 0
        self._args = _W * max(sum(map(slot_words, type.params)), 1)
        self._results = _W * max(sum(map(result_words, type.results)), 1)

    def __call__(self, *flat: Any) -> list[Any]:
        words: list[int] = []
        for slot, value in zip(self.type.params, flat, strict=True):
            if isinstance(slot, ArraySlot):
                words += array_words(slot, value)
            else:
                words.append(scalar_word(slot.dtype, value))
        args, results = self._args(*words), self._results()
        native = support()
        ctx = native.acquire(native.state, self.foreign_table)
        if not ctx:
            raise MemoryError("no memory for the context of a call")
        try:
            if self._run(ctx, ctypes.addressof(args), ctypes.addressof(results)):
                native.fail(ctx, self.raiser)
            return list(self._collect(results))
        finally:
            native.finish(ctx)

    def _collect(self, words: Any) -> Iterator[Any]:
        native = support()
        at = 0
        for slot in self.type.results:
            if isinstance(slot, ScalarSlot):
                yield word_scalar(slot.dtype, words[at])
            else:
                sizes = ctypes.addressof(words) + 8 * (at + 1)
                descr = id(dtype_named(slot.dtype).numpy)
                yield native.adopt(native.state, words[at], descr, slot.rank, sizes)
            at += result_words(slot)
