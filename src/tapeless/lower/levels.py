"""The loops of one parallel nest, from outer to inner, as its plan says."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import INDEX
from tapeless.ir.effects import may_raise
from tapeless.ir.syntax import Body, Each, Index, Let, Prim, all_proved
from tapeless.ir.walk import Rewriter, atoms_of, bodies_of
from tapeless.loop.syntax import SEQ, SIMD, Op
from tapeless.lower.branches import Result
from tapeless.lower.builder import ZERO, index
from tapeless.lower.calls import Calls
from tapeless.lower.copies import Group, block_count
from tapeless.lower.jam import Jam
from tapeless.lower.legal import meeting
from tapeless.lower.plan import Level, Plan
from tapeless.lower.registers import Range
from tapeless.lower.rows import Nest, with_rows
from tapeless.lower.state import Place, Want

MOST_BLOCKS = 64  # of a loop that threads share
BLOCK_UNIT = 64  # blocks hold a multiple of so many iterations: whole vectors, whole cache lines


@dataclass(frozen=True, slots=True, eq=False)
class _Pass:
    """A body to emit: `cells` are the index tuples of the box it stands for (several in a jam)."""

    body: Body
    vars: tuple[Var, ...]
    cells: tuple[tuple[Var, ...], ...]


class Levels:
    """The loops of one nest, from outer to inner."""

    def __init__(self, low: Calls, stm: Let, exp: Each, homes: tuple[Place, ...]) -> None:
        self.low = low
        self.exp = exp
        self.homes = homes
        self.plan: Plan = low.plans.of(exp)
        self.sizes = low.all(exp.sizes)
        taken: set[Atom] = {low.reuse[o] for o in stm.outs if o in low.reuse}
        self.written = taken.union(i for acc in exp.accs for i in acc.inits)
        self.ranges: list[tuple[Atom, Atom]] = [(ZERO, s) for s in self.sizes]

    def run(self) -> None:
        vars = self.exp.vars
        whole = _Pass(self.exp.body, vars, (vars,))
        ready, rest = self.split(-1, whole)
        if any(isinstance(s.exp, Index) for s in ready):
            some = self.low.all_of(self.low.op("lt", ZERO, s) for s in self.sizes)
            self.low.only_if(some, ready)
        else:
            self.emit(ready)
        self.level(0, rest)

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
        results = low.body(now.body, wants)
        for home, result, atom in zip(homes, results, now.body.results, strict=True):
            self.settle(home, result, atom)

    def settle(self, home: Place, result: Result, atom: Atom) -> None:
        """Put one element, a scalar or an array, in its place."""
        if isinstance(result, Place):
            assert isinstance(atom, Var)
            self.low.copy(home, result, atom)
        else:
            self.low.store(Place(home.buf), home.prefix, result)

    def loop(self, depth: int, level: Level, now: _Pass, start: Atom, stop: Atom) -> None:
        """A plain level; `own` are the counters that change in it."""
        var = now.vars[level.dim]
        ready, rest = self.split(depth, now)
        stop = self.if_inner_run(depth, ready, stop, start)
        loop = Range(level.kind, var, start, stop, self.sizes[level.dim])

        def inside() -> None:
            self.emit(ready)
            self.level(depth + 1, self.with_rows(depth, rest) if level.kind == SIMD else rest)

        self.low.carrying_loop(loop, (now.body,), self.own(depth, now), inside)

    def with_rows(self, depth: int, now: _Pass) -> _Pass:
        """The pass that one round of lanes makes, after what its lanes read again and again is
        laid side by side."""
        if len(now.cells) > 1:
            return now
        low, lane = self.low, self.plan.levels[depth].dim
        dims = self.inner_dims(depth)
        outer: dict[Var, Atom] = {}
        inner: dict[Var, Atom] = {}
        for d, (counter, size) in enumerate(zip(now.vars, self.exp.sizes, strict=True)):
            (inner if d in dims else outer)[counter] = size
        var = now.vars[lane]
        reads = [
            r for r in Nest(now.body, var, outer, inner, self.written).reads()
            if not self.is_dense(r.exp, var)
        ]  # fmt: skip
        made, body = with_rows(now.body, reads, low.plans)
        self.emit(made)
        return replace(now, body=body) if made else now

    def is_dense(self, exp: Index, lane: Var) -> bool:
        """Whether neighbouring lanes read neighbouring elements."""
        place = self.low.places[exp.array]
        strides = place.buf.strides[len(place.prefix) :]
        return all(s == index(1) for a, s in zip(exp.at, strides, strict=True) if a is lane)

    def emit(self, stms: list[Let]) -> None:
        for stm in stms:
            self.low.let(stm)

    # what inner levels leave unchanged
    def inner_dims(self, depth: int) -> list[int]:
        """Dimensions that levels within `depth` count."""
        return [x.dim for x in self.plan.levels[depth + 1 :] if not x.blocks]

    def split(self, depth: int, now: _Pass) -> tuple[list[Let], _Pass]:
        """Statements that depend on no level within `depth`, and the pass without them."""
        inner = self.inner_dims(depth)
        if not inner:
            return [], now
        blocked = {now.vars[d] for d in inner}
        ready: list[Let] = []
        rest: list[Let] = []
        checked = False
        for stm in now.body.stms:
            if self.may_go_out(stm, checked) and not any(a in blocked for a in atoms_of(stm.exp)):
                ready.append(stm)
                continue
            rest.append(stm)
            blocked.update(stm.outs)
            checked = checked or may_raise(stm.exp)
        return ready, replace(now, body=Body(tuple(rest), now.body.results))

    def may_go_out(self, stm: Let, checked: bool) -> bool:
        """Operators, and reads that no check protects, of arrays that do not change."""
        match stm.exp:
            case Prim():
                return True
            case Index(array, _, modes):
                return not checked and all_proved(modes) and array not in self.written
            case _:
                return False

    def if_inner_run(self, depth: int, ready: list[Let], stop: Atom, start: Atom) -> Atom:
        """`stop`, or no trips at all if a level within has none and reads have moved out of it."""
        low = self.low
        if any(isinstance(s.exp, Index) for s in ready):
            for d in self.inner_dims(depth):
                some = low.op("lt", ZERO, self.sizes[d])
                if not (isinstance(some, Const) and some.value):
                    stop = low.op("select", some, stop, start)
        return stop

    def own(self, depth: int, now: _Pass) -> tuple[Var, ...]:
        dims = {level.dim for level in self.plan.levels[depth:]}
        return tuple(cell[d] for d in dims for cell in (now.vars, *now.cells))

    def blocks(self, depth: int, level: Level, now: _Pass) -> None:
        """Blocks of one dimension, which threads share."""
        low, size = self.low, self.sizes[level.dim]
        work = low.op(
            "mul", low.product((*self.sizes, *low.all(self.plan.inner))), index(self.plan.cost)
        )
        copies = self.copies(level, now)
        most = block_count(low, copies, work) if level.copies else index(MOST_BLOCKS)
        units = low.op("add", low.op("floordiv", _less_one(low, size), most), index(1))
        unit = max([BLOCK_UNIT if self.is_lane(level.dim) else 1, *self.row_counts(level.dim)])
        length = low.op("mul", _ceil(low, units, unit), index(unit))
        count = low.op("floordiv", low.op("add", size, _less_one(low, length)), length)
        block = low.counter("block")

        def inside() -> None:
            start = low.op("mul", block, length)
            stop = low.op("min", low.op("add", start, length), size)
            before = self.ranges[level.dim]
            self.ranges[level.dim] = (start, stop)
            self.level(depth + 1, now)
            self.ranges[level.dim] = before

        loop = Range(level.kind, block, ZERO, count, count, work, copies)
        low.carrying_loop(loop, (now.body,), (block, *self.own(depth, now)), inside)

    def copies(self, level: Level, now: _Pass) -> tuple[Group, ...]:
        """The arrays in whose cells blocks may meet, by operator; none if one has gaps: it is not
        copied, and the loop not shared."""
        if not level.copies:
            return ()
        low = self.low
        groups = [p.targets for p in meeting(now.body, now.vars[level.dim], low.accs) or []]
        dense = all(low.is_contiguous(low.places[t], t) for group in groups for t in group)
        return tuple(groups) if dense else ()

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
        ready, jammed = self.split(depth, _Pass(body, now.vars, cells))
        count = self.if_inner_run(depth, ready, count, ZERO)

        def inside() -> None:
            first = low.op("add", start, low.op("mul", tile, index(level.rows)))
            for k, c in enumerate(copies):
                low.define(Op(c, "add", (first, index(k))))
                low.ranges[c] = self.sizes[level.dim]
            self.emit(ready)
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
        return _Pass(self.again(now.body, names), vars, (vars,))

    def again(self, body: Body, names: dict[Var, Var]) -> Body:
        """A copy of `body` with new binders, planned and stored like the first."""
        copier = Rewriter(names)
        new = copier.body(body)
        pairs = [(body, new)]
        while pairs:
            one, two = pairs.pop()
            for a, b in zip(one.stms, two.stms, strict=True):
                self.low.plans.inherit(b.exp, a.exp, copier)
                for old, copy in zip(a.outs, b.outs, strict=True):
                    if old in self.low.reuse:
                        self.low.reuse[copy] = copier.var(self.low.reuse[old])
                pairs += zip(bodies_of(a.exp), bodies_of(b.exp), strict=True)
        return new


def _less_one(low: Calls, size: Atom) -> Atom:
    return low.op("sub", size, index(1))


def _ceil(low: Calls, size: Atom, unit: int) -> Atom:
    """How many whole units cover `size`."""
    return low.op("floordiv", low.op("add", size, index(unit - 1)), index(unit))
