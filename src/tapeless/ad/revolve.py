"""Loops that keep few of their states and run again from them: binomial checkpointing.

`slots` states are kept at a time. The first sweep leaves them where the closed form wants them; the
return sweep goes back pass by pass: from the nearest kept state it runs forward again, keeping
states in free slots on the way, turns the last pass around, and drops a state once it is passed.

With c slots, and t the least number with n ≤ β(c, t) = C(c + t, c), no pass runs more than t times
before it is turned, and no schedule runs fewer passes in all (Griewank and Walther, 2000).
"""

from __future__ import annotations

from dataclasses import dataclass

from tapeless.ad.sequential import stored
from tapeless.core.names import Atom, Const, Loc, Var
from tapeless.core.types import INDEX, f64, i64
from tapeless.errors import CompileError
from tapeless.ir.build import ONE, ZERO, Builder, const
from tapeless.ir.syntax import PROVED, Alloc, Body, Each, For, If, Index, Loop, Update, While
from tapeless.ir.types_of import atom_of
from tapeless.ir.walk import refresh

LEVELS = 2  # of strip-mining whose memory a checkpointed loop takes if nothing is said


def is_revolved(loop: Loop) -> bool:
    """Whether the user asked for fewer states than passes."""
    return loop.reverse.kind in ("checkpoint", "recompute") or loop.reverse.memory is not None


