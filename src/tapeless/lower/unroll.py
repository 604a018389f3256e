"""Small sums written out, so that what they read can be kept in registers.

s = each (k < 2) with (a += a₀) { x = u[i, k]; put a <- x }
⇒  x₀ = u[i, 0]; s₀ = a₀ + x₀; x₁ = u[i, 1]; s = s₀ + x₁
"""

from __future__ import annotations

from itertools import product

from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import INDEX, Scalar
from tapeless.ir.syntax import Acc, Body, Each, Let, Monoid, Prim, Put
from tapeless.ir.walk import Rewriter, bodies_of, map_bodies, statements

MOST_CELLS = 8
MOST_STATEMENTS = 48
OPERATORS = {"+": "add", "*": "mul", "min": "min", "max": "max"}


def unroll(body: Body) -> Body:
    """`body` with the small sums of its nests written out, inner ones first."""
    stms: list[Let] = []
    walk = Rewriter(fresh=False)  # sums that are sizes are in types: arrays change their names too
    for stm in body.stms:
        new = walk.let(stm) if walk.map else stm
        new = Let(new.outs, map_bodies(new.exp, unroll), new.loc)
        if isinstance(new.exp, Each) and is_small(new.exp):
            unrolled = _Unrolled(new, new.exp)
            stms += unrolled.run()
            walk.map.update(zip(new.outs, unrolled.finals(), strict=True))
        else:
            stms.append(new)
    return Body(tuple(stms), walk.atoms(body.results))


def is_small(exp: Each) -> bool:
    """A box of few cells that gives scalars, whose own puts are not under other statements."""
    if exp.body.results or not all(isinstance(s, Const) for s in exp.sizes):
        return False
    cells = 1
    for s in exp.sizes:
        cells *= int(s.value) if isinstance(s, Const) else 0
    length = sum(1 for _ in statements(exp.body))
    own = {v for acc in exp.accs for v in acc.vars}
    deep = any(
        isinstance(s.exp, Put) and s.exp.targets[0] in own
        for stm in exp.body.stms
        for inner in bodies_of(stm.exp)
        for s in statements(inner)
    )
    simple = all(_is_simple(acc) for acc in exp.accs)
    return 0 < cells <= MOST_CELLS and cells * length <= MOST_STATEMENTS and simple and not deep


def _is_simple(acc: Acc) -> bool:
    return not any(v.is_array for v in acc.vars) and acc.op != "="


class _Unrolled:
    """The accumulators' values now, in `now`, while cells are written out one after the other."""

    def __init__(self, stm: Let, exp: Each) -> None:
        self.stm = stm
        self.exp = exp
        self.accs = {acc.vars[0]: acc for acc in exp.accs}
        self.now: dict[Var, Atom] = {
            v: i for acc in exp.accs for v, i in zip(acc.vars, acc.inits, strict=True)
        }
        self.out: list[Let] = []

    def run(self) -> list[Let]:
        sizes = [int(s.value) for s in self.exp.sizes if isinstance(s, Const)]
        for cell in product(*map(range, sizes)):
            at = dict(zip(self.exp.vars, (Const(k, INDEX.dtype) for k in cell), strict=True))
            copier = Rewriter(at)
            for stm in self.exp.body.stms:
                if isinstance(stm.exp, Put) and stm.exp.targets[0] in self.accs:
                    self.put(stm, copier.atoms(stm.exp.values))
                else:
                    self.out.append(copier.let(stm))
        return self.out

    def finals(self) -> list[Atom]:
        return [self.now[v] for acc in self.exp.accs for v in acc.vars]

    def put(self, stm: Let, values: tuple[Atom, ...]) -> None:
        assert isinstance(stm.exp, Put)
        acc = self.accs[stm.exp.targets[0]]
        if isinstance(acc.op, Monoid):
            names = dict(zip(acc.op.left, (self.now[v] for v in acc.vars), strict=True))
            names.update(zip(acc.op.right, values, strict=True))
            copier = Rewriter(names)
            joined = copier.body(acc.op.body)
            self.out += joined.stms
            self.now.update(zip(acc.vars, joined.results, strict=True))
            return
        (var,) = acc.vars
        new = Var(Scalar(var.dtype), var.hint)
        self.out.append(Let((new,), Prim(OPERATORS[acc.op], (self.now[var], values[0])), stm.loc))
        self.now[var] = new
