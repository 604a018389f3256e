"""Cotangents: what is known of x̄ for every active x, and how contributions are added to it.

In sequence a cotangent is a value, threaded through the return sweep; arrays are updated at single
cells. Inside a nest, arrays from outside have an accumulator for it.
"""

from __future__ import annotations

from tapeless.ad.sweep import Sweep
from tapeless.analysis.activity import Active
from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import Array, Scalar, Type
from tapeless.ir.syntax import PROVED, Acc, Alloc, Body, Each, Index, Let, Put, Update
from tapeless.ir.types_of import atom_of


class Cotangents(Sweep):
    """`bars`: cotangents in the scope that is written now; `targets`: arrays whose cotangent is an
    accumulator of a nest around."""

    def __init__(self, active: Active) -> None:
        super().__init__(active)
        self.bars: dict[Var, Atom] = {}
        self.targets: dict[Var, Var] = {}

    def take(self, var: Var) -> Atom | None:
        """The cotangent of `var`, complete now."""
        return self.bars.pop(var, None)

    def give(self, to: Atom, amount: Atom) -> None:
        """x̄ += amount, a scalar."""
        if not self.is_active(to):
            return
        assert isinstance(to, Var)
        if isinstance(amount, Const) and amount.value == 0:
            return
        known = self.bars.get(to)
        self.bars[to] = amount if known is None else self.b.prim("add", known, amount)

    def give_at(self, to: Var, at: tuple[Atom, ...], amount: Atom) -> None:
        """x̄[at] += amount."""
        if not self.is_active(to):
            return
        modes = PROVED * len(at)
        if to in self.targets:
            self.b.put(self.targets[to], at, amount, modes)
            return
        bar = self.array_bar(to)
        old = self.b.one(Index(bar, at, modes), f"{to.hint}_bar_at")
        self.bars[to] = self.b.one(
            Update(bar, at, self.b.prim("add", old, amount), modes), f"{to.hint}_bar"
        )

    def give_whole(self, to: Atom, amount: Atom | None) -> None:
        """x̄ += amount, a scalar or an array of the shape of x (or one that had grown beyond)."""
        if amount is None or not self.is_active(to):
            return
        assert isinstance(to, Var)
        if not to.is_array:
            self.give(to, amount)
            return
        assert isinstance(amount, Var)
        known = self.bars.get(to)
        if known is None and to not in self.targets:
            self.bars[to] = amount
            return
        target = self.targets.get(to)
        if target is None:
            assert isinstance(known, Var)
            acc = Var(known.type, known.hint)
            self.bars[to] = self.b.one(self._added(to, amount, acc, known), known.hint)
        else:
            self.b.run(self._added(to, amount, target, None))

    def _added(self, to: Var, amount: Var, target: Var, init: Var | None) -> Each:
        vars, sizes = self.box(to.shape)
        cell = Var(Scalar(to.dtype), "part")
        stms = (
            Let((cell,), Index(amount, vars, PROVED * len(vars))),
            Let((), Put((target,), vars, (cell,), PROVED * len(vars))),
        )
        accs = () if init is None else (Acc((target,), (init,), "+"),)
        return Each(vars, sizes, accs, Body(stms, ()))

    def array_bar(self, var: Var) -> Var:
        bar = self.bars.get(var)
        if bar is None:
            bar = self.bars[var] = self.zeros(var.type, f"{var.hint}_bar")
        assert isinstance(bar, Var)
        return bar

    def zeros(self, type: Type, hint: str) -> Atom:
        if isinstance(type, Array):
            shape = tuple(self.value(atom_of(s)) for s in type.shape)
            return self.b.one(Alloc("zeros", type.dtype, shape), hint)
        return Const(0.0, type.dtype)

    def bar_or_zero(self, var: Var) -> Atom:
        known = self.take(var)
        return self.zeros(var.type, f"{var.hint}_bar") if known is None else known

    def exact(self, var: Var) -> Atom:
        """The cotangent of a variable, of its very shape, complete now."""
        return self.shaped(self.bar_or_zero(var), var)

    def shaped(self, bar: Atom, var: Var) -> Atom:
        """A cotangent without the cells that an array had grown by."""
        if not isinstance(bar, Var) or bar.type == self.here(var.type):
            return bar
        vars, sizes = self.box(var.shape)
        cell = Var(Scalar(var.dtype), "part")
        body = Body((Let((cell,), Index(bar, vars, PROVED * len(vars))),), (cell,))
        return self.b.one(Each(vars, sizes, (), body), f"{var.hint}_bar")
