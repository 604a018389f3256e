"""The memory that a call of a kernel takes, told from its sizes without running it."""

from __future__ import annotations

from collections.abc import Mapping

from tapeless.core.names import Var
from tapeless.emit.facts import Memory
from tapeless.emit.pressure import lanes_of
from tapeless.emit.storage import STACK_BYTES
from tapeless.emit.target import Target
from tapeless.loop.memory import Peak, peak
from tapeless.loop.syntax import Buf, For, Proc


def needs(proc: Proc, target: Target, scalars: Mapping[Var, int | float | bool]) -> Peak:
    """As `proc` is emitted for `target`, on one thread; `scalars`: its arguments that are none of
    the arrays."""
    memory = Memory(proc)

    def lanes(loop: For) -> int:
        return lanes_of(loop, target)

    def on_stack(buf: Buf, size: int) -> bool:
        return size <= STACK_BYTES and not memory.is_kept(buf)

    return peak(proc, scalars, lanes=lanes, on_stack=on_stack)
