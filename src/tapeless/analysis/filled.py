"""Which arrays are only scratch: whatever they hold at the start of a pass is never looked at.

The walk follows the versions of an array from the start of a pass, and knows for each how many of
its cells, counted from the first, were written since: z[0] … z[filled - 1]. A read below that sees
nothing old. Loops either go on where the cells end, one cell a pass, or leave the count alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tapeless.analysis import poly
from tapeless.analysis.enter import after, entered
from tapeless.analysis.facts import Facts
from tapeless.analysis.poly import Poly
from tapeless.core.names import Atom, Var
from tapeless.ir.syntax import (
    WRAP,
    Body,
    Each,
    Exp,
    For,
    If,
    Index,
    Let,
    Loop,
    Put,
    Update,
    all_proved,
)  # fmt: skip
from tapeless.ir.walk import atoms_of, bodies_of, statements

NOTHING = poly.constant(0)


@dataclass(frozen=True, slots=True)
class Version:
    """A version of some scratch arrays (`of`: their names at the start of the pass)."""

    of: frozenset[Var]
    filled: Poly


def scratch(facts: Facts, loop: Loop, params: Iterable[Var]) -> set[Var]:
    """Those of `params`, state of `loop`, whose contents are dead at the start of every pass; the
    facts are those inside of the loop."""
    walk = _Walk(facts)
    dead = set(params)
    for p in dead:
        walk.now[p] = Version(frozenset((p,)), NOTHING)
    walk.body(loop.body)
    following = dict(zip(loop.params, loop.body.results, strict=True))
    live: set[Var] = set()  # somebody reads it in the next pass or behind the loop
    while new := (set(following) - dead | walk.read) - live:
        live |= new
        walk.hand_on(following[p] for p in new if p in following)
    return dead - walk.read


class _Walk:
    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.now: dict[Var, Version] = {}
        self.read: set[Var] = set()

    def look(self, atoms: Iterable[Atom]) -> None:
        """Someone wants to see all of these arrays."""
        for a in atoms:
            if isinstance(a, Var) and a in self.now:
                self.read |= self.now[a].of

    def hand_on(self, arrays: Iterable[Atom]) -> None:
        """Someone wants to see these arrays at the end of a pass."""
        for a in arrays:
            if not (isinstance(a, Var) and a in self.now and self.is_full(self.now[a], a)):
                self.look((a,))

    def is_full(self, version: Version, array: Var) -> bool:
        return self.facts.prove(poly.sub(version.filled, self.facts.value(array.shape[0])))

    def body(self, body: Body) -> None:
        for stm in body.stms:
            self.statement(stm)
            after(self.facts, stm)

    def statement(self, stm: Let) -> None:
        exp = stm.exp
        match exp:
            case Index(array, at, modes) if array in self.now:
                if not self.has(self.now[array], array, at[0], modes[0]):
                    self.look((array,))
            case Update(array, at, _, modes) if array in self.now:
                self.now[stm.outs[0]] = self.written(self.now[array], array, at, modes)
            case Loop():
                self.loop(stm, exp)
            case Each():
                self.each(stm, exp)
            case If(_, then, orelse):
                self.inside(exp, then)
                self.inside(exp, orelse)
                for out, a, b in zip(stm.outs, then.results, orelse.results, strict=True):
                    self.join(out, a, b)
            case _:
                self.look(atoms_of(exp))
                for body in bodies_of(exp):
                    self.inside(exp, body)
                    self.look(body.results)

    def inside(self, exp: Exp, body: Body) -> None:
        with entered(self.facts, exp, body):
            self.body(body)

    def has(self, version: Version, array: Var, at: Atom, mode: str) -> bool:
        """Whether the cells at this first index were written: it lies below the count, or all
        cells do."""
        facts = self.facts
        if self.is_full(version, array):
            return True
        gap = poly.sub(version.filled, facts.value(at))
        counts_up = mode != WRAP or facts.nonnegative(at)
        return counts_up and facts.prove(poly.shift(gap, -1))

    def written(self, version: Version, array: Var, at: tuple[Atom, ...], modes: str) -> Version:
        """One cell more, if it is the next one."""
        is_next = len(at) == 1 and self.facts.value(at[0]) == version.filled
        if is_next and all_proved(modes):
            return Version(version.of, poly.shift(version.filled, 1))
        return version

    def join(self, out: Var, a: Atom, b: Atom) -> None:
        """A version that is one or the other."""
        one, two = (self.now.get(x) if isinstance(x, Var) else None for x in (a, b))
        if one is None or two is None:
            self.look((a, b))
            return
        gap = poly.sub(one.filled, two.filled)
        facts, both = self.facts, one.of | two.of
        if facts.prove(gap):
            self.now[out] = Version(both, two.filled)
        else:
            less = facts.prove(poly.scale(gap, -1))
            self.now[out] = Version(both, one.filled if less else NOTHING)

    # nests
    def each(self, stm: Let, exp: Each) -> None:
        self.look(exp.body.results)
        at = len(exp.body.results)
        for acc in exp.accs:
            for var, init, out in zip(acc.vars, acc.inits, stm.outs[at:], strict=False):
                if not isinstance(init, Var) or init not in self.now:
                    continue
                if acc.op == "=":
                    self.now[out] = self.assigned(exp, var, self.now[init])
                else:
                    self.look((init,))
                    self.now[out] = self.now[init]
            at += len(acc.vars)
        self.inside(exp, exp.body)

    def assigned(self, exp: Each, var: Var, version: Version) -> Version:
        """All cells, or those from some cell on that is not behind the count."""
        puts = [
            s.exp for s in statements(exp.body) if isinstance(s.exp, Put) and var in s.exp.targets
        ]
        if len(puts) != 1 or not any(s.exp is puts[0] for s in exp.body.stms):
            return version
        (put,) = puts
        facts = self.facts
        if not all_proved(put.modes):
            return version
        sizes = zip(exp.sizes, var.shape, strict=False)
        if put.at == exp.vars and all(facts.same(n, s) for n, s in sizes):
            return Version(version.of, facts.value(var.shape[0]))
        if len(put.at) != 1 or len(exp.vars) != 1:
            return version
        with entered(facts, exp, exp.body):
            for s in exp.body.stms:
                after(facts, s)
            first = poly.sub(facts.value(put.at[0]), facts.value(exp.vars[0]))
            if poly.newest(first) >= facts.symbol_of(exp.vars[0]):
                return version
        end = poly.add(first, facts.value(exp.sizes[0]))
        reaches = facts.prove(poly.sub(version.filled, first))
        more = facts.prove(poly.sub(end, version.filled))
        return Version(version.of, end) if reaches and more else version

    # loops
    def loop(self, stm: Let, exp: Loop) -> None:
        """Tried with one cell more in every pass, then with none."""
        inits = {
            p: self.now[i]
            for p, i in zip(exp.params, exp.inits, strict=True)
            if isinstance(i, Var) and i in self.now
        }
        steps = dict.fromkeys(inits, isinstance(exp.form, For))
        bases = {p: v.filled for p, v in inits.items()}
        while inits:
            before = set(self.read)
            failed = self.passes(exp, inits, bases, steps)
            if not failed:
                break
            self.read = before
            for p in failed:
                if steps[p]:
                    steps[p] = False
                else:
                    bases[p] = NOTHING
        if not inits:
            self.passes(exp, inits, bases, steps)
        trips = self.facts.value(exp.form.size) if isinstance(exp.form, For) else NOTHING
        for p, out, result in zip(exp.params, stm.outs, exp.body.results, strict=True):
            if p not in inits:
                self.look((result,))
                continue
            grown = steps[p] and self.facts.prove(trips)
            filled = poly.add(bases[p], trips) if grown else bases[p]
            of = inits[p].of
            if isinstance(result, Var) and result in self.now:
                of |= self.now[result].of
            self.now[out] = Version(of, filled)

    def passes(
        self, exp: Loop, inits: dict[Var, Version], bases: dict[Var, Poly], steps: dict[Var, bool]
    ) -> list[Var]:
        """Walk one pass that starts as supposed; the state of which the next one does not."""
        facts = self.facts
        for body in bodies_of(exp):
            with entered(facts, exp, body):
                counter = NOTHING
                if isinstance(exp.form, For):
                    counter = facts.value(exp.form.var)
                for p, version in inits.items():
                    start = poly.add(bases[p], counter) if steps[p] else bases[p]
                    self.now[p] = Version(version.of, start)
                self.body(body)
                if body is not exp.body:
                    continue
                return [
                    p for p, r in zip(exp.params, exp.body.results, strict=True)
                    if p in inits and not self.goes_on(p, r, inits, steps[p])
                ]  # fmt: skip
        raise AssertionError("a loop has a body")

    def goes_on(self, p: Var, result: Atom, inits: dict[Var, Version], step: bool) -> bool:
        """Whether the state that a pass ends with is as the next pass supposes."""
        last = self.now.get(result) if isinstance(result, Var) else None
        if last is None:  # an array from elsewhere, all of which is there
            return not step
        wanted = poly.shift(self.now[p].filled, int(step))
        self.now[p] = Version(inits[p].of | last.of, self.now[p].filled)
        return self.facts.prove(poly.sub(last.filled, wanted))
