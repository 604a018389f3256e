"""The rules of Core, with sizes that arithmetic shows to be equal.

Passes replace a size by an equal one wherever facts allow: max(n - m, 0) is n - m where m ≤ n is
known. So types may meet that name two sizes, and no check says that they are one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain

from tapeless.analysis.enter import after, entered
from tapeless.analysis.facts import Facts
from tapeless.analysis.operators import chosen, value_of
from tapeless.core.names import Atom, Var
from tapeless.core.types import INDEX, Size
from tapeless.ir.sizes import Class, Doubt
from tapeless.ir.syntax import Body, Fun, Prim
from tapeless.ir.verify import doubts
from tapeless.ir.walk import atoms_of, bodies_of


def verify(fun: Fun) -> None:
    """Raise InvalidIR unless `fun` keeps the rules of Core."""
    found = doubts(fun)
    if found:
        _Prover(fun, found).body(fun.body)


class _Prover:
    """A walk through the program that settles each doubt where it arose."""

    def __init__(self, fun: Fun, found: Iterable[Doubt]) -> None:
        self.fun = fun
        self.facts = Facts()
        self.facts.params(fun.params)
        self.doubts: defaultdict[int, list[Doubt]] = defaultdict(list)
        for doubt in found:
            self.doubts[id(doubt.stm if doubt.end is None else doubt.end)].append(doubt)

    def body(self, body: Body) -> None:
        for stm in body.stms:
            self.settle(self.doubts[id(stm)])
            for inner in bodies_of(stm.exp):
                with entered(self.facts, stm.exp, inner):
                    self.body(inner)
            after(self.facts, stm)
        self.settle(self.doubts[id(body)])

    def settle(self, found: list[Doubt]) -> None:
        for doubt in found:
            for one, two in doubt.sizes:
                with self.renewed((one, two, *chain.from_iterable(doubt.classes))):
                    if not self.same(one, two, doubt.classes):
                        raise doubt.error(self.fun)

    @contextmanager
    def renewed(self, sizes: Iterable[Size]) -> Iterator[None]:
        """The arithmetic behind sizes by what is known here; that may be more than where it is."""
        values = self.facts.values
        before = dict(values)
        for var in self.leading_to(sizes):
            match self.facts.defs[var]:
                case Prim(op, args):
                    arm = chosen(self.facts, op, args)
                    values[var] = (
                        value_of(self.facts, var, op, args) if arm is None
                        else self.facts.value(arm)
                    )  # fmt: skip
        yield
        values.clear()
        values.update(before)

    def leading_to(self, sizes: Iterable[Size]) -> list[Var]:
        """Integer variables that `sizes` are computed from, themselves included, in order."""
        defs = self.facts.defs
        found: set[Var] = set()
        front: list[Atom | Size] = [*sizes]
        while front:
            var = front.pop()
            if isinstance(var, Var) and var not in found and isinstance(defs.get(var), Prim):
                found.add(var)
                front += atoms_of(defs[var])
        return [var for var in defs if var in found and var.type == INDEX]

    def same(self, one: Size, two: Size, classes: Iterable[Class]) -> bool:
        """Whether checks and arithmetic, taking turns, lead from one size to the other."""
        reached, front = set[Size](), [one]
        apart = [(two,), *classes]
        while front:
            size = front.pop()
            reached.add(size)
            near = [c for c in apart if any(self.facts.same(size, s) for s in c)]
            apart = [c for c in apart if c not in near]
            front += (s for c in near for s in c)
        return two in reached
