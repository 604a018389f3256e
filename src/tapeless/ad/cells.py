"""Return code of reads and writes of single cells, and what was overwritten, put back."""

from __future__ import annotations

from tapeless.ad.again import wrapped
from tapeless.ad.cotangents import Cotangents
from tapeless.ad.tree import Plain
from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import Scalar
from tapeless.ir.build import ONE, ZERO
from tapeless.ir.syntax import CHECK, IGNORE, PROVED, WRAP, Body, Each, If, Index, Let, Update
from tapeless.ir.types_of import atom_of


class Cells(Cotangents):
    def places(self, array: Var, at: tuple[Atom, ...], modes: str) -> tuple[Atom, ...]:
        """Indices as numbers in range: the forward sweep has checked them."""
        return tuple(
            wrapped(self.b, self.value(a), self.value(atom_of(n))) if m == WRAP else self.value(a)
            for a, m, n in zip(at, modes, array.shape, strict=True)
        )

    def is_in_range(self, array: Var, at: tuple[Atom, ...], modes: str) -> Atom | None:
        """Whether a write at ignorable indices happens; None if it always does."""
        cond: Atom | None = None
        for a, m, n in zip(at, modes, array.shape, strict=True):
            if m == IGNORE:
                low = self.b.prim("le", ZERO, self.value(a))
                both = self.b.prim(
                    "and", low, self.b.prim("lt", self.value(a), self.value(atom_of(n)))
                )
                cond = both if cond is None else self.b.prim("and", cond, both)
        return cond

    def read(self, array: Var, at: tuple[Atom, ...], modes: str) -> Atom:
        """An element, 0 where an ignorable index is out of range."""
        cond = self.is_in_range(array, at, modes)
        proved = Index(array, at, PROVED * len(at))
        if cond is None:
            return self.b.one(proved, "bar")
        cell = Var(Scalar(array.dtype), "bar")
        zero = Const(0.0, array.dtype)
        return self.b.one(
            If(cond, Body((Let((cell,), proved),), (cell,)), Body((), (zero,))), "bar"
        )

    def update(self, item: Plain, let: Let, exp: Update) -> None:
        """b = a with [k] = v:  v̄ += b̄[k];  ā += b̄ with [k] = 0."""
        (out,) = let.outs
        bar = self.take(out)
        if bar is not None:
            assert isinstance(bar, Var)
            at = self.places(exp.array, exp.at, exp.modes)
            modes = "".join(m if m == IGNORE else PROVED for m in exp.modes)
            self.give(exp.value, self.read(bar, at, modes))
            if self.is_active(exp.array):
                zero = Const(0.0, bar.dtype)
                self.give_whole(exp.array, self.b.one(Update(bar, at, zero, modes), bar.hint))
        self.undo_update(item, let, exp)

    def undo_update(self, item: Plain, let: Let, exp: Update) -> None:
        """a = b with [k] = the element that was there, read just before it was overwritten."""
        if set(exp.modes) - {PROVED, CHECK, WRAP}:
            return
        now = self.newest(let.outs[0])
        if now is None or now is let.outs[0]:
            return
        node = self.node_of(let.outs[0])
        assert node is not None and isinstance(now, Var)
        old = Var(Scalar(exp.array.dtype), f"{exp.array.hint}_old")
        before = Plain(Let((old,), Index(exp.array, exp.at, exp.modes), let.loc))
        node.items.insert(node.items.index(item), before)
        node.defs[old] = before
        at = self.places(exp.array, exp.at, exp.modes)
        restored = Update(now, at, self.value(old), PROVED * len(at))
        self.node.memo[exp.array] = self.b.one(restored, exp.array.hint)

    def append(self, out: Var, array: Var, value: Atom, size: Atom) -> None:
        """b = a with v behind:  v̄ += b̄[n];  ā is the rest of b̄, which may stay as long as it is."""
        bar = self.take(out)
        if bar is None:
            return
        assert isinstance(bar, Var)
        last = self.b.prim("sub", self.value(size), ONE)
        if not isinstance(value, Var) or not value.is_array:
            self.give(value, self.b.one(Index(bar, (last,), PROVED), "bar"))
        else:
            vars, sizes = self.box(value.shape)
            cell = Var(Scalar(bar.dtype), "bar")
            row_of = Index(bar, (last, *vars), PROVED * (1 + len(vars)))
            body = Body((Let((cell,), row_of),), (cell,))
            self.give_whole(value, self.b.one(Each(vars, sizes, (), body), "bar"))
        self.give_whole(array, bar)
