"""Programs to differentiate: those of `tests.ir.generate` with more floats, and Python ones."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import numpy as np

from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import INDEX, DType, Scalar, f64
from tapeless.ir.build import Builder, const
from tapeless.ir.syntax import (
    PROVED,
    Acc,
    Body,
    Each,
    Fold,
    For,
    Fun,
    Index,
    Let,
    Loop,
    Monoid,
    Prim,
    Put,
    Reverse,
    Scan,
)  # fmt: skip
from tapeless.ir.types_of import atom_of
from tapeless.ir.walk import map_bodies
from tests.conformance import roads
from tests.conformance.fuzz.check import load
from tests.conformance.fuzz.program import SIZES, make
from tests.ir.generate import NUMBERS, Generator, arguments


def real(value: float) -> Const:
    return Const(value, f64)


REVERSES = ("store", "checkpoint", "recompute", "auto")


class Floats(Generator):
    """Programs whose numbers are mostly f64, with operators on floats and loops that are told how
    to run in reverse."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.numbers = (f64, f64, f64, *NUMBERS)

    # scalars
    def prim(self, dtype: DType) -> Atom:
        if dtype is not f64 or self.chance(0.6):
            return super().prim(dtype)
        a, b = self.bounded(), self.bounded()
        op = self.rng.choice(("mul", "div", "exp", "sqrt", "log", "pow", "atan2", "fma"))
        if op in ("div", "pow"):
            return self.b.prim(op, *((a, self.positive()) if op == "div" else (self.positive(), b)))
        if op in ("sqrt", "log"):
            return self.b.prim(op, self.positive())
        if op == "atan2":
            return self.b.prim(op, a, self.positive())
        return self.b.prim(op, *{"mul": (a, b), "exp": (a,), "fma": (a, b, a)}[op])

    def bounded(self) -> Atom:
        """A float between −1 and 1, so that no program overflows."""
        return self.b.prim(self.rng.choice(("tanh", "sin")), self.atom(f64))

    def positive(self) -> Atom:
        a = self.bounded()
        return self.b.prim("add", self.b.prim("mul", a, a), real(0.25))

    # constructs
    def reduce(self) -> None:
        """Sometimes by an operator on floats, into a scalar or the cells of an array."""
        if self.chance(0.5):
            super().reduce()
            return
        vars, sizes = self.box()
        array = self.array(lambda v: v.dtype is f64) if self.chance(0.5) else None
        op = self.rng.choice(("*", "min", "max", self.monoid(1)))
        like = array if array is not None else Var(Scalar(f64), "t")
        acc = like.fresh()
        init = array if array is not None else self.atom(f64)
        outer, self.accs = self.accs, []

        def results() -> tuple[Atom, ...]:
            at, modes = self.at(acc, write=True) if array is not None else ((), "")
            self.b.run(Put((acc,), at, (self.made(f64),), modes))
            return (self.made(f64),) if self.chance(0.4) else ()

        pairs = tuple(zip(vars, sizes, strict=True))
        body = self.body(self.rng.randint(0, 2), (), (), pairs, results)
        self.accs = outer
        self.keep(*self.b.let(Each(vars, sizes, (Acc((acc,), (init,), op),), body)))

    def _fold(self, kind: type[Fold] | type[Scan]) -> None:
        if self.chance(0.3):
            super()._fold(kind)
            return
        monoid = self.monoid(self.rng.choice((1, 2, 4)))
        i, size = Var(INDEX, "i"), self.size()
        accs, self.accs = self.accs, []
        types = tuple(v.dtype for v in monoid.left)
        body = self.body(self.rng.randint(0, 2), types, (), ((i, size),))
        self.accs = accs
        self.keep(*self.b.let(kind(i, size, monoid, body)))

    def loop(self) -> None:
        super().loop()
        let = self.b.scopes[-1][-1]
        if isinstance(let.exp, Loop) and isinstance(let.exp.form, For) and self.chance(0.5):
            kind = self.rng.choice(REVERSES)
            slots = const(self.rng.randint(1, 4)) if kind == "checkpoint" else None
            memory = const(10 ** self.rng.randint(4, 6)) if kind == "auto" else None
            loop = let.exp
            form = Loop(loop.form, loop.params, loop.inits, loop.body,
                        Reverse(kind, None, slots, memory))  # fmt: skip
            self.b.scopes[-1][-1] = type(let)(let.outs, form, let.loc)

    # operators
    def monoid(self, count: int) -> Monoid:
        """An associative operator on so many floats."""
        left, right = (tuple(Var(Scalar(f64), h) for h in hints) for hints in ("abcd", "efgh"))
        left, right = left[:count], right[:count]
        with self.b.scope():
            if count == 4:
                results, neutral = self._product(left, right), (1.0, 0.0, 0.0, 1.0)
            elif count == 2:
                results, neutral = self._pair(left, right)
            else:
                results, neutral = self._single(left[0], right[0])
            body = self.b.body(results)
        return Monoid(left, right, body, tuple(map(real, neutral)))

    def _product(self, l: tuple[Var, ...], r: tuple[Var, ...]) -> tuple[Atom, ...]:
        """Matrices of two rows."""
        p = self.b.prim

        def cell(i: int, j: int) -> Atom:
            return p("add", p("mul", l[2 * i], r[j]), p("mul", l[2 * i + 1], r[2 + j]))

        return cell(0, 0), cell(0, 1), cell(1, 0), cell(1, 1)

    def _pair(self, l: tuple[Var, ...], r: tuple[Var, ...]) -> tuple[Any, Any]:
        p = self.b.prim
        if self.chance(0.5):  # x ↦ a·x + b, one after the other
            results = p("mul", l[0], r[0]), p("add", p("mul", l[1], r[0]), r[1])
            return results, (1.0, 0.0)
        less = p("lt", l[0], r[0])  # the greatest with what belongs to it
        return (p("select", less, r[0], l[0]), p("select", less, r[1], l[1])), (float("-inf"), 0.0)

    def _single(self, l: Var, r: Var) -> tuple[Any, Any]:
        p = self.b.prim
        kind = self.rng.choice(("product", "shifted", "maximum", "last"))
        if kind == "product":
            return (p("mul", l, r),), (1.0,)
        if kind == "maximum":
            return (p("max", l, r),), (float("-inf"),)
        if kind == "shifted":  # (1 + c·l)(1 + c·r) = 1 + c·(l ⊕ r)
            c = real(self.rng.choice((0.5, 1.0, -0.25)))
            both = p("mul", c, p("mul", l, r))
            return (p("add", p("add", l, r), both),), (0.0,)
        return (p("add", l, r),), (0.0,)


