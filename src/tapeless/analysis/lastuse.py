"""Which arrays an expression reads, and which are still needed after each statement."""

from __future__ import annotations

from tapeless.core.names import Var
from tapeless.ir.syntax import Body, Exp
from tapeless.ir.walk import atoms_of, binders_of, bodies_of


class Uses:
    """Arrays mentioned by expressions; remembered, because every enclosing scope asks again."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Exp, frozenset[Var]]] = {}

    def of(self, exp: Exp) -> frozenset[Var]:
        """Arrays bound outside `exp` that it reads or consumes, in its nested bodies too."""
        known = self._known.get(id(exp))
        if known is not None:
            return known[1]
        used = {a for a in atoms_of(exp) if isinstance(a, Var) and a.is_array}
        for body in bodies_of(exp):
            used |= self.of_body(body)
        used -= set(binders_of(exp))
        self._known[id(exp)] = (exp, frozenset(used))
        return self._known[id(exp)][1]

    def of_body(self, body: Body) -> set[Var]:
        """Arrays bound outside `body` that it mentions."""
        used = array_results(body)
        for stm in body.stms:
            used |= self.of(stm.exp)
        return used - {o for stm in body.stms for o in stm.outs}

    def live_after(self, body: Body) -> list[frozenset[Var]]:
        """For each statement, the arrays that later statements or the results still need."""
        live = frozenset(array_results(body))
        out = [live] * len(body.stms)
        for i in range(len(body.stms) - 1, -1, -1):
            out[i] = live
            live = live | self.of(body.stms[i].exp)
        return out


def array_results(body: Body) -> set[Var]:
    return {r for r in body.results if isinstance(r, Var) and r.is_array}
