"""Reference semantics of Core on NumPy: the oracle of every pass and back end.

A program is compiled once to closures over a list of values, one slot per variable. Everything is
functional: no array is ever written after it was bound, consumed or not. What a correct program
never does (a proved index out of range, a cell assigned twice, a wrong size) raises `Undefined`.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import Any, Protocol

import numpy as np

from tapeless.core.names import Atom, Const, Var
from tapeless.core.prims import OPS
from tapeless.core.types import Array
from tapeless.ir.callees import CALLEES
from tapeless.ir.syntax import (
    IGNORE, PROVED, WRAP, Acc, Alloc, Append, Body, Call, Check, Each, Exp, Fold, For, Fun, If,
    Index, Iverson, Let, Loop, Monoid, Prim, Put, Scan, Sort, Update, View,
)  # fmt: skip
from tapeless.ir.types_of import types_of
from tapeless.ir.walk import free_vars

Env = list[Any]
Step = Callable[[Env], None]
Run = Callable[[Env], list[Any]]
Values = Sequence[Any]


class Undefined(Exception):
    """The program did what a correct one never does, so that it has no meaning."""


class Meter(Protocol):
    """What `interpret` reports to: see `ir.cost`."""

    def price(self, exp: Exp, acc: Acc | None) -> tuple[int, int, int]:
        """Flops, reads and writes of one run of a statement, without its bodies."""

    def spend(self, flops: int, reads: int, writes: int) -> None: ...

    def track(self, array: np.ndarray) -> None:
        """`array` is storage of the program's own from now until Python frees it."""


def interpret(fun: Fun, *args: Any, counts: Meter | None = None) -> tuple[Any, ...]:
    """The results of `fun` on its parameters in order, sizes too. Arguments are never written."""
    compiler = _Compiler(counts)
    params = compiler.setter(fun.params)
    run = compiler.body(fun.body, {p for p in fun.params if p.is_array} - set(fun.writes))
    if len(args) != len(fun.params):
        raise Undefined(f"{fun.name} takes {len(fun.params)} arguments, not {len(args)}")
    env = compiler.env()
    values = [_argument(p, a, p in fun.writes) for p, a in zip(fun.params, args, strict=True)]
    if counts is not None:
        for p, value in zip(fun.params, values, strict=True):
            if p in fun.writes:
                counts.track(value)
    params(env, values)
    del values, args
    with np.errstate(all="ignore"):
        results = run(env)
    return tuple(np.array(r) if isinstance(r, np.ndarray) else r for r in results)


def _argument(param: Var, value: Any, written: bool) -> Any:
    if not param.is_array:
        return param.dtype.numpy.type(value)
    return np.array(value, param.dtype.numpy, copy=True if written else None)


# Operators of Python that on NumPy scalars of one type do the same as the ufunc, but faster.
FAST: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "neg": operator.neg, "eq": operator.eq, "ne": operator.ne, "lt": operator.lt,
    "le": operator.le, "and": operator.and_, "or": operator.or_, "xor": operator.xor,
    "not": operator.invert, "select": OPS["select"].meaning,
}  # fmt: skip
COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "=": lambda old, new: new, "+": operator.add, "*": operator.mul,
    "min": np.minimum, "max": np.maximum,
}  # fmt: skip


