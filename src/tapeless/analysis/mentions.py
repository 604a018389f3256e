"""What expressions mention from outside; remembered, for every enclosing scope asks again."""

from __future__ import annotations

from collections.abc import Iterable

from tapeless.core.names import Atom, Var
from tapeless.ir.syntax import Body, Exp, Put
from tapeless.ir.walk import atoms_of, binders_of, bodies_of, type_vars


class Mentions:
    """Free variables of expressions: operands, targets of Put, sizes in types."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Exp, frozenset[Var]]] = {}

    def of(self, exp: Exp) -> frozenset[Var]:
        known = self._known.get(id(exp))
        if known is None:
            known = self._known[id(exp)] = exp, self._free(exp)
        return known[1]

    def _free(self, exp: Exp) -> frozenset[Var]:
        found = _vars(atoms_of(exp))
        if isinstance(exp, Put):
            found.update(exp.targets)
        binders = binders_of(exp)
        for var in binders:
            found.update(type_vars(var.type))
        for body in bodies_of(exp):
            found |= self.of_body(body)
        return frozenset(found.difference(binders))

    def of_body(self, body: Body) -> set[Var]:
        found = _vars(body.results)
        for stm in body.stms:
            found |= self.of(stm.exp)
            for out in stm.outs:
                found.update(type_vars(out.type))
        return found.difference(o for stm in body.stms for o in stm.outs)


def _vars(atoms: Iterable[Atom]) -> set[Var]:
    return {a for a in atoms if isinstance(a, Var)}
