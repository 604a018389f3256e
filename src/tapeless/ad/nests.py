"""Return code of parallel nests: the nest again, each pass forward and back."""

from __future__ import annotations

from dataclasses import replace

from tapeless.ad.again import Again
from tapeless.ad.operators import Operators
from tapeless.ad.residuals import with_kept
from tapeless.ad.sites import AtSite, are_boxes, at_sites, is_undone, needed
from tapeless.ad.sweep import InReturn
from tapeless.ad.tree import Node, Plain
from tapeless.analysis.activity import Active
from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import INDEX, Scalar
from tapeless.ir.syntax import IGNORE, PROVED, Acc, Body, Each, Exp, Index, Let, Put
from tapeless.ir.types_of import atom_of, lift
from tapeless.ir.walk import Rewriter, bodies_of, free_vars, statements


class Nests(Operators):
    """`clears`: accumulators that leave zeros where something was assigned; `site_seeds`: the
    cotangents of what was put, site by site."""

    def __init__(self, active: Active) -> None:
        super().__init__(active)
        self.clears: dict[Var, Var] = {}
        self.site_seeds: dict[Var, list[Var]] = {}

    def each(self, item: Plain, let: Let, exp: Each) -> None:
        """The nest again, each pass forward and back: cotangents of elements are read where they
        were written, contributions to what is read inside are accumulated."""
        count = len(exp.body.results)
        seeds = [self.take(o) for o in let.outs[:count]]
        outside = any(s is not None for s in seeds) or self.reaches_out(exp)
        inits: list[tuple[Atom, Atom]] = []
        at = count
        clears: list[Acc] = []
        wanted: list[Acc] = []
        reads = free_vars(exp.body)
        for acc in exp.accs:
            outs = let.outs[at : at + len(acc.vars)]
            at += len(acc.vars)
            finals = [self.take(o) for o in outs]
            self.finals.update(zip(acc.vars, finals, strict=True))
            if any(f is not None for f in finals):
                wanted.append(acc)
            if acc.op not in ("+", "="):
                continue
            (var,), (init,), (final,), (out,) = acc.vars, acc.inits, finals, outs
            if final is not None:
                if acc.op == "+":
                    inits.append((init, final))
                elif self.is_active(init) and init in reads and are_boxes(exp, var):
                    self.clear_sites(exp, var, init, final)
                elif self.is_active(init):
                    assert isinstance(final, Var)
                    clear = self.clears[var] = Var(final.type, final.hint)
                    clears.append(Acc((clear,), (final,), "="))
                    inits.append((init, clear))
            self.undo_sites(item, exp, acc, out)
        if outside or wanted:
            combined = [acc for acc in wanted if combines(acc)]
            places = dict(zip((v for a in exp.accs for v in a.vars), let.outs[count:], strict=True))
            sources = [
                self.find_source(item, exp, acc, tuple(places[v] for v in acc.vars))
                for acc in combined
            ]
            if not outside and wanted == combined[:1] and has_one_winner(exp, wanted[0]):
                self.each_back(self.at_winner(exp, sources[0]), [], clears, inits)
            else:
                self.sources.update((a.vars[0], s) for a, s in zip(combined, sources, strict=True))
                self.each_back(exp, seeds, clears, inits, item)
            for acc, source in zip(combined, sources, strict=True):
                self.give_start(acc, source)

    def reaches_out(self, exp: Exp) -> bool:
        """Whether `exp` puts to accumulators of nests around that have a cotangent."""
        inner = (s.exp for body in bodies_of(exp) for s in statements(body))
        targets = (t for e in inner if isinstance(e, Put) for t in e.targets)
        return any(self.finals.get(t) is not None or t in self.site_seeds for t in targets)

    def at_sites(
        self, exp: Each, acc: Var, accs: tuple[Acc, ...], make: AtSite, hint: str
    ) -> tuple[Var, ...]:
        """Emit a nest that does `make` where `exp` writes to `acc`: values there, then `accs`."""
        copy = Again(self.active)
        vars = copy.binds(exp.vars)
        body = needed(at_sites(copy.body(exp.body), acc, vars, make))
        nest = InReturn(self).nest(Each(vars, exp.sizes, (), body))
        return self.b.let(replace(nest, accs=accs), hint)

    def clear_sites(self, exp: Each, acc: Var, init: Atom, final: Atom) -> None:
        """Take the cotangents of what was written, leaving zeros: the passes may then add to the
        same array, which they also read."""
        assert isinstance(final, Var) and isinstance(init, Var)
        cleared = Var(final.type, final.hint)

        def make(put: Put, counters: tuple[Var, ...]) -> tuple[list[Let], Atom | None]:
            cell = Var(Scalar(final.dtype), "bar")
            modes = PROVED * len(put.at)
            zero = Const(0.0, final.dtype)
            return [
                Let((cell,), Index(final, put.at, modes)),
                Let((), Put((cleared,), put.at, (zero,), modes)),
            ], cell

        *sites, rest = self.at_sites(exp, acc, (Acc((cleared,), (final,), "="),), make, "site_bar")
        self.site_seeds[acc] = list(sites)
        self.depth[acc] = len(self.counters)
        self.give_whole(init, rest)

    def undo_sites(self, item: Plain, exp: Each, acc: Acc, out: Var) -> None:
        """a = b with the elements put back that were there before the nest wrote."""
        (var,), (init,) = acc.vars, acc.inits
        now = self.newest(out)
        if now is None or now is out or not isinstance(init, Var) or not is_undone(exp, acc):
            return
        node = self.node_of(out)
        assert node is not None and isinstance(now, Var)
        olds = self.read_before(item, exp, var, init, node)
        restored = Var(now.type, init.hint)
        order = iter(olds)

        def make(put: Put, counters: tuple[Var, ...]) -> tuple[list[Let], Atom | None]:
            cell, old = Var(Scalar(init.dtype), "old"), self.value(next(order))
            assert isinstance(old, Var)
            modes = PROVED * len(counters)
            return [
                Let((cell,), Index(old, counters, modes)),
                Let((), Put((restored,), put.at, (cell,), PROVED * len(put.at))),
            ], None

        (back,) = self.at_sites(exp, var, (Acc((restored,), (now,), "="),), make, init.hint)
        self.node.memo[init] = back

    def read_before(
        self, item: Plain, exp: Each, acc: Var, init: Var, node: Node
    ) -> tuple[Var, ...]:
        """In the forward sweep, in front of the nest: what it is going to overwrite."""

        def make(put: Put, counters: tuple[Var, ...]) -> tuple[list[Let], Atom | None]:
            cell = Var(Scalar(init.dtype), f"{init.hint}_old")
            return [Let((cell,), Index(init, put.at, put.modes))], cell

        copy = Rewriter()
        vars = copy.binds(exp.vars)
        body = needed(at_sites(copy.body(exp.body), acc, vars, make))
        olds = tuple(Var(lift(r.type, exp.sizes), f"{init.hint}_old") for r in body.results)
        before = Plain(Let(olds, Each(vars, exp.sizes, (), body), None))
        node.items.insert(node.items.index(item), before)
        node.defs.update(dict.fromkeys(olds, before))
        return olds

    def each_back(
        self, exp: Each, seeds: list[Atom | None], clears: list[Acc],
        inits: list[tuple[Atom, Atom]], item: Plain | None = None,
    ) -> None:  # fmt: skip
        """`item`: the nest in the forward sweep, if it may be made to keep values for this one."""
        copy = Again(self.active)
        vars = copy.binds(exp.vars)
        again = copy.body(exp.body)
        free = [v for v in free_vars(again) if v in self.active]
        shared = [v for v in free if v.is_array and v not in self.targets]
        scalars = [v for v in free if not v.is_array]
        sums = [*shared, *scalars]
        accs = tuple(Var(v.type, f"{v.hint}_bar") for v in sums)
        before, self.bars = self.bars, {}
        self.counters.append(vars)
        targets = dict(self.targets)
        self.targets.update(zip(shared, accs[: len(shared)], strict=True))
        with self.b.scope() as stms:
            rows = [None if s is None else self.element(s, vars, r) for s, r in
                    zip(seeds, again.results, strict=True)]  # fmt: skip
            self.region(again, rows)
            for v, acc in zip(scalars, accs[len(shared) :], strict=True):
                part = self.take(v)
                if part is not None:
                    self.b.put(acc, (), part, "")
            body = Body(tuple(stms), ())
        self.bars, self.targets = before, targets
        self.counters.pop()
        if item is not None and self.may_keep(item):
            body = with_kept(item, copy.map, vars, body, inside=bool(self.counters))
        self.close_nest(exp, vars, body, sums, accs, clears, inits)

    def close_nest(
        self, exp: Each, vars: tuple[Var, ...], body: Body, sums: list[Var], accs: tuple[Var, ...],
        clears: list[Acc], inits: list[tuple[Atom, Atom]],
    ) -> None:  # fmt: skip
        """Emit the nest of the return sweep, what it reads from the forward sweep put in place."""
        body = needed(body)
        put_to = {t for s in statements(body) if isinstance(s.exp, Put) for t in s.exp.targets}
        pairs = [(v, a) for v, a in zip(sums, accs, strict=True) if a in put_to]
        starts = [self.bar_or_zero(v) for v, _ in pairs]
        new = (
            *(Acc((typed_like(a, s),), (s,), "+") for (_, a), s in zip(pairs, starts, strict=True)),
            *clears,
        )
        nest = Each(vars, exp.sizes, new, body)
        nest = InReturn(self).nest(nest)
        outs = self.b.let(nest, *(f"{acc.vars[0].hint}" for acc in new))
        cleared = dict(zip((c.vars[0] for c in clears), outs[len(pairs) :], strict=True))
        for (v, _), out in zip(pairs, outs, strict=False):
            self.bars[v] = out
        for init, final in inits:
            self.give_whole(init, cleared.get(final, final) if isinstance(final, Var) else final)

    def element(self, seed: Atom, vars: tuple[Var, ...], result: Atom) -> Atom:
        """The cotangent of one pass's result."""
        assert isinstance(seed, Var)
        if not (isinstance(result, Var) and result.is_array):
            return self.b.one(Index(seed, vars, PROVED * len(vars)), "bar")
        inner = tuple(Var(INDEX, "k") for _ in result.shape)
        sizes = tuple(map(atom_of, seed.shape[len(vars) :]))
        cell = Var(Scalar(seed.dtype), "bar")
        at = (*vars, *inner)
        body = Body((Let((cell,), Index(seed, at, PROVED * len(at))),), (cell,))
        return self.b.one(Each(inner, sizes, (), body), "bar")

    def put(self, exp: Put) -> None:
        """acc ⊙= e at k:  ē += ācc[k] for + and =, and for = what was there before has no part."""
        target = exp.targets[0]
        if target in self.sources:
            self.put_combined(exp)
            return
        if target in self.site_seeds:
            seed = self.site_seeds[target].pop()
            cell = tuple(v for vars in self.counters[self.depth[target] :] for v in vars)
            self.give(exp.values[0], self.b.one(Index(seed, cell, PROVED * len(cell)), "bar"))
            return
        if all(self.finals.get(t) is None for t in exp.targets):
            return
        at = self.places(target, exp.at, exp.modes)
        modes = "".join(m if m == IGNORE else PROVED for m in exp.modes)
        for t, value in zip(exp.targets, exp.values, strict=True):
            final = self.finals.get(t)
            if final is not None:
                self.give(value, self.cell(final, at, modes))
                if t in self.clears:
                    self.b.put(self.clears[t], at, Const(0.0, final.dtype), modes)


def combines(acc: Acc) -> bool:
    """Whether the derivative of an accumulator reads values."""
    return acc.op not in ("+", "=") and any(v.dtype.is_float for v in acc.vars)


def has_one_winner(exp: Each, acc: Acc) -> bool:
    """Whether one pass of the nest decides, so that no other one has to run backwards."""
    is_here = any(isinstance(s.exp, Put) and s.exp.targets == acc.vars for s in exp.body.stms)
    return acc.op != "*" and is_here and not acc.vars[0].is_array


def typed_like(acc: Var, init: Atom) -> Var:
    """An accumulator has the type of what it starts from."""
    acc.type = init.type
    return acc
