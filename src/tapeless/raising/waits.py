"""What a pass waits for is combined last.

    loop (s = a) for i < n { t = min(s, x); r = min(t, y); return r }
      ⇒  loop (s = a) for i < n { t = min(y, x); r = min(s, t); return r }

for integers, whose sums, products, minima and maxima may be taken in any order: the passes of a
recurrence then follow each other after one operation.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from tapeless.core.names import Atom, Var
from tapeless.ir.syntax import Body, Exp, Fun, Let, Loop, Prim
from tapeless.ir.walk import atoms_of, bodies_of, free_vars, map_bodies, uses

ASSOCIATIVE = frozenset({"add", "mul", "min", "max", "and", "or", "xor"})


def run(fun: Fun) -> Fun:
    walk = _Waits()
    body = walk.body(fun.body)
    return replace(fun, body=body) if walk.changed else fun


class _Waits:
    def __init__(self) -> None:
        self.changed = False

    def body(self, body: Body) -> Body:
        return Body(tuple(map(self.statement, body.stms)), body.results)

    def statement(self, stm: Let) -> Let:
        exp = stm.exp
        if not bodies_of(exp):
            return stm
        exp = map_bodies(exp, self.body)
        if isinstance(exp, Loop) and any(not p.is_array for p in exp.params):
            exp = self.loop(exp)
        return Let(stm.outs, exp, stm.loc)

    def loop(self, loop: Loop) -> Loop:
        order = _Order(loop)
        body = order.run(loop.body)
        if not order.changed:
            return loop
        self.changed = True
        return replace(loop, body=body)


class _Order:
    """One sweep over the body of a loop. `late`: what depends on its scalar state."""

    def __init__(self, loop: Loop) -> None:
        self.late: set[Var] = {p for p in loop.params if not p.is_array}
        self.counts = Counter(a for a in uses(loop.body) if isinstance(a, Var))
        self.defs: dict[Var, Exp] = {}
        self.changed = False

    def run(self, body: Body) -> Body:
        out: list[Let] = []
        for stm in body.stms:
            stm = self.extreme(stm)
            if isinstance(stm.exp, Prim) and stm.exp.op in ASSOCIATIVE:
                stm = self.reordered(stm, stm.exp, out)
            if self.is_late(stm.exp):
                self.late.update(stm.outs)
            if len(stm.outs) == 1:
                self.defs[stm.outs[0]] = stm.exp
            out.append(stm)
        return Body(tuple(out), body.results)

    def is_late(self, exp: Exp) -> bool:
        return any(a in self.late for a in atoms_of(exp)) or any(
            v in self.late for b in bodies_of(exp) for v in free_vars(b)
        )

    def extreme(self, stm: Let) -> Let:
        """a < b ? a : b is min(a, b), of integers that wait for the pass before."""
        match stm.exp:
            case Prim("select", (Var() as c, a, b)) if _is_whole(a) and self.is_late(stm.exp):
                match self.defs.get(c):
                    case Prim("lt" | "le", (x, y)) if {x, y} == {a, b}:
                        self.changed = True
                        return Let(stm.outs, Prim("min" if x == a else "max", (a, b)), stm.loc)
        return stm

    def reordered(self, stm: Let, exp: Prim, out: list[Let]) -> Let:
        """op(op(late, x), y) as op(late, op(y, x))."""
        late, early = self.parts(exp)
        if late is None or early is None or not _is_whole(late) or self.counts[late] != 1:
            return stm
        inner = self.defs.get(late)
        if not isinstance(inner, Prim) or inner.op != exp.op:
            return stm
        first, other = self.parts(inner)
        if first is None or other is None:
            return stm
        self.changed = True
        joined = stm.outs[0].fresh()
        out.append(Let((joined,), Prim(exp.op, (early, other)), stm.loc))
        self.counts[first] -= 1
        return Let(stm.outs, Prim(exp.op, (first, joined)), stm.loc)

    def parts(self, exp: Prim) -> tuple[Var, Atom] | tuple[None, None]:
        """The operand that waits and the one that does not, if this is how it is."""
        a, b = exp.args
        if (a in self.late) == (b in self.late):
            return None, None
        late, early = (a, b) if a in self.late else (b, a)
        assert isinstance(late, Var)
        return late, early


def _is_whole(atom: Atom) -> bool:
    return atom.dtype.is_int or atom.dtype.is_bool
