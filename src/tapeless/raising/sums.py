"""Which statements combine a value into a running one, and by which operator.

s + v, v + s, s - v       "+" of v, v, -v
s · v                     "*"
max(s, v), s or v         "max"       min(s, v), s and v   "min"
v < s ? v : s             "min", of v where v is not NaN   (what Python's `min(s, v)` means)
c ? s + v : s             "+" of v if c
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import BOOL
from tapeless.ir.syntax import Exp, Let, Prim
from tapeless.ir.walk import atoms_of

OPERATORS = {"add": "+", "sub": "+", "mul": "*", "min": "min", "max": "max"}
LOGICAL = {"or": "max", "and": "min"}


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """`value` is combined by `op`, if `cond` is `when`; `first` are statements that make it."""

    op: str
    value: Atom
    first: tuple[Let, ...] = ()
    cond: Atom | None = None
    when: bool = True

    def operands(self) -> set[Atom]:
        """What must be computed before it, besides `first`."""
        made = {o for stm in self.first for o in stm.outs}
        read = {a for stm in self.first for a in atoms_of(stm.exp)}
        return ({self.value} | read | ({self.cond} if self.cond is not None else set())) - made


def term(exp: Prim, s: Atom, defs: Mapping[Var, Exp]) -> Term | None:
    """How `exp` combines something into `s`, which it mentions."""
    match exp:
        case Prim("select", (cond, a, b)) if cond is not s:
            return _extreme(cond, a, b, s, defs) or _guarded(cond, a, b, s, defs)
        case Prim(op, (a, b)) if op in OPERATORS or (op in LOGICAL and a.dtype.is_bool):
            if (a is s) == (b is s) or (op == "sub" and b is s):
                return None
            if s.dtype.is_bool and op not in LOGICAL and op not in ("min", "max"):
                return None
            return _operand(op, b if a is s else a)
        case _:
            return None


def _operand(op: str, value: Atom) -> Term:
    if op != "sub":
        return Term(OPERATORS.get(op) or LOGICAL[op], value)
    if isinstance(value, Const):
        return Term("+", Const(-value.value, value.dtype))
    negated = value.fresh()
    return Term("+", negated, (Let((negated,), Prim("neg", (value,))),))


def _extreme(cond: Atom, a: Atom, b: Atom, s: Atom, defs: Mapping[Var, Exp]) -> Term | None:
    """v < s ? v : s. NaN in v is never chosen, so it counts as the worst value."""
    match defs.get(cond) if isinstance(cond, Var) else None:
        case Prim("lt" | "le", (x, y)) if b is s and {x, y} == {a, s} and a is not s:
            op = "min" if x is a else "max"
        case _:
            return None
    if not a.dtype.is_float or not isinstance(a, Var):
        return Term(op, a)
    worst = Const(float("inf") if op == "min" else -float("inf"), a.dtype)
    better, clean = Var(BOOL, "better"), a.fresh()
    pair = (a, worst) if op == "min" else (worst, a)
    first = (
        Let((better,), Prim("lt", pair)),
        Let((clean,), Prim("select", (better, a, worst))),
    )
    return Term(op, clean, first)


def _guarded(cond: Atom, a: Atom, b: Atom, s: Atom, defs: Mapping[Var, Exp]) -> Term | None:
    """c ? s + v : s, or the other way round."""
    changed, when = (a, True) if b is s else (b, False)
    exp = defs.get(changed) if isinstance(changed, Var) else None
    if (a is s) == (b is s) or not isinstance(exp, Prim):
        return None
    inner = term(exp, s, defs)
    if inner is None or inner.cond is not None:
        return None
    return Term(inner.op, inner.value, inner.first, cond, when)
