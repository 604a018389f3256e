"""Return code of sequential loops: the passes from the last to the first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from tapeless.ad.branches import Branches
from tapeless.ad.restore import restorable
from tapeless.ad.tree import Carried, Plain, Repeated
from tapeless.core.names import Atom, Var
from tapeless.core.types import INDEX, Array
from tapeless.ir.build import ONE, ZERO
from tapeless.ir.syntax import Body, For, Let, Loop, Prim
from tapeless.ir.types_of import atom_of
from tapeless.ir.walk import free_vars

Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class State:
    """What a return loop carries: cotangents of the active state (`states`) and of what the body
    reads (`free`), and the arrays that the body overwrites (`kept`), as they were."""

    states: list[int]
    free: list[Var]
    kept: list[int]

    def split(self, parts: Sequence[Part]) -> tuple[Sequence[Part], Sequence[Part], Sequence[Part]]:
        one, two = len(self.states), len(self.states) + len(self.free)
        return parts[:one], parts[one:two], parts[two:]


def sized_by_themselves(exp: Loop, state: State, params: list[Var]) -> list[tuple[Var, int, int]]:
    """Cotangents of arrays whose sizes change from pass to pass bring their own sizes along: for
    each a new size, whose it is, of which axis."""
    found: list[tuple[Var, int, int]] = []
    for at, k in enumerate(state.states):
        type = params[at].type
        if not isinstance(type, Array):
            continue
        shape = list(type.shape)
        for axis, size in enumerate(exp.params[k].shape):
            if size in exp.params:
                shape[axis] = own = Var(INDEX, "size")
                found.append((own, at, axis))
        params[at].type = Array(type.dtype, tuple(shape))
    return found


def size_along(array: Atom, axis: int) -> Atom:
    assert isinstance(array, Var)
    return atom_of(array.shape[axis])


class Loops(Branches):
    def loop(self, item: Repeated) -> None:
        """for i < n: s = e(s, x)  ⇒  for i from n − 1 down to 0: s̄, x̄ += (∂e/∂s, ∂e/∂x)ᵀ·s̄."""
        exp, outs = item.exp, item.let.outs
        held = [self.newest(o) for o in outs]
        inner = self.node.parent is not None
        kept = [k for k in restorable(exp, inner=inner) if held[k] is not None]
        state = self.carried(exp, outs, kept)
        if state is None:
            return
        count = self.count_of(item)
        inits: list[Atom] = [
            *(self.bar_or_zero(outs[k]) for k in state.states),
            *(self.bar_or_zero(v) for v in state.free),
            *(now for k in state.kept if (now := held[k]) is not None),
        ]
        params = [Var(i.type, i.hint if isinstance(i, Var) else "bar") for i in inits]
        sizes = sized_by_themselves(exp, state, params)
        var = Var(INDEX, exp.form.var.hint if isinstance(exp.form, For) else "pass")
        body = self.one_pass(item, state, self.backwards(count, var), params)
        ends_at = (size_along(body.results[k], axis) for _, k, axis in sizes)
        starts = (size_along(inits[k], axis) for _, k, axis in sizes)
        loop = Loop(
            For(var, count), (*(s for s, _, _ in sizes), *params), (*starts, *inits),
            replace(body, results=(*ends_at, *body.results)),
        )  # fmt: skip
        ends = self.b.let(loop, *(p.hint for p in loop.params))[len(sizes) :]
        of_states, of_free, of_kept = state.split(ends)
        self.bars.update(zip(state.free, of_free, strict=True))
        for k, end in zip(state.kept, of_kept, strict=True):
            init = exp.inits[k]
            assert isinstance(init, Var)
            self.node.memo[init] = end
        for k, end in zip(state.states, of_states, strict=True):
            self.give_whole(exp.inits[k], end)

    def carried(self, exp: Loop, outs: tuple[Var, ...], kept: list[int]) -> State | None:
        """The state of the return loop; None if there is nothing to do."""
        states = [k for k, p in enumerate(exp.params) if p in self.active]
        if not any(outs[k] in self.bars for k in states) and not self.reaches_out(exp):
            return State([], [], kept) if kept else None
        own = {*exp.params, *self.targets}
        free = [v for v in free_vars(exp.body) if v in self.active and v not in own]
        return State(states, free, kept)

    def backwards(self, count: Atom, var: Var) -> Callable[[], Atom]:
        """The pass of the forward loop that the return loop is at."""
        return lambda: self.b.prim("sub", self.b.prim("sub", count, ONE), var)

    def one_pass(
        self, item: Repeated, state: State, now: Callable[[], Atom], params: list[Var]
    ) -> Body:
        exp, child = item.exp, item.child
        of_states, of_free, of_kept = state.split(params)
        before, self.bars = self.bars, dict(zip(state.free, of_free, strict=True))
        outer, self.node = self.node, child
        with self.b.scope() as stms:
            child.back = stms
            self.passes[child] = now()
            if isinstance(exp.form, For):
                child.memo[exp.form.var] = self.passes[child]
            for k, param in zip(state.kept, of_kept, strict=True):
                result = exp.body.results[k]
                assert isinstance(result, Var)
                child.memo[result] = param
            for k, param in zip(state.states, of_states, strict=True):
                self.give_whole(exp.body.results[k], param)
            self.sweep(child)
            results = (
                *(self.bar_or_zero(exp.params[k]) for k in state.states),
                *(self.bars[v] for v in state.free),
                *(self.value(exp.params[k]) for k in state.kept),
            )
        self.node, self.bars = outer, before
        return Body(tuple(stms), results)

    def count_of(self, item: Repeated) -> Atom:
        """How many passes the loop made."""
        if isinstance(item.exp.form, For):
            return self.value(item.exp.form.size)
        param, more, out = (Var(INDEX, "passes") for _ in range(3))
        item.child.params.add(param)
        item.child.items.append(Plain(Let((more,), Prim("add", (param, ONE)))))
        item.extra.append(Carried(out, (more,), param, ZERO))
        self.node.defs[out] = item
        return self.value(out)
