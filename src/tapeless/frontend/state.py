"""Frames and the heap of the function being compiled; snapshots for branches and loops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tapeless.core.names import Var
from tapeless.frontend.capture import Source
from tapeless.frontend.liveness import Liveness
from tapeless.frontend.signature import Path
from tapeless.frontend.values import ArrayObj, DictObj, HeapObj, Known, Value

FLOW = "$flow"  # how the current block ended: one of the codes below
RETURNED = "$return"  # the value of an executed `return`

LIBRARY = ("tapeless.frontend.", "tapeless.forms.")  # code that is the compiler's own
HIDDEN = (*LIBRARY, "tapeless.api.")  # code that errors do not point at
NORMAL, BREAK, CONTINUE, RETURN, DEAD = range(5)


def quoted(name: str) -> str:
    """A name as messages say it."""
    return "the result" if name.startswith(RETURNED) else f"'{name}'"


class Frame:
    """Local names of one call. `parent` is the frame that a nested function closes over."""

    __slots__ = (
        "captured", "cells", "globals", "is_hidden", "is_library", "liveness", "locals", "owner",
        "parent", "source",
    )  # fmt: skip

    def __init__(
        self, source: Source, globals: Mapping[str, Any], captured: Mapping[str, Any],
        parent: Frame | None = None, owner: Path | None = None,
    ) -> None:  # fmt: skip
        self.source = source
        self.globals = globals
        self.captured = captured
        self.parent = parent
        self.owner = owner
        module = str(globals.get("__name__", ""))
        self.is_library = module.startswith(LIBRARY)
        self.is_hidden = module.startswith(HIDDEN)
        self.locals: dict[str, Value] = {FLOW: Known(NORMAL)}
        self.cells: dict[str, DictObj] = {}  # of names that nested functions rebind
        self.liveness = Liveness()


class State:
    """The heap: present contents of every array, list, dict and instance."""

    def __init__(self) -> None:
        self.heap: dict[HeapObj, Any] = {}

    def array(self, obj: ArrayObj) -> Var:
        content = self.heap[obj]
        assert isinstance(content, Var)
        return content


class Snapshot:
    """Everything that a branch may change: the locals of the running frames and the heap."""

    __slots__ = ("heap", "locals")

    def __init__(self, frames: list[Frame], state: State) -> None:
        self.locals = [dict(f.locals) for f in frames]
        self.heap = dict(state.heap)

    def restore(self, frames: list[Frame], state: State) -> None:
        for frame, names in zip(frames, self.locals, strict=False):
            frame.locals = dict(names)
        state.heap = dict(self.heap)
