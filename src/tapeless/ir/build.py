"""Builder of Core bodies: emits statements into the current scope, folding what is constant."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tapeless.core.names import Atom, Const, Loc, Var
from tapeless.core.prims import COMMUTATIVE, evaluate
from tapeless.core.types import DType, bool_, i64
from tapeless.ir.syntax import Body, Check, Exp, Let, Loop, Prim, Put
from tapeless.ir.types_of import state_types, types_of


def const(value: bool | int | float, dtype: DType = i64) -> Const:
    return Const(value, dtype)


TRUE = Const(True, bool_)
FALSE = Const(False, bool_)
ZERO = Const(0, i64)
ONE = Const(1, i64)


def fold(op: str, args: tuple[Atom, ...]) -> Atom | None:
    """The atom that `op` on `args` equals by a law that holds for every value, if one is known.

    On integers x + 0 ⇒ x, x - 0 ⇒ x, x - x ⇒ 0, x·0 ⇒ 0, x // 1 ⇒ x; x·1 ⇒ x; x / 1 ⇒ x;
    p ∧ True ⇒ p; p ∧ False ⇒ False; p ∨ False ⇒ p; p ∨ True ⇒ True; c ? a : a ⇒ a;
    x = x ⇒ True and x < x ⇒ False where x is no float; a conversion to its own type goes."""
    if all(isinstance(a, Const) for a in args):
        dtype = types_of(Prim(op, args))[0].dtype
        values = [a.dtype.numpy.type(a.value) for a in args if isinstance(a, Const)]
        return Const(evaluate(op, values, dtype).item(), dtype)
    if op in COMMUTATIVE and isinstance(args[0], Const):
        args = args[::-1]
    match op, args:
        case ("add" | "sub", (a, Const(value=0, dtype=d))) if d.is_int:
            return a
        case ("sub", (Var() as a, Var() as b)) if a is b and a.dtype.is_int:
            return Const(0, a.dtype)
        case ("mul" | "div", (a, Const(value=1))):
            return a
        case ("mul", (_, Const(value=0, dtype=d) as zero)) if d.is_int:
            return zero
        case ("floordiv", (a, Const(value=1, dtype=d))) if d.is_int:
            return a
        case ("and", (a, Const(value=c, dtype=d))) if d.is_bool:
            return a if c else FALSE
        case ("or", (a, Const(value=c, dtype=d))) if d.is_bool:
            return TRUE if c else a
        case ("select", (Const(value=c), a, b)):
            return a if c else b
        case ("select", (_, a, b)) if a == b:
            return a
        case ("eq" | "le", (Var() as a, Var() as b)) if a is b and not a.dtype.is_float:
            return TRUE
        case ("ne" | "lt", (Var() as a, Var() as b)) if a is b and not a.dtype.is_float:
            return FALSE
        case (cast, (a,)) if cast == a.dtype.name:
            return a
    return None


class Builder:
    """Emits into a stack of scopes; `loc` is stamped on every statement."""

    def __init__(self) -> None:
        self.scopes: list[list[Let]] = [[]]
        self.loc: Loc | None = None

    # scopes
    @contextmanager
    def scope(self) -> Iterator[list[Let]]:
        """Statements emitted inside go to a list of their own."""
        stms: list[Let] = []
        self.scopes.append(stms)
        try:
            yield stms
        finally:
            self.scopes.pop()

    def body(self, results: tuple[Atom, ...]) -> Body:
        """Everything emitted in the current scope, as a body."""
        return Body(tuple(self.scopes[-1]), results)

    # statements
    def let(self, exp: Exp, *hints: str) -> tuple[Var, ...]:
        """Bind the results of `exp` to new variables."""
        types = types_of(exp)
        names = hints if len(hints) == len(types) else (hints or ("t",)) * len(types)
        outs = tuple(Var(t, h, self.loc) for t, h in zip(types, names[: len(types)], strict=True))
        if isinstance(exp, Loop):
            outs = self._sized_by_state(exp, outs)
        self.scopes[-1].append(Let(outs, exp, self.loc))
        return outs

    def one(self, exp: Exp, hint: str = "t") -> Var:
        (out,) = self.let(exp, hint)
        return out

    def run(self, exp: Exp) -> None:
        """Emit an expression without results."""
        self.scopes[-1].append(Let((), exp, self.loc))

    def prim(self, op: str, *args: Atom, hint: str = "t") -> Atom:
        """`op` on `args`, folded when a law gives the value."""
        known = fold(op, args)
        return self.one(Prim(op, args), hint) if known is None else known

    def cast(self, atom: Atom, to: DType, hint: str = "t") -> Atom:
        return atom if atom.dtype is to else self.prim(to.name, atom, hint=hint)

    def put(self, target: Var, at: tuple[Atom, ...], value: Atom, modes: str) -> None:
        self.run(Put((target,), at, (value,), modes))

    def check(self, cond: Atom, error: str, message: str, *args: Atom) -> None:
        if not (isinstance(cond, Const) and cond.value):
            self.run(Check(cond, error, message, args))

    @staticmethod
    def _sized_by_state(loop: Loop, outs: tuple[Var, ...]) -> tuple[Var, ...]:
        types = state_types(loop.params, outs)
        return tuple(o if t == o.type else o.fresh(t) for o, t in zip(outs, types, strict=True))
