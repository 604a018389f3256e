"""How each parallel nest runs: which dimension becomes threads, lanes, rows of a register tile.

Lanes: of the dimensions of a nest and those of the nests within, one that makes the counted cost
least (`lower.cost`). Rows: where the inner nests of neighbouring iterations of another dimension
have loads in common, several iterations run together. Threads: the outermost dimension that can
be shared, by blocks; the emitter wakes threads only where the counted work is worth it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import Array
from tapeless.ir.syntax import (
    Acc,
    Body,
    Each,
    Exp,
    For,
    Fun,
    If,
    Index,
    Iverson,
    Loop,
    Prim,
    Put,
    Scan,
    While,
)  # fmt: skip
from tapeless.ir.walk import bodies_of, bound, statements
from tapeless.loop.syntax import SEQ, SIMD, THREADS
from tapeless.lower.cost import GATHER, LANES, REDUCTION, ROWS, TAIL, Cost, Sizes
from tapeless.lower.legal import fits_copies, fits_lanes, fits_threads, puts_outside
from tapeless.lower.plan import Level, Plan, Plans
from tapeless.lower.rows import Nest, Read
from tapeless.lower.shape import Shape, inner_part, is_common, shape_of
from tapeless.lower.strides import Definitions, Motion

FEW = 4  # too few iterations to share among threads, or to vectorise across
TOO_LITTLE_WORK = 20_000  # never worth threads


def schedule(
    fun: Fun, *, parallel: bool, reversed: frozenset[Var] = frozenset(),
    tests: frozenset[Var] = frozenset(),
) -> Plans:  # fmt: skip
    """Plans for the nests of `fun`; `parallel` allows threads. What is only for the case that one
    of `tests` fails runs in written order."""
    scheduler = _Scheduler(fun, parallel, reversed, tests)
    scheduler.body(fun.body, threads=parallel, lanes=True)
    return scheduler.plans


@dataclass(frozen=True, slots=True)
class Choice:
    """The dimension that becomes lanes (None: the nests within choose) and what the nest costs."""

    dim: int | None
    cost: float


class _Scheduler:
    def __init__(
        self, fun: Fun, parallel: bool, reversed: frozenset[Var], tests: frozenset[Var]
    ) -> None:
        self.plans = Plans()
        self.tests = tests
        self.known = Definitions(fun.body)
        self.cost = Cost(Sizes(self.known.defs), reversed, tests)
        self.accs: dict[Var, Acc] = {}
        for stm in statements(fun.body):
            if isinstance(stm.exp, Each):
                self.accs.update((v, acc) for acc in stm.exp.accs for v in acc.vars)
        self.choices: dict[int, Choice] = {}
        self.shapes: dict[int, Shape] = {}
        self.tiled: set[int] = set()
        self.share(fun.body)

    def share(self, body: Body) -> None:
        """Tell the cost model which loads a register tile does once for several rows. There is one
        tile on the way to any statement."""
        for stm in body.stms:
            shape = self.shape(stm.exp) if isinstance(stm.exp, Each) else None
            if shape is None or shape.tile is None:
                for inner in bodies_of(stm.exp):
                    self.share(inner)
                continue
            counter = shape.exp.vars[shape.tile]
            self.tiled.add(id(shape.exp))
            for let in inner_part(shape, shape.tile):
                if is_common(let, shape, shape.tile):
                    self.cost.shared[let.outs[0]] = counter

    # walking
    def body(self, body: Body, *, threads: bool, lanes: bool) -> None:
        """Plan the nests in `body`; `threads`, `lanes`: may still be used."""
        for stm in body.stms:
            match stm.exp:
                case Each():
                    self.each(stm.exp, threads, lanes)
                case If(cond, then) if cond in self.tests:
                    self.body(then, threads=threads, lanes=lanes)
                case _:
                    for inner in bodies_of(stm.exp):
                        self.body(inner, threads=threads, lanes=lanes)

    def each(self, exp: Each, threads: bool, lanes: bool) -> None:
        shape = self.shape(exp)
        lane = self.choose(exp).dim if lanes else None
        shared = self.shared_level(exp) if threads else None
        levels = [] if shared is None else [shared]
        tile = shape.tile if self.uses_tile(shape, lane, lanes) else None
        order = shape.order(lane, lane is not None and bool(self.rows(exp, lane)))
        if tile is not None:  # within the lanes, so that what they load stays near
            order.remove(tile)
            outer = [d for d in order if d in shape.parallel]
            at = len(order) if tile in shape.reductions else len(outer)
            order.insert(at, tile)
        for d in order:
            kind = SIMD if d == lane else SEQ
            levels.append(Level(d, kind, rows=ROWS if d == tile else 1))
        number, inner = self.work(exp, self.choose(exp).cost if lanes else None)
        self.plans.set(exp, Plan(tuple(levels), number, inner))
        self.body(
            exp.body,
            threads=threads and shared is None and lane is None,
            lanes=lanes and lane is None,
        )

    def uses_tile(self, shape: Shape, lane: int | None, lanes: bool) -> bool:
        """Rows pay where lanes run in the nest, around it, or in nests within."""
        if id(shape.exp) not in self.tiled or shape.tile == lane:
            return False
        inner = (s.exp for s in shape.exp.body.stms if isinstance(s.exp, Each))
        return not lanes or lane is not None or any(self.has_lanes(e) for e in inner)

    def has_lanes(self, exp: Each) -> bool:
        if self.choose(exp).dim is not None:
            return True
        return any(isinstance(s.exp, Each) and self.has_lanes(s.exp) for s in exp.body.stms)

    def shape(self, exp: Each) -> Shape:
        known = self.shapes.get(id(exp))
        if known is None:
            known = self.shapes[id(exp)] = shape_of(exp, self.cost)
        return known

    # lanes
    def choose(self, exp: Each) -> Choice:
        """The cheapest use of lanes for a nest that is not in lanes."""
        known = self.choices.get(id(exp))
        if known is None:
            known = self.choices[id(exp)] = self._choose(exp)
        return known

    def _choose(self, exp: Each) -> Choice:
        trips = self.cost.trips(exp)
        best = Choice(None, trips * (self.outside_lanes(exp.body) + 1.0))
        if not fits_lanes(exp.body, set(exp.vars), self.accs):
            return best
        for dim in range(len(exp.vars)):
            cost = self.cost_in_lanes(exp, dim)
            if cost < best.cost:
                best = Choice(dim, cost)
        return best

    def cost_in_lanes(self, exp: Each, lane: int) -> float:
        """The cost with dimension `lane` in lanes; what an inner level leaves unchanged is done
        outside of it."""
        shape = self.shape(exp)
        motion = Motion(self.known, exp.vars[lane], bound(exp.body) | set(exp.vars))
        motion.fixed.update(v for v in exp.vars if v is not exp.vars[lane])
        rows = self.rows(exp, lane)
        motion.rows.update(r.out for r in rows)
        rounds = [max(self.cost.sizes.of(s), 0.0) for s in exp.sizes]
        rounds[lane] = -(-rounds[lane] // LANES)
        counts, total = {-1: 1.0}, 1.0
        order = shape.order(lane, bool(rows))
        for position, d in enumerate(order):
            if d == lane:
                joins = sum(not shape.dims_of_index(p.at) for p in puts_outside(exp.body))
                overhead = total * (TAIL + REDUCTION * joins * (lane in shape.reductions))
            total *= rounds[d]
            counts[position] = total
        cost = overhead + total + rounds[lane] * self.making(rows)
        for stm in exp.body.stms:
            dims = shape.dims_of(stm)
            if isinstance(stm.exp, Put):
                dims = shape.dims_of_index(stm.exp.at)
                cost += total
            elif not isinstance(stm.exp, Prim | Index):
                dims = order
            depth = max((order.index(d) for d in dims), default=-1)
            cost += counts[depth] * self.cost.stm(stm, motion)
        return cost + total * self.stores(exp, lane)

    def rows(self, exp: Each, lane: int) -> list[Read]:
        """Reads of rows that pay if dimension `lane` runs in lanes: these would be gathered."""
        shape, var = self.shape(exp), exp.vars[lane]
        if lane in shape.reductions:
            return []
        sizes = dict(zip(exp.vars, exp.sizes, strict=True))
        written = {i for acc in exp.accs for i in acc.inits}
        inner = {v: s for v, s in sizes.items() if v is not var}
        reads = Nest(exp.body, var, {var: sizes[var]}, inner, written).reads()
        return [r for r in reads if not self.is_dense(r, var)]

    def is_dense(self, read: Read, lane: Var) -> bool:
        """Whether neighbouring lanes read neighbouring elements."""
        axes = range(len(read.exp.at))
        return read.exp.at[axes[0] if read.exp.array in self.cost.reversed else axes[-1]] is lane

    def making(self, rows: list[Read]) -> float:
        """The cost of laying out rows for one round of lanes."""
        found = {r.row: r for r in rows}
        return sum(
            (GATHER + 2.0) * math.prod(self.cost.sizes.of(s) for s in r.sizes)
            for r in found.values()
        )

    def stores(self, exp: Each, dim: int) -> float:
        """Storing the element results when `dim` runs in lanes."""
        last = dim == len(exp.vars) - 1
        whole = sum(last and not isinstance(r.type, Array) for r in exp.body.results)
        return whole + 14.0 * (len(exp.body.results) - whole)

    def outside_lanes(self, body: Body) -> float:
        """The cost of a body whose nests choose lanes for themselves."""
        total = 0.0
        for stm in body.stms:
            match stm.exp:
                case Each():
                    total += self.choose(stm.exp).cost
                case If(cond, then) if cond in self.tests:
                    total += 2.0 + self.outside_lanes(then)
                case If() | Iverson():
                    arms = [self.outside_lanes(b) for b in bodies_of(stm.exp)]
                    total += 2.0 + sum(arms) / len(arms)
                case Loop(_, _, _, body):
                    scale = self.cost.exp(stm.exp, None) / max(self.cost.body(body, None), 1.0)
                    total += scale * self.outside_lanes(body)
                case _:
                    total += self.cost.exp(stm.exp, None)
        return total

    # threads
    def shared_level(self, exp: Each) -> Level | None:
        """The outermost dimension that threads can share, if need be with copies of what they
        add to."""
        if self.is_little_work(exp):
            return None
        many = [d for d, size in enumerate(exp.sizes) if self.cost.sizes.of(size) >= FEW]
        for copies, fits in ((False, fits_threads), (True, fits_copies)):
            for dim in many:
                if fits(exp, dim, self.accs):
                    return Level(dim, THREADS, blocks=True, copies=copies)
        return None

    def is_little_work(self, exp: Each) -> bool:
        known = all(isinstance(a, Const) for a in sizes_in(exp))
        ends = not any(
            isinstance(s.exp, Loop) and isinstance(s.exp.form, While) for s in statements(exp.body)
        )
        return known and ends and self.cost.exp(exp, None) < TOO_LITTLE_WORK

    def work(self, exp: Each, lanes: float | None) -> tuple[int, tuple[Atom, ...]]:
        """Operations of one cell, in eighths of one that lanes do not share: a number, times sizes
        of the costliest chain of inner nests. `lanes`: the cost of the nest as it runs in lanes."""
        inside = bound(exp.body) | set(exp.vars)
        sizes: list[Atom] = []
        cost = self.cost.exp(exp, None) if lanes is None else lanes
        number = LANES * cost / max(self.cost.trips(exp), 1.0)
        body: Body | None = exp.body
        while body is not None:
            nests = [s.exp for s in body.stms if isinstance(s.exp, Each | Scan | Loop)]
            nest = max(nests, key=lambda e: self.cost.exp(e, None), default=None)
            body = None
            if nest is not None:
                for size in sizes_of(nest):
                    if isinstance(size, Var) and size not in inside:
                        sizes.append(size)
                        number /= self.cost.sizes.of(size)
                body = bodies_of(nest)[-1]
        return max(int(number), 1), tuple(sizes)


def sizes_of(exp: Exp) -> tuple[Atom, ...]:
    """How often the body of a nest or counting loop runs."""
    match exp:
        case Each(_, sizes):
            return sizes
        case Scan(_, size):
            return (size,)
        case Loop(For(_, size)):
            return (size,)
        case _:
            return ()


def sizes_in(exp: Exp) -> Iterator[Atom]:
    """All sizes of nests and loops at or below `exp`."""
    yield from sizes_of(exp)
    for body in bodies_of(exp):
        for stm in statements(body):
            yield from sizes_of(stm.exp)
