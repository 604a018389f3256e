"""Sums that are scattered over a table become a table of sums.

    each (i, k, j) with (c += c₀) { put c[i, j] <- e }
      ⇒  each (i, j) with (c = c₀) {
            s = each (k) with (s += c₀[i, j]) { put s <- e }
            put c[i, j] <- s
          }

so that a contraction looks the same in whatever order its loops were written.
"""

from __future__ import annotations

from dataclasses import replace

from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import Scalar
from tapeless.ir.syntax import PROVED, Acc, Body, Each, Fun, Index, Let, Put, all_proved
from tapeless.ir.walk import map_bodies, statements

SMALL = 16  # cells that a nest can keep in registers while it runs over everything else


def run(fun: Fun) -> Fun:
    walk = _Gather()
    body = walk.body(fun.body)
    return replace(fun, body=body) if walk.changed else fun


class _Gather:
    def __init__(self) -> None:
        self.changed = False

    def body(self, body: Body) -> Body:
        return Body(tuple(map(self.statement, body.stms)), body.results)

    def statement(self, stm: Let) -> Let:
        exp = map_bodies(stm.exp, self.body)
        if isinstance(exp, Each) and len(exp.accs) == 1 and not exp.body.results:
            gathered = _gathered(exp, exp.accs[0])
            if gathered is not None:
                exp, self.changed = gathered, True
        return Let(stm.outs, exp, stm.loc)


def _gathered(exp: Each, acc: Acc) -> Each | None:
    puts = [s for s in statements(exp.body) if isinstance(s.exp, Put)]
    if not isinstance(acc.op, str) or acc.op == "=" or len(puts) != 1 or len(acc.vars) != 1:
        return None
    put = puts[0].exp
    assert isinstance(put, Put)
    kept = put.at
    top = any(s is puts[0] for s in exp.body.stms)
    if not top or len(kept) < 2 or len(set(kept)) < len(kept) or not set(kept) < set(exp.vars):
        return None
    sizes = dict(zip(exp.vars, exp.sizes, strict=True))
    if not all_proved(put.modes) or _is_small([sizes[v] for v in kept if isinstance(v, Var)]):
        return None
    (var,), (init,) = acc.vars, acc.inits
    assert isinstance(init, Var)
    inner_vars = tuple(v for v in exp.vars if v not in kept)
    outer_vars = tuple(v for v in kept if isinstance(v, Var))
    scalar = Scalar(var.dtype)
    first, total, cell = (Var(scalar, var.hint, var.loc) for _ in range(3))
    stms = tuple(
        Let((), Put((cell,), (), put.values, ""), s.loc) if s is puts[0] else s
        for s in exp.body.stms
    )
    inner = Each(
        inner_vars, tuple(sizes[v] for v in inner_vars), (Acc((cell,), (first,), acc.op),),
        Body(stms, ()),
    )  # fmt: skip
    loc = puts[0].loc
    modes = PROVED * len(kept)
    body = Body(
        (
            Let((first,), Index(init, kept, modes), loc),
            Let((total,), inner, loc),
            Let((), Put((var,), kept, (total,), modes), loc),
        ),
        (),
    )
    return Each(outer_vars, tuple(sizes[v] for v in outer_vars), (replace(acc, op="="),), body)


def _is_small(sizes: list[Atom]) -> bool:
    product = 1
    for size in sizes:
        if not isinstance(size, Const):
            return False
        product *= int(size.value)
    return product <= SMALL
