"""The driver of lowering: `lower(fun, layouts)` turns a Core program into a kernel.

A kernel takes one slot per name in `Proc.params`: scalars, the pointers of arrays, and for an
array of layout "S" its strides right behind the pointer. The contents of written parameters end
up in the parameters' own storage; all other arrays among the results are `Alloc(result=k)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from tapeless.analysis.lastuse import Uses
from tapeless.analysis.storage import FRESH, MIXED, Storage
from tapeless.core.names import Atom, Var
from tapeless.core.types import INDEX
from tapeless.ir.syntax import (
    Alloc,
    Append,
    Body,
    Call,
    Check,
    Each,
    Fold,
    Fun,
    If,
    Index,
    Iverson,
    Let,
    Loop,
    Prim,
    Put,
    Scan,
    Sort,
    Update,
)  # fmt: skip
from tapeless.ir.walk import uses as occurrences
from tapeless.loop.syntax import GLOBAL, Buf, Name, Proc, Value
from tapeless.lower.branches import Result
from tapeless.lower.builder import block
from tapeless.lower.desugar import desugar
from tapeless.lower.nests import Nests
from tapeless.lower.own import Owned, own
from tapeless.lower.plan import Plans
from tapeless.lower.schedule import schedule
from tapeless.lower.stacked import stacked
from tapeless.lower.state import Place, Want
from tapeless.lower.versions import versions


def lower(
    fun: Fun, layouts: Sequence[str], *, parallel: bool = True, deterministic: bool = False
) -> Proc:
    """`fun` as a kernel; `layouts`: "C", "F" or "S" for each array parameter, in order.
    `deterministic`: the same bits for any number of threads."""
    twofold = versions(desugar(fun))
    owned = own(twofold.fun)
    arrays = [p for p in fun.params if p.is_array]
    reversed = frozenset(p for p, x in zip(arrays, layouts, strict=True) if x == "F")
    plans = schedule(owned.fun, parallel=parallel, reversed=reversed, tests=twofold.tests)
    return stacked(Kernel(owned, plans, deterministic).run(tuple(layouts)))


class Kernel(Nests):
    """The walk over statements."""

    def __init__(self, owned: Owned, plans: Plans, deterministic: bool) -> None:
        super().__init__(owned, plans, deterministic)
        self.fun = owned.fun
        self.params: list[Name] = []

    def run(self, layouts: tuple[str, ...]) -> Proc:
        fun = self.fun
        with self.block() as stms:
            arrays = iter(layouts)
            for param in fun.params:
                self.param(param, next(arrays) if param.is_array else "")
            assert next(arrays, None) is None, "more layouts than array parameters"
            count = len(fun.body.results) - len(fun.writes)
            wants = tuple(Want(result=k) for k in range(count))
            found = self.body(fun.body, wants)
            results = tuple(
                self.result(k, r, a)
                for k, (r, a) in enumerate(zip(found[:count], fun.body.results, strict=False))
            )
            self.write_back(found[count:])
        return Proc(
            fun.name, tuple(self.params), block(stms), results, tuple(self.sites),
            tuple(self.foreign),
        )  # fmt: skip

    # parameters and results
    def param(self, param: Var, layout: str) -> None:
        if not param.is_array:
            self.params.append(param)
            self.bind(param)
            return
        shape = self.shape(param)
        if layout == "S":
            steps = [Var(INDEX, f"{param.hint}_stride") for _ in shape]
            self.bind(*steps)
            strides: tuple[Atom, ...] = tuple(steps)
        elif layout == "C":
            steps, strides = [], self.contiguous(shape)
        else:
            steps, strides = [], tuple(reversed(self.contiguous(shape[::-1])))
        buf = Buf(param.dtype, shape, strides, param.hint)
        self.params += [buf, *steps]
        self.places[param] = Place(buf)

    def result(self, k: int, found: Result, atom: Atom) -> Value:
        """A scalar, or the array in memory of its own."""
        if not isinstance(found, Place):
            return found
        assert isinstance(atom, Var)
        if found.buf is self.result_bufs.get(k) and not found.prefix:
            return found.buf
        home = self.allocate(atom, result=k)
        self.copy(home, found, atom)
        return home.buf

    def write_back(self, found: tuple[Result, ...]) -> None:
        """Contents of written parameters to where they belong."""
        homes = [self.places[p] for p in self.fun.writes]
        moves = [
            (home, r, p)
            for home, r, p in zip(homes, found, self.fun.writes, strict=True)
            if isinstance(r, Place) and not r.is_same(home)
        ]
        self.move(moves, homes)

    # statements
    def body(self, body: Body, wants: tuple[Want | None, ...] = ()) -> tuple[Result, ...]:
        self.aim(body, wants)
        live = self.uses.live_after(body)
        for stm, after in zip(body.stms, live, strict=True):
            self.let(stm)
            for array in dying(stm, after, self.uses, self.storage):
                if array in self.places:
                    self.release(self.places[array])
        return tuple(
            self.places[r] if isinstance(r, Var) and r.is_array else self.atom(r)
            for r in body.results
        )

    def aim(self, body: Body, wants: tuple[Want | None, ...]) -> None:
        """Tell the statements that make the storage of results where it should be."""
        made = {o: (stm, k) for stm in body.stms for k, o in enumerate(stm.outs)}
        for result, want in zip(body.results, wants, strict=False):
            if want is None or not isinstance(result, Var) or not result.is_array:
                continue
            if self.in_lanes and self.is_shared(want) and self.is_read(result, body):
                continue
            self.aim_one(result, want, made)

    def aim_one(self, result: Var, want: Want, made: dict[Var, tuple[Let, int]]) -> None:
        var: Var | None = result
        while var is not None and var.type == result.type and var in made:
            stm, k = made[var]
            sources = self.storage.sources(stm, k) if can_aim(stm, var) else frozenset((MIXED,))
            if len(sources) > 1 or sources == {FRESH}:
                self.wants.setdefault(var, want)
            var = next(iter(sources)) if len(sources) == 1 else None
            if self.in_lanes and self.is_shared(want):
                return

    @staticmethod
    def is_shared(want: Want) -> bool:
        return want.place is not None and want.place.buf.space == GLOBAL

    def is_read(self, array: Var, body: Body) -> bool:
        """Whether statements of `body` mention `array`: lanes read and change what is their own
        faster than rows of an array they share."""
        return any(array in self.uses.of(stm.exp) for stm in body.stms)

    def let(self, stm: Let) -> None:
        self.loc = stm.loc
        exp, out = stm.exp, stm.outs[0] if stm.outs else None
        match exp:
            case Prim() if out:
                self.prim(out, exp)
            case Index() if out:
                self.load(out, exp)
            case Update() if out:
                self.update(out, exp)
            case Alloc(kind) if out:
                self.places[out] = self.make(out, zero=kind == "zeros")
            case Append() if out:
                self.append(out, exp)
            case If(cond, then, orelse):
                self.branch(stm, cond, then, orelse)
            case Iverson(cond, body):
                self.branch(stm, cond, body, None)
            case Loop():
                self.loop(stm, exp)
            case Each():
                self.each(stm, exp)
            case Scan():
                self.scan(stm, exp)
            case Put():
                self.put(exp)
            case Check(cond, error, message, args):
                self.check(self.atom(cond), error, message, self.all(args))
            case Call():
                self.call(stm, exp)
            case Fold() | Sort():
                raise AssertionError("desugared")
            case Prim() | Index() | Update() | Alloc() | Append():
                raise AssertionError("a statement without a result")
            case _:
                assert_never(exp)

    def prim(self, out: Var, exp: Prim) -> None:
        result = self.op(exp.op, *self.all(exp.args), hint=out.hint)
        self.atoms[out] = result
        if isinstance(result, Var):
            self.defs.setdefault(result, exp)


def dying(stm: Let, after: frozenset[Var], uses: Uses, storage: Storage) -> Iterator[Var]:
    """Arrays that nobody needs after `stm` and whose storage none of its results took over."""
    named = uses.of(stm.exp).union(stm.outs)
    dead = {v for v in named if v.is_array and v not in after}
    if not dead:
        return
    kept: set[Var] = set()
    for k, out in enumerate(stm.outs):
        if out.is_array:
            kept |= storage.sources(stm, k)
    if MIXED in kept:  # in that of any array that the statement, or a body in it, takes over
        kept.update(v for v in uses.of(stm.exp) if v.is_array)
    dead -= kept
    yield from (v for v in in_order(stm) if v in dead)


def in_order(stm: Let) -> dict[Var, None]:
    """Variables that a statement names."""
    return dict.fromkeys(a for a in occurrences(Body((stm,), stm.outs)) if isinstance(a, Var))


def can_aim(stm: Let, var: Var) -> bool:
    """Storage that grows is never made in its final place."""
    match stm.exp:
        case Append():
            return False
        case Loop(_, params):
            k = stm.outs.index(var)
            return params[k].type == var.type
        case _:
            return True
