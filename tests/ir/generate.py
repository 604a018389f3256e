"""Random programs of Core: well-typed, verified, with arguments; no road may refuse one.

Floats never decide anything, and all indices are in range, wrapped into range, checked or ignored,
so that re-association changes results by rounding only. Parameters: sizes n, m, arrays over them.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np

from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import INDEX, Array, DType, Scalar, bool_, f32, f64, i32, i64
from tapeless.ir.build import ONE, Builder, const
from tapeless.ir.syntax import (
    CHECK,
    IGNORE,
    PROVED,
    WRAP,
    Acc,
    Alloc,
    Append,
    Body,
    Each,
    Fold,
    For,
    Fun,
    If,
    Index,
    Iverson,
    Let,
    Loop,
    Monoid,
    Put,
    Scan,
    Sort,
    Update,
    While,
)  # fmt: skip
from tapeless.ir.types_of import atom_of

NUMBERS = (f64, i64, f32, i32)
MAX_DEPTH = 3


class Generator:
    """Statements at random into a Builder; `scope` is what they may use."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.b = Builder()
        self.scope: list[Var] = []
        self.ranges: list[tuple[Var, Atom]] = []  # counters with their bounds
        self.accs: list[tuple[Var, bool]] = []  # "+" accumulators to put to, in scope
        self.depth = 0
        self.numbers: tuple[DType, ...] = NUMBERS

    # choices
    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def atom(self, dtype: DType) -> Atom:
        names = [v for v in self.scope if v.type == Scalar(dtype)]
        if dtype is i64:
            names += [v for v, _ in self.ranges]
        if names and self.chance(0.8):
            return self.rng.choice(names[-6:])
        if dtype is bool_:
            return Const(self.chance(0.5), bool_)
        return Const(self.rng.randint(-4, 4) / (4 if dtype.is_float else 1), dtype)

    def array(self, like: Callable[[Var], bool] = lambda v: True) -> Var | None:
        found = [v for v in self.scope if v.is_array and like(v)]
        return self.rng.choice(found[-6:]) if found else None

    def keep(self, *outs: Var) -> None:
        self.scope += outs

    def size(self) -> Atom:
        return self.rng.choice([*(v for v in self.sizes), const(3), const(2)])

    # scalars
    def prim(self, dtype: DType) -> Atom:
        a, b = self.atom(dtype), self.atom(dtype)
        if dtype is bool_:
            k = self.rng.choice((i64, i32))
            op = self.rng.choice(("lt", "le", "eq", "ne", "and", "or", "not"))
            if op in ("lt", "le", "eq", "ne"):
                return self.b.prim(op, self.atom(k), self.atom(k))
            return self.b.prim(op, a) if op == "not" else self.b.prim(op, a, b)
        if dtype.is_float:
            ops = ("add", "sub", "mul", "min", "max", "neg", "abs", "sin", "tanh", "select", "cast")
        else:
            ops = (
                "add",
                "sub",
                "mul",
                "min",
                "max",
                "neg",
                "floordiv",
                "mod",
                "xor",
                "select",
                "cast",
            )
        op = self.rng.choice(ops)
        if op == "select":
            return self.b.prim(op, self.atom(bool_), a, b)
        if op == "cast":
            source = self.rng.choice([t for t in NUMBERS if dtype.is_float or not t.is_float])
            return self.b.cast(self.atom(source), dtype)
        if op in ("floordiv", "mod"):
            return self.b.prim(op, a, Const(self.rng.choice((2, 3, -3)), dtype))
        if op == "mul" and dtype.is_float:
            return self.b.prim(op, a, Const(self.rng.choice((0.5, -0.75)), dtype))
        return self.b.prim(op, a) if op in ("neg", "abs", "sin", "tanh") else self.b.prim(op, a, b)

    def position(self, size: Atom, write: bool) -> tuple[Atom, str]:
        """An index into an axis with its mode."""
        fit = [v for v, bound in self.ranges if bound == size]
        if fit and self.chance(0.7):
            return self.rng.choice(fit), PROVED
        if write and self.chance(0.3):
            return self.atom(i64), IGNORE
        wrapped = self.b.prim("mod", self.atom(i64), size)
        if self.chance(0.3):
            return self.b.prim("sub", wrapped, size), WRAP
        return wrapped, CHECK

    def at(self, array: Var, write: bool = False) -> tuple[tuple[Atom, ...], str]:
        pairs = [self.position(atom_of(s), write) for s in array.shape]
        return tuple(a for a, _ in pairs), "".join(m for _, m in pairs)

    # bodies
    def body(
        self,
        count: int,
        wanted: tuple[DType, ...],
        binders: tuple[Var, ...] = (),
        counters: tuple[tuple[Var, Atom], ...] = (),
        then: Callable[[], tuple[Atom, ...]] | None = None,
    ) -> Body:
        """A body with some statements; `then` makes its last ones and the results."""
        scope, ranges = list(self.scope), list(self.ranges)
        self.scope += binders
        self.ranges += counters
        self.depth += 1
        with self.b.scope():
            for _ in range(count):
                self.statement()
            results = then() if then else tuple(self.made(t) for t in wanted)
            body = self.b.body(results)
        self.depth -= 1
        self.scope, self.ranges = scope, ranges
        return body

    def made(self, dtype: DType) -> Atom:
        return self.prim(dtype) if self.chance(0.7) else self.atom(dtype)

    # statements
    def statement(self) -> None:
        flat = (self.scalar, self.scalar, self.read, self.read, self.update, self.fresh, self.put)
        deep = (
            self.if_,
            self.iverson,
            self.loop,
            self.while_,
            self.map,
            self.map,
            self.reduce,
            self.histogram,
            self.assign,
            self.fold,
            self.scan,
            self.sort,
            self.appended,
        )
        self.rng.choice(flat if self.depth >= MAX_DEPTH or self.chance(0.5) else deep)()

    def scalar(self) -> None:
        atom = self.prim(self.rng.choice((*self.numbers, bool_)))
        if isinstance(atom, Var):
            self.keep(atom)

    def read(self) -> None:
        array = self.array()
        if array is not None:
            at, modes = self.at(array)
            self.keep(self.b.one(Index(array, at, modes)))

    def update(self) -> None:
        array = self.array()
        if array is not None:
            at, modes = self.at(array, write=True)
            self.keep(self.b.one(Update(array, at, self.atom(array.dtype), modes)))

    def fresh(self) -> None:
        self.keep(self.b.one(Alloc("zeros", self.rng.choice(self.numbers), (self.size(),))))

    def put(self) -> None:
        if self.accs and self.chance(0.7):
            acc, _ = self.rng.choice(self.accs)
            at, modes = self.at(acc, write=True)
            self.b.run(Put((acc,), at, (self.atom(acc.dtype),), modes))

    def if_(self) -> None:
        types = (self.rng.choice(self.numbers),)
        array = self.array()
        arms = []
        for _ in range(2):

            def results() -> tuple[Atom, ...]:
                kept = tuple(self.made(t) for t in types)
                return (
                    kept
                    if array is None
                    else (*kept, self.array(lambda v: v.type == array.type) or array)
                )

            arms.append(self.body(self.rng.randint(0, 2), types, then=results))
        self.keep(*self.b.let(If(self.atom(bool_), *arms)))

    def iverson(self) -> None:
        if any(self.accs):
            return
        array = self.array(lambda v: len(v.shape) == 1 and v.dtype is not bool_)
        if array is None:
            return
        i = self.atom(i64)
        inside = self.b.prim(
            "and", self.b.prim("le", const(0), i), self.b.prim("lt", i, atom_of(array.shape[0]))
        )
        with self.b.scope():
            value = self.b.one(Index(array, (i,), PROVED))
            body = self.b.body((self.b.prim("add", value, value), value))
        self.keep(*self.b.let(Iverson(inside, body)))

    def loop(self) -> None:
        state = Var(Scalar(self.rng.choice(self.numbers)), "s")
        inits: list[Atom] = [self.atom(state.dtype)]
        params = [state]
        array = self.array()
        if array is not None and self.chance(0.7):
            params.append(array.fresh())
            inits.append(array)
        i, size = Var(INDEX, "i"), self.size()

        def results() -> tuple[Atom, ...]:
            out: list[Atom] = [self.made(state.dtype)]
            if len(params) > 1:
                if self.chance(0.7):
                    at, modes = self.at(params[1], write=True)
                    out.append(self.b.one(Update(params[1], at, self.atom(params[1].dtype), modes)))
                else:
                    out.append(self.array(lambda v: v.type == params[1].type) or params[1])
            return tuple(out)

        accs, self.accs = self.accs, []
        body = self.body(self.rng.randint(0, 3), (), tuple(params), ((i, size),), results)
        self.accs = accs
        self.keep(*self.b.let(Loop(For(i, size), tuple(params), tuple(inits), body)))

    def while_(self) -> None:
        k, s = Var(INDEX, "k"), Var(Scalar(f64), "s")
        with self.b.scope():
            cond = self.b.body((self.b.prim("lt", k, const(self.rng.randint(0, 4))),))
        accs, self.accs = self.accs, []
        body = self.body(self.rng.randint(0, 2), (), (k, s), (),
                         lambda: (self.b.prim("add", k, ONE), self.made(f64)))  # fmt: skip
        self.accs = accs
        self.keep(*self.b.let(Loop(While(cond), (k, s), (const(0), self.atom(f64)), body)))

    def box(self) -> tuple[tuple[Var, ...], tuple[Atom, ...]]:
        sizes = tuple(self.size() for _ in range(self.rng.choice((1, 1, 2))))
        return tuple(Var(INDEX, "i") for _ in sizes), sizes

    def map(self) -> None:
        vars, sizes = self.box()
        types = tuple(
            self.rng.choice((*self.numbers, bool_)) for _ in range(self.rng.choice((1, 1, 2)))
        )
        accs, self.accs = self.accs, []
        pairs = tuple(zip(vars, sizes, strict=True))
        row = self.chance(0.2)

        def results() -> tuple[Atom, ...]:
            out = [self.made(t) for t in types]
            array = self.array(lambda v: len(v.shape) == 1) if row else None
            return (*out, array) if array is not None else tuple(out)

        body = self.body(self.rng.randint(0, 3), types, (), pairs, results)
        self.accs = accs
        self.keep(*self.b.let(Each(vars, sizes, (), body)))

    def reduce(self) -> None:
        """Scalar accumulators by known operators and one by a monoid, beside a map."""
        vars, sizes = self.box()
        total, top = Var(Scalar(self.rng.choice(self.numbers)), "t"), Var(Scalar(i64), "u")
        accs = [Acc((total,), (self.atom(total.dtype),), "+"),
                Acc((top,), (self.atom(i64),), self.rng.choice(("min", "max", "*")))]  # fmt: skip
        best = self.first_max() if self.chance(0.4) else None
        if best is not None:
            accs.append(best)
        outer, self.accs = self.accs, [*self.accs, (total, False)]

        def results() -> tuple[Atom, ...]:
            self.put()
            self.b.run(Put((total,), (), (self.made(total.dtype),), ""))
            self.b.run(Put((top,), (), (self.made(i64),), ""))
            if best is not None:
                self.b.run(Put(best.vars, (), (self.made(i64), vars[0]), ""))
            return (self.made(f64),) if self.chance(0.4) else ()

        body = self.body(
            self.rng.randint(0, 2), (), (), tuple(zip(vars, sizes, strict=True)), results
        )
        self.accs = outer
        self.keep(*self.b.let(Each(vars, sizes, tuple(accs), body)))

    def first_max(self) -> Acc:
        """The greatest value with its index; of equal ones the first."""
        a, ai, c, ci = (Var(INDEX, h) for h in ("a", "ai", "c", "ci"))
        with self.b.scope():
            less = self.b.prim("lt", a, c)
            body = self.b.body(
                (self.b.prim("select", less, c, a), self.b.prim("select", less, ci, ai))
            )
        lowest = (const(-(2**63)), const(-1))
        return Acc(
            (Var(INDEX, "m"), Var(INDEX, "k")), lowest, Monoid((a, ai), (c, ci), body, lowest)
        )

    def histogram(self) -> None:
        array = self.array(lambda v: v.dtype is not bool_)
        if array is None:
            return
        vars, sizes = self.box()
        acc = array.fresh()
        outer, self.accs = self.accs, [(acc, False)]

        def results() -> tuple[Atom, ...]:
            at, modes = self.at(acc, write=True)
            self.b.run(Put((acc,), at, (self.made(acc.dtype),), modes))
            return ()

        body = self.body(
            self.rng.randint(0, 2), (), (), tuple(zip(vars, sizes, strict=True)), results
        )
        self.accs = outer
        self.keep(*self.b.let(Each(vars, sizes, (Acc((acc,), (array,), "+"),), body)))

    def assign(self) -> None:
        """Each cell of an array set at its own index, from itself."""
        array = self.array()
        if array is None:
            return
        vars = tuple(Var(INDEX, "i") for _ in array.shape)
        sizes = tuple(map(atom_of, array.shape))
        acc = array.fresh()
        outer, self.accs = self.accs, []

        def results() -> tuple[Atom, ...]:
            old = self.b.one(Index(array, vars, PROVED * len(vars)))
            self.keep(old)
            self.b.run(Put((acc,), vars, (self.made(array.dtype),), PROVED * len(vars)))
            return ()

        body = self.body(
            self.rng.randint(0, 1), (), (), tuple(zip(vars, sizes, strict=True)), results
        )
        self.accs = outer
        self.keep(*self.b.let(Each(vars, sizes, (Acc((acc,), (array,), "="),), body)))

    def recurrence(self) -> Monoid:
        """Composition of x -> a·x + b."""
        a, b, c, d = (Var(Scalar(i64), h) for h in "abcd")
        with self.b.scope():
            body = self.b.body((
                self.b.prim("mul", a, c),
                self.b.prim("add", self.b.prim("mul", b, c), d),
            ))  # fmt: skip
        return Monoid((a, b), (c, d), body, (const(1), const(0)))

    def fold(self) -> None:
        self._fold(Fold)

    def scan(self) -> None:
        self._fold(Scan)

    def _fold(self, kind: type[Fold] | type[Scan]) -> None:
        i, size = Var(INDEX, "i"), self.size()
        monoid = self.recurrence()
        accs, self.accs = self.accs, []
        body = self.body(self.rng.randint(0, 2), (i64, i64), (), ((i, size),))
        self.accs = accs
        self.keep(*self.b.let(kind(i, size, monoid, body)))

    def sort(self) -> None:
        array = self.array(lambda v: len(v.shape) == 1 and v.dtype.is_int)
        if array is not None:
            self.keep(self.b.one(Sort(array, ())))

    def appended(self) -> None:
        """An array of run-time length, filled under a condition."""
        if self.depth:
            return
        empty = self.b.one(Alloc("empty", i64, (const(0),)))
        k, i, size = Var(INDEX, "k"), Var(INDEX, "i"), self.size()
        row = Var(Array(i64, (k,)), "out")

        def results() -> tuple[Atom, ...]:
            more = self.b.prim("add", k, ONE)
            with self.b.scope():
                longer = self.b.one(Append(row, self.atom(i64), more))
                then = self.b.body((more, longer))
            count = Var(INDEX, "k")
            outs = (count, Var(Array(i64, (count,)), "out"))
            self.b.scopes[-1].append(Let(outs, If(self.atom(bool_), then, Body((), (k, row)))))
            return outs

        body = self.body(1, (), (k,), ((i, size),), results)
        self.keep(*self.b.let(Loop(For(i, size), (k, row), (const(0), empty), body)))

    # programs
    def program(self, name: str) -> Fun:
        n, m = Var(INDEX, "n"), Var(INDEX, "m")
        self.sizes = [n, m]
        params = [
            n,
            m,
            Var(Array(f64, (n,)), "x"),
            Var(Array(f64, (n, m)), "a"),
            Var(Array(i64, (m,)), "k"),
            Var(Array(f32, (n,)), "w"),
            Var(Array(i32, (3,)), "p"),
            Var(Scalar(f64), "t"),
            Var(Scalar(bool_), "q"),
        ]
        self.keep(*params)
        for _ in range(self.rng.randint(2, 7)):
            self.statement()
        made = self.scope[len(params) :][-4:]
        results: list[Atom] = list(made or [params[0]])
        if self.chance(0.3):
            results.append(params[2])
        writes: tuple[Var, ...] = ()
        if self.chance(0.4):
            target = params[2]
            final = self.array(lambda v: v.type == target.type) or target
            writes, results = (target,), [r for r in results if r is not target] + [final]
        return Fun(name, tuple(params), self.b.body(tuple(results)), writes)


def program(seed: int) -> Fun:
    return Generator(seed).program(f"random{seed}")


def arguments(seed: int, n: int = 5, m: int = 4) -> tuple[object, ...]:
    r = np.random.default_rng(seed)
    return (
        n, m, r.normal(size=n), r.normal(size=(n, m)), r.integers(-5, 9, m),
        r.normal(size=n).astype("f4"), r.integers(-3, 4, 3).astype("i4"), 0.75, bool(seed % 2),
    )  # fmt: skip
