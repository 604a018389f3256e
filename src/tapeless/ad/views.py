"""Foreign functions on views become foreign functions on arrays.

    f(x[a₁, a₂; axis 1 by k ↦ a₂ + s·k, k < n])   becomes   y = each k < n: x[a₁, a₂ + s·k];  f(y)

Their rules read whole operands, and give cotangents to them.
"""

from __future__ import annotations

from dataclasses import replace

from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import INDEX
from tapeless.ir.build import Builder
from tapeless.ir.syntax import PROVED, Call, Each, Index, Let, View


def views_as_arrays(stm: Let) -> list[Let]:
    exp = stm.exp
    if not (isinstance(exp, Call) and any(isinstance(a, View) for a in exp.args)):
        return [stm]
    b = Builder()
    b.loc = stm.loc
    with b.scope() as stms:
        args = tuple(_array(b, a) if isinstance(a, View) else a for a in exp.args)
    return [*stms, replace(stm, exp=replace(exp, args=args))]


def _array(b: Builder, view: View) -> Var:
    vars = tuple(Var(INDEX, "k") for _ in view.dims)
    with b.scope():
        at: list[Atom] = list(view.at)
        for k, (axis, _, step) in zip(vars, view.dims, strict=True):
            at[axis] = b.prim("add", at[axis], b.prim("mul", k, Const(step, INDEX.dtype)))
        cell = b.one(Index(view.array, tuple(at), PROVED * len(at)), view.array.hint)
        body = b.body((cell,))
    sizes = tuple(size for _, size, _ in view.dims)
    return b.one(Each(vars, sizes, (), body), view.array.hint)
