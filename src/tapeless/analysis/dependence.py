"""Whether accesses to one array can meet in a cell, exactly for affine subscripts.

An access is recorded with the values of its indices, the loops around it and the facts that held
there. To ask about two different iterations of a loop, every symbol born inside it gets a twin,
and the twin's counter is assumed to be larger: two executions are apart if on some axis the
difference of the indices is proved positive or negative.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tapeless.analysis import poly
from tapeless.analysis.facts import Facts
from tapeless.analysis.poly import Poly
from tapeless.core.names import Atom, Var
from tapeless.ir.syntax import WRAP

Rename = Callable[[Poly], Poly]


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """A loop around an access: `base` is the first symbol born inside it. A nest is `settled`:
    its own meaning keeps apart what happens in its iterations; in a `parallel` one they have no
    order."""

    counter: Var | None
    base: int
    settled: bool = False
    parallel: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """`order` says which writes of the same pass came before it; `arms` which branches it is in."""

    target: Var
    at: tuple[Poly, ...]
    modes: str
    context: tuple[Poly, ...]
    levels: tuple[Level, ...]
    arms: tuple[tuple[object, bool], ...]
    order: int
    writes: bool


def access(
    facts: Facts, mark: int, target: Var, at: Sequence[Atom], modes: str,
    place: tuple[tuple[Level, ...], tuple[tuple[object, bool], ...]], order: int, writes: bool,
) -> Access:  # fmt: skip
    """Record an access at the present place; facts learnt since `mark` are kept with it."""
    values = tuple(facts.value(i) for i in at)
    return Access(target, values, modes, facts.since(mark), *place, order, writes)


class Dependence:
    """Answers for the accesses in the body of a loop that is, or is to become, a nest."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.count = len(facts.vars)
        self.renames: dict[int, Rename] = {}

    def twin(self, level: Level) -> Rename:
        known = self.renames.get(level.base)
        if known is None:
            known = self.renames[level.base] = self.facts.twins(level.base, self.count)
        return known

    def independent(self, accesses: Sequence[Access]) -> bool:
        """Whether no two iterations of the loop share a written cell, and each iteration writes a
        cell at most once and reads only what it has not yet written."""
        for k, a in enumerate(accesses):
            for b in accesses[k:]:
                if (a.writes or b.writes) and not self.compatible(a, b):
                    return False
        return True

    def compatible(self, a: Access, b: Access) -> bool:
        """Whether two accesses, of which one writes, keep their meaning in any order of passes."""
        common = _common(a, b)
        for k in range(common):
            level = a.levels[k]
            if level.settled:
                return True
            if not self._apart_in(level, a, b):
                return False
        return self._apart_in_pass(a, b)

    def keep_order(self, accesses: Sequence[Access]) -> bool:
        """Whether in each pass of the outermost loop a cell is written at most once, and read only
        before that."""
        for k, a in enumerate(accesses):
            for b in accesses[k:]:
                if (a.writes or b.writes) and not self._keep_order(a, b):
                    return False
        return True

    def _keep_order(self, a: Access, b: Access) -> bool:
        for level in a.levels[1 : _common(a, b)]:
            if level.settled:
                return True
            if not self._apart_in(level, a, b):
                return False
        return self._apart_in_pass(a, b)

    def surely_meet(self, a: Access, b: Access) -> bool:
        """Whether what a pass of the only loop around both writes, the next one uses, if there is
        one: a(i) = b(i ± 1) on every axis, or neither depends on i."""
        if len(a.levels) != 1 or len(b.levels) != 1 or a.arms or b.arms:
            return False
        level = a.levels[0]
        assert level.counter is not None
        counter, steps = self.facts.symbol_of(level.counter), set[int]()
        for p, q in zip(a.at, b.at, strict=True):
            gap = poly.constant_of(poly.sub(p, q))
            parts = poly.split(p, counter)
            if gap is None or parts is None or poly.newest(parts[1]) >= level.base:
                return False
            speed = poly.constant_of(parts[0])
            if speed is None or (speed == 0 and gap != 0):
                return False
            if speed != 0:
                steps.add(gap // speed if gap % speed == 0 else 0)
        return steps <= {1} or steps <= {-1}

    def _apart_in_pass(self, a: Access, b: Access) -> bool:
        """Whether two accesses of one pass of all their loops keep their meaning."""
        if a is b or self._exclusive(a, b):
            return True
        if self._after(a, b):
            return True
        with self.facts.scope():
            self._assume(a.context, b.context)
            return self._apart(a.at, b.at, a.modes, b.modes)

    def _after(self, a: Access, b: Access) -> bool:
        """Whether, in one pass, the one that reads does so before the other writes."""
        if a.writes and b.writes:
            return False
        read, write = (b, a) if a.writes else (a, b)
        return write.order > read.order

    @staticmethod
    def _exclusive(a: Access, b: Access) -> bool:
        for (one, x), (other, y) in zip(a.arms, b.arms, strict=False):
            if one is not other:
                return False
            if x != y:
                return True
        return False

    def _apart_in(self, level: Level, a: Access, b: Access) -> bool:
        """Whether a and b never meet in different iterations of `level`.

        In a loop with an order a read may come before a write to the same cell."""
        facts = self.facts
        if level.counter is None:
            return False
        twin = self.twin(level)
        with facts.scope():
            counter = facts.value(level.counter)
            facts.require(poly.shift(poly.sub(twin(counter), counter), -1))
            for first, second in ((a, b), (b, a)):
                if not level.parallel and second.writes and not first.writes:
                    continue  # the read is the earlier one: it sees the old value
                with facts.scope():
                    self._assume(first.context, tuple(map(twin, second.context)))
                    at = tuple(map(twin, second.at))
                    if not self._apart(first.at, at, first.modes, second.modes):
                        return False
                if a is b:
                    break
        return True

    def _assume(self, *contexts: Sequence[Poly]) -> None:
        for context in contexts:
            for fact in context:
                self.facts.require(fact)

    def _apart(self, a: Sequence[Poly], b: Sequence[Poly], m: str, n: str) -> bool:
        for p, q, x, y in zip(a, b, m, n, strict=True):
            if WRAP in (x, y):
                continue
            gap = poly.sub(q, p)
            divisor = math.gcd(*(c for m, c in gap.items() if m))
            if divisor > 1 and gap.get(poly.UNIT, 0) % divisor:
                return True
            if self.facts.prove(poly.shift(gap, -1)):
                return True
            if self.facts.prove(poly.shift(poly.scale(gap, -1), -1)):
                return True
        return False


def _common(a: Access, b: Access) -> int:
    """How many loops are around both."""
    common = 0
    for x, y in zip(a.levels, b.levels, strict=False):
        if x is not y:
            break
        common += 1
    return common
