"""The native part of the runtime as one LLVM module."""

from __future__ import annotations

from collections.abc import Iterable

from tapeless.runtime.native import calls, clock, entry, guards, memory, objects, team
from tapeless.runtime.wordcode import translate


def text(exports: Iterable[str]) -> str:
    return translate((memory, clock, calls, objects, guards, entry, team), exports)
