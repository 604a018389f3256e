"""Unroll and jam: several iterations of a nest as one body, whose inner nests run together.

    each (k < n) { … b[k, j] · a[i, k] … }  for i = i₀, i₁   ⇒
    each (k < n) { y = b[k, j]; … y · a[i₀, k] …; … y · a[i₁, k] … }

What does not depend on i is done once; accumulators of inner nests exist once per iteration.
"""

from __future__ import annotations

from collections.abc import Sequence

from tapeless.core.names import Atom, Var
from tapeless.ir.syntax import Body, Check, Each, Index, Let, Prim
from tapeless.ir.walk import Rewriter, atoms_of, bodies_of, free_vars, statements
from tapeless.lower.plan import Plans


def can_jam(body: Body, var: Var) -> bool:
    """Whether iterations of `body` over `var` may run together: no array is made in them."""
    return not any(o.is_array for stm in statements(body) for o in stm.outs)


def depending(body: Body, *vars: Var) -> set[Var]:
    """Variables of `body`, at any depth, whose values depend on `vars`; these are among them."""
    found = set(vars)
    grows = True
    while grows:
        before = len(found)
        for stm in statements(body):
            if depends(stm, found):
                found.update(stm.outs)
        grows = len(found) > before
    return found


def depends(stm: Let, found: set[Var]) -> bool:
    return any(a in found for a in atoms_of(stm.exp)) or any(
        v in found for b in bodies_of(stm.exp) for v in free_vars(b)
    )


class Jam:
    """The iterations `copies` of `body` over `var`; results come copy after copy."""

    def __init__(self, plans: Plans, var: Var, copies: Sequence[Var]) -> None:
        self.plans = plans
        self.var = var
        self.copies = [Rewriter({var: c}) for c in copies]
        self.varying: set[Var] = set()

    def run(self, body: Body) -> Body:
        self.varying = depending(body, self.var)
        stms = self.stms(body)
        results: list[Atom] = []
        for copy in self.copies:
            results += copy.atoms(body.results)
        return Body(tuple(stms), tuple(results))

    def stms(self, body: Body) -> list[Let]:
        out: list[Let] = []
        for stm in body.stms:
            if isinstance(stm.exp, Prim | Index | Check) and not depends(stm, self.varying):
                out.append(self.shared(stm))
            elif isinstance(stm.exp, Each) and self.is_common(stm.exp):
                out.append(self.joined(stm, stm.exp))
            else:
                for copy in self.copies:
                    new = copy.let(stm)
                    self.inherit(stm, new, copy)
                    out.append(new)
        return out

    def shared(self, stm: Let) -> Let:
        new = self.copies[0].let(stm)
        for copy in self.copies[1:]:
            copy.map.update(zip(stm.outs, new.outs, strict=True))
        return new

    def is_common(self, exp: Each) -> bool:
        """Whether all copies run `exp` over one box, for its accumulators alone."""
        return not exp.body.results and not any(s in self.varying for s in exp.sizes)

    def joined(self, stm: Let, exp: Each) -> Let:
        first = self.copies[0]
        sizes, vars = first.atoms(exp.sizes), first.binds(exp.vars)
        for copy in self.copies[1:]:
            copy.map.update(zip(exp.vars, vars, strict=True))
        accs = tuple(copy.acc(a) for copy in self.copies for a in exp.accs)
        new = Each(vars, sizes, accs, Body(tuple(self.stms(exp.body)), ()))
        outs = tuple(o for copy in self.copies for o in copy.binds(stm.outs))
        self.plans.inherit(new, exp, first)
        return Let(outs, new, stm.loc)

    def inherit(self, old: Let, new: Let, names: Rewriter) -> None:
        """Plans of the nests in a copied statement."""
        pairs = [(old, new)]
        while pairs:
            a, b = pairs.pop()
            self.plans.inherit(b.exp, a.exp, names)
            for one, two in zip(bodies_of(a.exp), bodies_of(b.exp), strict=True):
                pairs += zip(one.stms, two.stms, strict=True)
