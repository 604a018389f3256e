"""While loops that count are For loops.

    while (k = a) k < n { …; return k + c }   ⇒   for i < ⌈(max(n, a) - a) / c⌉ { k = a + c·i; … }
    while (k = a) n < k { …; return k - c }   ⇒   for i < ⌈(max(a, n) - n) / c⌉ { k = a - c·i; … }

with n fixed, c > 0 a number, and the smaller end not negative, so that no difference wraps.
"""

from __future__ import annotations

from dataclasses import replace

from tapeless.analysis.enter import after
from tapeless.analysis.rewriter import FactsRewriter
from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import INDEX, i64
from tapeless.ir.syntax import Body, Exp, For, Fun, Let, Loop, Prim, While
from tapeless.ir.walk import bound


def run(fun: Fun) -> Fun:
    return _Count().run(fun)


class _Count(FactsRewriter):
    def concerns(self, exp: Exp) -> bool:
        return isinstance(exp, Loop) and isinstance(exp.form, While)

    def statement(self, stm: Let, out: list[Let]) -> None:
        exp = stm.exp
        if isinstance(exp, Loop) and isinstance(exp.form, While):
            counted = self.counted(exp, exp.form, out)
            if counted is not None:
                stm, self.changed = Let(stm.outs, counted, stm.loc), True
        self.emit(stm, out)

    def counted(self, loop: Loop, form: While, out: list[Let]) -> Loop | None:
        if len(form.cond.stms) != 1 or form.cond.results != form.cond.stms[0].outs:
            return None
        match form.cond.stms[0].exp:
            case Prim("lt", (Var() as k, n)) if k in loop.params and n.type == INDEX:
                sign = 1
            case Prim("lt", (n, Var() as k)) if k in loop.params and n.type == INDEX:
                sign = -1
            case _:
                return None
        place = loop.params.index(k)
        step = sign * _step(loop.body, loop.body.results[place], k)
        a = loop.inits[place]
        low = a if sign > 0 else n
        if (
            step <= 0
            or n in bound(loop.body)
            or n in loop.params
            or not self.facts.nonnegative(low)
        ):
            return None
        size = self.trips(a if sign < 0 else n, low, step, out)
        return replace(loop, form=For(Var(INDEX, k.hint, k.loc), size))

    def trips(self, high: Atom, low: Atom, step: int, out: list[Let]) -> Atom:
        """⌈(max(high, low) - low) / step⌉"""

        def emit(op: str, *args: Atom) -> Atom:
            var = Var(INDEX, "trips")
            out.append(Let((var,), Prim(op, args)))
            after(self.facts, out[-1])
            return var

        span = emit("sub", emit("max", high, low), low)
        if step == 1:
            return span
        return emit("floordiv", emit("add", span, Const(step - 1, i64)), Const(step, i64))


def _step(body: Body, result: Atom, k: Var) -> int:
    """c if the result is k + c, else 0."""
    for stm in body.stms:
        if result in stm.outs:
            match stm.exp:
                case Prim("add", (a, Const(value=c))) if a is k:
                    return int(c)
                case Prim("sub", (a, Const(value=c))) if a is k:
                    return -int(c)
    return 0
