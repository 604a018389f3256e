"""How a call becomes a kernel call: what is accepted, where parameters come from, what is returned.

`runtime/fastcall.py` makes tables of it, which native code follows.
"""

from __future__ import annotations

import types
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

# What is accepted as an argument ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ArrayIn:
    """An aligned `numpy.ndarray` (no subclass). `layout` C, F or S as in `ArraySlot`."""

    dtype: np.dtype[Any]
    rank: int
    layout: str = "C"
    written: bool = False


@dataclass(frozen=True, slots=True)
class NumberIn:
    """A Python number of exactly this type: float, int (of 64 bits), bool or complex."""

    type: type


@dataclass(frozen=True, slots=True)
class ScalarIn:
    """A NumPy scalar."""

    dtype: np.dtype[Any]


@dataclass(frozen=True, slots=True)
class SameIn:
    """This very object: None, a function, an interned string."""

    value: object


@dataclass(frozen=True, slots=True)
class AbsentIn:
    """Nothing: the captured name is not there, or the cell is empty."""


ArgumentIn: TypeAlias = ArrayIn | NumberIn | ScalarIn | SameIn | AbsentIn

# Arguments that the caller does not give ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GlobalValue:
    """What a dict of globals holds now under a name."""

    scope: dict[str, Any]
    name: str


@dataclass(frozen=True, slots=True)
class CellValue:
    """What a closure's cell holds now."""

    cell: types.CellType


@dataclass(frozen=True, slots=True)
class ObjectValue:
    """This object: the default of a parameter that was not given."""

    value: object


Capture: TypeAlias = GlobalValue | CellValue | ObjectValue

# Where the kernel's parameters come from: one source per parameter --------------------------------


@dataclass(frozen=True, slots=True)
class Data:
    """The array argument `arg` (a complex one has an axis of length 2 more in the kernel)."""

    arg: int


@dataclass(frozen=True, slots=True)
class Size:
    arg: int
    axis: int


@dataclass(frozen=True, slots=True)
class Number:
    """The number argument `arg`; `part` 1: the imaginary part of a complex one."""

    arg: int
    part: int = 0


@dataclass(frozen=True, slots=True)
class Fixed:
    """A slot with these bits."""

    word: int


Source: TypeAlias = Data | Size | Number | Fixed

# What else must hold ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SizeIs:
    arg: int
    axis: int
    size: int


@dataclass(frozen=True, slots=True)
class SizeIsNot:
    arg: int
    axis: int
    size: int


@dataclass(frozen=True, slots=True)
class SizesAgree:
    arg: int
    axis: int
    other: int
    other_axis: int


@dataclass(frozen=True, slots=True)
class Disjoint:
    """The memory of two array arguments does not meet (judged by the ranges they span)."""

    arg: int
    other: int


Guard: TypeAlias = SizeIs | SizeIsNot | SizesAgree | Disjoint

# What is returned ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ArrayBack:
    """Result number `result` of the kernel, an array; complex if its last axis is re, im."""

    result: int
    dtype: np.dtype[Any]


@dataclass(frozen=True, slots=True)
class NumberBack:
    """The scalar result as a Python number; `type` complex takes two results."""

    result: int
    type: type


@dataclass(frozen=True, slots=True)
class ScalarBack:
    """The scalar result as a NumPy scalar; a complex one takes two results."""

    result: int
    dtype: np.dtype[Any]


@dataclass(frozen=True, slots=True)
class ArgumentBack:
    arg: int


@dataclass(frozen=True, slots=True)
class ConstantBack:
    value: object


Back: TypeAlias = ArrayBack | NumberBack | ScalarBack | ArgumentBack | ConstantBack


@dataclass(frozen=True, slots=True)
class Plan:
    """`args`: first the arguments of the call, then one for each of `captures`; sources and guards
    name both by position. `returns`: one object, or a tuple of them. `long`: a call may take long
    whatever the sizes of the arrays are (loops bounded by numbers, `while`)."""

    args: tuple[ArgumentIn, ...]
    sources: tuple[Source, ...]
    returns: Back | tuple[Back, ...]
    guards: tuple[Guard, ...] = ()
    captures: tuple[Capture, ...] = ()
    long: bool = True
