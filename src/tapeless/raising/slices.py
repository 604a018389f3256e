"""A pass that works on one slice of an array, again and again, has that slice to itself.

    loop (p = a) for b < n { … p[b, i] …; p₁ = p with [b, j] = v; …; return p₁ }
      ⇒  each (b < n) with (p = a) {
             r = each (k < m) { a[b, k] }; … r[i] …; r₁ = r with [j] = v; …
             each (k < m) { put p[b, k] <- r₁[k] } }

so that passes are independent, whatever each does with its slice. Slices of a size that is known
only at run time must be small for that: large ones stay where they are.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TypeVar

from tapeless.analysis import poly
from tapeless.analysis.enter import entered
from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import BOOL, INDEX, Array, Scalar
from tapeless.ir.syntax import (
    PROVED,
    Acc,
    Alloc,
    Body,
    Each,
    Exp,
    For,
    Fun,
    If,
    Index,
    Let,
    Loop,
    Prim,
    Put,
    Update,
)  # fmt: skip
from tapeless.ir.types_of import atom_of
from tapeless.ir.walk import Rewriter, refresh, statements, uses
from tapeless.raising.loops import Raise
from tapeless.raising.races import INDEPENDENT

T = TypeVar("T")
LARGEST = 4096  # cells of a slice that lanes keep next to each other


def run(fun: Fun) -> Fun:
    return _Slices().run(fun)


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """State number `slot` of a loop, of whose array each pass touches only the slice at its own
    counter in `axis`; `versions`: the names of the array inside."""

    slot: int
    axis: int
    versions: set[Var]


class _Slices(Raise):
    def statement(self, stm: Let, out: list[Let]) -> None:
        exp = stm.exp
        if isinstance(exp, Loop) and isinstance(exp.form, For):
            slices = [s for s in (self.slice_of(exp, k) for k in range(len(exp.params))) if s]
            if slices:
                stm = self.alone(stm, exp, exp.form, slices, out)
        self.emit(stm, out)

    def slice_of(self, loop: Loop, slot: int) -> Slice | None:
        """How the passes touch an array that inner loops pass on, if each keeps to its slice."""
        param = loop.params[slot]
        assert isinstance(loop.form, For)
        if len(param.shape) < 2 or any(s in loop.params for s in param.shape):
            return None
        versions = versions_of(loop.body, param)
        inner = (p for s in statements(loop.body) if isinstance(s.exp, Loop) for p in s.exp.params)
        if loop.body.results[slot] not in versions or versions.isdisjoint(inner):
            return None
        found = accesses(loop.body, versions, slot)
        if found is None:
            return None
        for axis in range(len(param.shape)):
            if all(at[axis] is loop.form.var for at in found):
                size = param.shape[axis]
                with entered(self.facts, loop, loop.body):
                    fits = self.facts.below(loop.form.var, size)
                return Slice(slot, axis, versions) if fits else None
        return None

    def alone(self, stm: Let, loop: Loop, form: For, slices: list[Slice], out: list[Let]) -> Let:
        """The nest, if that is what the loop becomes; under a test of the size where it is not
        known."""
        cells = poly.constant(0)
        for s in slices:
            size = poly.constant(1)
            for n in rest(loop.params[s.slot].shape, s.axis):
                size = poly.multiply(size, self.facts.value(n))
            cells = poly.add(cells, size)
        facts = self.facts
        if facts.prove(poly.shift(cells, -LARGEST - 1)):
            return stm
        nest = self.parallel(taken_out(loop, form, slices, facts.defs), form)
        if nest is None:
            return stm
        self.changed = True
        if facts.prove(poly.shift(poly.scale(cells, -1), LARGEST)):
            return Let(stm.outs, nest, stm.loc)
        return self.tested(stm, loop, slices, nest, out)

    def tested(self, stm: Let, loop: Loop, slices: list[Slice], nest: Each, out: list[Let]) -> Let:
        """if the slices are small { nest } else { loop }"""

        def let(type: Scalar, exp: Exp) -> Var:
            var = Var(type, "small")
            self.emit(Let((var,), exp, stm.loc), out)
            return var

        total: Atom = Const(0, INDEX.dtype)
        for s in slices:
            size: Atom = Const(1, INDEX.dtype)
            for n in rest(loop.params[s.slot].shape, s.axis):
                size = let(INDEX, Prim("mul", (size, atom_of(n))))
            total = let(INDEX, Prim("add", (total, size)))
        small = let(BOOL, Prim("le", (total, Const(LARGEST, INDEX.dtype))))
        kind = "auto" if loop.reverse.kind == INDEPENDENT else loop.reverse.kind  # shown by `nest`
        arms = []
        for exp in (nest, replace(loop, reverse=replace(loop.reverse, kind=kind))):
            outs = tuple(o.fresh() for o in stm.outs)
            arms.append(refresh(Body((Let(outs, exp, stm.loc),), outs)))
        return Let(stm.outs, If(small, arms[0], arms[1]), stm.loc)


def rest(items: tuple[T, ...], axis: int) -> tuple[T, ...]:
    """All but one of an array's sizes or indices."""
    return (*items[:axis], *items[axis + 1 :])


