"""How each parallel nest runs: which dimension becomes threads, lanes, rows of a register tile.

Lanes: of the dimensions of a nest and those of the nests within, one that makes the counted cost
least (`lower.cost`). Rows: where the inner nests of neighbouring iterations of another dimension
have loads in common, several iterations run together. Threads: the outermost dimension that can
be shared, by blocks; the emitter wakes threads only where the counted work is worth it.
"""

from __future__ import annotations

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
    Scan,
    While,
)  # fmt: skip
from tapeless.ir.walk import bodies_of, bound, statements
from tapeless.loop.syntax import SEQ, SIMD, THREADS
from tapeless.lower.cost import LANES, REDUCTION, TAIL, Cost, Sizes
from tapeless.lower.jam import can_jam, depending, depends
from tapeless.lower.legal import fits_lanes, fits_threads, puts_outside
from tapeless.lower.plan import Level, Plan, Plans
from tapeless.lower.strides import Definitions, Motion

ROWS = 4
MOST_JAMMED = 12  # statements of inner nests: more would spill
FEW = 4  # too few iterations to share among threads, or to vectorise across
TOO_LITTLE_WORK = 20_000  # never worth threads


def schedule(fun: Fun, *, parallel: bool, reversed: frozenset[Var] = frozenset()) -> Plans:
    """Plans for the nests of `fun`; `parallel` allows threads."""
    scheduler = _Scheduler(fun, parallel, reversed)
    scheduler.body(fun.body, threads=parallel, lanes=True)
    return scheduler.plans


@dataclass(frozen=True, slots=True)
class Choice:
    """The dimension that becomes lanes (None: the nests within choose) and what the nest costs."""

    dim: int | None
    cost: float


class _Scheduler:
    def __init__(self, fun: Fun, parallel: bool, reversed: frozenset[Var]) -> None:
        self.plans = Plans()
        self.known = Definitions(fun.body)
        self.cost = Cost(Sizes({}), reversed)
        self.accs: dict[Var, Acc] = {}
        for stm in statements(fun.body):
            if isinstance(stm.exp, Each):
                self.accs.update((v, acc) for acc in stm.exp.accs for v in acc.vars)
        self.choices: dict[int, Choice] = {}

    # walking
    def body(self, body: Body, *, threads: bool, lanes: bool) -> None:
        """Plan the nests in `body`; `threads`, `lanes`: may still be used."""
        for stm in body.stms:
            match stm.exp:
                case Each():
                    self.each(stm.exp, threads, lanes)
                case _:
                    for inner in bodies_of(stm.exp):
                        self.body(inner, threads=threads, lanes=lanes)

    def each(self, exp: Each, threads: bool, lanes: bool) -> None:
        choice = self.choose(exp) if lanes else Choice(None, 0.0)
        shared = self.shared_dim(exp) if threads else None
        lane = choice.dim
        levels: list[Level] = []
        if shared is not None:
            levels.append(Level(shared, THREADS, blocks=True))
        rest = [d for d in range(len(exp.vars)) if d != lane]
        rows = self.rows(exp, lane, rest) if lanes else None
        if rows is not None:
            rest.remove(rows)
            levels += [Level(d) for d in rest]
            levels += [Level(lane, SIMD)] if lane is not None else []
            levels.append(Level(rows, SEQ, rows=ROWS))
        else:
            levels += [Level(d) for d in rest]
            levels += [Level(lane, SIMD)] if lane is not None else []
        number, inner = self.work(exp)
        self.plans.set(exp, Plan(tuple(levels), number, inner))
        self.body(exp.body, threads=threads and shared is None, lanes=lanes and lane is None)

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
        inside = bound(exp.body) | set(exp.vars)
        if not fits_lanes(exp.body, set(exp.vars), self.accs):
            return best
        for dim, (var, size) in enumerate(zip(exp.vars, exp.sizes, strict=True)):
            n = self.cost.sizes.of(size)
            motion = Motion(self.known, var, inside)
            motion.fixed.update(v for v in exp.vars if v is not var)
            each = self.cost.body(exp.body, motion) + self.stores(exp, dim) + 1.0
            rounds = -(-n // LANES)
            joins = REDUCTION * sum(not p.at for p in puts_outside(exp.body))
            cost = trips / max(n, 1.0) * (rounds * each + TAIL + joins)
            if cost < best.cost:
                best = Choice(dim, cost)
        return best

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
                case If() | Iverson():
                    arms = [self.outside_lanes(b) for b in bodies_of(stm.exp)]
                    total += 2.0 + sum(arms) / len(arms)
                case Loop(_, _, _, body):
                    scale = self.cost.exp(stm.exp, None) / max(self.cost.body(body, None), 1.0)
                    total += scale * self.outside_lanes(body)
                case _:
                    total += self.cost.exp(stm.exp, None)
        return total

    # rows
    def rows(self, exp: Each, lane: int | None, dims: list[int]) -> int | None:
        """A dimension whose iterations have loads of inner nests in common."""
        inner = [s.exp for s in exp.body.stms if isinstance(s.exp, Each)]
        if not inner or (lane is None and not any(self.choose(e).dim is not None for e in inner)):
            return None
        for dim in dims:
            n = self.cost.sizes.of(exp.sizes[dim])
            if n >= 2 * ROWS and can_jam(exp.body, exp.vars[dim]) and self.shares(exp, dim, inner):
                return dim
        return None

    def shares(self, exp: Each, dim: int, inner: list[Each]) -> bool:
        varying = depending(exp.body, exp.vars[dim])
        lets = [s for e in inner if not any(z in varying for z in e.sizes) for s in e.body.stms]
        common = any(isinstance(s.exp, Index) and not depends(s, varying) for s in lets)
        return common and len(lets) <= MOST_JAMMED

    # threads
    def shared_dim(self, exp: Each) -> int | None:
        """The outermost dimension that threads can share."""
        if self.is_little_work(exp):
            return None
        for dim, size in enumerate(exp.sizes):
            if self.cost.sizes.of(size) >= FEW and fits_threads(exp, dim, self.accs):
                return dim
        return None

    def is_little_work(self, exp: Each) -> bool:
        known = all(isinstance(a, Const) for a in sizes_in(exp))
        ends = not any(
            isinstance(s.exp, Loop) and isinstance(s.exp.form, While) for s in statements(exp.body)
        )
        return known and ends and self.cost.exp(exp, None) < TOO_LITTLE_WORK

    def work(self, exp: Each) -> tuple[int, tuple[Atom, ...]]:
        """Operations of one cell: a number, times sizes of the costliest chain of inner nests."""
        inside = bound(exp.body) | set(exp.vars)
        sizes: list[Atom] = []
        number = self.cost.body(exp.body, None)
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
