"""Operators that are known are called by their names.

    acc by (l, r) ↦ l ⊙ r      ⇒   acc ⊙= …                                (⊙ is min or max)
    fold i < n by ⊙ of e       ⇒   each i < n with (acc ⊙= neutral) { put acc <- e }

A derivative combines values together with their cotangents or places; if nobody wants these, what
is left of the operator is one that lanes know.
"""

from __future__ import annotations

from dataclasses import replace

from tapeless.ir.syntax import Acc, Body, Each, Exp, Fold, Fun, Let, Monoid, Prim, Put
from tapeless.ir.walk import bodies_of, map_bodies

KNOWN = frozenset({"min", "max"})


def run(fun: Fun) -> Fun:
    walk = _Known()
    body = walk.body(fun.body)
    return replace(fun, body=body) if walk.changed else fun


def known(m: Monoid) -> str | None:
    """The operator of which `m` consists, if that is known."""
    match m.left, m.right, m.body:
        case (l,), (r,), Body((Let((out,), Prim(op, args)),), (result,)) if op in KNOWN:
            return op if out is result and args in ((l, r), (r, l)) else None
        case _:
            return None


class _Known:
    def __init__(self) -> None:
        self.changed = False

    def body(self, body: Body) -> Body:
        return replace(body, stms=tuple(map(self.statement, body.stms)))

    def statement(self, stm: Let) -> Let:
        exp: Exp = map_bodies(stm.exp, self.body) if bodies_of(stm.exp) else stm.exp
        match exp:
            case Each(accs=accs):
                exp = replace(exp, accs=tuple(map(self.acc, accs)))
            case Fold(var, size, Monoid() as m, body) if (op := known(m)) is not None:
                self.changed = True
                target = m.left[0].fresh()
                put = Let((), Put((target,), (), body.results, ""), stm.loc)
                nest = Body((*body.stms, put), ())
                exp = Each((var,), (size,), (Acc((target,), m.neutral, op),), nest)
        return Let(stm.outs, exp, stm.loc)

    def acc(self, acc: Acc) -> Acc:
        op = known(acc.op) if isinstance(acc.op, Monoid) else None
        if op is None:
            return acc
        self.changed = True
        return replace(acc, op=op)
