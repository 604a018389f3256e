"""Stores that nobody sees: a cell written twice with only other cells read in between.

b = a with [i] = v; … b[j] …; c = b with [i] = w  ⇒  … a[j] …; c = a with [i] = w     (j ≠ i)
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial

from tapeless.analysis.enter import after, entered
from tapeless.analysis.facts import Facts
from tapeless.core.names import Var
from tapeless.ir.syntax import Body, Exp, Fun, Index, Let, Update, all_proved
from tapeless.ir.walk import map_bodies, statements, uses
from tapeless.simplify.memory import apart, same_place


def run(fun: Fun) -> Fun:
    updates = {s.outs[0]: s.exp for s in statements(fun.body) if isinstance(s.exp, Update)}
    if not any(e.array in updates for e in updates.values()):
        return fun
    counts = Counter(a for a in uses(fun.body) if isinstance(a, Var))
    walk = _Overwritten(counts)
    walk.facts.params(fun.params)
    walk.body(fun.body)
    older = {b: walk.before[b] for b in walk.overwritten if counts[b] == 1 + walk.passing[b]}
    return replace(fun, body=_redirect(fun.body, older)) if older else fun


class _Overwritten:
    """`before`: the array that an Update consumed; `overwritten`: those written again at once at
    the same cell; `passing`: how many reads of an updated array are of other cells."""

    def __init__(self, counts: Counter[Var]) -> None:
        self.facts = Facts()
        self.counts = counts
        self.before: dict[Var, Var] = {}
        self.overwritten: set[Var] = set()
        self.passing: Counter[Var] = Counter()

    def body(self, body: Body) -> None:
        local = {o for s in body.stms for o in s.outs}
        for stm in body.stms:
            match stm.exp:
                case Update(array, at, _, modes) if all_proved(modes):
                    self.before[stm.outs[0]] = array
                    first = self.facts.defs.get(array)
                    if (
                        isinstance(first, Update)
                        and array in local
                        and array in self.before
                        and same_place(self.facts, at, first.at)
                    ):
                        self.overwritten.add(array)
                case Index(array, at) if array in self.before:
                    first = self.facts.defs[array]
                    assert isinstance(first, Update)
                    self.passing[array] += apart(self.facts, at, first.at, first.modes)
                case exp:
                    map_bodies(exp, partial(self.inner, exp))
            after(self.facts, stm)

    def inner(self, exp: Exp, body: Body) -> Body:
        with entered(self.facts, exp, body):
            self.body(body)
        return body


def _redirect(body: Body, older: dict[Var, Var]) -> Body:
    """Reads and writes of the arrays in `older` go to the array before; their Updates vanish."""

    def resolve(array: Var) -> Var:
        while array in older:
            array = older[array]
        return array

    stms: list[Let] = []
    for stm in body.stms:
        exp = stm.exp
        match exp:
            case Update() if stm.outs[0] in older:
                continue
            case Update(array) | Index(array) if array in older:
                exp = replace(exp, array=resolve(array))
            case _:
                exp = map_bodies(exp, lambda b: _redirect(b, older))
        stms.append(Let(stm.outs, exp, stm.loc))
    return Body(tuple(stms), body.results)