def refuse_open_end(loop: Loop, loc: Loc | None) -> None:
    """What is kept, and what is undone, is planned by the number of passes."""
    if isinstance(loop.form, While):
        raise CompileError(
            "this loop ends by a condition: how many passes it makes is not known when it begins",
            loc, 'use reverse="store", or a loop without break and return',
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Kept:
    """The kept states: `slots` in all, of which `top` is the last in use; the pass at which each
    was kept; an array per state variable."""

    slots: Atom
    top: Atom
    places: Var
    states: tuple[Var, ...]

    def all(self) -> tuple[Atom, ...]:
        return (self.top, self.places, *self.states)

    def after(self, atoms: tuple[Atom, ...]) -> Kept:
        top, places, *states = atoms
        assert isinstance(places, Var)
        return Kept(self.slots, top, places, tuple(s for s in states if isinstance(s, Var)))


@dataclass(frozen=True, slots=True)
class Run:
    """How far the loop has run: the state in front of pass `at`, and what is kept."""

    at: Atom
    state: tuple[Atom, ...]
    kept: Kept

    def all(self) -> tuple[Atom, ...]:
        return (self.at, *self.state, *self.kept.all())

    def after(self, atoms: tuple[Atom, ...]) -> Run:
        at, *rest = atoms
        count = len(self.state)
        return Run(at, tuple(rest[:count]), self.kept.after(tuple(rest[count:])))


class Schedule:
    """Writes the parts of a checkpointed loop."""

    def __init__(self, b: Builder, loop: Loop) -> None:
        assert isinstance(loop.form, For)
        self.b = b
        self.loop = loop
        self.size = loop.form.size
        for p in loop.params:
            if any(s in loop.params for s in p.shape):
                raise CompileError(
                    f"'{p.hint}' grows from pass to pass: states of one size can be kept, this not",
                    b.loc, 'use reverse="store"',
                )  # fmt: skip

    def op(self, name: str, *args: Atom) -> Atom:
        return self.b.prim(name, *args)

    # how many states
    def slots(self) -> Atom:
        """As many as was asked for, as fit the memory, and no more than passes."""
        reverse = self.loop.reverse
        count: Atom = ONE
        if reverse.kind != "recompute":
            count = self.size if reverse.kind == "auto" else self._levels(reverse.levels or LEVELS)
            count = reverse.slots if reverse.slots is not None else count
        if reverse.memory is not None:
            bytes = self.bytes()
            fits = self.op("floordiv", reverse.memory, bytes)
            self.b.check(
                self.op("lt", ZERO, fits), "ValueError",
                "a loop may take {0} bytes, but one copy of its state takes {1}",
                reverse.memory, bytes,
            )  # fmt: skip
            count = self.op("min", count, fits)
        return self.op("max", ONE, self.op("min", count, self.size))

    def bytes(self) -> Atom:
        """Of one copy of the state."""
        total: Atom = ZERO
        for p in self.loop.params:
            part: Atom = const(p.dtype.bytes)
            for s in p.shape:
                part = self.op("mul", part, atom_of(s))
            total = self.op("add", total, part)
        return self.op("max", ONE, total)

    def _levels(self, levels: int) -> Atom:
        """k·⌈n^(1/k)⌉: the states that strip-mining in k levels keeps."""
        root = self.op("i64", self.op(
            "rint", self.op("pow", self.op("f64", self.size), Const(1.0 / levels, f64))
        ))  # fmt: skip
        less = self.op("sub", root, ONE)
        root = self.op("select", self.op("le", self.size, self._power(less, levels)), less, root)
        short = self.op("lt", self._power(root, levels), self.size)
        root = self.op("select", short, self.op("add", root, ONE), root)
        return self.op("mul", const(levels), root)

    def _power(self, base: Atom, exponent: int) -> Atom:
        out = base
        for _ in range(exponent - 1):
            out = self.op("mul", out, base)
        return out

    # states
    def first(self, slots: Atom) -> Kept:
        """The state that the loop starts from, kept in the first slot."""
        places = self.b.one(Alloc("empty", i64, (slots,)), "places")
        places = self.b.one(Update(places, (ZERO,), ZERO, PROVED), "places")
        states = []
        for p, init in zip(self.loop.params, self.loop.inits, strict=True):
            home = self.b.one(
                Alloc("empty", p.dtype, (slots, *map(atom_of, p.shape))), f"{p.hint}_kept"
            )
            states.append(self.b.one(stored(home, (ZERO,), init), home.hint))
        return Kept(slots, ZERO, places, tuple(states))

    def nearest(self, run: Run, last: Atom) -> Run:
        """The state in front of pass `last` if the run is there, else the last one kept."""
        there = self.op("eq", run.at, last)
        with self.b.scope():
            place = self.b.one(Index(run.kept.places, (run.kept.top,), PROVED), "place")
            slot = self.b.body((place, *self.rows(run.kept, run.kept.top)))
        here = Body((), (run.at, *run.state))
        at, *state = self.b.let(If(there, here, slot), "at", *(p.hint for p in self.loop.params))
        return Run(at, tuple(state), run.kept)

    def rows(self, kept: Kept, slot: Atom) -> tuple[Var, ...]:
        """The state in a slot."""
        pairs = zip(kept.states, self.loop.params, strict=True)
        return tuple(self._row(s, slot, p) for s, p in pairs)

    def _row(self, home: Var, slot: Atom, param: Var) -> Var:
        if not param.is_array:
            return self.b.one(Index(home, (slot,), PROVED), param.hint)
        vars = tuple(Var(INDEX, "k") for _ in param.shape)
        with self.b.scope():
            cell = self.b.one(Index(home, (slot, *vars), PROVED * (1 + len(vars))), param.hint)
            body = self.b.body((cell,))
        return self.b.one(Each(vars, tuple(map(atom_of, param.shape)), (), body), param.hint)

    # passes
    def forward(self, end: Atom, stop: Atom, run: Run) -> Run:
        """Run up to pass `stop`, keeping states for going back from `end`."""
        inits = run.all()
        params = tuple(Var(a.type, a.hint if isinstance(a, Var) else "at") for a in inits)
        now = run.after(params)
        with self.b.scope():
            more = self.b.body((self.op("lt", now.at, stop),))
        with self.b.scope():
            body = self.b.body(self._stretch(end, stop, now).all())
        outs = self.b.let(Loop(While(more), params, inits, body), *(p.hint for p in params))
        return run.after(outs)

    def _stretch(self, end: Atom, stop: Atom, run: Run) -> Run:
        """Up to the next state that is kept, or to `stop`."""
        kept = run.kept
        left = self.op("sub", end, run.at)
        free = self.op("sub", self.op("sub", kept.slots, ONE), kept.top)
        keeps = self.op("and", self.op("lt", ZERO, free), self.op("lt", ONE, left))
        step = self.split(left, self.op("add", free, ONE))
        next = self.op("min", self.op("select", keeps, self.op("add", run.at, step), stop), stop)
        state = self.passes(run.at, next, run.state)
        with self.b.scope():
            top = self.op("add", kept.top, ONE)
            places = self.b.one(Update(kept.places, (top,), next, PROVED), "places")
            homes = tuple(
                self.b.one(stored(h, (top,), s), h.hint)
                for h, s in zip(kept.states, state, strict=True)
            )
            then = self.b.body((top, places, *homes))
        hints = ("top", "places", *(h.hint for h in kept.states))
        after = self.b.let(If(keeps, then, Body((), kept.all())), *hints)
        return Run(next, state, kept.after(after))

    def passes(self, at: Atom, stop: Atom, state: tuple[Atom, ...]) -> tuple[Var, ...]:
        """Run from pass `at` up to `stop`."""
        form = self.loop.form
        assert isinstance(form, For)
        params = tuple(p.fresh() for p in self.loop.params)
        counter = Var(INDEX, form.var.hint)
        with self.b.scope() as stms:
            here = self.op("add", at, counter)
            names = {form.var: here, **dict(zip(self.loop.params, params, strict=True))}
            again = refresh(self.loop.body, names)
            stms.extend(again.stms)
            body = Body(tuple(stms), again.results)
        count = self.op("sub", stop, at)
        return self.b.let(Loop(For(counter, count), params, state, body), *(p.hint for p in params))

    def split(self, left: Atom, slots: Atom) -> Atom:
        """How many passes to run before the next state is kept: with β(c, t − 1) < n ≤ β(c, t),
        m = min(β(c, t − 1), n − β(c − 1, t − 1)), but at least 1."""
        t, beta = Var(INDEX, "t"), Var(INDEX, "beta")
        with self.b.scope():
            more = self.b.body((self.op("lt", beta, left),))
        with self.b.scope():
            up = self.op("add", t, ONE)
            wider = self.op("floordiv", self.op("mul", beta, self.op("add", slots, up)), up)
            body = self.b.body((up, wider))
        t, beta = self.b.let(Loop(While(more), (t, beta), (ZERO, ONE), body), "t", "beta")
        below = self.op("floordiv", self.op("mul", beta, t), self.op("add", slots, t))
        both = self.op("max", ONE, self.op("sub", self.op("add", slots, t), ONE))
        aside = self.op("floordiv", self.op("mul", below, slots), both)
        return self.op("max", ONE, self.op("min", below, self.op("sub", left, aside)))
