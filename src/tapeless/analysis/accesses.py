"""All accesses to one array in a body, with the loops and branches around each."""

from __future__ import annotations

from typing import TypeAlias

from tapeless.analysis.dependence import Access, Level, access
from tapeless.analysis.enter import after, inside
from tapeless.analysis.facts import Facts
from tapeless.analysis.mentions import Mentions
from tapeless.core.names import Atom, Var
from tapeless.ir.syntax import Body, Each, Exp, Fold, For, If, Index, Iverson, Loop, Put, Scan
from tapeless.ir.walk import atoms_of, bodies_of

Levels: TypeAlias = tuple[Level, ...]
Arms: TypeAlias = tuple[tuple[object, bool], ...]


def nest_levels(facts: Facts, vars: tuple[Var, ...]) -> Levels:
    """The levels of a nest that has just been entered."""
    return tuple(Level(v, facts.symbol_of(v), parallel=True) for v in vars)


class Accesses:
    """Reads of `array` and Puts to `acc` in a body, in order."""

    def __init__(
        self, facts: Facts, mentions: Mentions, mark: int, array: Var, acc: Var | None = None
    ) -> None:
        self.facts, self.mentions, self.mark = facts, mentions, mark
        self.array, self.acc = array, acc
        self.accesses: list[Access] = []
        self.clock = 0

    def body(self, body: Body, levels: Levels, arms: Arms) -> bool:
        """Record the accesses; False if the array is used in another way."""
        for stm in body.stms:
            exp = stm.exp
            self.clock += 1
            match exp:
                case Index(array, at, modes) if array is self.array:
                    self.record(at, modes, levels, arms, writes=False)
                case Put((acc,), at, _, modes) if acc is self.acc:
                    self.record(at, modes, levels, arms, writes=True)
                case _ if self.array in atoms_of(exp):
                    return False
            if bodies_of(exp) and not self.mentions.of(exp).isdisjoint((self.array, self.acc)):
                complete = [self.inner(exp, b, levels, arms) for b in bodies_of(exp)]
                if not all(complete):
                    return False
            after(self.facts, stm)
        return self.array not in body.results

    def inner(self, exp: Exp, body: Body, levels: Levels, arms: Arms) -> bool:
        mark, base = self.facts.mark(), len(self.facts.vars)
        inside(self.facts, exp, body)
        match exp:
            case If(_, then):
                arms = (*arms, (exp, body is then))
            case Loop(For(var)):
                levels = (*levels, Level(var, self.facts.symbol_of(var)))
            case Loop():
                levels = (*levels, Level(None, base))
            case Each(vars) if body is exp.body:
                levels = (*levels, *nest_levels(self.facts, vars))
            case Fold(var) | Scan(var) if body is exp.body:
                levels = (*levels, *nest_levels(self.facts, (var,)))
            case Iverson():
                pass
            case _:
                levels = (*levels, Level(None, base))
        complete = self.body(body, levels, arms)
        self.facts.undo(mark)
        return complete

    def record(
        self, at: tuple[Atom, ...], modes: str, levels: Levels, arms: Arms, *, writes: bool
    ) -> None:
        place = (levels, arms)
        self.accesses.append(
            access(self.facts, self.mark, self.array, at, modes, place, self.clock, writes)
        )
