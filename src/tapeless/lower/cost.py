"""Counted cost of Core in lanes or one by one: what scheduling compares.

Units are about one vector instruction. A statement costs the same for one element as for a vector
of LANES elements, except for memory accesses that lanes make at different places.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tapeless.core.names import Atom, Const, Var
from tapeless.core.prims import MATH
from tapeless.ir.syntax import (
    Append,
    Body,
    Call,
    Each,
    Exp,
    For,
    If,
    Index,
    Iverson,
    Let,
    Loop,
    Prim,
    Put,
    Scan,
    Update,
)  # fmt: skip
from tapeless.ir.walk import bodies_of
from tapeless.lower.jam import depending, depends
from tapeless.lower.strides import Motion

LANES = 8
ROWS = 4  # iterations in a register tile
UNKNOWN = 100.0  # trips of a loop whose size is not known
WHILE_TRIPS = 16.0
LOOP_OVERHEAD = 4.0
REDUCTION = 12.0  # to join the lanes of one accumulator
TAIL = 6.0  # the masked last round of a loop in lanes
GATHER, SCATTER, COLLIDE = 8.0, 14.0, 30.0
QUICK_MATH, MATH_COST, DIVISION = 30.0, 50.0, 12.0
QUICK = frozenset({"exp", "exp2", "log", "log2", "sin", "cos"})
SLOW = frozenset({"div", "sqrt", "floordiv", "mod", "fmod", "pow"})


@dataclass(frozen=True, slots=True)
class Sizes:
    """Trip counts as far as they can be told from how they are defined: a slice's from its ends,
    the greater one of two constants where a nest runs or does not; else UNKNOWN."""

    defs: Mapping[Var, Exp]

    def of(self, size: Atom) -> float:
        if isinstance(size, Const):
            return float(size.value)
        match self.defs.get(size):
            case Prim("min", (a, b)):
                return min(self.of(a), self.of(b))
            case Prim("max", (a, Const() as b)) | Prim("select", (_, Const() as a, Const() as b)):
                return max(self.of(a), self.of(b))
            case Prim("add", (a, Const() as b)):
                return self.of(a) + self.of(b)
            case Prim("sub", (a, Const() as b)):
                return self.of(a) - self.of(b)
        return UNKNOWN


class Cost:
    """Cost of bodies under one choice of lanes; `reversed` arrays have their first axis dense;
    `tests` are taken to hold."""

    def __init__(
        self, sizes: Sizes, reversed: frozenset[Var], tests: frozenset[Var] = frozenset()
    ) -> None:
        self.sizes = sizes
        self.tests = tests
        self.reversed = reversed
        self.varying: dict[int, set[Var]] = {}
        self.shared: dict[Var, Var] = {}  # loads done once for several rows of a counter

    def body(self, body: Body, lanes: Motion | None) -> float:
        return sum(self.stm(stm, lanes) for stm in body.stms)

    def stm(self, stm: Let, lanes: Motion | None) -> float:
        cost = self.exp(stm.exp, lanes)
        if lanes and not lanes.rows.isdisjoint(stm.outs):
            cost = 1.0
        for out in stm.outs:
            counter = self.shared.get(out)
            if counter is not None and (lanes is None or counter is not lanes.lane):
                cost /= ROWS
        return cost

    def exp(self, exp: Exp, lanes: Motion | None) -> float:
        match exp:
            case Prim(op):
                return operator(op)
            case Index(array, at):
                return 1.0 if lanes is None else self.access(lanes, array, at, GATHER)
            case Update(array, at):
                return 1.0 if lanes is None else self.access(lanes, array, at, SCATTER)
            case Put(targets, at):
                return self.put(targets, at, lanes)
            case Call() | Append():
                return UNKNOWN
            case If(cond, then) if cond in self.tests:
                return 2.0 + self.body(then, lanes)
            case If(_, then, orelse):
                both = self.body(then, lanes) + self.body(orelse, lanes)
                return 2.0 + (both if lanes else both / 2)
            case Iverson(_, body):
                return 2.0 + self.body(body, lanes)
            case Loop(form, _, _, body):
                trips = self.sizes.of(form.size) if isinstance(form, For) else WHILE_TRIPS
                if lanes and isinstance(form, For) and lanes.stays(form.size):
                    lanes.fixed.add(form.var)
                return trips * (LOOP_OVERHEAD + sum(self.body(b, lanes) for b in bodies_of(exp)))
            case Each(vars, _, _, body):
                if lanes:
                    lanes.fixed.update(vars)
                always, once = self.split(exp, lanes)
                return self.trips(exp) * (always + 1.0) + once + LOOP_OVERHEAD
            case Scan(var, _, monoid, body):
                if lanes:
                    lanes.fixed.add(var)
                inner = self.body(body, lanes) + self.body(monoid.body, lanes)
                return self.trips(exp) * (inner + 2.0) + LOOP_OVERHEAD
            case _:
                return 1.0

    def split(self, exp: Each, lanes: Motion | None) -> tuple[float, float]:
        """Costs of what depends on the counters of a nest, and of what is done in front of it."""
        varying = self.varying.get(id(exp))
        if varying is None:
            varying = self.varying[id(exp)] = depending(exp.body, *exp.vars)
        always = once = 0.0
        for stm in exp.body.stms:
            cost = self.stm(stm, lanes)
            if isinstance(stm.exp, Prim | Index) and not depends(stm, varying):
                once += cost
            else:
                always += cost
        return always, once

    def trips(self, exp: Each | Scan) -> float:
        sizes = exp.sizes if isinstance(exp, Each) else (exp.size,)
        total = 1.0
        for s in sizes:
            total *= self.sizes.of(s)
        return total

    def access(self, lanes: Motion, array: Var, at: tuple[Atom, ...], worst: float) -> float:
        """A vector is loaded whole, one element is shared, else each lane goes its own way."""
        step = lanes.access(at, array.shape, reversed=array in self.reversed)
        if array in lanes.inside:  # memory of each lane's own
            return 1.0
        return 1.0 if step in (0, 1) else 1.5 if step == -1 else worst

    def put(self, targets: tuple[Var, ...], at: tuple[Atom, ...], lanes: Motion | None) -> float:
        if not at:
            return 1.0
        if lanes is None:
            return 2.0
        step = lanes.access(at, targets[0].shape, reversed=False)
        return 1.5 if step == 0 else 2.0 if step == 1 else COLLIDE


def operator(op: str) -> float:
    """The cost of an operator, of one element or of a vector."""
    if op in MATH:
        return QUICK_MATH if op in QUICK else MATH_COST
    return DIVISION if op in SLOW else 1.0
