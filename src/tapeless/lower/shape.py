"""The shape of a nest: which of its dimensions are reductions, what depends on which of them, and
which dimension is worth a register tile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tapeless.core.names import Atom, Var
from tapeless.ir.syntax import Body, Each, Index, Let
from tapeless.ir.walk import bodies_of
from tapeless.lower.cost import ROWS, Cost
from tapeless.lower.jam import can_jam, depending, depends
from tapeless.lower.legal import puts_outside

MOST_JAMMED = 16  # statements of inner nests: more would spill


@dataclass(slots=True)
class Shape:
    """Facts about one nest. `varying[d]`: variables that depend on dimension d."""

    exp: Each
    varying: list[set[Var]] = field(default_factory=list)
    reductions: list[int] = field(default_factory=list)
    tile: int | None = None

    @property
    def parallel(self) -> list[int]:
        return [d for d in range(len(self.exp.vars)) if d not in self.reductions]

    def dims_of(self, stm: Let) -> list[int]:
        """Dimensions that a statement depends on."""
        return [d for d, found in enumerate(self.varying) if depends(stm, found)]

    def dims_of_index(self, at: tuple[Atom, ...]) -> list[int]:
        return [d for d, found in enumerate(self.varying) if any(a in found for a in at)]

    def order(self, lane: int | None, rows: bool = False) -> list[int]:
        """Dimensions from outer to inner: reductions innermost, in each part the lanes last; but
        lanes that keep `rows` run through all else meanwhile."""
        first = [d for d in self.parallel if d != lane]
        last = [d for d in self.reductions if d != lane]
        if lane is None:
            return first + last
        if rows:
            return [lane, *first, *last]
        return [*first, lane, *last] if lane in self.parallel else [*first, *last, lane]


def shape_of(exp: Each, cost: Cost) -> Shape:
    shape = Shape(exp, [depending(exp.body, v) for v in exp.vars])
    puts = puts_outside(exp.body)
    if not exp.body.results and puts:
        used = {d for p in puts for d in shape.dims_of_index(p.at)}
        shape.reductions = [d for d in range(len(exp.vars)) if d not in used]
    shape.tile = tile_of(shape, cost)
    return shape


def tile_of(shape: Shape, cost: Cost) -> int | None:
    """A dimension whose neighbouring iterations have loads of inner loops in common."""
    exp = shape.exp
    for dim, (var, size) in enumerate(zip(exp.vars, exp.sizes, strict=True)):
        if cost.sizes.of(size) < 2 * ROWS or not can_jam(exp.body, var):
            continue
        inner = list(inner_part(shape, dim))
        if len(inner) <= MOST_JAMMED and any(is_common(s, shape, dim) for s in inner):
            return dim
    return None


def is_common(stm: Let, shape: Shape, dim: int) -> bool:
    return isinstance(stm.exp, Index) and not depends(stm, shape.varying[dim])


def inner_part(shape: Shape, dim: int) -> Iterator[Let]:
    """Statements that run in loops within dimension `dim`, whose trips do not depend on it."""
    loops = [d for d in shape.reductions if d != dim]
    for stm in shape.exp.body.stms:
        if any(depends(stm, shape.varying[d]) for d in loops):
            yield stm
        if isinstance(stm.exp, Each):
            yield from below(stm.exp, shape.varying[dim])


def below(exp: Each, varying: set[Var]) -> Iterator[Let]:
    if exp.body.results or any(s in varying for s in exp.sizes):
        return
    for stm in exp.body.stms:
        yield stm
        if isinstance(stm.exp, Each):
            yield from below(stm.exp, varying)
        else:
            for body in bodies_of(stm.exp):
                yield from every(body)


def every(body: Body) -> Iterator[Let]:
    for stm in body.stms:
        yield stm
        for inner in bodies_of(stm.exp):
            yield from every(inner)
