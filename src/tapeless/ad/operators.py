"""Reductions in parallel by operators whose derivative reads values: maxima, minima and others that
select an operand, and products.

    y = maxᵢ eᵢ:   ē_w += ȳ for the first w with e_w = y
    y = Πᵢ eᵢ:     ēᵢ += ȳ·y/eᵢ     (without zeros: `ad.products` sees to that)

Another pass over the nest finds the place w for each cell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tapeless.ad.again import Again
from tapeless.ad.cells import Cells
from tapeless.ad.residuals import is_dear, with_kept
from tapeless.ad.selections import NOWHERE, extreme, selection, sites_of, with_put
from tapeless.ad.sweep import InReturn
from tapeless.ad.tree import Plain
from tapeless.analysis.activity import Active
from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import INDEX, Array, Scalar
from tapeless.ir.build import ONE, ZERO
from tapeless.ir.syntax import IGNORE, PROVED, Acc, Body, Each, Let, Put

START = Const(-1, INDEX.dtype)
Makes = Callable[[tuple[Atom, ...]], Atom]


@dataclass(frozen=True, slots=True)
class Winner:
    """Where the value of each cell comes from, counted over the box of `sizes`."""

    at: Atom
    sizes: tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class Whole:
    """The product in each cell."""

    product: Atom


Source = Winner | Whole


class Operators(Cells):
    """`finals`: per accumulator the cotangent of its final value; `sources`: where what was put has
    its cotangent from; `counters`: of the nests of the return sweep, `depth`: how many of them were
    around the nest that binds an accumulator."""

    def __init__(self, active: Active) -> None:
        super().__init__(active)
        self.finals: dict[Var, Atom | None] = {}
        self.sources: dict[Var, Source] = {}
        self.counters: list[tuple[Var, ...]] = []
        self.depth: dict[Var, int] = {}

    def find_source(self, item: Plain, exp: Each, acc: Acc, outs: tuple[Var, ...]) -> Source:
        """Before the nest `exp` runs backwards: what decides about the cotangents of `acc`."""
        self.depth[acc.vars[0]] = len(self.counters)
        if acc.op == "*":
            return Whole(self.value(outs[0]))
        return Winner(self.winner(item, exp, acc, outs), sites_of(exp, acc).sizes)

    def may_keep(self, item: Plain) -> bool:
        """Whether a nest of the forward sweep may still be made to keep something."""
        return self.node.parent is None and item in self.node.items

    # what is found
    def winner(self, item: Plain, exp: Each, acc: Acc, outs: tuple[Var, ...]) -> Atom:
        """The place that the value of each cell comes from; −1: from the start."""
        sites = sites_of(exp, acc)
        if isinstance(acc.op, str) and self.newest(outs[0]) is not None:
            if sites.is_read:
                return self.first_equal(exp, acc, outs[0])
            if self.counters and self.may_keep(item) and is_dear(exp, sites.value):
                return self.first_equal(exp, acc, outs[0], item)
        like = acc.vars[0]
        if isinstance(acc.op, str):
            monoid = extreme(acc.op, like.dtype)
            begin = NOWHERE if acc.inits[0] == monoid.neutral[0] else START
        else:
            found = selection(acc.op)
            assert found is not None
            monoid, begin = found, START
        place = Var(self.of_cells(like), "place")
        here = tuple(v.fresh() for v in acc.vars)
        inits = (*map(self.value, acc.inits), self.filled(like, begin))
        accs = (Acc((*here, place), inits, monoid),)

        def make(put: Put, counters: tuple[Var, ...]) -> None:
            values = (*put.values, self.linear(counters, sites.sizes))
            self.b.run(Put((*here, place), put.at, values, put.modes))

        return self.again_with(exp, acc, accs, make)[-1]

    def first_equal(self, exp: Each, acc: Acc, out: Var, item: Plain | None = None) -> Atom:
        """w = min {i : eᵢ = y}; if y is NaN, the eᵢ that are. `item`: keeps the eᵢ."""
        sites, known = sites_of(exp, acc), self.value(out)
        place = Var(self.of_cells(out), "place")

        def make(put: Put, counters: tuple[Var, ...]) -> None:
            (value,) = put.values
            here = self.linear(counters, sites.sizes)
            best = self.cell(known, put.at, put.modes)
            at = self.b.prim("select", self.is_from(value, best), here, NOWHERE)
            self.b.put(place, put.at, at, put.modes)

        accs = (Acc((place,), (self.filled(out, NOWHERE),), "min"),)
        (found,) = self.again_with(exp, acc, accs, make, item)
        (init,) = acc.inits
        if isinstance(init, Const) or not self.is_active(init):
            return found

        def first(at: tuple[Atom, ...]) -> Atom:
            best = self.cell(known, at, PROVED * len(at))
            is_start = self.is_from(self.cell(self.value(init), at, PROVED * len(at)), best)
            return self.b.prim("select", is_start, START, self.cell(found, at, PROVED * len(at)))

        return self.by_cell(out, first, "place")

    def is_from(self, value: Atom, best: Atom) -> Atom:
        b = self.b
        return b.prim("or", b.prim("eq", value, best), b.prim("ne", value, value))

    # what is done with it
    def put_combined(self, exp: Put) -> None:
        """ē += the part of ȳ that this e has."""
        first = exp.targets[0]
        source, at = self.sources[first], self.places(first, exp.at, exp.modes)
        modes = "".join(m if m == IGNORE else PROVED for m in exp.modes)
        here: Atom = ZERO
        if isinstance(source, Winner):
            counters = tuple(v for vars in self.counters[self.depth[first] :] for v in vars)
            here = self.linear(counters, tuple(map(self.value, source.sizes)))
        for target, value in zip(exp.targets, exp.values, strict=True):
            final = self.finals.get(target)
            if final is not None and self.is_active(value):
                bar = self.cell(final, at, modes)
                self.give(value, self.share(source, bar, here, value, at, modes))

    def share(
        self, source: Source, bar: Atom, here: Atom, value: Atom,
        at: tuple[Atom, ...], modes: str,
    ) -> Atom:  # fmt: skip
        b, zero = self.b, Const(0.0, bar.dtype)
        if isinstance(source, Winner):
            return b.prim("select", b.prim("eq", self.cell(source.at, at, modes), here), bar, zero)
        value = self.value(value)
        factor = b.prim("select", b.prim("eq", value, zero), Const(1.0, value.dtype), value)
        return b.prim("mul", bar, b.prim("div", self.cell(source.product, at, modes), factor))

    def give_start(self, acc: Acc, source: Source) -> None:
        """The part of ȳ that the initial values have."""
        for target, init in zip(acc.vars, acc.inits, strict=True):
            final = self.finals.get(target)
            if final is not None and self.is_active(init):
                assert isinstance(init, Var)

                def part(at: tuple[Atom, ...], final: Atom = final, init: Var = init) -> Atom:
                    modes = PROVED * len(at)
                    bar, value = self.cell(final, at, modes), self.cell(init, at, modes)
                    return self.share(source, bar, START, value, at, modes)

                self.give_whole(init, self.by_cell(target, part, f"{init.hint}_bar"))

    def at_winner(self, exp: Each, source: Source) -> Each:
        """The one pass of `exp` that the value comes from, if it does not come from the start."""
        assert isinstance(source, Winner)
        b = self.b
        found = b.prim("and", b.prim("le", ZERO, source.at), b.prim("lt", source.at, NOWHERE))
        count = b.prim("select", found, ONE, ZERO)
        with b.scope() as stms:
            left, at = source.at, list[Atom]()
            for size in exp.sizes[:0:-1]:
                at.insert(0, b.prim("mod", left, self.value(size)))
                left = b.prim("floordiv", left, self.value(size))
            at.insert(0, left)
        copy = Again(self.active)
        copy.map.update(zip(exp.vars, at, strict=True))
        body = copy.body(exp.body)
        return Each((Var(INDEX, "k"),), (count,), (), Body((*stms, *body.stms), ()))

    # cells
    def again_with(
        self, exp: Each, acc: Acc, accs: tuple[Acc, ...],
        make: Callable[[Put, tuple[Var, ...]], None], item: Plain | None = None,
    ) -> tuple[Var, ...]:  # fmt: skip
        """Emit the nest with `make` instead of what it puts to `acc`, and no other accumulator."""
        copy = Again(self.active)
        vars = copy.binds(exp.vars)

        def instead(put: Put, counters: tuple[Var, ...]) -> list[Let]:
            with self.b.scope() as stms:
                make(put, counters)
            return stms

        body = with_put(copy.body(exp.body), acc.vars[0], vars, instead)
        if item is not None:
            body = with_kept(item, copy.map, vars, body, inside=True)
        nest = InReturn(self).nest(Each(vars, exp.sizes, (), Body(body.stms, ())))
        return self.b.let(replace(nest, accs=accs), *(v.hint for a in accs for v in a.vars))

    def linear(self, counters: tuple[Var, ...], sizes: tuple[Atom, ...]) -> Atom:
        at: Atom = counters[0]
        for counter, size in zip(counters[1:], sizes[1:], strict=True):
            at = self.b.prim("add", self.b.prim("mul", at, size), counter)
        return at

    def cell(self, array: Atom, at: tuple[Atom, ...], modes: str) -> Atom:
        if not (isinstance(array, Var) and array.is_array):
            return array
        return self.read(array, at, modes)

    def of_cells(self, like: Var) -> Scalar | Array:
        """The type of an index per cell."""
        return Array(INDEX.dtype, like.type.shape) if isinstance(like.type, Array) else INDEX

    def filled(self, like: Var, value: Const) -> Atom:
        return self.by_cell(like, lambda at: value, "start")

    def by_cell(self, like: Var, make: Makes, hint: str) -> Atom:
        """`make` at every cell of an accumulator."""
        if not like.is_array:
            return make(())
        vars, sizes = self.box(like.shape)
        with self.b.scope():
            body = self.b.body((make(vars),))
        return self.b.one(Each(vars, sizes, (), body), hint)
