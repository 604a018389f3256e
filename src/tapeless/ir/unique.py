"""The rule of programs whose consumptions are safe: nothing is used after it was consumed.

Core values never change, so that any array may be consumed. `lower.own` inserts the copies that
this costs, and its output keeps a stronger rule, which is checked here without asking how `own`
came to it: an array is consumed only if it is *owned* (bound in this body or handed down to it,
never a parameter outside `writes`), and from then on it is not mentioned any more. Update, Append,
initial values of accumulators and of loop state consume; so do the results of a body that runs in
its own right: an arm of an If, an Iverson, a loop. What may run more than once, or side by side,
owns nothing from outside.
"""

from __future__ import annotations

from collections.abc import Iterator

from tapeless.core.names import Atom, Var
from tapeless.ir.invalid import InvalidIR
from tapeless.ir.syntax import (
    Acc,
    Append,
    Body,
    Each,
    Exp,
    Fun,
    If,
    Index,
    Iverson,
    Let,
    Loop,
    Put,
    Update,
    While,
)  # fmt: skip
from tapeless.ir.walk import atoms_of, bodies_of, uses


def verify_unique(fun: Fun) -> None:
    """Raise InvalidIR if `fun` consumes an array that it does not own, or uses one afterwards."""
    _Uniqueness(fun).body(fun.body, set(fun.writes))


class _Uniqueness:
    """`dead`: arrays that were consumed on the way to the current statement."""

    def __init__(self, fun: Fun) -> None:
        self.fun = fun
        self.stm: Let | None = None
        self.dead: set[Var] = set()

    def fail(self, problem: str) -> None:
        raise InvalidIR(problem, self.stm, self.fun)

    def body(self, body: Body, owned: set[Var], *, moves: bool = False) -> None:
        """`owned`: arrays from outside that may be consumed; `moves`: so may the results."""
        owned = set(owned)
        for stm in body.stms:
            self.stm = stm
            self.mention(atoms_of(stm.exp))
            self.consume(stm.exp, owned)
            self.nested(stm.exp, owned)
            owned.update(v for v in stm.outs if v.is_array)
            self.stm = stm
        if moves:
            self.take(body.results, owned)
        else:
            self.mention(body.results)

    def nested(self, exp: Exp, owned: set[Var]) -> None:
        match exp:
            case If(_, then, orelse):
                before = set(self.dead)
                self.body(then, owned, moves=True)
                after, self.dead = self.dead, before
                self.body(orelse, owned, moves=True)
                self.dead |= after
            case Iverson(_, body):
                self.body(body, owned, moves=True)
            case Loop(form, params, _, body):
                if isinstance(form, While):
                    self.body(form.cond, set())
                self.body(body, {p for p in params if p.is_array}, moves=True)
                self.dead.difference_update(params)
            case _:
                for body in bodies_of(exp):
                    self.body(body, set())
                if isinstance(exp, Each):
                    self.dead.update(
                        i for a in exp.accs for i in a.inits if isinstance(i, Var) and i.is_array
                    )

    def mention(self, atoms: Iterator[Atom] | tuple[Atom, ...]) -> None:
        for atom in atoms:
            if atom in self.dead:
                self.fail(f"{atom} is used after it was consumed")

    def take(self, atoms: tuple[Atom, ...], owned: set[Var]) -> None:
        for array in atoms:
            if isinstance(array, Var) and array.is_array:
                self.mention((array,))
                if array not in owned:
                    self.fail(f"{array} is consumed, but not owned here")
                self.dead.add(array)

    def consume(self, exp: Exp, owned: set[Var]) -> None:
        match exp:
            case Update(array):
                self.take((array,), owned)
            case Append(array, value):
                self.take((array,), owned)
                self.mention((value,))
            case Loop(_, _, inits):
                self.take(inits, owned)
            case Each(_, _, accs, body):
                for acc in accs:
                    self.take(acc.inits, owned)
                    if reads_own_cell(acc, body):  # alive in the body, dead after it
                        self.dead.difference_update(acc.inits)
            case _:
                pass


def reads_own_cell(acc: Acc, body: Body) -> bool:
    """Whether each pass reads `acc`'s initial value only at the cell that it puts to afterwards."""
    (init, *more), target = acc.inits, acc.vars[0]
    if acc.op != "=" or more or not isinstance(init, Var):
        return False
    order = list(_in_order(body))
    puts = [k for k, exp in enumerate(order) if isinstance(exp, Put) and target in exp.targets]
    if len(puts) != 1:
        return False
    put = order[puts[0]]
    assert isinstance(put, Put)
    reads = [e for e in order[: puts[0]] if isinstance(e, Index) and e.array is init]
    mentions = sum(atom is init for atom in uses(body))
    return mentions == len(reads) and all(read.at == put.at for read in reads)


def _in_order(body: Body) -> Iterator[Exp]:
    """Expressions in the order of the text, an inner one after the statement around it."""
    for stm in body.stms:
        yield stm.exp
        for inner in bodies_of(stm.exp):
            yield from _in_order(inner)
