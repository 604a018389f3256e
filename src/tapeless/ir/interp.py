"""Reference semantics of Core on NumPy: the oracle of every pass and back end.

A program is compiled once to closures over a list of values, one slot per variable. Everything is
functional: no array is ever written after it was bound, consumed or not. What a correct program
never does (a proved index out of range, a cell assigned twice, a wrong size) raises `Undefined`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, TypeAlias, assert_never

import numpy as np

from tapeless.core.names import Atom, Var
from tapeless.ir.slots import Env, Undefined, Values
from tapeless.ir.steps import FlatSteps, Meter, Step
from tapeless.ir.syntax import (
    Acc, Alloc, Append, Body, Call, Check, Each, Exp, Fold, For, Fun, If, Index, Iverson, Let, Loop,
    Monoid, Prim, Put, Scan, Sort, Update,
)  # fmt: skip
from tapeless.ir.walk import atoms_of, bodies_of, free_vars

Run: TypeAlias = Callable[[Env], list[Any]]
Combine: TypeAlias = Callable[[Env, Values, Values], list[Any]]


def interpret(fun: Fun, *args: Any, counts: Meter | None = None) -> tuple[Any, ...]:
    """The results of `fun` on its parameters in order, sizes too. Arguments are never written."""
    if len(args) != len(fun.params):
        raise Undefined(f"{fun.name} takes {len(fun.params)} arguments, not {len(args)}")
    compiler = _Compiler(counts)
    params = compiler.setter(fun.params)
    run = compiler.body(fun.body, {p for p in fun.params if p.is_array} - set(fun.writes))
    env = compiler.env()
    values = [_argument(p, a, p in fun.writes) for p, a in zip(fun.params, args, strict=True)]
    params(env, values)
    del values, args
    with np.errstate(all="ignore"):
        results = run(env)
    return tuple(np.array(r) if isinstance(r, np.ndarray) else r for r in results)


def _argument(param: Var, value: Any, written: bool) -> Any:
    if not param.is_array:
        return param.dtype.numpy.type(value)
    return np.array(value, param.dtype.numpy, copy=True if written else None)


COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "*": operator.mul, "min": np.minimum, "max": np.maximum,
}  # fmt: skip


def _arrays_in(exp: Exp) -> set[Var]:
    """Arrays that `exp` or its bodies mention and do not bind."""
    own = {a for a in atoms_of(exp) if isinstance(a, Var) and a.is_array}
    return own | _free_arrays(exp)


def _free_arrays(exp: Exp) -> set[Var]:
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


class _Compiler(FlatSteps):
    """Turns statements into closures.

    With a meter, slots of arrays are emptied at their last use, so that Python's own reference
    counts say how long each array lives. `after` and `live` are arrays needed later.
    """

    def __init__(self, meter: Meter | None) -> None:
        super().__init__(meter)
        self.accs: dict[Var, Acc] = {}
        self.monoids: dict[Monoid, Combine] = {}
        self.masks: dict[Var, int] = {}  # slot of the mask of cells that an "=" acc assigned

    # bodies
    def body(self, body: Body, live: set[Var]) -> Run:
        """Runs the statements and gives the results; arrays outside `live` may die in it."""
        results = self.slots_of(body.results)
        after = live.union(r for r in body.results if isinstance(r, Var) and r.is_array)
        steps: list[Step] = []
        for stm in reversed(body.stms):
            steps += reversed(list(self.let(stm, after)))
            if self.meter is not None:
                after = after | _arrays_in(stm.exp)
        steps.reverse()
        dying = [r for r in body.results if isinstance(r, Var) and r.is_array and r not in live]
        clear = self.clear(dying if self.meter else ())

        def run(env: Env) -> list[Any]:
            for step in steps:
                step(env)
            values = [env[r] for r in results]
            clear(env)
            return values

        return run

    def let(self, stm: Let, after: set[Var]) -> Iterator[Step]:
        meter = self.meter
        if meter is None:
            yield self.exp(stm, after)
            return
        step = self.exp(stm, after)
        target = stm.exp.targets[0] if isinstance(stm.exp, Put) else None
        flops, reads, writes = meter.price(
            stm.exp, self.accs[target] if target is not None else None
        )
        if flops or reads or writes:
            yield lambda env: meter.spend(flops, reads, writes)
        yield step
        arrays = [v for v in stm.outs if v.is_array]
        dying = (_arrays_in(stm.exp) | set(arrays)) - after
        if dying:
            yield self.clear(dying)
        if arrays:
            yield self.tracker(arrays)

    def tracker(self, vars: Sequence[Var]) -> Step:
        """Reports the arrays that `vars` are bound to."""
        slots, meter = self.slots_of(vars), self.meter

        def track(env: Env) -> None:
            assert meter is not None
            for slot in slots:
                if env[slot] is not None:
                    meter.track(env[slot])

        return track

    def forget(self, vars: Sequence[Atom], after: set[Var], exp: Exp) -> Step:
        """Empties the slots of what `exp` consumes, unless it is needed inside or later."""
        if self.meter is None:
            return self.clear(())
        keep = after | _free_arrays(exp)
        return self.clear(v for v in vars if isinstance(v, Var) and v.is_array and v not in keep)

    # statements
    def exp(self, stm: Let, after: set[Var]) -> Step:
        exp, outs = stm.exp, stm.outs
        match exp:
            case Prim(op, args):
                return self.prim(op, args, stm)
            case Index(array, at, modes):
                return self.index(array, at, modes, outs[0])
            case Update():
                return self.update(exp, outs[0])
            case Alloc():
                return self.alloc(exp, outs[0])
            case Append():
                return self.append(exp, outs)
            case If():
                return self.if_(exp, outs, after)
            case Iverson():
                return self.iverson(exp, outs, after)
            case Loop():
                return self.loop(exp, outs, after)
            case Each():
                return self.each(exp, outs, after)
            case Fold() | Scan():
                return self.fold(exp, outs, after)
            case Put():
                return self.put(exp)
            case Check():
                return self.check(exp)
            case Sort(array, at):
                return self.sort(array, at, outs)
            case Call():
                return self.call(exp, outs)
        assert_never(exp)

    def if_(self, exp: If, outs: tuple[Var, ...], after: set[Var]) -> Step:
        cond, bind = self.slot(exp.cond), self.setter(outs)
        then, orelse = self.body(exp.then, after), self.body(exp.orelse, after)

        def run(env: Env) -> None:
            bind(env, (then if env[cond] else orelse)(env))

        return run

    def iverson(self, exp: Iverson, outs: tuple[Var, ...], after: set[Var]) -> Step:
        cond, bind, body = self.slot(exp.cond), self.setter(outs), self.body(exp.body, after)
        zeros = [(self.slot(v), v.dtype.numpy.type(0)) for v in outs if not v.is_array]
        arrays = [(self.slot(v), self.shape(v), v.dtype.numpy) for v in outs if v.is_array]

        def run(env: Env) -> None:
            if env[cond]:
                bind(env, body(env))
                return
            for out, zero in zeros:
                env[out] = zero
            for out, shape, dtype in arrays:
                env[out] = np.zeros(shape(env), dtype)

        return run

    def loop(self, exp: Loop, outs: tuple[Var, ...], after: set[Var]) -> Step:
        inits, params = self.slots_of(exp.inits), self.slots_of(exp.params)
        bind, bind_outs = self.setter(exp.params), self.setter(outs)
        forget = self.forget(exp.inits, after, exp)
        done = self.clear(p for p in exp.params if p.is_array)
        outside = after | _free_arrays(exp)
        passes = self.passes(exp, outside)
        body = self.body(exp.body, outside)

        def run(env: Env) -> None:
            bind(env, [env[i] for i in inits])
            forget(env)
            for _ in passes(env):
                bind(env, body(env))
            values = [env[p] for p in params]
            done(env)
            bind_outs(env, values)

        return run

    def passes(self, exp: Loop, live: set[Var]) -> Callable[[Env], Iterator[None]]:
        """Runs once for each pass of a loop: counts, or tests the condition."""
        form = exp.form
        if isinstance(form, For):
            var, size = self.slots_of((form.var, form.size))

            def count(env: Env) -> Iterator[None]:
                for i in range(int(env[size])):
                    env[var] = np.int64(i)
                    yield

            return count
        cond = self.body(form.cond, live | {p for p in exp.params if p.is_array})

        def test(env: Env) -> Iterator[None]:
            while cond(env)[0]:
                yield

        return test

    def each(self, exp: Each, outs: tuple[Var, ...], after: set[Var]) -> Step:
        accs = [v for acc in exp.accs for v in acc.vars]
        opens = [self.open(v, init) for acc in exp.accs for v, init in self.opened(acc)]
        forget = self.forget([i for a in exp.accs for i in a.inits], after, exp)
        track = self.tracker(accs if self.meter else ())
        buffers, vars = self.slots_of(accs), self.slots_of(exp.vars)
        sizes, bind = self.sizes(exp.sizes, "a nest"), self.setter(outs)
        elements = outs[: len(exp.body.results)]
        shapes = [(self.shape(v), v.dtype.numpy) for v in elements]
        writes = sum(not isinstance(r, Var) or not r.is_array for r in exp.body.results)
        body, meter = self.body(exp.body, after | _free_arrays(exp)), self.meter

        def run(env: Env) -> None:
            box = sizes(env)
            for start in opens:
                start(env)
            forget(env)
            track(env)
            arrays = [np.empty(shape(env), dtype) for shape, dtype in shapes]
            if meter is not None:
                for array in arrays:
                    meter.track(array)
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

    def opened(self, acc: Acc) -> Iterator[tuple[Var, Atom]]:
        for var, init in zip(acc.vars, acc.inits, strict=True):
            self.accs[var] = acc
            if acc.op == "=":
                self.masks[var] = self.new_slot()
            yield var, init

    def open(self, var: Var, init: Atom) -> Step:
        """Binds an accumulator to a buffer of its own that starts as `init`."""
        out, source, mask = self.slot(var), self.slot(init), self.masks.get(var)
        dtype = var.dtype.numpy

        def run(env: Env) -> None:
            env[out] = np.array(env[source], dtype)
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
        body, bind, meter = self.body(exp.body, after | _free_arrays(exp)), self.setter(outs), self.meter
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
