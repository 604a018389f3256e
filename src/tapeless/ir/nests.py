"""Interpretation of the parallel nest, its accumulators, folds and scans."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from tapeless.core.names import Atom, Var
from tapeless.ir.slots import Env, Undefined, Values
from tapeless.ir.steps import FlatSteps, Meter, Step
from tapeless.ir.syntax import Acc, Body, Each, Exp, Fold, Loop, Monoid, Put, Scan
from tapeless.ir.unique import reads_own_cell
from tapeless.ir.walk import atoms_of, bodies_of, free_vars

Run: TypeAlias = Callable[[Env], list[Any]]
Combine: TypeAlias = Callable[[Env, Values, Values], list[Any]]

COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "*": operator.mul, "min": np.minimum, "max": np.maximum,
}  # fmt: skip


def arrays_in(exp: Exp) -> set[Var]:
    """Arrays that `exp` or its bodies mention and do not bind."""
    own = {a for a in atoms_of(exp) if isinstance(a, Var) and a.is_array}
    return own | free_arrays(exp)


def free_arrays(exp: Exp) -> set[Var]:
    """Arrays from outside that the bodies of `exp` mention."""
    bound = {v for body in bodies_of(exp) for v in free_vars(body) if v.is_array}
    return bound - _params(exp)


def _params(exp: Exp) -> set[Var]:
    match exp:
        case Loop(_, params):
            return set(params)
        case Each(_, _, accs):
            return {v for acc in accs for v in acc.vars}
        case Fold(_, _, monoid) | Scan(_, _, monoid):
            return {*monoid.left, *monoid.right}
        case _:
            return set()


class NestSteps(FlatSteps):
    """Turns Each, Put, Fold and Scan into closures; what `body` makes of a body is left open."""

    def __init__(self, meter: Meter | None) -> None:
        super().__init__(meter)
        self.accs: dict[Var, Acc] = {}
        self.monoids: dict[Monoid, Combine] = {}
        self.masks: dict[Var, int] = {}  # slot of the mask of cells that an "=" acc assigned

    def body(self, body: Body, live: set[Var]) -> Run:
        """Runs the statements and gives the results; arrays outside `live` may die in it."""
        raise AssertionError("the class above says how")

    def tracker(self, vars: Sequence[Var]) -> Step:
        """Reports the arrays that `vars` are bound to."""
        slots, meter = self.slots_of(vars), self.meter
        if meter is None:
            return self.clear(())

        def track(env: Env) -> None:
            for slot in slots:
                if env[slot] is not None:
                    meter.track(env[slot])

        return track

    def forget(self, vars: Sequence[Atom], after: set[Var], exp: Exp) -> Step:
        """Empties the slots of what `exp` consumes, unless it is needed inside or later."""
        if self.meter is None:
            return self.clear(())
        keep = after | free_arrays(exp)
        return self.clear(v for v in vars if isinstance(v, Var) and v.is_array and v not in keep)

    def each(self, exp: Each, outs: tuple[Var, ...], after: set[Var]) -> Step:
        accs = [v for acc in exp.accs for v in acc.vars]
        opens = [
            self.open(v, init, dies, init not in after)
            for acc in exp.accs
            for v, init, dies in self.opened(acc, exp, after)
        ]
        forget = self.forget([i for a in exp.accs for i in a.inits], after, exp)
        track = self.tracker([a for a in accs if a.is_array])
        buffers, vars = self.slots_of(accs), self.slots_of(exp.vars)
        sizes, bind = self.sizes(exp.sizes, "a nest"), self.setter(outs)
        elements = outs[: len(exp.body.results)]
        shapes = [(self.shape(v), v.dtype.numpy) for v in elements]
        writes = sum(not isinstance(r, Var) or not r.is_array for r in exp.body.results)
        body, meter = self.body(exp.body, after | free_arrays(exp)), self.meter
        reused = [
            None if meter is None or v not in meter.reuse else self.slot(meter.reuse[v])
            for v in elements
        ]

        def run(env: Env) -> None:
            box = sizes(env)
            for start in opens:
                start(env)
            forget(env)
            track(env)
            arrays = [np.empty(shape(env), dtype) for shape, dtype in shapes]
            if meter is not None:
                for array, over in zip(arrays, reused, strict=True):
                    if over is None:
                        meter.track(array)
                    else:
                        meter.moved(env[over], array)
            for cell in product(*map(range, box)):
                for var, i in zip(vars, cell, strict=True):
                    env[var] = np.int64(i)
                for array, value in zip(arrays, body(env), strict=True):
                    array[cell] = value
                if meter is not None:
                    meter.spend(0, 0, writes)
            finals = [env[b] if env[b].ndim else env[b][()] for b in buffers]
            for b in buffers:
                env[b] = None
            bind(env, arrays + finals)

        return run

    def opened(self, acc: Acc, exp: Each, after: set[Var]) -> Iterator[tuple[Var, Atom, bool]]:
        """The variables of an accumulator, how they start, and whether that array dies here."""
        needed = after if reads_own_cell(acc, exp.body) else after | free_arrays(exp)
        for var, init in zip(acc.vars, acc.inits, strict=True):
            self.accs[var] = acc
            if acc.op == "=":
                self.masks[var] = self.new_slot()
            yield var, init, init not in needed

    def open(self, var: Var, init: Atom, dies: bool, free: bool) -> Step:
        """Binds an accumulator to a buffer of its own that starts as `init`, which the nest (dies)
        or what comes after it (free) does not need."""
        over = free and self.meter is not None and var in self.meter.in_place
        take = self.taker(init, dies=dies, over=over)
        out, mask = self.slot(var), self.masks.get(var)

        def run(env: Env) -> None:
            env[out] = take(env)
            if mask is not None:
                env[mask] = np.zeros(env[out].shape, bool)

        return run

    def put(self, exp: Put) -> Step:
        acc = self.accs[exp.targets[0]]
        targets, values = self.slots_of(exp.targets), self.slots_of(exp.values)
        locate = self.locator(exp.at, exp.modes)
        if acc.op == "=":
            return self.assign(exp, self.masks[exp.targets[0]])
        if isinstance(acc.op, Monoid):
            combine = self.monoid(acc.op)

            def run(env: Env) -> None:
                buffers = [env[t] for t in targets]
                cell = locate(env, buffers[0].shape)
                if cell is not None:
                    old, new = [b[cell] for b in buffers], [env[v] for v in values]
                    for buffer, value in zip(buffers, combine(env, old, new), strict=True):
                        buffer[cell] = value

            return run
        (target,), (value,), f = targets, values, COMBINE[acc.op]

        def known(env: Env) -> None:
            buffer = env[target]
            cell = locate(env, buffer.shape)
            if cell is not None:
                buffer[cell] = f(buffer[cell], env[value])

        return known

    def assign(self, exp: Put, mask: int) -> Step:
        """Put to an "=" accumulator: each cell at most once."""
        target, value = self.slot(exp.targets[0]), self.slot(exp.values[0])
        locate = self.locator(exp.at, exp.modes)

        def run(env: Env) -> None:
            cell = locate(env, env[target].shape)
            if cell is not None:
                if env[mask][cell]:
                    raise Undefined(f"{exp.targets[0].hint}{list(cell)} is assigned twice")
                env[mask][cell] = True
                env[target][cell] = env[value]

        return run

    def monoid(self, m: Monoid) -> Combine:
        known = self.monoids.get(m)
        if known is not None:
            return known
        left, right = self.setter(m.left), self.setter(m.right)
        body = self.body(m.body, {v for v in free_vars(m.body) if v.is_array} - {*m.left, *m.right})

        def combine(env: Env, a: Values, b: Values) -> list[Any]:
            left(env, a)
            right(env, b)
            return body(env)

        self.monoids[m] = combine
        return combine

    def fold(self, exp: Fold | Scan, outs: tuple[Var, ...], after: set[Var]) -> Step:
        var, size = self.slots_of((exp.var, exp.size))
        neutral, combine = self.slots_of(exp.monoid.neutral), self.monoid(exp.monoid)
        body, bind, meter = (
            self.body(exp.body, after | free_arrays(exp)),
            self.setter(outs),
            self.meter,
        )
        prefixes = isinstance(exp, Scan)
        shapes = [(self.shape(v), v.dtype.numpy) for v in outs] if prefixes else []

        def run(env: Env) -> None:
            n = int(env[size])
            if n < 0:
                raise Undefined(f"a fold has a negative size: {n}")
            arrays = [np.empty(shape(env), dtype) for shape, dtype in shapes]
            if meter is not None:
                for array in arrays:
                    meter.track(array)
                meter.spend(0, 0, n * len(arrays))
            state: Values = [env[s] for s in neutral]
            for i in range(n):
                env[var] = np.int64(i)
                state = combine(env, state, body(env))
                for array, value in zip(arrays, state, strict=False):
                    array[i] = value
            bind(env, arrays if prefixes else state)

        return run
