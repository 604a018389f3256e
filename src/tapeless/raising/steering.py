"""Whether what a body reads from some arrays decides which cells of others it touches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tapeless.core.names import Atom, Var
from tapeless.ir.syntax import Body, Each, Exp, Index, Let, Loop, Put, Update, While
from tapeless.ir.walk import atoms_of, bodies_of, free_vars
from tapeless.raising.slices import versions_of


def steers(body: Body, touched: Sequence[Var], read: Sequence[Var]) -> bool:
    """Whether an index of `touched`, or a condition around one, depends on a value of `read`."""
    names = {v for p in touched for v in versions_of(body, p)}
    sources = {v for p in read for v in versions_of(body, p)}
    walk = _Taint(names, sources)
    before = -1
    while before < len(walk.tainted):
        before = len(walk.tainted)
        walk.body(body)
    return walk.found


class _Taint:
    """Sweeps over a body; `tainted`: what depends on a value that was read."""

    def __init__(self, touched: set[Var], sources: set[Var]) -> None:
        self.touched = touched
        self.sources = sources
        self.tainted: set[Var] = set()
        self.found = False

    def body(self, body: Body) -> None:
        for stm in body.stms:
            self.statement(stm, stm.exp)

    def statement(self, stm: Let, exp: Exp) -> None:
        for inner in bodies_of(exp):
            self.body(inner)
        match exp:
            case Index(array, at) | Update(array, at) if array in self.touched:
                self.found |= self.reached(at)
                if isinstance(exp, Index) and array in self.sources:
                    self.tainted.update(stm.outs)
            case Put(targets, at) if not self.touched.isdisjoint(targets):
                self.found |= self.reached(at)
            case _ if bodies_of(exp):
                self.construct(stm, exp)
            case _ if self.reached(atoms_of(exp)):
                self.tainted.update(stm.outs)

    def construct(self, stm: Let, exp: Exp) -> None:
        """Its conditions and sizes are operands, or what a `while` asks; what a pass leaves is
        what the next one starts with."""
        inner = {v for b in bodies_of(exp) for v in free_vars(b)}
        decided = self.reached(atoms_of(exp)) or (
            isinstance(exp, Loop)
            and isinstance(exp.form, While)
            and self.reached(exp.form.cond.results)
        )
        if decided and not self.touched.isdisjoint((*inner, *atoms_of(exp))):
            self.found |= not isinstance(exp, Loop | Each) or self.reached(_deciding(exp))
        results = [r for b in bodies_of(exp) for r in b.results]
        if decided or self.reached(results) or not self.tainted.isdisjoint(inner):
            arrays = self.touched
            self.tainted.update(o for o in stm.outs if o not in arrays)
            if isinstance(exp, Loop):
                self.tainted.update(p for p in exp.params if p not in arrays)

    def reached(self, atoms: Iterable[Atom]) -> bool:
        return any(a in self.tainted for a in atoms)


def _deciding(exp: Loop | Each) -> tuple[Atom, ...]:
    if isinstance(exp, Each):
        return exp.sizes
    return exp.form.cond.results if isinstance(exp.form, While) else (exp.form.size,)
