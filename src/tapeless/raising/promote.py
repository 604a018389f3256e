"""Cells that a loop keeps rewriting at the same place become scalar state.

    loop (p = a) for k < n { x = p[i]; …; p with [i] = x + v }
      ⇒  s = loop (s = a[i]) for k < n { … s + v };  a with [i] = s

where i does not change in the loop, lies in range before it, and every other access of the loop
to the array is a read that is apart from the cell. Several such cells may have one array.
"""

from __future__ import annotations

from dataclasses import replace

from tapeless.analysis.enter import after, entered, in_range
from tapeless.analysis.facts import Facts
from tapeless.analysis.rewriter import FactsRewriter
from tapeless.core.names import Atom, Loc, Var
from tapeless.core.types import Scalar
from tapeless.ir.syntax import (
    IGNORE,
    PROVED,
    WRAP,
    Body,
    Exp,
    For,
    Fun,
    If,
    Index,
    Let,
    Loop,
    Update,
)  # fmt: skip
from tapeless.ir.walk import Rewriter, atoms_of, bodies_of, bound, map_bodies, statements

Cell = tuple[Atom, ...]
MOST_CELLS = 8


class NotPromoted(Exception):
    """The array is used in a way that keeps it an array."""


def run(fun: Fun) -> Fun:
    return _Promote().run(fun)


class _Promote(FactsRewriter):
    """Inner loops first; facts describe the place that the walk is at."""

    def concerns(self, exp: Exp) -> bool:
        return isinstance(exp, Loop) and isinstance(exp.form, For)

    def statement(self, stm: Let, out: list[Let]) -> None:
        exp = stm.exp
        new = [stm]
        if isinstance(exp, Loop) and isinstance(exp.form, For):
            new = self.loop(stm, exp)
        for s in new:
            self.emit(s, out)

    def loop(self, stm: Let, loop: Loop) -> list[Let]:
        """The loop with one array state after the other replaced by cells."""
        before: list[Let] = []
        behind: list[Let] = []
        for param in loop.params:
            if not param.is_array or not all(
                isinstance(s, int) or s not in loop.params for s in param.shape
            ):
                continue
            cells = self.cells(loop, param)
            if not cells:
                continue
            try:
                stm, loop = self.promoted(stm, loop, param, cells, before, behind)
                self.changed = True
            except NotPromoted:
                continue
        return [*before, stm, *behind]

    def cells(self, loop: Loop, param: Var) -> list[Cell]:
        """Places written in the loop, if they do not change in it and are in range before it."""
        inside = bound(loop.body) | set(loop.params)
        assert isinstance(loop.form, For)
        inside.add(loop.form.var)
        versions, cells = {param}, list[Cell]()
        for s in statements(loop.body):
            if isinstance(s.exp, Update) and s.exp.array in versions:
                versions.update(s.outs)
                if IGNORE in s.exp.modes or WRAP in s.exp.modes or inside.intersection(s.exp.at):
                    return []
                if s.exp.at not in cells:
                    cells.append(s.exp.at)
            elif isinstance(s.exp, If):
                versions.update(o for o in s.outs if o.type == param.type)
        facts = self.facts
        apart = all(
            any(facts.decide_prim("eq", (i, j)) is False for i, j in zip(a, b, strict=True))
            for k, a in enumerate(cells) for b in cells[:k]
        )  # fmt: skip
        usable = len(cells) <= MOST_CELLS and apart
        return cells if usable and all(in_range(facts, c, param.shape) for c in cells) else []

    def promoted(
        self,
        stm: Let,
        loop: Loop,
        param: Var,
        cells: list[Cell],
        before: list[Let],
        behind: list[Let],
    ) -> tuple[Let, Loop]:
        k = loop.params.index(param)
        init, out = loop.inits[k], stm.outs[k]
        assert isinstance(init, Var)
        type = Scalar(param.dtype)
        params = tuple(Var(type, param.hint, param.loc) for _ in cells)
        with entered(self.facts, loop, loop.body):
            rewrite = Cells(self.facts, init, cells)
            rewrite.env[param] = params
            body = rewrite.body(loop.body)
        last = loop.body.results[k]
        final = rewrite.env.get(last) if isinstance(last, Var) else None
        others = body.results[:k] + body.results[k + 1 :]
        if final is None or any(isinstance(r, Var) and r in rewrite.env for r in others):
            raise NotPromoted
        firsts = tuple(Var(type, param.hint, param.loc) for _ in cells)
        lasts = tuple(Var(type, param.hint, param.loc) for _ in cells)
        before += (_read(f, init, c, stm.loc) for f, c in zip(firsts, cells, strict=True))
        array = init
        stores: list[Let] = []
        for n, (value, cell) in enumerate(zip(lasts, cells, strict=True)):
            new = out if n == len(cells) - 1 else out.fresh()
            stores.append(Let((new,), Update(array, cell, value, PROVED * len(cell)), stm.loc))
            array = new
        behind += stores
        new_loop = replace(
            loop,
            params=(*loop.params[:k], *params, *loop.params[k + 1 :]),
            inits=(*loop.inits[:k], *firsts, *loop.inits[k + 1 :]),
            body=Body(body.stms, (*others[:k], *final, *others[k:])),
        )
        outs = (*stm.outs[:k], *lasts, *stm.outs[k + 1 :])
        return Let(outs, new_loop, stm.loc), new_loop


