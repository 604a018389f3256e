"""What the state of a loop becomes: accumulators, and where the walk over its body is."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tapeless.analysis.dependence import Level
from tapeless.core.names import Atom, Var


class NotThreaded(Exception):
    """The state is used in a way that no accumulator can express; `sum`: unless as a sum."""

    def __init__(self, sum: Var | None = None) -> None:
        self.sum = sum


@dataclass(slots=True, eq=False)
class Target:
    """A state variable that becomes the accumulator `acc`; reads go to `source`.

    `op` is "=" or, until it is found, "?"."""

    param: Var
    source: Atom
    acc: Var
    op: str
    sites: int = 0
    repeated: bool = False  # a Put under a loop

    def is_sound(self) -> bool:
        return self.op in ("=", "+") or (self.sites == 1 and not self.repeated)


@dataclass(frozen=True, slots=True)
class Place:
    """Where the walk is: constructs around it that repeat, and arms of branches."""

    levels: tuple[Level, ...]
    arms: tuple[tuple[object, bool], ...] = ()
    loops: int = 0

    def inside(self, level: Level, loops: int = 0) -> Place:
        return replace(self, levels=(*self.levels, level), loops=self.loops + loops)
