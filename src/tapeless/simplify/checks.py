"""Checks rise as far as their operands allow, so that what they promise is known early.

    x = e; p = m == n; check p   ⇒   p = m == n; check p; x = e        (pure e)

Errors keep their order: a check does not pass what may raise.
"""

from __future__ import annotations

from dataclasses import replace

from tapeless.core.names import Var
from tapeless.ir.effects import is_pure_exp, is_total
from tapeless.ir.syntax import Body, Check, Fun, Let, Prim
from tapeless.ir.walk import atoms_of, bodies_of, map_bodies


def run(fun: Fun) -> Fun:
    walk = _Rise()
    body = walk.body(fun.body)
    return replace(fun, body=body) if walk.changed else fun


class _Rise:
    def __init__(self) -> None:
        self.changed = False

    def body(self, body: Body) -> Body:
        out: list[Let] = []
        for stm in body.stms:
            if bodies_of(stm.exp):
                stm = Let(stm.outs, map_bodies(stm.exp, self.body), stm.loc)
            out.append(stm)
            if isinstance(stm.exp, Check):
                self.changed |= _rise(out)
        return Body(tuple(out), body.results)


def _rise(stms: list[Let]) -> bool:
    """Move the last statement, a check, and the scalars that it needs, up; whether that did any."""
    group = [stms[-1]]
    passed: list[Let] = []
    needed = _operands(stms[-1])
    for stm in reversed(stms[:-1]):
        if needed.isdisjoint(stm.outs) and is_pure_exp(stm.exp):
            passed.append(stm)
        elif isinstance(stm.exp, Prim) and is_total(stm.exp):
            group.append(stm)
            needed |= _operands(stm)
        else:
            break
    if not any(bodies_of(stm.exp) for stm in passed):
        return False  # nothing is gained
    count = len(group) + len(passed)
    stms[-count:] = [*reversed(group), *reversed(passed)]
    return True


def _operands(stm: Let) -> set[Var]:
    return {a for a in atoms_of(stm.exp) if isinstance(a, Var)}
