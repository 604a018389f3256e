"""What a user asks of a compilation, and the switches that hold for everything."""

from __future__ import annotations

import contextlib
import contextvars
import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

LOG = logging.getLogger("tapeless")
LOG.addHandler(logging.NullHandler())
CHECKS = (True, False, "overflow")
TARGETS = ("cpu",)


@dataclass(frozen=True, slots=True)
class Settings:
    """The keywords of `jit`."""

    static_argnames: tuple[str, ...] = ()
    parallel: bool = True
    fastmath: bool = False
    deterministic: bool = False
    check: bool | str = True
    cache: bool = True
    target: str = "cpu"

    def __post_init__(self) -> None:
        if self.check not in CHECKS:
            raise ValueError(f"jit: check must be True, False or 'overflow', not {self.check!r}")
        if self.target not in TARGETS:
            raise ValueError(f"jit: the only target is 'cpu', not {self.target!r}")
        for name in ("parallel", "fastmath", "deterministic", "cache"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"jit: {name} must be True or False, not {getattr(self, name)!r}")


_DISABLED: contextvars.ContextVar[bool] = contextvars.ContextVar("disabled", default=False)
_WATCHERS: list[Callable[[bool], None]] = []
_depth = 0


def on_switch(watcher: Callable[[bool], None]) -> None:
    """Call `watcher(whether anyone in the process has compiled code switched off)` on changes."""
    _WATCHERS.append(watcher)


def is_disabled() -> bool:
    """Whether functions run as plain Python here and now."""
    return _DISABLED.get() or os.environ.get("TAPELESS_DISABLE_JIT", "0") not in ("", "0")


@contextlib.contextmanager
def disable_jit(disable: bool = True) -> Iterator[None]:
    """Inside this block, compiled functions run as the plain Python that they are written in.

    The environment variable TAPELESS_DISABLE_JIT=1 does the same for a whole process."""
    token = _DISABLED.set(disable)
    _count(+1)
    try:
        yield
    finally:
        _count(-1)
        _DISABLED.reset(token)


def _count(change: int) -> None:
    global _depth  # how many blocks are open in this process
    before, _depth = _depth, _depth + change
    if (before == 0) != (_depth == 0):
        for watcher in _WATCHERS:
            watcher(_depth > 0)
