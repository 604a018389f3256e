"""Return code of conditionals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tapeless.ad.once import Once
from tapeless.ad.tree import Branched
from tapeless.core.names import Atom, Var
from tapeless.ir.syntax import If, Let


class Branches(Once):
    def branch(self, item: Branched) -> None:
        """The same condition again, each arm backwards; what either changes comes out of both."""
        outs = item.let.outs
        seeds = [self.take(o) for o in outs]
        held = [self.newest(o) for o in outs]
        before = self.bars
        arms: list[tuple[list[Let], dict[Var, Atom], dict[Var, Atom]]] = []
        for arm, body in zip(item.arms, (item.exp.then, item.exp.orelse), strict=True):
            self.bars = dict(before)
            outer, self.node = self.node, arm
            for o, r, now in zip(outs, body.results, held, strict=True):
                if isinstance(r, Var) and r.is_array and now is not None and now is not o:
                    arm.memo[r] = now
            with self.b.scope() as stms:
                arm.back = stms
                for r, seed in zip(body.results, seeds, strict=True):
                    self.give_whole(r, seed)
                self.sweep(arm)
            self.node = outer
            restored = {v: a for v, a in arm.memo.items() if v.is_array and not arm.binds(v)}
            arms.append((stms, self.bars, restored))
        self.bars = before
        self.join(item, arms)

    def join(
        self, item: Branched, arms: list[tuple[list[Let], dict[Var, Atom], dict[Var, Atom]]]
    ) -> None:
        bound = {*item.arms[0].defs, *item.arms[1].defs}
        changed = [
            v for v in dict.fromkeys((*arms[0][1], *arms[1][1]))
            if v not in bound and any(bars.get(v) is not self.bars.get(v) for _, bars, _ in arms)
        ]  # fmt: skip
        back = [v for v in arms[0][2] if v in arms[1][2]]
        bodies = []
        for stms, bars, restored in arms:
            with self.b.scope() as scope:
                scope.extend(stms)
                ends = [self.end(v, bars, [other for _, other, _ in arms]) for v in changed]
                bodies.append(self.b.body((*ends, *(restored[v] for v in back))))
        if not changed and not back and not any(b.stms for b in bodies):
            return
        cond = self.value(item.exp.cond)
        outs = self.b.let(
            If(cond, *bodies), *(f"{v.hint}_bar" for v in changed), *(v.hint for v in back)
        )
        self.bars.update(zip(changed, outs, strict=False))
        self.node.memo.update(zip(back, outs[len(changed) :], strict=True))

    def end(self, var: Var, bars: Mapping[Var, Atom], arms: Sequence[Mapping[Var, Atom]]) -> Atom:
        """What one arm leaves as the cotangent of `var`; all arms leave one type."""
        bar = bars.get(var)
        found = {b.type for other in arms if (b := other.get(var)) is not None}
        if bar is not None and found == {bar.type} and all(var in other for other in arms):
            return bar
        return self.zeros(var.type, f"{var.hint}_bar") if bar is None else self.shaped(bar, var)