def _read(out: Var, array: Var, at: Cell, loc: Loc | None) -> Let:
    return Let((out,), Index(array, at, PROVED * len(at)), loc)


class Cells(Rewriter):
    """`env`: for each version of the array its cells' values; other cells are as in `init`."""

    def __init__(self, facts: Facts, init: Var, cells: list[Cell]) -> None:
        super().__init__(fresh=False)
        self.facts = facts
        self.init = init
        self.cells = cells
        self.env: dict[Var, tuple[Atom, ...]] = {}

    def body(self, body: Body) -> Body:
        stms: list[Let] = []
        for stm in body.stms:
            new = self.statement(stm)
            if new is not None:
                stms.append(new)
                after(self.facts, new)
        return Body(tuple(stms), self.atoms(body.results))

    def under(self, exp: Exp, body: Body) -> Body:
        with entered(self.facts, exp, body):
            new = self.body(body)
        if any(isinstance(r, Var) and r in self.env for r in new.results):
            raise NotPromoted
        return new

    def statement(self, stm: Let) -> Let | None:
        exp = stm.exp
        match exp:
            case Index(array, at, modes) if array in self.env:
                at = self.atoms(at)
                known = self.find(at, modes)
                if known is None:
                    return Let(stm.outs, Index(self.init, at, modes), stm.loc)
                self.map[stm.outs[0]] = self.env[array][known]
                return None
            case Update(array, at, value) if array in self.env:
                at = self.atoms(at)
                k = self.cells.index(at) if at in self.cells else -1
                if k < 0 or value in self.env:
                    raise NotPromoted
                now = self.env[array]
                self.env[stm.outs[0]] = (*now[:k], self.atom(value), *now[k + 1 :])
                return None
            case If():
                return self.branch(stm, exp)
        if any(a in self.env for a in atoms_of(exp) if isinstance(a, Var)):
            raise NotPromoted
        if not bodies_of(exp):
            return Let(stm.outs, self.exp(exp), stm.loc)
        operands = self.exp(map_bodies(exp, lambda b: Body((), b.results)))
        pairs = iter(bodies_of(exp))
        new = map_bodies(operands, lambda _: self.under(exp, next(pairs)))
        return Let(stm.outs, new, stm.loc)

    def find(self, at: Cell, modes: str) -> int | None:
        """Which cell an index names; None if it is apart from all of them."""
        facts = self.facts
        for k, cell in enumerate(self.cells):
            pairs = list(zip(at, cell, strict=True))
            if all(facts.same(i, j) for i, j in pairs):
                return k
            if not any(
                m != WRAP and facts.decide_prim("eq", (i, j)) is False
                for m, (i, j) in zip(modes, pairs, strict=True)
            ):
                raise NotPromoted
        return None

    def branch(self, stm: Let, exp: If) -> Let:
        cond = self.atom(exp.cond)
        arms: list[Body] = []
        for body in (exp.then, exp.orelse):
            with entered(self.facts, If(cond, exp.then, exp.orelse), body):
                arms.append(self.body(body))
        outs: list[Var] = []
        results: list[list[Atom]] = [[], []]
        for k, out in enumerate(stm.outs):
            pair = [b.results[k] for b in arms]
            values = [self.env[r] for r in pair if isinstance(r, Var) and r in self.env]
            if not values:
                outs.append(out)
                for r, atom in zip(results, pair, strict=True):
                    r.append(atom)
                continue
            if len(values) == 1:
                raise NotPromoted
            new = tuple(Var(Scalar(out.dtype), out.hint, out.loc) for _ in self.cells)
            self.env[out] = new
            outs += new
            for r, cells in zip(results, values, strict=True):
                r += cells
        bodies = [Body(b.stms, tuple(r)) for b, r in zip(arms, results, strict=True)]
        return Let(tuple(outs), If(cond, bodies[0], bodies[1]), stm.loc)
