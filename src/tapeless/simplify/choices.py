"""Choices by one condition are one choice.

    y = if c {a} else {b}; s; z = if c {d} else {e}  ⇒  s; y, z = if c {a; d} else {b; e}

The way back of a choice asks the same as its way forward: what one arm has made is then at hand in
the same arm. What needs y, and the second choice does not, comes after both.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tapeless.core.names import Atom, Var
from tapeless.ir.effects import consumed, effects, may_raise
from tapeless.ir.syntax import Body, Fun, If, Let
from tapeless.ir.walk import Rewriter, bodies_of, map_bodies, uses


def run(fun: Fun) -> Fun:
    walk = _Joining()
    body = walk.body(fun.body)
    return replace(fun, body=body) if walk.changed else fun


class _Joining:
    def __init__(self) -> None:
        self.changed = False

    def body(self, body: Body) -> Body:
        stms: list[Let] = []
        for stm in body.stms:
            if bodies_of(stm.exp):
                stm = replace(stm, exp=map_bodies(stm.exp, self.body))
            stms.append(stm)
            if isinstance(stm.exp, If):
                self.join(stms, stm.exp)
        return Body(tuple(stms), body.results)

    def join(self, stms: list[Let], exp: If) -> None:
        """Join the last statement, a choice, with the nearest one before it that asks the same."""
        last = len(stms) - 1
        for k in range(last - 1, -1, -1):
            earlier = stms[k].exp
            if isinstance(earlier, If) and earlier.cond is exp.cond:
                order = _around(stms[k], stms[k + 1 : last], stms[last])
                if order is not None:
                    front, behind = order
                    stms[k:] = [*front, joined(stms[k], stms[last]), *behind]
                    self.changed = True
                return


def _around(first: Let, between: list[Let], second: Let) -> tuple[list[Let], list[Let]] | None:
    """What of `between` goes in front of both choices, and what behind them; None if anything
    would come to stand on the wrong side of what it needs, overwrites, or might raise before."""
    made: set[Atom] = set(first.outs)
    front: list[Let] = []
    behind: list[Let] = []
    for stm in between:
        if made.isdisjoint(_used([stm])):
            front.append(stm)
        else:
            behind.append(stm)
            made.update(stm.outs)
    needs_behind = _used([second]) & (made - set(first.outs))
    overwrites = _taken(front) & _used([first]) or _taken([second]) & _used(behind)
    raises = (_raises(front) and _raises([first])) or (_raises(behind) and _raises([second]))
    return None if needs_behind or overwrites or raises else (front, behind)


def _used(stms: Iterable[Let]) -> set[Atom]:
    return {a for a in uses(Body(tuple(stms), ())) if isinstance(a, Var)}


def _taken(stms: Iterable[Let]) -> set[Atom]:
    return {a for stm in stms for a in consumed(stm.exp)}


def _raises(stms: Iterable[Let]) -> bool:
    return any(may_raise(e) for stm in stms for e in effects(stm.exp))


def joined(first: Let, second: Let) -> Let:
    """Both choices as one."""
    a, b = first.exp, second.exp
    assert isinstance(a, If)
    assert isinstance(b, If)
    arms = []
    for one, other in ((a.then, b.then), (a.orelse, b.orelse)):
        names = Rewriter(dict(zip(first.outs, one.results, strict=True)), fresh=False)
        rest = names.body(other)
        arms.append(Body((*one.stms, *rest.stms), (*one.results, *rest.results)))
    return Let((*first.outs, *second.outs), If(a.cond, *arms), first.loc or second.loc)