def versions_of(body: Body, param: Var) -> set[Var]:
    """The names that an array has in `body`, as it is written and passed on."""
    found = {param}
    before = 0
    while before < len(found):
        before = len(found)
        for stm in statements(body):
            match stm.exp:
                case Update(array) if array in found:
                    found.update(stm.outs)
                case Loop(_, params, inits):
                    for p, i, o in zip(params, inits, stm.outs, strict=True):
                        if i in found:
                            found.update((p, o))
                case If(_, then, orelse):
                    for o, a, b in zip(stm.outs, then.results, orelse.results, strict=True):
                        if a in found or b in found:
                            found.add(o)
                case Each(accs=accs):
                    at = len(stm.exp.body.results)
                    for acc in accs:
                        for v, i, o in zip(acc.vars, acc.inits, stm.outs[at:], strict=False):
                            if i in found:
                                found.update((v, o))
                        at += len(acc.vars)
    return found


def accesses(body: Body, versions: set[Var], slot: int) -> list[tuple[Atom, ...]] | None:
    """The indices of all accesses to an array; None if it is used in another way."""
    found: list[tuple[Atom, ...]] = []
    known: Counter[Atom] = Counter((body.results[slot],))
    for stm in statements(body):
        match stm.exp:
            case Index(array, at) | Update(array, at) if array in versions:
                found.append(at)
                known[array] += 1
            case Put((target,), at) if target in versions:
                found.append(at)
                known[target] += 1
            case Loop(_, params, inits, inner):
                for p, i, r in zip(params, inits, inner.results, strict=True):
                    if p in versions:
                        known.update((i, r))
            case If(_, then, orelse):
                for o, a, b in zip(stm.outs, then.results, orelse.results, strict=True):
                    if o in versions:
                        known.update((a, b))
            case Each(accs=accs):
                known.update(i for acc in accs for i in acc.inits if i in versions)
    every = Counter(a for a in uses(body) if a in versions)
    return found if all(every[v] == known[v] for v in versions) else None


def taken_out(loop: Loop, form: For, slices: list[Slice], defs: dict[Var, Exp]) -> Loop:
    """The loop whose passes take their slices out first and put them back at the end."""
    first: list[Let] = []
    last: list[Let] = []
    rewriter = _Sliced(slices)
    results = list(loop.body.results)
    for s in slices:
        param = loop.params[s.slot]
        init = loop.inits[s.slot]
        whole = param.fresh()
        made = defs.get(init) if isinstance(init, Var) else None
        first.append(read(whole, rewriter.row(param), form.var, s.axis, made))
        final = results[s.slot]
        assert isinstance(final, Var)
        results[s.slot] = done = final.fresh()
        last.append(written(whole, done, rewriter.row(final), form.var, s.axis))
        rewriter.wholes[s.slot] = whole
    body = rewriter.body(Body(loop.body.stms, ()))
    params = tuple(rewriter.wholes.get(k, p) for k, p in enumerate(loop.params))
    return replace(loop, params=params, body=Body((*first, *body.stms, *last), tuple(results)))


def read(whole: Var, row: Var, counter: Var, axis: int, made: Exp | None) -> Let:
    """row[k…] = whole[…, counter, …], or what fresh memory holds."""
    if isinstance(made, Alloc):
        shape = tuple(map(atom_of, row.shape))
        return Let((row,), Alloc(made.kind, made.dtype, shape), row.loc)
    vars = tuple(Var(INDEX, "k") for _ in row.shape)
    at = (*vars[:axis], counter, *vars[axis:])
    cell = Var(Scalar(row.dtype), row.hint)
    load = Let((cell,), Index(whole, at, PROVED * len(at)), row.loc)
    return Let(
        (row,), Each(vars, tuple(map(atom_of, row.shape)), (), Body((load,), (cell,))), row.loc
    )


def written(whole: Var, done: Var, row: Var, counter: Var, axis: int) -> Let:
    """whole[…, counter, …] = row[k…]"""
    vars = tuple(Var(INDEX, "k") for _ in row.shape)
    at = (*vars[:axis], counter, *vars[axis:])
    cell, acc = Var(Scalar(row.dtype), row.hint), whole.fresh()
    load = Let((cell,), Index(row, vars, PROVED * len(vars)), row.loc)
    put = Let((), Put((acc,), at, (cell,), PROVED * len(at)), row.loc)
    sizes = tuple(map(atom_of, row.shape))
    return Let(
        (done,), Each(vars, sizes, (Acc((acc,), (whole,), "="),), Body((load, put), ())), row.loc
    )


class _Sliced(Rewriter):
    """Accesses to arrays become accesses to their slices."""

    def __init__(self, slices: list[Slice]) -> None:
        super().__init__(fresh=True)
        self.axes = {v: s.axis for s in slices for v in s.versions}
        self.wholes: dict[int, Var] = {}

    def row(self, version: Var) -> Var:
        known = self.map.get(version)
        if known is None:
            assert isinstance(version.type, Array)
            shape = rest(version.shape, self.axes[version])
            known = self.map[version] = version.fresh(Array(version.dtype, shape))
        assert isinstance(known, Var)
        return known

    def bind(self, var: Var) -> Var:
        return self.row(var) if var in self.axes else super().bind(var)

    def exp(self, exp: Exp) -> Exp:
        match exp:
            case Index(array, at, modes) | Update(array, at, _, modes) if array in self.axes:
                axis = self.axes[array]
                exp = replace(exp, at=rest(at, axis), modes=modes[:axis] + modes[axis + 1 :])
            case Put((target,), at, _, modes) if target in self.axes:
                axis = self.axes[target]
                exp = replace(exp, at=rest(at, axis), modes=modes[:axis] + modes[axis + 1 :])
        return super().exp(exp)