def core_program(seed: int) -> tuple[Fun, tuple[Any, ...]]:
    """A program of Core with arguments, of which none equals a constant in it."""
    args = arguments(seed, *Random(seed).choice(SHAPES))
    moved = (a + 0.01 if isinstance(a, float) else a for a in args)
    return Floats(seed).program(f"random{seed}"), tuple(moved)


SHAPES = ((5, 4), (5, 4), (3, 7), (1, 2), (2, 1))


def python_program(seed: int) -> tuple[Fun, tuple[Any, ...]]:
    """A program of the language, traced, with arguments at which nothing is decided by a hair."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = make(seed)
        function = load(program.source, seed)
        args = program.arguments(SIZES[seed % 2])
        rng = np.random.default_rng(seed)
        moved = tuple(_moved(rng, a) for a in args)
        traced = roads.traced(function, moved)
    bound = inspect.signature(function).bind(*moved)
    bound.apply_defaults()
    read = partial(roads.value_at, function, bound.arguments)
    return summed(away_from_zero(traced.fun)), tuple(
        roads.part(read(i.path), i) for i in traced.inputs
    )


ROOTS = frozenset({"sqrt", "cbrt", "pow", "hypot", "atan2"})


def away_from_zero(fun: Fun) -> Fun:
    """√(e + 0.3) in the place of √e, and so for all that has no derivative at 0: programs take
    roots of what is 0 whatever the arguments are, as of |x − x|."""

    def shifted(body: Body) -> Body:
        stms: list[Let] = []
        for stm in body.stms:
            exp = map_bodies(stm.exp, shifted)
            if isinstance(exp, Prim) and exp.op in ROOTS and exp.args[0].dtype is f64:
                moved = Var(Scalar(f64), "moved")
                stms.append(Let((moved,), Prim("add", (exp.args[0], real(0.3)))))
                exp = Prim(exp.op, (moved, *exp.args[1:]))
            stms.append(replace(stm, exp=exp))
        return Body(tuple(stms), body.results)

    return replace(fun, body=shifted(fun.body))


def summed(fun: Fun) -> Fun:
    """A program whose results are numbers: of each array the sum of its elements times weights."""
    b = Builder()
    with b.scope() as more:
        results = tuple(_sum(b, r) for r in fun.body.results if r.dtype is f64)
    return replace(fun, body=Body((*fun.body.stms, *more), results), writes=())


def _sum(b: Builder, result: Atom) -> Atom:
    """Σₖ sin(1 + k₁ + 2k₂ + …)·r[k]."""
    if not isinstance(result, Var) or not result.is_array:
        return result
    vars = tuple(Var(INDEX, "k") for _ in result.shape)
    total = Var(Scalar(f64), "sum")
    with b.scope():
        phase: Atom = real(1.0)
        for axis, k in enumerate(vars, 1):
            phase = b.prim("fma", real(axis), b.prim("f64", k), phase)
        cell = b.one(Index(result, vars, PROVED * len(vars)))
        b.put(total, (), b.prim("mul", b.prim("sin", phase), cell), "")
        body = b.body(())
    sizes = tuple(map(atom_of, result.shape))
    return b.one(Each(vars, sizes, (Acc((total,), (real(0.0),), "+"),), body))


def _moved(rng: np.random.Generator, value: Any) -> Any:
    """Floats become doubles; single precision would drown differences in rounding."""
    array = np.asarray(value)
    if array.dtype.kind != "f":
        return value
    new = array + 1e-2 * rng.standard_normal(array.shape)
    return new if isinstance(value, np.ndarray) else float(new)
