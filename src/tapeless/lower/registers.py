"""Accumulators in registers: which ones a body adds to, and how loops and branches carry them.

A scalar accumulator is always in a register. A cell of an array accumulator is put into one while
a loop runs that never changes its index: Σ is added up there and combined with memory once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import Array, DType, Scalar
from tapeless.ir.syntax import IGNORE, PROVED, Acc, Body, Monoid, Put
from tapeless.ir.types_of import size_of
from tapeless.ir.walk import bound, refresh, statements
from tapeless.loop.syntax import SEQ, SIMD, THREADS, Combine, For, Load, Reduce
from tapeless.lower.arrays import Arrays
from tapeless.lower.builder import ZERO, block
from tapeless.lower.copies import PUT_OPS, Copies, Group
from tapeless.lower.state import Place

MOST_CELLS = 64  # more promoted cells than registers would only spill


@dataclass(frozen=True, slots=True, eq=False)
class Promoted:
    """A cell kept in `register` while a loop runs."""

    put: Put
    at: tuple[Atom, ...]
    register: Var


@dataclass(frozen=True, slots=True, eq=False)
class Range:
    """How a loop counts: `kind` and the half-open range of `var`, which stays below `bound`;
    `work` estimates the operations of the whole loop; every block adds to its own `copies`."""

    kind: str
    var: Var
    start: Atom
    stop: Atom
    bound: Atom
    work: Atom | None = None
    copies: tuple[Group, ...] = ()


def neutral(op: str, dtype: DType) -> Const:
    """The value that changes nothing under a known operator."""
    if op in ("+", "*"):
        return Const(-0.0 if op == "+" and dtype.is_float else int(op == "*"), dtype)
    if dtype.is_float:
        return Const(float("inf") if op == "min" else float("-inf"), dtype)
    if dtype.is_bool:
        return Const(op == "min", dtype)
    low = -(1 << (dtype.bits - 1)) if dtype.kind == "i" else 0
    high = (1 << dtype.bits) + low - 1
    return Const(high if op == "min" else low, dtype)


class Registers(Arrays):
    """Puts, and the passing of registers through control flow."""

    def touched(self, *bodies: Body) -> list[Var]:
        """Registers that puts inside `bodies` may change."""
        found: dict[Var, None] = {}
        for put in puts_in(bodies):
            for target in put.targets:
                key = self.cells.get((target, self.all(put.at)), target)
                if key in self.registers:
                    found[key] = None
        return list(found)

    def put(self, exp: Put) -> None:
        """Combine values into accumulators: a register where there is one, else memory."""
        values = self.all(exp.values)
        acc = self.accs[exp.targets[0]]
        if isinstance(acc.op, Monoid):
            self.put_monoid(exp, acc.op, values)
            return
        (target,), (value,) = exp.targets, values
        key = self.cells.get((target, self.all(exp.at)), target)
        if key not in self.registers:
            shape = self.shape(target)
            at = self.honour(self.all(exp.at), shape, exp.modes)
            op = acc.op
            self.guarded(at, shape, exp.modes, lambda: self.combine(target, at, value, op))
        elif acc.op == "=":
            self.registers[key] = value
        else:
            now = self.registers[key]
            self.registers[key] = self.op(PUT_OPS[acc.op], now, value, hint=target.hint, loose=True)

    def combine(self, target: Var, at: tuple[Atom, ...], value: Atom, op: str) -> None:
        """target[at] op= value, in memory."""
        place = self.places[target]
        if op == "=":
            self.store(place, at, value)
        else:
            buf, where = self.flattened(place, at)
            self.emit(Combine(op, buf, where, value))

    def put_monoid(self, exp: Put, monoid: Monoid, values: tuple[Atom, ...]) -> None:
        """left = the accumulators now, right = the values, then the operator's own statements."""
        if exp.targets[0] in self.registers:
            left = tuple(self.registers[t] for t in exp.targets)
            results = self.operate(monoid, left, values)
            self.registers.update(zip(exp.targets, results, strict=True))
            return
        shape = self.shape(exp.targets[0])
        at = self.honour(self.all(exp.at), shape, exp.modes)

        def effect() -> None:
            left = tuple(self.read(self.places[t], at, t) for t in exp.targets)
            results = self.operate(monoid, left, values)
            for t, r in zip(exp.targets, results, strict=True):
                self.store(self.places[t], at, r)

        self.guarded(at, shape, exp.modes, effect)

    def read(self, place: Place, at: tuple[Atom, ...], like: Var) -> Atom:
        out = Var(Scalar(like.dtype), like.hint)
        buf, where = self.flattened(place, at)
        self.emit(Load(out, buf, where))
        self.bind(out)
        return out

    def operate(
        self, monoid: Monoid, left: tuple[Atom, ...], right: tuple[Atom, ...]
    ) -> tuple[Atom, ...]:
        """The results of a scalar operator on two tuples of atoms."""
        names = dict(zip(monoid.left + monoid.right, left + right, strict=True))
        results = self.body(refresh(monoid.body, names))
        return tuple(r for r in results if isinstance(r, Var | Const))

    # loops that carry registers
    def carrying_loop(
        self, loop: Range, bodies: tuple[Body, ...], own: tuple[Var, ...],
        inside: Callable[[], None], also: tuple[Var, ...] = (),
    ) -> None:  # fmt: skip
        """One For level: `inside` emits its body; registers it touches become parameters.

        `own`: variables bound by this loop and those within it, on which a promoted cell's index
        cannot depend; `also`: registers that `inside` changes on its own.
        """
        if loop.kind == THREADS:
            self.shared_loop(loop, bodies, inside)
            return
        promoted = self.promote(bodies, own)
        carried = [*self.touched(*bodies), *also]
        before = tuple(self.registers[c] for c in carried)
        params = tuple(_like(b, c) for b, c in zip(before, carried, strict=True))
        is_lanes = loop.kind == SIMD
        if is_lanes:
            self.kinds.append(loop.kind)
        with self.block() as stms:
            self.bind(loop.var, *params)
            self.ranges[loop.var] = loop.bound
            self.registers.update(zip(carried, params, strict=True))
            inside()
            results = tuple(self.registers[c] for c in carried)
        if is_lanes:
            self.kinds.pop()
        outs = tuple(_like(b, c) for b, c in zip(before, carried, strict=True))
        reduces = self.reduces(carried) if is_lanes else ()
        self.emit(
            For(
                outs, loop.var, loop.start, loop.stop, loop.kind, params, before,
                self.scoped(stms, results), reduces, loop.work,
            )
        )  # fmt: skip
        self.bind(*outs)
        self.registers.update(zip(carried, outs, strict=True))
        self.demote(promoted)

    def shared_loop(
        self, loop: Range, bodies: tuple[Body, ...], inside: Callable[[], None]
    ) -> None:
        """A loop over blocks, which threads share. The partial values of each block go to memory,
        and are combined in order afterwards: the same bits for any number of threads."""
        carried = self.touched(*bodies)
        before = {c: self.registers[c] for c in carried}
        partial = {c: self.blocked(c, loop.bound) for c in carried}
        neutrals = {t: self.start(t) for group in loop.copies for t in group}
        copies = Copies(self, loop.copies, neutrals, loop.bound)
        with copies.around():
            self.kinds.append(loop.kind)
            with self.block() as stms:
                self.bind(loop.var)
                self.ranges[loop.var] = loop.bound
                self.registers.update({c: self.start(c) for c in carried})
                with copies.inside(loop.var):
                    inside()
                for c in carried:
                    self.store(partial[c], (loop.var,), self.registers[c])
            self.kinds.pop()
            body = self.scoped(stms)
            share = For((), loop.var, loop.start, loop.stop, THREADS, (), (), body, (), loop.work)
            self.emit(share)
        self.registers.update(before)
        if carried:
            self.join_blocks(carried, partial, loop.bound)

    def blocked(self, key: Var, count: Atom) -> Place:
        """Memory for the values of one register in all blocks."""
        return self.allocate(Var(Array(key.dtype, (size_of(count),)), key.hint))

    def start(self, key: Var) -> Atom:
        """The value with which a partial accumulation starts."""
        acc = self.accs[key]
        if isinstance(acc.op, Monoid):
            return self.atom(acc.op.neutral[acc.vars.index(key)])
        return neutral(acc.op, key.dtype)

    def join_blocks(self, carried: list[Var], partial: dict[Var, Place], count: Atom) -> None:
        before = tuple(self.registers[c] for c in carried)
        params, outs = (
            tuple(_like(b, c) for b, c in zip(before, carried, strict=True)) for _ in range(2)
        )
        block_number = self.counter("block")
        with self.block() as stms:
            self.bind(block_number, *params)
            now: dict[Var, Atom] = dict(zip(carried, params, strict=True))
            values = {c: self.read(partial[c], (block_number,), c) for c in carried}
            for c in carried:
                acc = self.accs[c]
                if not isinstance(acc.op, Monoid):
                    now[c] = self.op(PUT_OPS[acc.op], now[c], values[c], hint=c.hint, loose=True)
                elif c is acc.vars[0]:
                    left, right = ([t[v] for v in acc.vars] for t in (now, values))
                    results = self.operate(acc.op, tuple(left), tuple(right))
                    now.update(zip(acc.vars, results, strict=True))
            body = block(stms, tuple(now[c] for c in carried))
        self.emit(For(outs, block_number, ZERO, count, SEQ, params, before, body))
        self.bind(*outs)
        self.registers.update(zip(carried, outs, strict=True))

    def promote(self, bodies: tuple[Body, ...], own: tuple[Var, ...]) -> list[Promoted]:
        """Registers for the cells that the loop about to start puts to at an unchanging index."""
        inside = set(own).union(*(bound(b) for b in bodies))
        promoted: list[Promoted] = []
        for exp in puts_in(bodies):
            if len(promoted) == MOST_CELLS:
                break
            (target, *_), at = exp.targets, self.all(exp.at)
            acc = self.accs.get(target)
            if acc is None or acc.op == "=" or isinstance(acc.op, Monoid) or not at:
                continue
            fixed = not any(a in inside for a in (*at, *exp.at))
            safe = set(exp.modes) <= {PROVED, IGNORE}
            if fixed and safe and (target, at) not in self.cells:
                register = Var(Scalar(target.dtype), target.hint)
                self.cells[target, at] = register
                self.registers[register] = neutral(acc.op, target.dtype)
                self.accs[register] = Acc((register,), (), acc.op)
                promoted.append(Promoted(exp, at, register))
        return promoted

    def demote(self, promoted: list[Promoted]) -> None:
        """Combine promoted cells with memory."""
        for p in promoted:
            target = p.put.targets[0]
            del self.cells[target, p.at]
            value = self.registers.pop(p.register)
            op = str(self.accs.pop(p.register).op)
            self._combine_guarded(target, p.at, value, op)

    def _combine_guarded(self, target: Var, at: tuple[Atom, ...], value: Atom, op: str) -> None:
        """The loop may have run zero times: an index proved in it need not be in range here."""
        modes = IGNORE * len(at)
        self.guarded(at, self.shape(target), modes, lambda: self.combine(target, at, value, op))

    def reduces(self, carried: list[Var]) -> tuple[Reduce, ...]:
        """How a parallel loop combines its registers."""
        out: list[Reduce] = []
        for k, key in enumerate(carried):
            acc = self.accs[key]
            if not isinstance(acc.op, Monoid):
                out.append(Reduce((k,), acc.op))
            elif key is acc.vars[0]:
                out.append(self.reduce_by(acc.op, tuple(carried.index(v) for v in acc.vars)))
        return tuple(out)

    def reduce_by(self, monoid: Monoid, positions: tuple[int, ...]) -> Reduce:
        """A reduction by a user's operator, as a block over (left..., right...)."""
        left = tuple(v.fresh() for v in monoid.left)
        right = tuple(v.fresh() for v in monoid.right)
        with self.block() as stms:
            self.bind(*left, *right)
            results = self.operate(monoid, left, right)
        return Reduce(
            positions, "", left, right, block(stms, results), self.all(monoid.neutral),
            not monoid.commutative,
        )  # fmt: skip


def puts_in(bodies: tuple[Body, ...]) -> Iterator[Put]:
    """Every Put inside bodies, whichever accumulator it targets."""
    for body in bodies:
        for stm in statements(body):
            if isinstance(stm.exp, Put):
                yield stm.exp


def _like(value: Atom, key: Var) -> Var:
    return Var(Scalar(value.dtype), key.hint)
