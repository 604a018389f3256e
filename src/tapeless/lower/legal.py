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
    return meeting(exp.body, exp.vars[dim], accs) == []


def fits_copies(exp: Each, dim: int, accs: Accs) -> bool:
    """Whether threads can share dimension `dim` if each has copies of the arrays it adds to.

    The order of the box decides between equals: where an operator does not commute, only its
    outermost dimension can be cut."""
    meets = meeting(exp.body, exp.vars[dim], accs)
    return bool(meets) and all(
        dim == 0 or not isinstance(accs[p.targets[0]].op, Monoid) for p in meets or ()
    )


def meeting(body: Body, var: Var, accs: Accs) -> list[Put] | None:
    """For each array to a cell of which several iterations over `var` may put: one such Put. None:
    it would matter which of them comes last."""
    axes: dict[Var, set[int]] = {}
    last: dict[Var, Put] = {}
    for put in puts_outside(body):
        target = put.targets[0]
        if accs[target].op == "=":
            if not put.at:
                return None
        elif put.at:
            own = {axis for axis, a in enumerate(put.at) if a is var}
            axes[target] = axes.get(target, own) & own
            last[target] = put
    return [last[target] for target, own in axes.items() if not own]
