"""What a parallel loop may hold: what can run in lanes, what threads can share."""

from __future__ import annotations

from tapeless.core.names import Var
from tapeless.ir.syntax import Acc, Append, Body, Call, Each, Loop, Monoid, Put
from tapeless.ir.walk import bound, statements, type_vars

Accs = dict[Var, Acc]


def puts_outside(body: Body) -> list[Put]:
    """Puts in `body` to accumulators that are bound outside of it."""
    own = bound(body)
    return [
        stm.exp
        for stm in statements(body)
        if isinstance(stm.exp, Put) and stm.exp.targets[0] not in own
    ]


def fits_lanes(body: Body, counters: set[Var], accs: Accs) -> bool:
    """Whether iterations of `body` can be lanes: arrays in it have sizes that lanes share, what
    lanes accumulate can be exchanged."""
    inside = bound(body) | counters
    for stm in statements(body):
        if isinstance(stm.exp, Append | Call):
            return False
        if isinstance(stm.exp, Loop) and any(
            s in stm.exp.params for p in stm.exp.params for s in type_vars(p.type)
        ):
            return False
        if any(s in inside for o in stm.outs for s in type_vars(o.type)):
            return False
    return all(_exchanges(put, accs[put.targets[0]]) for put in puts_outside(body))


def _exchanges(put: Put, acc: Acc) -> bool:
    if isinstance(acc.op, Monoid):
        return acc.op.commutative and not put.at
    return acc.op != "=" or bool(put.at)


def fits_threads(exp: Each, dim: int, accs: Accs) -> bool:
    """Whether threads can share dimension `dim`: no two of its iterations put to one cell."""
    var = exp.vars[dim]
    axes: dict[Var, set[int]] = {}
    for put in puts_outside(exp.body):
        target = put.targets[0]
        op = accs[target].op
        if op == "=":
            if not put.at:
                return False
            continue
        if not put.at:
            continue
        own = {axis for axis, a in enumerate(put.at) if a is var}
        axes[target] = axes.get(target, own) & own
        if not axes[target]:
            return False
    return True
