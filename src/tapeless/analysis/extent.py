"""What must hold in front of a loop so that integers computed in it are never negative.

    for i < n, for j < m: a·i + b·j + c ≥ 0      ⇐      c ≥ 0, a ≥ 0, b ≥ 0
                                                 (a < 0: with n - 1 in the place of i)

Counters are taken away from the innermost loop outwards, each by the end of its range at which the
value is least; a factor whose sign is not known becomes a condition itself. What remains are
polynomials over symbols bound outside. Arithmetic there could wrap: `largest` says how far from
zero each symbol may be so that it does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tapeless.analysis import poly
from tapeless.analysis.facts import LARGEST
from tapeless.analysis.poly import Poly
from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import INDEX, Size
from tapeless.ir.syntax import Exp, Prim

Loops = Sequence[tuple[Var, Atom]]  # counters and trips, outer before inner
MOST_TERMS = 64  # the sum of the sizes of all factors


class NotAffine(Exception):
    """A value that is not a polynomial of counters and of what is bound outside."""


@dataclass(slots=True, eq=False)
class Extent:
    """`defs`: the statements inside; `inside`: all that is bound there."""

    inside: set[Var]
    defs: Mapping[Var, Exp]
    symbols: dict[Var, int] = field(default_factory=dict)
    vars: list[Var] = field(default_factory=list)

    def value(self, atom: Atom | Size, counters: Loops) -> Poly:
        """`atom` as a polynomial over counters and symbols from outside."""
        if isinstance(atom, int):
            return poly.constant(atom)
        if isinstance(atom, Const):
            return poly.constant(int(atom.value))
        if atom.type != INDEX:
            raise NotAffine
        if atom not in self.inside or any(atom is v for v, _ in counters):
            return poly.symbol(self.symbol(atom))
        match self.defs.get(atom):
            case Prim("add" | "sub" | "mul" as op, (a, b)):
                p, q = self.value(a, counters), self.value(b, counters)
                return {"add": poly.add, "sub": poly.sub, "mul": poly.multiply}[op](p, q)
            case Prim("neg", (a,)):
                return poly.scale(self.value(a, counters), -1)
            case _:
                raise NotAffine

    def symbol(self, var: Var) -> int:
        known = self.symbols.get(var)
        if known is None:
            known = self.symbols[var] = len(self.vars)
            self.vars.append(var)
        return known

    def trips(self, size: Atom, counters: Loops) -> Poly:
        """Passes of a loop that runs: max(a, 0) is then a."""
        if isinstance(size, Var) and size in self.inside:
            match self.defs.get(size):
                case Prim("max", (a, Const(value=0))) | Prim("max", (Const(value=0), a)):
                    return self.value(a, counters)
        return self.value(size, counters)

    def conditions(self, p: Poly, loops: Loops) -> list[Poly]:
        """Polynomials over symbols from outside; p ≥ 0 everywhere if they are ≥ 0."""
        found: list[Poly] = []
        for k in reversed(range(len(loops))):
            counter, size = loops[k]
            p = self.least(p, counter, size, loops[:k], found)
        return [*found, p]

    def least(self, p: Poly, counter: Var, size: Atom, outer: Loops, found: list[Poly]) -> Poly:
        """The least value of p over a counter."""
        parts = poly.split(p, self.symbol(counter))
        if parts is None:
            raise NotAffine
        factor, rest = parts
        if not factor:
            return rest
        number = poly.constant_of(factor)
        if number is not None and number < 0:
            last = poly.shift(self.trips(size, outer), -1)
            return poly.add(rest, poly.multiply(factor, last))
        if number is None:
            negated = poly.scale(factor, -1)
            if all(c < 0 for c in factor.values()):  # such as - n of a stride n
                found += self.conditions(negated, outer)
                last = poly.shift(self.trips(size, outer), -1)
                return poly.add(rest, poly.multiply(factor, last))
            found += self.conditions(factor, outer)
        return rest

    def largest(self, p: Poly) -> dict[Var, int]:
        """How large the symbols of p may be so that no part of it wraps."""
        if sum(abs(c) for m, c in p.items() if m) > MOST_TERMS or abs(p.get((), 0)) > LARGEST:
            raise NotAffine
        degree = max((len(m) for m in p), default=0)
        if degree == 0:
            return {}
        bound = LARGEST if degree == 1 else 1 << (56 // degree)
        return {self.vars[v]: bound for m in p for v in m}
