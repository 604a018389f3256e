"""The builder of the tracer.

Index arithmetic (i64 and conditions on it) is total, so it is emitted where its operands live, not
where it is asked for, and only once: sizes that are equal are the same variable, and a size that
does not depend on a loop is bound outside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import bool_, i64
from tapeless.ir.build import Builder, fold
from tapeless.ir.syntax import Exp, Let, Prim
from tapeless.ir.types_of import types_of

SHARED = frozenset({
    "add", "sub", "mul", "floordiv", "mod", "min", "max", "neg", "abs", "eq", "ne", "lt", "le",
    "and", "or", "not", "select",
})  # fmt: skip


Place: TypeAlias = list[tuple[int, dict[Any, Atom]]]  # per scope: statements, what is known


class TracingBuilder(Builder):
    def __init__(self) -> None:
        super().__init__()
        self.memo: list[dict[Any, Atom]] = [{}]
        self.offsets: dict[Var, tuple[Var, int]] = {}
        self.level: dict[Var, int] = {}  # index of the scope that a variable lives in

    @contextmanager
    def scope(self) -> Iterator[list[Let]]:
        stms: list[Let] = []
        with self.reopen(stms):
            yield stms

    @contextmanager
    def reopen(self, stms: list[Let]) -> Iterator[None]:
        """Go on emitting into a scope that was left."""
        self.scopes.append(stms)
        self.memo.append({})
        try:
            yield
        finally:
            self.memo.pop()
            self.scopes.pop()

    def here(self) -> Place:
        """The present place, to come back to."""
        return [(len(s), dict(m)) for s, m in zip(self.scopes, self.memo, strict=True)]

    def rewind(self, place: Place) -> None:
        """Forget what was emitted since, but for index arithmetic on what was there: types that
        were found meanwhile may mention it."""
        gone: set[Var] = set()
        for stms, (count, memo), now in zip(self.scopes, place, self.memo, strict=True):
            found: set[Atom] = set()
            kept: list[Let] = []
            for stm in stms[count:]:
                exp = stm.exp
                if isinstance(exp, Prim) and exp.op in SHARED and gone.isdisjoint(exp.args):
                    kept.append(stm)
                    found.update(stm.outs)
                else:
                    gone.update(stm.outs)
            stms[count:] = kept
            made = {k: v for k, v in now.items() if v in found and k[0] != "same"}
            now.clear()
            now.update(made | memo)

    def let(self, exp: Exp, *hints: str) -> tuple[Var, ...]:
        outs = super().let(exp, *hints)
        here = len(self.scopes) - 1
        for out in outs:
            self.level[out] = here
        return outs

    def bind(self, outs: tuple[Var, ...], exp: Exp) -> None:
        """Emit `exp` with variables made by the caller."""
        self.scopes[-1].append(Let(outs, exp, self.loc))
        for out in outs:
            self.level[out] = len(self.scopes) - 1

    def prim(self, op: str, *args: Atom, hint: str = "t") -> Atom:
        if op not in SHARED or not all(a.dtype is i64 or a.dtype is bool_ for a in args):
            return super().prim(op, *args, hint=hint)
        known = fold(op, args)
        if known is not None:
            return known
        if op in ("add", "sub") and args[0].dtype is i64:
            return self._sum(op, args[0], args[1], hint)
        return self._shared((op, args), Prim(op, args), hint)

    def _shared(self, key: Any, exp: Prim, hint: str) -> Atom:
        """`exp` in the scope where its operands live, or what it was called before."""
        levels = [self.level.get(a, 0) for a in exp.args if isinstance(a, Var)]
        home = min(max(levels, default=0), len(self.scopes) - 1)
        for memo in self.memo[home:]:
            if key in memo:
                return memo[key]
        out = Var(types_of(exp)[0], hint, self.loc)
        self.scopes[home].append(Let((out,), exp, self.loc))
        self.level[out] = home
        self.memo[home][key] = out
        return out

    def _sum(self, op: str, a: Atom, b: Atom, hint: str) -> Atom:
        """a ± b, with the constants of earlier steps gathered; a − b where both have one base."""
        if isinstance(a, Const) and isinstance(b, Var) and op == "add":
            a, b = b, a
        if isinstance(a, Var) and isinstance(b, Const):
            base, k = self.offsets.get(a, (a, 0))
            shift = k + (int(b.value) if op == "add" else -int(b.value))
            if shift == 0:
                return base
            sign, size = ("add", shift) if shift > 0 else ("sub", -shift)
            exp = Prim(sign, (base, Const(size, i64)))
            out = self._shared((sign, exp.args), exp, hint)
            assert isinstance(out, Var)
            self.offsets[out] = (base, shift)
            return out
        if isinstance(a, Var) and isinstance(b, Var):
            (p, k), (q, m) = self.offsets.get(a, (a, 0)), self.offsets.get(b, (b, 0))
            if op == "sub" and p is q:
                return Const(k - m, i64)
        return self._shared((op, (a, b)), Prim(op, (a, b)), hint)
