"""What a kernel looks like from outside (docs/architecture.md, "The kernel ABI")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tapeless.core.names import Loc


@dataclass(frozen=True, slots=True)
class ScalarSlot:
    dtype: str


@dataclass(frozen=True, slots=True)
class ArraySlot:
    """`layout`: "C", "F", or "S" (strides are passed, in elements). `written`: updated in place."""

    dtype: str
    rank: int
    layout: str = "C"
    written: bool = False


Slot: TypeAlias = ScalarSlot | ArraySlot


@dataclass(frozen=True, slots=True)
class Site:
    """A check that may fail: a builtin error's name, `message.format(*args)` with the arguments'
    element types, and the user's line."""

    error: str
    message: str
    dtypes: tuple[str, ...]
    loc: Loc | None


@dataclass(frozen=True, slots=True)
class KernelType:
    """Everything needed to call a kernel. `results` leaves out the contents of written arguments.

    `foreign`: names of functions (`runtime.foreign`) whose addresses the kernel finds in ctx."""

    symbol: str
    params: tuple[Slot, ...]
    results: tuple[Slot, ...]
    sites: tuple[Site, ...]
    foreign: tuple[str, ...] = ()