def poison(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """What "empty" memory holds: values that do not go unnoticed when read."""
    if dtype.kind == "f":
        return np.full(shape, np.nan, dtype)
    return np.full(shape, np.frombuffer(b"\x5a" * dtype.itemsize, dtype)[0] if dtype.kind != "b"
                   else True, dtype)  # fmt: skip


def _arrays_in(exp: Exp) -> set[Var]:
    """Arrays that `exp` or its bodies mention and do not bind."""
    return {v for v in free_vars(Body((Let((), exp),), ())) if v.is_array}


def _free_arrays(*bodies: Body) -> set[Var]:
    return {v for body in bodies for v in free_vars(body) if v.is_array}


class _Compiler:
    """Gives variables and constants their slots and turns statements into closures.

    With a meter, slots of arrays are emptied at their last use, so that Python's own reference
    counts say how long each array lives.
    """

    def __init__(self, meter: Meter | None) -> None:
        self.meter = meter
        self.slots: dict[Atom, int] = {}
        self.accs: dict[Var, Acc] = {}
        self.written: dict[Var, int] = {}  # slot of the mask of cells that an "=" acc assigned
        self.monoids: dict[Monoid, Callable[[Env, Values, Values], list[Any]]] = {}
        self.extra = 0

    def env(self) -> Env:
        env: Env = [None] * (len(self.slots) + self.extra)
        for atom, slot in self.slots.items():
            if isinstance(atom, Const):
                env[slot] = atom.dtype.numpy.type(atom.value)
        return env

    def new_slot(self) -> int:
        self.extra += 1
        return len(self.slots) + self.extra - 1

    def slot(self, atom: Atom) -> int:
        known = self.slots.get(atom)
        if known is None:
            known = self.slots[atom] = len(self.slots) + self.extra
        return known

    def slots_of(self, atoms: Iterable[Atom]) -> list[int]:
        return [self.slot(a) for a in atoms]

    # binding
    def shape(self, var: Var) -> Callable[[Env], tuple[int, ...]]:
        """The declared shape of an array, in the current environment."""
        slots = [self.slot(Const(s, _I64) if isinstance(s, int) else s) for s in var.shape]

        def shape(env: Env) -> tuple[int, ...]:
            sizes = tuple(int(env[s]) for s in slots)
            if any(n < 0 for n in sizes):
                raise Undefined(f"{var.hint} has a negative size: {sizes}")
            return sizes

        return shape

    def setter(self, vars: Sequence[Var]) -> Callable[[Env, Values], None]:
        """Binds values to `vars`; arrays must be of the declared shape."""
        slots = self.slots_of(vars)
        arrays = [(v, self.slot(v), self.shape(v)) for v in vars if v.is_array]

        def set(env: Env, values: Values) -> None:
            for slot, value in zip(slots, values, strict=True):
                env[slot] = value
            for var, slot, shape in arrays:
                value = env[slot]
                if value.shape != shape(env) or value.dtype != var.dtype.numpy:
                    raise Undefined(f"{var.hint}: {var.type} is {value.dtype}{value.shape}")

        return set

    def clear(self, vars: Iterable[Var]) -> Callable[[Env], None]:
        slots = self.slots_of(vars)

        def clear(env: Env) -> None:
            for slot in slots:
                env[slot] = None

        return clear

    # bodies
    def body(self, body: Body, live: set[Var]) -> Run:
        """Runs the statements and gives the results; arrays outside `live` may die in it."""
        results = self.slots_of(body.results)
        after = live.union(r for r in body.results if isinstance(r, Var) and r.is_array)
        steps: list[Step] = []
        for stm in reversed(body.stms):
            steps += reversed(list(self.let(stm, after)))
            after = after | (_arrays_in(stm.exp) if self.meter else set())
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
        target = stm.exp.targets[0] if isinstance(stm.exp, Put) else None
        price = meter.price(stm.exp, self.accs[target] if target is not None else None)
        if any(price):
            yield lambda env: meter.spend(*price)
        yield self.exp(stm, after)
        arrays = [v for v in stm.outs if v.is_array]
        dying = (_arrays_in(stm.exp) | set(arrays)) - after
        outs, clear = self.slots_of(arrays), self.clear(dying)

        def track(env: Env) -> None:
            for slot in outs:
                if env[slot] is not None:
                    meter.track(env[slot])

        reuses = isinstance(stm.exp, Update | Append)  # then the old array dies before
        if arrays or dying:
            yield from (clear, track) if reuses else (track, clear)
