"""Reference semantics of Core on NumPy: the oracle of every pass and back end.

A program is compiled once to closures over a list of values, one slot per variable. Everything is
functional: no array is ever written after it was bound, consumed or not. What a correct program
never does (a proved index out of range, a cell assigned twice, a wrong size) raises `Undefined`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, assert_never

import numpy as np

from tapeless.core.names import Var
from tapeless.ir.nests import NestSteps, Run, arrays_in, free_arrays
from tapeless.ir.slots import Env, Undefined
from tapeless.ir.steps import Meter, Step
from tapeless.ir.syntax import (
    Alloc,
    Append,
    Body,
    Call,
    Check,
    Each,
    Fold,
    For,
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
    if counts is not None:
        _give(fun, values, counts)
    del values, args
    with np.errstate(all="ignore"):
        results = run(env)
    return tuple(np.array(r) if isinstance(r, np.ndarray) else r for r in results)


def _give(fun: Fun, values: list[Any], meter: Meter) -> None:
    for param, value in zip(fun.params, values, strict=True):
        if param.is_array:
            meter.given(value, param in fun.writes)


def _argument(param: Var, value: Any, written: bool) -> Any:
    if not param.is_array:
        return param.dtype.numpy.type(value)
    return np.array(value, param.dtype.numpy, copy=True if written else None)


class _Compiler(NestSteps):
    """Turns statements into closures.

    With a meter, slots of arrays are emptied at their last use, so that Python's own reference
    counts say how long each array lives. `after` and `live` are arrays needed later.
    """

    # bodies
    def body(self, body: Body, live: set[Var]) -> Run:
        """Runs the statements and gives the results; arrays outside `live` may die in it."""
        results = self.slots_of(body.results)
        after = live.union(r for r in body.results if isinstance(r, Var) and r.is_array)
        steps: list[Step] = []
        for stm in reversed(body.stms):
            steps += reversed(list(self.let(stm, after)))
            if self.meter is not None:
                after = after | arrays_in(stm.exp)
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
        dying = (arrays_in(stm.exp) | set(arrays)) - after - self.accs.keys()
        if isinstance(stm.exp, Call):  # its results are made while its operands are alive
            yield self.tracker(arrays)
        if dying:
            yield self.clear(dying)
        if arrays:
            yield self.tracker(arrays)

    # statements
    def exp(self, stm: Let, after: set[Var]) -> Step:
        exp, outs = stm.exp, stm.outs
        match exp:
            case Prim(op, args):
                return self.prim(op, args, stm)
            case Index(array, at, modes):
                return self.index(array, at, modes, outs[0])
            case Update():
                return self.update(exp, outs[0], dies=exp.array not in after)
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
        outside = after | free_arrays(exp)
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
