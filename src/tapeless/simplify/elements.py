"""Small arrays that leave branches and loops element by element, so that they become scalars.

a = if c { … return x } else { … return y }      (all that is done with a is a[0], a[1], …)
⇒  a₀, a₁ = if c { … return x[0], x[1] } else { … return y[0], y[1] };  a = empty with [0] = a₀ …
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import prod

from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import INDEX, Scalar
from tapeless.ir.build import Builder
from tapeless.ir.syntax import Alloc, Body, Exp, For, Fun, If, Index, Let, Loop, Update
from tapeless.ir.types_of import atom_of
from tapeless.ir.walk import map_bodies, statements, uses

MOST_CELLS = 16

Cell = tuple[Const, ...]


def run(fun: Fun) -> Fun:
    chosen = candidates(fun.body)
    return replace(fun, body=_Elements(chosen).body(fun.body)) if chosen else fun


def candidates(body: Body) -> set[Var]:
    """Results of branches and state of loops that are read and written at constant places only."""
    found: set[Var] = set()
    for stm in statements(body):
        if isinstance(stm.exp, If):
            found.update(v for v in stm.outs if cells_of(v))
        elif isinstance(stm.exp, Loop) and isinstance(stm.exp.form, For):
            found.update(v for v in stm.exp.params if cells_of(v))
    if not found:
        return found
    plain: Counter[Atom] = Counter()
    state: dict[Var, Var] = {}
    for stm in statements(body):
        match stm.exp:
            case Index(array, at) | Update(array, at) if all(isinstance(a, Const) for a in at):
                plain[array] += 1
            case Loop(_, params, _, inner):
                state.update(zip(params, stm.outs, strict=True))
                plain.update(p for p, r in zip(params, inner.results, strict=True) if p is r)
    counts = Counter(uses(body))
    spread = {v for v, out in state.items() if v in found and counts[out] != plain[out]}
    return {v for v in found if counts[v] == plain[v] > 0 and v not in spread}


def cells_of(var: Var) -> list[Cell]:
    """The places of a small array; none of other variables."""
    sizes = [s if isinstance(s, int) else 0 for s in var.shape]
    if not var.is_array or not 0 < prod(sizes) <= MOST_CELLS:
        return []
    return [tuple(Const(k, INDEX.dtype) for k in cell) for cell in product(*map(range, sizes))]


class _Elements:
    def __init__(self, chosen: set[Var]) -> None:
        self.chosen = chosen
        self.b = Builder()

    def body(self, body: Body) -> Body:
        with self.b.scope():
            for stm in body.stms:
                self.b.loc = stm.loc
                self.let(Let(stm.outs, map_bodies(stm.exp, self.body), stm.loc))
            return self.b.body(body.results)

    def let(self, stm: Let) -> None:
        exp = stm.exp
        like: tuple[Var, ...] = ()
        if isinstance(exp, If):
            like = stm.outs
            new: Exp = If(exp.cond, self.read(exp.then, like), self.read(exp.orelse, like))
        elif isinstance(exp, Loop):
            like = exp.params
            new = self.loop(exp)
        if self.chosen.isdisjoint(like):
            self.b.scopes[-1].append(stm)
            return
        outs = list(self.scalars(like, stm.outs))
        self.b.scopes[-1].append(Let(tuple(outs), new, stm.loc))
        self.gather(like, stm.outs, outs)

    def loop(self, exp: Loop) -> Loop:
        if self.chosen.isdisjoint(exp.params):
            return exp
        params = list(self.scalars(exp.params, exp.params))
        inits = self.elements(exp.params, exp.inits)
        with self.b.scope():
            self.gather(exp.params, exp.params, params)
            self.b.scopes[-1].extend(exp.body.stms)
            body = self.b.body(self.elements(exp.params, exp.body.results))
        return replace(exp, params=tuple(params), inits=inits, body=body)

    def read(self, body: Body, like: tuple[Var, ...]) -> Body:
        """The body with elements among its results."""
        with self.b.scope():
            self.b.scopes[-1].extend(body.stms)
            return self.b.body(self.elements(like, body.results))

    def elements(self, like: tuple[Var, ...], arrays: tuple[Atom, ...]) -> tuple[Atom, ...]:
        out: list[Atom] = []
        for var, atom in zip(like, arrays, strict=True):
            if var in self.chosen:
                assert isinstance(atom, Var)
                out += (
                    self.b.one(Index(atom, at, "p" * len(at)), atom.hint) for at in cells_of(var)
                )
            else:
                out.append(atom)
        return tuple(out)

    def scalars(self, like: tuple[Var, ...], outs: tuple[Var, ...]) -> Iterator[Var]:
        for var, out in zip(like, outs, strict=True):
            if var in self.chosen:
                yield from (out.fresh(Scalar(out.dtype)) for _ in cells_of(var))
            else:
                yield out

    def gather(self, like: tuple[Var, ...], arrays: tuple[Var, ...], values: list[Var]) -> None:
        """Statements that make the arrays of their elements."""
        rest = iter(values)
        for var, array in zip(like, arrays, strict=True):
            if var not in self.chosen:
                next(rest)
                continue
            cells = cells_of(var)
            shape = tuple(map(atom_of, array.shape))
            now = self.b.one(Alloc("empty", array.dtype, shape), array.hint)
            for k, at in enumerate(cells):
                update = Update(now, at, next(rest), "p" * len(at))
                last = k == len(cells) - 1
                out = array if last else array.fresh()
                self.b.scopes[-1].append(Let((out,), update, self.b.loc))
                now = out
