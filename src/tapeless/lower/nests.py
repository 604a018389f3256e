"""Parallel nests: Each as For levels as planned, Scan as a loop that keeps prefixes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import INDEX
from tapeless.ir.syntax import Acc, Body, Each, Let, Scan
from tapeless.ir.walk import Rewriter, bodies_of
from tapeless.loop.syntax import SEQ, Op
from tapeless.lower.branches import Result
from tapeless.lower.builder import ZERO, index
from tapeless.lower.calls import Calls
from tapeless.lower.jam import Jam
from tapeless.lower.plan import Level, Plan
from tapeless.lower.registers import Range
from tapeless.lower.state import Place, Want

MOST_BLOCKS = 64  # of a loop that threads share
BLOCK_UNIT = 64  # blocks hold a multiple of so many iterations: whole vectors, whole cache lines


class Nests(Calls):
    """Element results are made where they belong; accumulators are registers or memory."""

    def each(self, stm: Let, exp: Each) -> None:
        count = len(exp.body.results)
        homes = tuple(self.home(o) for o in stm.outs[:count])
        for acc in exp.accs:
            self.enter_acc(acc)
        _Levels(self, exp, homes).run()
        self.places.update(zip(stm.outs, homes, strict=False))
        accs = [v for acc in exp.accs for v in acc.vars]
        for out, var in zip(stm.outs[count:], accs, strict=True):
            if var.is_array:
                self.places[out] = self.places[var]
            else:
                self.atoms[out] = self.registers.pop(var)

    def home(self, out: Var) -> Place:
        """Memory for the elements of a nest: that of an operand which dies in it, or new."""
        array = self.reuse.get(out)
        return self.make(out) if array is None else self.places[array]

    def settle(self, home: Place, result: Result, atom: Atom) -> None:
        """Put one element, a scalar or an array, in its place."""
        if isinstance(result, Place):
            assert isinstance(atom, Var)
            self.copy(home, result, atom)
        else:
            self.store(Place(home.buf), home.prefix, result)

    def enter_acc(self, acc: Acc) -> None:
        for var, init in zip(acc.vars, acc.inits, strict=True):
            self.accs[var] = acc
            if isinstance(init, Var) and init.is_array:
                self.places[var] = self.places[init]
            else:
                self.registers[var] = self.atom(init)

    def scan(self, stm: Let, exp: Scan) -> None:
        """The prefix in registers, stored at each step."""
        homes = tuple(self.home(o) for o in stm.outs)
        monoid = exp.monoid
        prefix = tuple(v.fresh() for v in monoid.left)
        self.enter_acc(Acc(prefix, monoid.neutral, monoid))

        def inside() -> None:
            values = tuple(_scalar(r) for r in self.body(exp.body))
            left = tuple(self.registers[p] for p in prefix)
            new = self.operate(monoid, left, values)
            self.registers.update(zip(prefix, new, strict=True))
            for home, value in zip(homes, new, strict=True):
                self.store(home, (exp.var,), value)

        loop = Range(SEQ, exp.var, ZERO, self.atom(exp.size), self.atom(exp.size))
        self.carrying_loop(loop, (exp.body,), (exp.var,), inside, prefix)
        for p in prefix:
            del self.registers[p]
        self.places.update(zip(stm.outs, homes, strict=True))

    def again(self, body: Body, names: dict[Var, Var]) -> Body:
        """A copy of `body` with new binders, planned and stored like the first."""
        copier = Rewriter(names)
        new = copier.body(body)
        pairs = [(body, new)]
        while pairs:
            one, two = pairs.pop()
            for a, b in zip(one.stms, two.stms, strict=True):
                self.plans.inherit(b.exp, a.exp)
                for old, copy in zip(a.outs, b.outs, strict=True):
                    if old in self.reuse:
                        self.reuse[copy] = copier.var(self.reuse[old])
                pairs += zip(bodies_of(a.exp), bodies_of(b.exp), strict=True)
        return new


@dataclass(frozen=True, slots=True, eq=False)
class _Pass:
    """A body to emit: `cells` are the index tuples of the box it stands for (several in a jam)."""

    body: Body
    vars: tuple[Var, ...]
    cells: tuple[tuple[Var, ...], ...]


class _Levels:
    """The loops of one nest, from outer to inner."""

    def __init__(self, low: Nests, exp: Each, homes: tuple[Place, ...]) -> None:
        self.low = low
        self.exp = exp
        self.homes = homes
        self.plan: Plan = low.plans.of(exp)
        self.sizes = low.all(exp.sizes)
        self.ranges: list[tuple[Atom, Atom]] = [(ZERO, s) for s in self.sizes]

    def run(self) -> None:
        vars = self.exp.vars
        self.level(0, _Pass(self.exp.body, vars, (vars,)))

    def level(self, depth: int, now: _Pass) -> None:
        if depth == len(self.plan.levels):
            self.inside(now)
            return
        level = self.plan.levels[depth]
        if level.blocks:
            self.blocks(depth, level, now)
        elif level.rows > 1:
            self.rows(depth, level, now)
        else:
            start, stop = self.ranges[level.dim]
            self.loop(depth, level, now, start, stop)

    def inside(self, now: _Pass) -> None:
        """The body once, its results stored in the cells it stands for."""
        low = self.low
        homes = [h.row(cell) for cell in now.cells for h in self.homes]
        wants = tuple(Want(h) for h in homes)
        for home, result, atom in zip(
            homes, low.body(now.body, wants), now.body.results, strict=True
        ):
            low.settle(home, result, atom)

    def loop(self, depth: int, level: Level, now: _Pass, start: Atom, stop: Atom) -> None:
        """A plain level; `own` are the counters that change in it."""
        var = now.vars[level.dim]
        loop = Range(level.kind, var, start, stop, self.sizes[level.dim])
        self.low.carrying_loop(
            loop, (now.body,), self.own(depth, now), lambda: self.level(depth + 1, now)
        )

    def own(self, depth: int, now: _Pass) -> tuple[Var, ...]:
        dims = {level.dim for level in self.plan.levels[depth:]}
        return tuple(cell[d] for d in dims for cell in (now.vars, *now.cells))

    def blocks(self, depth: int, level: Level, now: _Pass) -> None:
        """Blocks of one dimension, which threads share."""
        low, size = self.low, self.sizes[level.dim]
        units = low.op(
            "add", low.op("floordiv", _less_one(low, size), index(MOST_BLOCKS)), index(1)
        )
        unit = max([BLOCK_UNIT if self.is_lane(level.dim) else 1, *self.row_counts(level.dim)])
        length = low.op("mul", _ceil(low, units, unit), index(unit))
        count = low.op("floordiv", low.op("add", size, _less_one(low, length)), length)
        block = low.counter("block")
        work = low.op(
            "mul", low.product((*self.sizes, *low.all(self.plan.inner))), index(self.plan.cost)
        )

        def inside() -> None:
            start = low.op("mul", block, length)
            stop = low.op("min", low.op("add", start, length), size)
            before = self.ranges[level.dim]
            self.ranges[level.dim] = (start, stop)
            self.level(depth + 1, now)
            self.ranges[level.dim] = before

        loop = Range(level.kind, block, ZERO, count, count, work)
        low.carrying_loop(loop, (now.body,), (block, *self.own(depth, now)), inside)

    def is_lane(self, dim: int) -> bool:
        return any(x.dim == dim and x.kind != SEQ and not x.blocks for x in self.plan.levels)

    def row_counts(self, dim: int) -> list[int]:
        return [x.rows for x in self.plan.levels if x.dim == dim]

    def rows(self, depth: int, level: Level, now: _Pass) -> None:
        """Several iterations of one dimension at a time, then those that are left one by one."""
        low, (start, stop) = self.low, self.ranges[level.dim]
        count = low.op("floordiv", low.op("sub", stop, start), index(level.rows))
        tile = low.counter("tile")
        copies = [Var(INDEX, now.vars[level.dim].hint) for _ in range(level.rows)]
        body = Jam(low.plans, now.vars[level.dim], copies).run(now.body)
        cells = tuple((*now.vars[: level.dim], c, *now.vars[level.dim + 1 :]) for c in copies)
        jammed = _Pass(body, now.vars, cells)

        def inside() -> None:
            first = low.op("add", start, low.op("mul", tile, index(level.rows)))
            for k, c in enumerate(copies):
                low.define(Op(c, "add", (first, index(k))))
                low.ranges[c] = self.sizes[level.dim]
            self.level(depth + 1, jammed)

        loop = Range(SEQ, tile, ZERO, count, count)
        low.carrying_loop(loop, (body,), (tile, *self.own(depth, jammed)), inside)
        done = low.op("add", start, low.op("mul", count, index(level.rows)))
        rest = self.renewed(depth, now)
        self.loop(depth, replace(level, rows=1), rest, done, stop)

    def renewed(self, depth: int, now: _Pass) -> _Pass:
        """The same pass under new names, to be emitted again from `depth` on."""
        dims = {level.dim for level in self.plan.levels[depth:]}
        vars = tuple(v.fresh() if d in dims else v for d, v in enumerate(now.vars))
        names = dict(zip(now.vars, vars, strict=True))
        return _Pass(self.low.again(now.body, names), vars, (vars,))


def _less_one(low: Nests, size: Atom) -> Atom:
    return low.op("sub", size, index(1))


def _ceil(low: Nests, size: Atom, unit: int) -> Atom:
    """How many whole units cover `size`."""
    return low.op("floordiv", low.op("add", size, index(unit - 1)), index(unit))


def _scalar(result: Result) -> Var | Const:
    assert not isinstance(result, Place)
    return result
