"""An interpreter of Loop IR over NumPy memory: the oracle of lowering, before any emitter.

Strict where a machine is not: memory starts as poison, is poisoned again when its scope ends, and
every access is checked against the buffer's sizes and the memory behind it. Parallel loops run in
three blocks of iterations (`blocks=True`) whose partial values start neutral and are combined as
their `Reduce` says.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tapeless.core.exceptions import exception_named
from tapeless.core.names import Const
from tapeless.core.prims import evaluate
from tapeless.core.types import from_numpy
from tapeless.ir.callees import CALLEES
from tapeless.ir.slots import poison
from tapeless.loop import syntax as s
from tapeless.lower.registers import neutral

COMBINE = {"+": "add", "*": "mul", "min": "min", "max": "max"}


class Pointer(NamedTuple):
    memory: np.ndarray
    offset: int


class WrongMemory(Exception):
    """An access outside the array, or of memory that is no longer there."""


def run(proc: s.Proc, *args: Any, blocks: bool = False) -> tuple[Any, ...]:
    """Results of a kernel on a list of scalars and arrays; arrays are written in place. Strides of
    arrays with layout "S" are filled in here."""
    return _Machine(proc, blocks).kernel(args)


def peak_of(proc: s.Proc, *args: Any) -> int:
    """The most bytes that are allocated at one time while a kernel runs, in whole cache lines."""
    machine = _Machine(proc, blocks=False)
    machine.kernel(args)
    return machine.peak


def _memory(array: np.ndarray) -> Pointer:
    base = array
    while isinstance(base.base, np.ndarray):
        base = base.base
    flat = base.reshape(-1, order="A") if base.size else np.empty(0, base.dtype)
    assert base.size == 0 or np.shares_memory(flat, base)
    start = array.__array_interface__["data"][0] - flat.__array_interface__["data"][0]
    return Pointer(flat, start // array.itemsize)


class _Machine:
    def __init__(self, proc: s.Proc, blocks: bool) -> None:
        self.proc = proc
        self.blocks = blocks
        self.env: dict[Any, Any] = {}
        self.scopes: list[list[np.ndarray]] = [[]]
        self.peak = self.live = 0

    def kernel(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        left = list(args)
        names = list(self.proc.params)
        while names:
            name, value = names.pop(0), left.pop(0)
            if not isinstance(name, s.Buf):
                self.env[name] = name.dtype.numpy.type(value)
                continue
            memory, offset = _memory(value)
            self.env[name] = Pointer(memory, offset)
            for axis, stride in enumerate(name.strides):
                if names and names[0] is stride:
                    names.pop(0)
                    self.env[stride] = np.int64(value.strides[axis] // value.itemsize)
        with np.errstate(all="ignore"):
            self.stms(self.proc.body.stms)
            return tuple(self.out(r) for r in self.proc.results)

    def val(self, v: s.Value) -> Any:
        return v.dtype.numpy.type(v.value) if isinstance(v, Const) else self.env[v]

    def ints(self, atoms: Sequence[Any]) -> tuple[int, ...]:
        return tuple(int(self.val(a)) for a in atoms)

    def view(self, buf: s.Buf) -> np.ndarray:
        """The array behind a buffer, with a check that all of it is in its memory."""
        memory, offset = self.env[buf]
        shape, strides = self.ints(buf.shape), self.ints(buf.strides)
        if any(n < 0 for n in shape):
            raise WrongMemory(f"{buf} has shape {shape}")
        if 0 not in shape:
            ends = [(n - 1) * d for n, d in zip(shape, strides, strict=True)]
            low, high = offset + sum(min(e, 0) for e in ends), offset + sum(max(e, 0) for e in ends)
            if low < 0 or high >= len(memory):
                raise WrongMemory(f"{buf} {shape} {strides} leaves its memory")
        strides = tuple(d * memory.itemsize for d in strides)
        start = memory[offset:] if 0 not in shape else memory[:0]
        return np.lib.stride_tricks.as_strided(start, shape, strides)

    def cell(self, buf: s.Buf, at: Sequence[Any]) -> tuple[np.ndarray, int]:
        """The memory and position of one element; leading axes may be beyond a grown buffer."""
        memory, offset = self.env[buf]
        if memory.flags.writeable is False:
            raise WrongMemory(f"{buf} was given back")
        where, shape = self.ints(at), self.ints(buf.shape)
        for i, n in zip(where, shape, strict=True):
            if not 0 <= i < n:
                raise WrongMemory(f"{buf}[{where}] is outside {shape}")
        position = offset + sum(i * d for i, d in zip(where, self.ints(buf.strides), strict=True))
        if not 0 <= position < len(memory):
            raise WrongMemory(f"{buf}[{where}] is outside its memory")
        return memory, position

    def out(self, r: s.Value) -> Any:
        return self.view(r).copy() if isinstance(r, s.Buf) else self.val(r)

    def set(self, names: Sequence[Any], values: Sequence[Any]) -> None:
        for name, value in zip(names, values, strict=True):
            self.env[name] = value

    # statements
    def block(self, block: s.Block) -> list[Any]:
        self.stms(block.stms)
        return [self.val(r) for r in block.results]

    def stms(self, stms: Sequence[s.Stm]) -> None:
        for stm in stms:
            getattr(self, type(stm).__name__.lower())(stm)

    def op(self, e: s.Op) -> None:
        self.env[e.out] = evaluate(e.op, [self.val(a) for a in e.args], e.out.dtype)

    def anylane(self, e: s.AnyLane) -> None:
        self.env[e.out] = self.val(e.cond)

    def team(self, e: s.Team) -> None:
        self.env[e.out] = np.int64(3 if self.blocks else 1)

    def load(self, e: s.Load) -> None:
        memory, k = self.cell(e.buf, e.at)
        self.env[e.out] = memory[k]

    def store(self, e: s.Store) -> None:
        memory, k = self.cell(e.buf, e.at)
        memory[k] = self.val(e.value)

    def combine(self, e: s.Combine) -> None:
        memory, k = self.cell(e.buf, e.at)
        memory[k] = evaluate(COMBINE[e.op], [memory[k], self.val(e.value)], e.buf.dtype)

    def alloc(self, e: s.Alloc) -> None:
        shape = self.ints(e.buf.shape)
        if any(n < 0 for n in shape):
            raise WrongMemory(f"{e.buf} has shape {shape}")
        size = int(np.prod(shape, dtype=np.int64))
        memory = poison((size,), e.buf.dtype.numpy)
        if e.zero:
            memory[:] = 0
        self.env[e.buf] = Pointer(memory, 0)
        self.live += lines(memory)
        self.peak = max(self.peak, self.live)
        if e.result is None:
            self.scopes[-1].append(memory)

    def row(self, e: s.Row) -> None:
        memory, offset = self.env[e.buf]
        strides = self.ints(e.buf.strides)[: len(e.at)]
        step = sum(i * d for i, d in zip(self.ints(e.at), strides, strict=True))
        self.env[e.out] = Pointer(memory, offset + step)

    def copy(self, e: s.Copy) -> None:
        source = self.view(e.src)
        target = self.view(e.dst)
        assert source.shape == target.shape, f"copy of {source.shape} to {target.shape}"
        a, b = source.__array_interface__, target.__array_interface__
        if a["data"] != b["data"] or source.strides != target.strides:
            assert source.size == 0 or not np.shares_memory(source, target), "copy onto itself"
        target[...] = source

    def scope(self, e: s.Scope) -> None:
        self.scopes.append([])
        results = self.block(e.body)
        for memory in self.scopes.pop():
            memory[:] = poison(memory.shape, memory.dtype)
            memory.flags.writeable = False
            self.live -= lines(memory)
        self.set(e.outs, results)

    def check(self, e: s.Check) -> None:
        if not self.val(e.cond):
            site = self.proc.sites[e.site]
            error = exception_named(site.error)
            assert error is not None
            raise error(site.message.format(*[self.val(a).item() for a in e.args]))

    def call(self, e: s.Call) -> None:
        """Operands and results told apart by the callee's own result types."""
        slots = list(e.args)
        values: list[Any] = []
        while slots:
            slot = slots.pop(0)
            if isinstance(slot, s.Buf):
                del slots[: 2 * len(slot.shape)]
                values.append(self.view(slot))
            else:
                values.append(self.val(slot))
        meaning = CALLEES[e.callee].meaning
        count = next(k for k in range(len(values), -1, -1) if _fits(meaning, values[:k]))
        *results, status = meaning(*values[:count])
        for target, result in zip(values[count:], results, strict=True):
            target[...] = result
        self.env[e.out] = np.int64(status)

    def if_(self, e: s.If) -> None:
        self.set(e.outs, self.block(e.then if self.val(e.cond) else e.orelse))

    def while_(self, e: s.While) -> None:
        state = [self.val(i) for i in e.inits]
        while True:
            self.set(e.params, state)
            (holds,) = self.block(e.cond)
            if not holds:
                break
            state = self.block(e.body)
        self.set(e.outs, state)

    # loops
    def for_(self, e: s.For) -> None:
        start, stop = self.ints((e.start, e.stop))
        state = [self.val(i) for i in e.inits]
        if e.kind == s.SEQ or not self.blocks:
            self.set(e.outs, self.passes(e, range(start, stop), state))
            return
        for part in np.array_split(np.arange(start, max(start, stop)), 3):
            partial = self.passes(e, part, self.neutrals(e))
            for r in e.reduces:
                old, new = [state[k] for k in r.params], [partial[k] for k in r.params]
                for k, value in zip(r.params, self.join(r, old, new), strict=True):
                    state[k] = value
        self.set(e.outs, state)

    def passes(self, e: s.For, counts: Any, state: list[Any]) -> list[Any]:
        for k in counts:
            self.env[e.var] = np.int64(k)
            self.set(e.params, state)
            state = self.block(e.body)
        return state

    def neutrals(self, e: s.For) -> list[Any]:
        out: list[Any] = [None] * len(e.params)
        for r in e.reduces:
            for j, k in enumerate(r.params):
                known = neutral(r.op, e.params[k].dtype) if r.op else r.neutral[j]
                out[k] = self.val(known)
        return out

    def join(self, r: s.Reduce, old: list[Any], new: list[Any]) -> list[Any]:
        if r.op:
            return [evaluate(COMBINE[r.op], [old[0], new[0]], _dtype(old[0]))]
        self.set(r.left, old)
        self.set(r.right, new)
        return self.block(r.body)


setattr(_Machine, "if", _Machine.if_)
setattr(_Machine, "while", _Machine.while_)
setattr(_Machine, "for", _Machine.for_)


def lines(memory: np.ndarray) -> int:
    return -(-memory.nbytes // 64) * 64


def _dtype(value: Any) -> Any:
    return from_numpy(value.dtype)


def _fits(meaning: Any, operands: list[Any]) -> bool:
    try:
        inspect.signature(meaning).bind(*operands)
    except TypeError:
        return False
    return True
