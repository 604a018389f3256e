"""Dead code: every statement, loop variable, element result and accumulator that nobody needs.

A statement goes if nothing reads its results and it has no effect. Of a Loop, an If, an Each or a
Fold single results go; loop state, and a part of what an operator combines, goes if only its own
next value reads it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tapeless.core.names import Atom, Var
from tapeless.ir.effects import is_pure_exp, may_raise
from tapeless.ir.syntax import (
    Acc,
    Body,
    Each,
    Exp,
    Fold,
    For,
    Fun,
    If,
    Iverson,
    Let,
    Loop,
    Monoid,
    Put,
    Scan,
    While,
)  # fmt: skip
from tapeless.ir.walk import atoms_of, map_bodies, statements, type_vars


def run(fun: Fun) -> Fun:
    return replace(fun, body=_Dead().body(fun.body))


class _Dead:
    """`live`: variables needed by what follows; grows as bodies are walked backwards.

    `gone`: accumulators nobody reads, whose Puts go too."""

    def __init__(self) -> None:
        self.live: set[Var] = set()
        self.gone: set[Var] = set()

    def need(self, atoms: Iterable[Atom]) -> None:
        for a in atoms:
            if isinstance(a, Var) and a not in self.live:
                self.live.add(a)
                self.need(type_vars(a.type))

    def body(self, body: Body) -> Body:
        self.need(body.results)
        out: list[Let] = []
        for stm in reversed(body.stms):
            kept = self.statement(stm)
            if kept is not None:
                out.append(kept)
        out.reverse()
        return Body(tuple(out), body.results)

    def statement(self, stm: Let) -> Let | None:
        exp = stm.exp
        if isinstance(exp, Put):
            left = [t not in self.gone for t in exp.targets]
            if not any(left):
                return None
            targets, values = _kept(exp.targets, left), _kept_atoms(exp.values, left)
            stm = replace(stm, exp=replace(exp, targets=targets, values=values))
            exp = stm.exp
            self.need(targets)
        elif not self.live.intersection(stm.outs) and self.droppable(exp):
            return None
        used = [o in self.live for o in stm.outs]
        outs, exp = self.restrict(stm.outs, used, exp)
        for out in outs:
            self.need(type_vars(out.type))
        self.need(atoms_of(exp))
        return Let(outs, exp, stm.loc)

    def droppable(self, exp: Exp) -> bool:
        """Whether `exp` may go if its results do; Puts to dropped accumulators do not count."""
        if is_pure_exp(exp):
            return True
        if not self.gone:
            return False
        return is_pure_exp(_without(exp, self.gone))

    def restrict(
        self, outs: tuple[Var, ...], used: list[bool], exp: Exp
    ) -> tuple[tuple[Var, ...], Exp]:
        """`exp` with the results that are used, its bodies walked."""
        match exp:
            case If(cond, then, orelse):
                then, orelse = _picked(then, used), _picked(orelse, used)
                return _kept(outs, used), If(cond, self.body(then), self.body(orelse))
            case Iverson(cond, body):
                return _kept(outs, used), Iverson(cond, self.body(_picked(body, used)))
            case Loop():
                return self.loop(outs, used, exp)
            case Each():
                return self.each(outs, used, exp)
            case Fold() | Scan():
                if not any(used):  # for its effects
                    used = [True] * len(outs)
                monoid, used = self.monoid(exp.monoid, used)
                self.need(monoid.neutral)
                body = self.body(_picked(exp.body, used))
                return _kept(outs, used), replace(exp, monoid=monoid, body=body)
            case _:
                return outs, exp

    def loop(
        self, outs: tuple[Var, ...], used: list[bool], exp: Loop
    ) -> tuple[tuple[Var, ...], Exp]:
        """State is needed if its result is, if the condition or an effect reads it, or if needed
        state does: walk again until no more is found."""
        needed = list(used)
        for o, p, n in zip(outs, exp.params, used, strict=True):
            if n:
                self.need((p, *type_vars(o.type)))
        while True:
            before, outer = list(needed), set(self.live)
            form = exp.form
            body = self.body(_picked(exp.body, needed))
            if isinstance(form, While):
                form = While(self.body(form.cond))
            sized = {
                s for p, n in zip(exp.params, needed, strict=True) if n for s in type_vars(p.type)
            }
            needed = [
                n or p in self.live or p in sized for p, n in zip(exp.params, needed, strict=True)
            ]
            if needed == before:
                break
            self.live = outer
            self.need(p for p, n in zip(exp.params, needed, strict=True) if n)
        if isinstance(form, For):
            self.need((form.size,))
        params, inits = _kept(exp.params, needed), _kept_atoms(exp.inits, needed)
        return _kept(outs, needed), Loop(form, params, inits, body, exp.reverse)

    def each(
        self, outs: tuple[Var, ...], used: list[bool], exp: Each
    ) -> tuple[tuple[Var, ...], Exp]:
        """Accumulators that nobody reads go, unless an index of theirs may raise."""
        count = len(exp.body.results)
        puts = (s.exp for s in statements(exp.body) if isinstance(s.exp, Put))
        raising = {put.targets[0] for put in puts if may_raise(put)}
        accs: list[Acc] = []
        keep = used[:count]
        at = count
        for acc in exp.accs:
            parts = used[at : at + len(acc.vars)]
            at += len(acc.vars)
            if acc.vars[0] in raising:
                parts = [True] * len(parts)
            if isinstance(acc.op, Monoid) and any(parts):
                monoid, parts = self.monoid(acc.op, parts)
                acc = replace(acc, op=monoid)
            keep += parts
            self.gone.update(v for v, p in zip(acc.vars, parts, strict=True) if not p)
            self.gone.difference_update(_kept(acc.vars, parts))  # of an earlier walk over this
            if any(parts):
                vars, inits = _kept(acc.vars, parts), _kept_atoms(acc.inits, parts)
                accs.append(replace(acc, vars=vars, inits=inits))
        body = self.body(_picked(exp.body, used[:count]))
        return _kept(outs, keep), Each(exp.vars, exp.sizes, tuple(accs), body)

    def monoid(self, m: Monoid, used: list[bool]) -> tuple[Monoid, list[bool]]:
        """The parts of an operator that the `used` ones need; which they are."""
        outer = set(self.live)
        while True:
            body = self.body(_picked(m.body, used))
            needed = [
                u or not self.live.isdisjoint(pair)
                for u, *pair in zip(used, m.left, m.right, strict=True)
            ]
            if needed == used:
                break
            self.live, used = set(outer), needed
        parts = (_kept(m.left, used), _kept(m.right, used))
        return Monoid(*parts, body, _kept_atoms(m.neutral, used), m.commutative), used


def _without(exp: Exp, gone: set[Var]) -> Exp:
    """`exp` without Puts to the accumulators `gone`."""

    def clean(body: Body) -> Body:
        stms = (
            Let(s.outs, _without(s.exp, gone), s.loc)
            for s in body.stms
            if not (isinstance(s.exp, Put) and gone.issuperset(s.exp.targets))
        )
        return Body(tuple(stms), body.results)

    return map_bodies(exp, clean)


def _picked(body: Body, used: list[bool]) -> Body:
    return Body(body.stms, _kept_atoms(body.results, used))


def _kept(vars: tuple[Var, ...], used: list[bool]) -> tuple[Var, ...]:
    return tuple(v for v, u in zip(vars, used, strict=True) if u)


def _kept_atoms(atoms: tuple[Atom, ...], used: list[bool]) -> tuple[Atom, ...]:
    return tuple(a for a, u in zip(atoms, used, strict=True) if u)
