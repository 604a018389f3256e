"""Which sizes are known to be equal: union-find with undo, fed by checks that dominate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tapeless.core.names import Atom, Var
from tapeless.core.types import Array, Size, Type
from tapeless.ir.invalid import InvalidIR
from tapeless.ir.syntax import Body, Exp, Fun, Let, Prim
from tapeless.ir.types_of import size_of

Class: TypeAlias = tuple[Size, ...]  # sizes that are equal


@dataclass(frozen=True, slots=True, eq=False)
class Doubt:
    """Pairs of sizes that must be equal in front of `stm`, or at the `end` of a body of it, where
    checks make those of each class equal."""

    stm: Let
    end: Body | None
    sizes: tuple[tuple[Size, Size], ...]
    classes: tuple[Class, ...]
    problem: str

    def error(self, fun: Fun) -> InvalidIR:
        return InvalidIR(self.problem, self.stm, fun)


class Sizes:
    """Equalities of sizes in the current scope. Paths are not compressed, so that undo is easy."""

    def __init__(self) -> None:
        self.parent: dict[Size, Size] = {}
        self.trail: list[Size] = []

    def mark(self) -> int:
        return len(self.trail)

    def undo(self, mark: int) -> None:
        """Forget what was learnt since `mark`."""
        while len(self.trail) > mark:
            del self.parent[self.trail.pop()]

    def root(self, size: Size) -> Size:
        while size in self.parent:
            size = self.parent[size]
        return size

    def unite(self, a: Size, b: Size) -> None:
        a, b = self.root(a), self.root(b)
        if a != b:
            if isinstance(a, int):  # a number stays the representative
                a, b = b, a
            self.parent[a] = b
            self.trail.append(a)

    def learn(self, cond: Atom, defs: dict[Var, Exp]) -> None:
        """Take it that `cond` holds: equalities of i64, also below a conjunction."""
        match defs.get(cond) if isinstance(cond, Var) else None:
            case Prim("eq", (a, b)) if a.dtype.name == "i64":
                self.unite(size_of(a), size_of(b))
            case Prim("and", (a, b)) if a.dtype.is_bool:
                self.learn(a, defs)
                self.learn(b, defs)
            case _:
                pass

    def same(self, a: Size, b: Size) -> bool:
        return self.root(a) == self.root(b)

    def same_type(self, a: Type, b: Type) -> bool:
        if isinstance(a, Array) != isinstance(b, Array) or a.dtype != b.dtype:
            return False
        if isinstance(a, Array) and isinstance(b, Array):
            return a.rank == b.rank and all(map(self.same, a.shape, b.shape))
        return True

    def apart(self, a: Type, b: Type) -> tuple[tuple[Size, Size], ...]:
        """The sizes by which two types of arrays differ; nothing if they differ otherwise too."""
        if not isinstance(a, Array) or not isinstance(b, Array):
            return ()
        if a.dtype != b.dtype or a.rank != b.rank:
            return ()
        pairs = zip(a.shape, b.shape, strict=True)
        return tuple((m, n) for m, n in pairs if not self.same(m, n))

    def classes(self) -> tuple[Class, ...]:
        """What is known to be equal."""
        found: dict[Size, list[Size]] = {}
        for size in self.parent:
            root = self.root(size)
            found.setdefault(root, [root]).append(size)
        return tuple(map(tuple, found.values()))
