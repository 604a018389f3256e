"""Which nests may assign into an array that they also read, without a copy.

An accumulator starts as its initial array, and the body may go on reading that array as it was.
Both can share storage if no iteration reads a cell that another one assigns, and each reads its
own cell before it assigns it.
"""

from __future__ import annotations

from tapeless.analysis.accesses import Accesses, nest_levels
from tapeless.analysis.dependence import Dependence
from tapeless.analysis.enter import after, entered, inside
from tapeless.analysis.facts import Facts
from tapeless.analysis.mentions import Mentions
from tapeless.core.names import Var
from tapeless.ir.syntax import Acc, Body, Each, Fun
from tapeless.ir.walk import bodies_of, free_vars


def in_place(fun: Fun) -> set[Var]:
    """The "=" accumulators that may overwrite their initial array while the body reads it."""
    walk = _Walk()
    walk.facts.params(fun.params)
    walk.body(fun.body)
    return walk.safe


class _Walk:
    def __init__(self) -> None:
        self.facts = Facts()
        self.safe: set[Var] = set()

    def body(self, body: Body) -> None:
        for stm in body.stms:
            exp = stm.exp
            if isinstance(exp, Each):
                self.nest(exp)
            for inner in bodies_of(exp):
                with entered(self.facts, exp, inner):
                    self.body(inner)
            after(self.facts, stm)

    def nest(self, exp: Each) -> None:
        read = None
        for acc in exp.accs:
            if acc.op != "=":
                continue
            read = free_vars(exp.body) if read is None else read
            if acc.inits[0] in read and overwrites_safely(self.facts, exp, acc):
                self.safe.add(acc.vars[0])


def overwrites_safely(facts: Facts, exp: Each, acc: Acc) -> bool:
    array = acc.inits[0]
    assert isinstance(array, Var)
    mark = facts.mark()
    inside(facts, exp, exp.body)
    levels = nest_levels(facts, exp.vars)
    found = Accesses(facts, Mentions(), mark, array, acc.vars[0])
    complete = found.body(exp.body, levels, ())
    facts.undo(mark)
    if not complete:
        return False
    test = Dependence(facts)
    reads = [a for a in found.accesses if not a.writes]
    writes = [a for a in found.accesses if a.writes]
    return all(test.compatible(r, w) for r in reads for w in writes)
