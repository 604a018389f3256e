"""What must hold between the sizes and places of array arguments."""

from __future__ import annotations

from tapeless.runtime.layout import (
    DATA,
    DIMENSIONS,
    DISJOINT,
    RANK,
    SIZE_IS,
    SIZE_IS_NOT,
    SIZES_AGREE,
    STRIDES,
)
from tapeless.runtime.words import Word, load, load_i32


def size_of(args: Word, index: Word, axis: Word) -> Word:
    return load(load(load(args, index) + DIMENSIONS, 0), axis)


def holds(guard: Word, args: Word) -> Word:
    kind = load(guard, 0)
    a = load(guard, 1)
    axis = load(guard, 2)
    number = load(guard, 3)
    if kind == SIZE_IS:
        return size_of(args, a, axis) == number
    if kind == SIZE_IS_NOT:
        return size_of(args, a, axis) != number
    if kind == SIZES_AGREE:
        return size_of(args, a, axis) == size_of(args, number, load(guard, 4))
    if kind == DISJOINT:
        return disjoint(load(args, a), load(args, number), axis, load(guard, 4))
    return 0


def lowest(array: Word) -> Word:
    """The first byte that the array may touch."""
    address = load(array + DATA, 0)
    for axis in range(load_i32(array, RANK)):
        stride = load(load(array + STRIDES, 0), axis)
        if stride < 0:
            address += stride * (load(load(array + DIMENSIONS, 0), axis) - 1)
    return address


def highest(array: Word, itemsize: Word) -> Word:
    """The byte behind the last one that the array may touch."""
    address = load(array + DATA, 0) + itemsize
    for axis in range(load_i32(array, RANK)):
        stride = load(load(array + STRIDES, 0), axis)
        if stride > 0:
            address += stride * (load(load(array + DIMENSIONS, 0), axis) - 1)
    return address


def disjoint(a: Word, b: Word, a_size: Word, b_size: Word) -> Word:
    """Whether the address ranges of two arrays do not meet."""
    return (highest(a, a_size) <= lowest(b)) | (highest(b, b_size) <= lowest(a))
