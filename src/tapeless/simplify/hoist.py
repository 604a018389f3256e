"""What does not change in a loop is computed before it.

    loop … { x = e; … }  ⇒  x = e; loop … { … }      (e reads nothing that the loop binds)

if e has no effect, ends, and has a value even where the loop would not run: every index in it is
proved in range by what is known before the loop. Nothing leaves a branch.
"""

from __future__ import annotations

from dataclasses import replace

from tapeless.analysis.enter import after, all_in_range, entered, in_range
from tapeless.analysis.rewriter import FactsRewriter
from tapeless.core.names import Atom, Const, Var
from tapeless.ir.effects import consumed, is_pure_exp
from tapeless.ir.syntax import (
    Append,
    Body,
    Each,
    Exp,
    Fold,
    Fun,
    If,
    Index,
    Iverson,
    Let,
    Loop,
    Prim,
    Scan,
    While,
)  # fmt: skip
from tapeless.ir.walk import binders_of, bodies_of, free_vars, statements


def run(fun: Fun) -> Fun:
    return _Hoist().run(fun)


class _Hoist(FactsRewriter):
    def concerns(self, exp: Exp) -> bool:
        return isinstance(exp, Loop | Each | Fold | Scan)

    def statement(self, stm: Let, out: list[Let]) -> None:
        if bodies_of(stm.exp):
            stm = Let(stm.outs, self.loop(stm.exp, out), stm.loc)
        self.emit(stm, out)

    def loop(self, exp: Exp, out: list[Let]) -> Exp:
        """`exp` without what can be computed before it, which goes to `out`."""
        if not isinstance(exp, Loop | Each | Fold | Scan):
            return exp
        varying = set(binders_of(exp))
        taken = consumed_in(exp.body)
        kept: list[Let] = []
        for stm in exp.body.stms:
            fixed = varying.isdisjoint(free_vars(Body((stm,), ())))
            if fixed and taken.isdisjoint(stm.outs) and self.anywhere(stm):
                out.append(stm)
                after(self.facts, stm)
                self.changed = True
            else:
                varying.update(stm.outs)
                kept.append(stm)
        return replace(exp, body=Body(tuple(kept), exp.body.results))

    def anywhere(self, stm: Let) -> bool:
        """Whether the statement has a value at the present place."""
        exp = stm.exp
        match exp:
            case Prim(op, args):
                return op not in ("shl", "shr") or isinstance(args[1], Const)
            case Index(array, at):
                return in_range(self.facts, at, array.shape)
            case Each() | Fold() | If() | Iverson():
                return self.construct(exp, stm)
            case _:
                return False

    def construct(self, exp: Each | Fold | If | Iverson, stm: Let) -> bool:
        if not is_pure_exp(exp) or _takes_arrays(exp):
            return False
        for s in statements(Body((stm,), ())):
            if isinstance(s.exp, Append) or (
                isinstance(s.exp, Loop) and isinstance(s.exp.form, While)
            ):
                return False
        sizes: tuple[Atom, ...] = ()
        if isinstance(exp, Each):
            sizes = exp.sizes
        elif isinstance(exp, Fold):
            sizes = (exp.size,)
        if not all(map(self.facts.nonnegative, sizes)):
            return False
        for body in bodies_of(exp):
            with entered(self.facts, exp, body):
                if not all_in_range(self.facts, body):
                    return False
        return True


def _takes_arrays(exp: Each | Fold | If | Iverson) -> bool:
    """Whether an Each accumulates into arrays, which it consumes."""
    return isinstance(exp, Each) and any(v.is_array for a in exp.accs for v in a.vars)


def consumed_in(body: Body) -> set[Atom]:
    """Arrays that statements of `body` may overwrite, or that leave it as state."""
    out: set[Atom] = {r for r in body.results if isinstance(r, Var) and r.is_array}
    return out.union(*(consumed(stm.exp) for stm in body.stms))
