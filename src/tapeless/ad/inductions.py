"""Integer state of loops that has a closed form, so that no pass has to record it.

p₀ before the loop, p + a·i + b after pass i   ⇒   p₀ + b·i + a·(i·(i − 1) / 2) at pass i
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tapeless.ad.tree import Node, Plain, Repeated
from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import INDEX
from tapeless.ir.build import ONE, Builder
from tapeless.ir.syntax import For, Prim

Terms = dict[Atom, int]  # of a sum: factors of values from outside; that of ONE is the constant


@dataclass(frozen=True, slots=True)
class Induction:
    """State that grows by slope·i + the sum of `terms` in pass i."""

    start: Atom
    slope: int
    terms: Terms

    def at(self, b: Builder, i: Atom, value: Callable[[Atom], Atom]) -> Atom:
        now = value(self.start)
        for atom, factor in self.terms.items():
            step = b.prim("mul", value(atom), Const(factor, INDEX.dtype))
            now = b.prim("add", now, b.prim("mul", step, i))
        if self.slope:
            pairs = b.prim("floordiv", b.prim("mul", i, b.prim("sub", i, ONE)), _two())
            now = b.prim("add", now, b.prim("mul", pairs, Const(self.slope, INDEX.dtype)))
        return now


def _two() -> Const:
    return Const(2, INDEX.dtype)


def induction(var: Var, node: Node) -> Induction | None:
    """How `var`, state of the loop that `node` is the body of, grows, if that is known."""
    owner = node.owner
    if not isinstance(owner, Repeated) or var.type != INDEX or var not in owner.exp.params:
        return None
    form, k = owner.exp.form, owner.exp.params.index(var)
    exp = _operator(owner.exp.body.results[k], node)
    if not isinstance(form, For) or exp is None or exp.op != "add" or var not in exp.args:
        return None
    step = exp.args[1] if exp.args[0] is var else exp.args[0]
    sum = _affine(step, form.var, node)
    if sum is None:
        return None
    slope = sum.pop(form.var, 0)
    return Induction(owner.exp.inits[k], slope, {a: c for a, c in sum.items() if c})


def _operator(atom: Atom, node: Node) -> Prim | None:
    item = node.defs.get(atom) if isinstance(atom, Var) else None
    exp = item.let.exp if isinstance(item, Plain) and item.let is not None else None
    return exp if isinstance(exp, Prim) else None


def _affine(atom: Atom, counter: Var, node: Node) -> Terms | None:
    """An integer as a sum of the counter and values from outside of the loop."""
    if isinstance(atom, Const):
        return {ONE: int(atom.value)}
    if atom is counter or not node.binds(atom):
        return {atom: 1}
    exp = _operator(atom, node)
    if exp is None or exp.op not in ("add", "sub", "mul"):
        return None
    left, right = (_affine(a, counter, node) for a in exp.args)
    if left is None or right is None:
        return None
    if exp.op == "mul":
        if set(left) <= {ONE}:
            left, right = right, left
        if not set(right) <= {ONE}:
            return None
        return {a: c * right.get(ONE, 0) for a, c in left.items()}
    sign = 1 if exp.op == "add" else -1
    return {a: left.get(a, 0) + sign * right.get(a, 0) for a in (*left, *right)}
