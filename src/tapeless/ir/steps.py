"""Interpretation of statements without bodies: operators, arrays, checks, calls."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from tapeless.core.exceptions import exception_named
from tapeless.core.names import Atom, Var
from tapeless.core.prims import OPS
from tapeless.ir.callees import callee_of
from tapeless.ir.slots import Env, Slots, Undefined, poison
from tapeless.ir.syntax import (
    PROVED,
    Acc,
    Alloc,
    Append,
    Call,
    Check,
    Exp,
    Let,
    Update,
    View,
)  # fmt: skip
from tapeless.ir.types_of import types_of

Step: TypeAlias = Callable[[Env], None]


class Meter(Protocol):
    """What `interpret` reports to: see `ir.cost`."""

    in_place: Collection[Var]  # accumulators that overwrite an array that their nest reads
    reuse: Mapping[Var, Var]  # results of nests -> operands that they overwrite

    def price(self, exp: Exp, acc: Acc | None) -> tuple[int, int, int]:
        """Flops, reads and writes of one run of a statement, without its bodies."""

    def spend(self, flops: int, reads: int, writes: int) -> None: ...

    def track(self, array: np.ndarray, beside: int = 0) -> None:
        """`array` is storage of the program's own from now until Python frees it, and with it
        are `beside` more bytes."""

    def given(self, array: np.ndarray, written: bool) -> None:
        """`array` is storage of the caller's, which costs nothing."""

    def moved(self, old: np.ndarray, new: np.ndarray) -> None:
        """`new` takes over the storage of `old`, which is still looked at for a while."""


# References to an array that only one slot holds, while `take` looks at it: slot, local, argument.
ALONE = 3

# Operators of Python that on NumPy scalars of one type do the same as the ufunc, but faster.
FAST: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "neg": operator.neg, "eq": operator.eq, "ne": operator.ne, "lt": operator.lt,
    "le": operator.le, "and": operator.and_, "or": operator.or_, "xor": operator.xor,
    "not": operator.invert, "select": OPS["select"].meaning,
}  # fmt: skip


