"""Cells that are assigned what they hold and something more, are added to.

    each (i < n) with (p = a) { v = a[k]; put p[k] <- v + e }   ⇒
    each (i < n) with (p += a) { put p[k] <- e }

where nothing else reads `a`: the cotangent of a cell that is added to stays what it is.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from tapeless.core.names import Atom, Var
from tapeless.ir.syntax import Acc, Body, Each, Exp, Index, Let, Prim, Put, all_proved
from tapeless.ir.walk import map_bodies, statements, uses


def assignments_as_sums(stm: Let) -> list[Let]:
    exp = stm.exp
    if not isinstance(exp, Each) or all(acc.op != "=" for acc in exp.accs):
        return [stm]
    defs = {o: s.exp for s in statements(exp.body) for o in s.outs}
    counts = Counter(a for a in uses(exp.body) if isinstance(a, Var))
    for acc in exp.accs:
        puts = [
            s.exp for s in statements(exp.body)
            if isinstance(s.exp, Put) and s.exp.targets == acc.vars
        ]  # fmt: skip
        read = counts[acc.inits[0]] if isinstance(acc.inits[0], Var) else 0
        if acc.op == "=" and puts and read == len(puts):
            terms = {put: _term(put, acc, defs, counts) for put in puts}
            if acc.vars[0].dtype.is_float and all(t is not None for t in terms.values()):
                return assignments_as_sums(replace(stm, exp=_added(exp, acc, defs)))
    return [stm]


def _term(
    put: Put, acc: Acc, defs: dict[Var, Exp], counts: Counter[Var]
) -> tuple[Atom, bool] | None:
    """What is added to the cell, and whether it is subtracted."""
    (value,) = put.values
    if not isinstance(value, Var) or counts[value] != 1:
        return None

    def is_cell(atom: Atom) -> bool:
        exp = defs.get(atom) if isinstance(atom, Var) and counts[atom] == 1 else None
        return (
            isinstance(exp, Index)
            and exp.array is acc.inits[0]
            and exp.at == put.at
            and all_proved(exp.modes)
        )

    match defs.get(value):
        case Prim("add", (a, b)) if is_cell(a):
            return b, False
        case Prim("add", (a, b)) if is_cell(b):
            return a, False
        case Prim("sub", (a, b)) if is_cell(a):
            return b, True
        case _:
            return None


def _added(exp: Each, acc: Acc, defs: dict[Var, Exp]) -> Each:
    counts = Counter(a for a in uses(exp.body) if isinstance(a, Var))
    gone = acc.inits[0]

    def added(body: Body) -> Body:
        stms: list[Let] = []
        for stm in body.stms:
            inner = stm.exp
            if isinstance(inner, Index) and inner.array is gone:
                continue
            if isinstance(inner, Put) and inner.targets == acc.vars:
                found = _term(inner, acc, defs, counts)
                assert found is not None
                term, negative = found
                stms = [s for s in stms if inner.values[0] not in s.outs]
                if negative:
                    less = Var(inner.values[0].type, "less")
                    stms.append(Let((less,), Prim("neg", (term,)), stm.loc))
                    term = less
                stms.append(replace(stm, exp=replace(inner, values=(term,))))
            else:
                stms.append(replace(stm, exp=map_bodies(inner, added)))
        return Body(tuple(stms), body.results)

    accs = tuple(replace(a, op="+") if a is acc else a for a in exp.accs)
    return replace(exp, accs=accs, body=added(exp.body))
