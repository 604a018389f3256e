"""Numbers and arrays as the 8-byte slots of the kernel ABI (docs/architecture.md)."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from tapeless.core.types import dtype_named
from tapeless.runtime.abi import ArraySlot, Slot


def slot_words(slot: Slot) -> int:
    """How many 8-byte slots a parameter takes."""
    return 1 + slot.rank if isinstance(slot, ArraySlot) and slot.layout == "S" else 1


def result_words(slot: Slot) -> int:
    return 1 + slot.rank if isinstance(slot, ArraySlot) else 1


def array_words(slot: ArraySlot, array: Any) -> list[int]:
    """The slots of an array argument, which must be what `slot` says."""
    dtype = dtype_named(slot.dtype).numpy
    if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != slot.rank:
        raise TypeError(f"a {slot.dtype} array of rank {slot.rank} is needed, not {array!r}")
    flags = array.flags
    fits = {"C": flags.c_contiguous, "F": flags.f_contiguous, "S": True}[slot.layout]
    if not (fits and flags.aligned and (flags.writeable or not slot.written)):
        raise TypeError(f"array with flags {flags.num:#x} where {slot} is needed")
    words = [array.ctypes.data]
    if slot.layout == "S":
        for stride in array.strides:
            step, rest = divmod(stride, dtype.itemsize)
            if rest:
                raise TypeError(f"a stride of {stride} bytes is no multiple of the element")
            words.append(step)
    return words


def scalar_word(dtype: str, value: Any) -> int:
    """A number as the kernel ABI passes it."""
    kind = dtype_named(dtype)
    if kind.is_bool:
        return int(bool(value))
    if kind.is_int:
        word = int(value)
        if not -(1 << 63) <= word < 1 << (63 if kind.kind == "i" else 64):
            raise OverflowError(f"the int {word} does not fit into {kind.bits} bits")
        return word - (1 << 64) if word >> 63 == 1 else word
    form = "<d" if kind.bits == 64 else "<f"
    return int.from_bytes(struct.pack(form, value), "little", signed=kind.bits == 64)


def word_scalar(dtype: str, word: int) -> Any:
    """The number that a slot holds: float, int or bool."""
    kind = dtype_named(dtype)
    if kind.is_bool:
        return bool(word & 1)
    data = word.to_bytes(8, "little", signed=True)[: kind.bytes]
    if kind.is_int:
        return int.from_bytes(data, "little", signed=kind.kind == "i")
    return struct.unpack("<d" if kind.bits == 64 else "<f", data)[0]