class FlatSteps(Slots):
    """Turns statements without bodies into closures; a meter hears what varies with sizes."""

    def __init__(self, meter: Meter | None) -> None:
        super().__init__()
        self.meter = meter

    def prim(self, op: str, args: tuple[Atom, ...], stm: Let) -> Step:
        out, slots = self.slot(stm.outs[0]), self.slots_of(args)
        fast = FAST.get(op)
        f = fast or OPS[op].meaning
        number = types_of(stm.exp)[0].dtype.numpy.type
        if fast is not None and len(slots) == 2:
            left, right = slots

            def binary(env: Env) -> None:
                env[out] = f(env[left], env[right])

            return binary

        def run(env: Env) -> None:
            env[out] = number(f(*[env[s] for s in slots]))

        return run

    def index(self, array: Var, at: tuple[Atom, ...], modes: str, var: Var) -> Step:
        out, source, locate = self.slot(var), self.slot(array), self.locator(at, modes)

        def run(env: Env) -> None:
            values = env[source]
            env[out] = values[locate(env, values.shape)]

        return run

    def update(self, exp: Update, var: Var, *, dies: bool) -> Step:
        out, value = self.slot(var), self.slot(exp.value)
        take, locate = self.taker(exp.array, dies=dies), self.locator(exp.at, exp.modes)

        def run(env: Env) -> None:
            new = take(env)
            cell = locate(env, new.shape)
            if cell is not None:
                new[cell] = env[value]
            env[out] = new

        return run

    def taker(self, source: Atom, *, dies: bool, over: bool = False) -> Callable[[Env], np.ndarray]:
        """A copy of what is consumed; with a meter its own storage, if nothing else needs it, or
        if it is written over while it is read."""
        slot, dtype, meter = self.slot(source), source.dtype.numpy, self.meter

        def take(env: Env) -> np.ndarray:
            old = env[slot]
            if meter is not None and isinstance(old, np.ndarray):
                if dies and sys.getrefcount(old) == ALONE:
                    return old
                if over:
                    new = np.array(old, dtype)
                    meter.moved(old, new)
                    return new
                meter.spend(0, old.size, old.size)
            return np.array(old, dtype)

        return take

    def alloc(self, exp: Alloc, var: Var) -> Step:
        out, shape, dtype = self.slot(var), self.sizes(exp.shape, var.hint), exp.dtype.numpy
        zeros, meter = exp.kind == "zeros", self.meter
        new: Callable[..., Any] = np.zeros if zeros else poison

        def run(env: Env) -> None:
            env[out] = new(shape(env), dtype)
            if zeros and meter is not None:
                meter.spend(0, 0, env[out].size)

        return run

    def append(self, exp: Append, outs: tuple[Var, ...]) -> Step:
        source, value = self.slots_of((exp.array, exp.value))
        bind, meter = self.setter(outs), self.meter

        def run(env: Env) -> None:
            row = np.asarray(env[value])[np.newaxis]
            if meter is not None:
                meter.spend(0, 0, row.size)
            bind(env, [np.concatenate((env[source], row))])

        return run

    def check(self, exp: Check) -> Step:
        cond, args = self.slot(exp.cond), self.slots_of(exp.args)
        error = exception_named(exp.error) or Undefined

        def run(env: Env) -> None:
            if not env[cond]:
                raise error(exp.message.format(*[env[a].item() for a in args]))

        return run

    def sort(self, array: Var, at: tuple[Atom, ...], outs: tuple[Var, ...]) -> Step:
        source, locate, bind = (
            self.slot(array),
            self.locator(at, PROVED * len(at)),
            self.setter(outs),
        )
        meter = self.meter

        def run(env: Env) -> None:
            values = env[source]
            row = values[locate(env, values.shape[:-1])]
            if meter is not None:
                n = len(row)
                meter.spend(n * n.bit_length(), n, n)
            order = np.argsort(row, kind="stable").astype(np.int64)
            if meter is not None:  # runs are merged from one array into another
                meter.track(order, beside=order.nbytes)
            bind(env, [order])

        return run

    def call(self, exp: Call, outs: tuple[Var, ...]) -> Step:
        callee, bind, meter = callee_of(exp.callee), self.setter(outs), self.meter
        operands = [self.operand(a) for a in exp.args]

        def run(env: Env) -> None:
            values = [operand(env) for operand in operands]
            results = callee.meaning(*values)
            if meter is not None:
                meter.spend(callee.flops(*values), _cells(values), _cells(results))
            bind(env, [_as(r, v) for r, v in zip(results, outs, strict=True)])

        return run

    def operand(self, arg: Atom | View) -> Callable[[Env], Any]:
        if not isinstance(arg, View):
            slot = self.slot(arg)
            return lambda env: env[slot]
        source, at = self.slot(arg.array), self.slots_of(arg.at)
        dims = [(axis, self.slot(size), step) for axis, size, step in arg.dims]

        def view(env: Env) -> np.ndarray:
            return _view(
                env[source], [int(env[s]) for s in at], [(k, int(env[n]), d) for k, n, d in dims]
            )

        return view


def _view(base: np.ndarray, at: list[int], dims: list[tuple[int, int, int]]) -> np.ndarray:
    """The cells of `base` from `at` on along `dims` = (axis, size, step)."""
    for _, n, _ in dims:
        if n < 0:
            raise Undefined(f"a view has a negative size: {n}")
    shape = tuple(n for _, n, _ in dims)
    if 0 in shape:
        return np.empty(shape, base.dtype)
    for axis, (i, n) in enumerate(zip(at, base.shape, strict=True)):
        ends = [(size - 1) * step for k, size, step in dims if k == axis]
        low, high = i + sum(min(e, 0) for e in ends), i + sum(max(e, 0) for e in ends)
        if low < 0 or high >= n:
            raise Undefined(f"a view runs from {low} to {high} of axis {axis} with size {n}")
    first = base[tuple(slice(i, None) for i in at)]
    strides = tuple(base.strides[axis] * step for axis, _, step in dims)
    return np.lib.stride_tricks.as_strided(first, shape, strides, writeable=False)


def _cells(values: Sequence[Any]) -> int:
    return sum(v.size for v in values if isinstance(v, np.ndarray))


def _as(result: Any, var: Var) -> Any:
    dtype = var.dtype.numpy
    return np.array(result, dtype) if var.is_array else dtype.type(result)
