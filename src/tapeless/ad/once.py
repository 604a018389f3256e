"""Nests that run forward and back in one pass, where cotangents are known before they run.

    s = Σᵢ f(xᵢ), s̄ known        ⇒   s, x̄ = each i with (s += 0, x̄ += 0) { f(xᵢ), then back }

What a sum is made of need not be made again for its return sweep. What the return sweep computes s̄
by moves in front of the nest, if it leans on nothing that follows: for a mean, 1 / n. A nest
without inner loops is left to fusion, which finds the same.
"""

from __future__ import annotations

from tapeless.ad.again import Again
from tapeless.ad.nests import Nests
from tapeless.ad.tree import Plain
from tapeless.analysis.activity import Active
from tapeless.core.names import Atom, Const, Var
from tapeless.ir.syntax import Acc, Alloc, Body, Each, If, Let, Loop, Prim, Put
from tapeless.ir.types_of import atom_of
from tapeless.ir.walk import Rewriter, bound, free_vars, statements


class Once(Nests):
    """`keeps`: accumulators that the next region combines into when it runs forward."""

    def __init__(self, active: Active) -> None:
        super().__init__(active)
        self.keeps: frozenset[Var] = frozenset()

    def each(self, item: Plain, let: Let, exp: Each) -> None:
        if self.may_run_once(item, let, exp):
            self.both_ways(item, let, exp)
        else:
            super().each(item, let, exp)

    def may_run_once(self, item: Plain, let: Let, exp: Each) -> bool:
        """Whether `exp` only sums, what it puts is known to be wanted before it runs, and what it
        reads is still there."""
        count = len(exp.body.results)
        finals = [self.bars[o] for o in let.outs[count:] if o in self.bars]
        own = {v for acc in exp.accs for v in acc.vars} | bound(exp.body)
        puts = [s.exp for s in statements(exp.body) if isinstance(s.exp, Put)]
        return (
            self.node.parent is None
            and item in self.node.items
            and all(acc.op == "+" for acc in exp.accs)
            and bool(finals)
            and all(self.known_before(item, f) is not None for f in finals)
            and not any(o in self.bars for o in let.outs[:count])
            and any(isinstance(s.exp, Each | Loop | If) for s in exp.body.stms)
            and all(own.issuperset(put.targets) for put in puts)
            and self.node.memo.keys().isdisjoint(free_vars(exp.body))
        )

    def known_before(self, item: Plain, atom: Atom) -> list[Let] | None:
        """The statements behind `item`, of either sweep, that give `atom`, if they could stand in
        front of it."""
        node = self.node
        behind = node.items[node.items.index(item) + 1 :]
        forward = [i.let for i in behind if isinstance(i, Plain) and i.let is not None]
        written = {o: stm for stm in (*forward, *node.back) for o in stm.outs}
        found: list[Let] = []

        def leads(atom: Atom) -> bool:
            stm = written.get(atom) if isinstance(atom, Var) else None
            if stm is None or stm in found:
                return not isinstance(atom, Var) or node.defs.get(atom) not in (item, *behind)
            if not isinstance(stm.exp, Prim) or not all(map(leads, stm.exp.args)):
                return False
            found.append(stm)
            return True

        return found if leads(atom) else None

    def move_before(self, item: Plain, stms: list[Let]) -> None:
        """Let statements of either sweep stand in front of `item`."""
        node = self.node
        for stm in stms:
            if stm in node.back:
                node.back.remove(stm)
            else:
                node.items.remove(node.defs[stm.outs[0]])
            plain = Plain(stm)
            node.items.insert(node.items.index(item), plain)
            node.defs.update(dict.fromkeys(stm.outs, plain))

    def both_ways(self, item: Plain, let: Let, exp: Each) -> None:
        finals: list[tuple[Atom, Atom]] = []
        for out, acc in zip(let.outs[len(exp.body.results) :], exp.accs, strict=True):
            final = self.finals[acc.vars[0]] = self.take(out)
            if final is not None:
                self.move_before(item, self.known_before(item, final) or [])
                finals.append((acc.inits[0], final))
        copy = _Same(self.active)
        vars = copy.binds(exp.vars)
        again = copy.body(exp.body)
        free = [v for v in free_vars(again) if v in self.active and v not in self.finals]
        accs = {v: Var(v.type, f"{v.hint}_bar") for v in free if v not in self.targets}
        before, self.bars = self.bars, {}
        targets = dict(self.targets)
        self.counters.append(vars)
        self.targets.update((v, a) for v, a in accs.items() if v.is_array)
        self.keeps = frozenset(v for acc in exp.accs for v in acc.vars)
        with self.b.scope() as stms:
            self.region(again, [None] * len(again.results))
            for v, acc_bar in accs.items():
                part = None if v.is_array else self.take(v)
                if part is not None:
                    self.b.put(acc_bar, (), part, "")
        self.bars, self.targets = before, targets
        self.counters.pop()
        body = Body(tuple(stms), again.results)
        for v, out in self.in_front(item, let, Each(vars, exp.sizes, exp.accs, body), accs):
            self.give_whole(v, out)
        for init, final in finals:
            self.give_whole(init, final)

    def in_front(
        self, item: Plain, let: Let, nest: Each, accs: dict[Var, Var]
    ) -> list[tuple[Var, Var]]:
        """Put `nest` where `item` is in the forward sweep; each variable with its cotangent."""
        put_to = {t for s in statements(nest.body) if isinstance(s.exp, Put) for t in s.exp.targets}
        node, more, outs = self.node, list[Acc](), list[tuple[Var, Var]]()
        for v, acc in accs.items():
            if acc not in put_to:
                continue
            start: Atom = Const(0.0, v.dtype)
            if v.is_array:
                start = Var(v.type, acc.hint)
                zeros = Let((start,), Alloc("zeros", v.dtype, tuple(map(atom_of, v.shape))))
                node.items.insert(node.items.index(item), Plain(zeros))
                node.defs[start] = node.items[node.items.index(item) - 1]
            more.append(Acc((acc,), (start,), "+"))
            outs.append((v, Var(v.type, acc.hint)))
        whole = Each(nest.vars, nest.sizes, (*nest.accs, *more), nest.body)
        item.is_turned = True
        item.let = Let((*let.outs, *(o for _, o in outs)), whole, let.loc)
        node.defs.update((o, item) for _, o in outs)
        return outs


class _Same(Again):
    """A copy that checks, and combines, as the first did."""

    def body(self, body: Body) -> Body:
        return Rewriter.body(self, body)
