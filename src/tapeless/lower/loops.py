"""Sequential loops: how each array of their state moves from pass to pass."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tapeless.analysis.storage import ESCAPE, FIXED, FRESH, GROW, PINNED, ROTATE, SCALAR
from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import Scalar
from tapeless.ir.syntax import Append, Body, For, Let, Loop
from tapeless.ir.walk import statements
from tapeless.loop import syntax as loop
from tapeless.loop.syntax import SEQ, Block, Buf, Name, Value
from tapeless.lower.branches import Branches, Result
from tapeless.lower.builder import ZERO, block, index
from tapeless.lower.state import Place, Want


@dataclass(slots=True, eq=False)
class Moving:
    """Parameters, initial values and next values of the loop being emitted, in step."""

    params: list[Name]
    inits: list[Value]
    nexts: list[Value]

    def add(self, param: Name, init: Value) -> int:
        self.params.append(param)
        self.inits.append(init)
        self.nexts.append(init)
        return len(self.params) - 1


class Loops(Branches):
    """Core's Loop as For and While; arrays in place, in turn, copied back, or growing."""

    def loop(self, stm: Let, exp: Loop) -> None:
        _LoopLowering(self, stm, exp).run()

    def loop_modes(self, exp: Loop) -> tuple[str, ...]:
        """In lanes that may stop at different times pointers cannot rotate."""
        modes = self.storage.modes(exp)
        if self.in_lanes:
            return tuple(PINNED if m == ROTATE else m for m in modes)
        return modes


class _LoopLowering:
    def __init__(self, low: Loops, stm: Let, exp: Loop) -> None:
        self.low = low
        self.stm = stm
        self.exp = exp
        self.modes = low.loop_modes(exp)
        self.moving = Moving([], [], [])
        self.slots: list[int | None] = []  # position among the parameters of each state scalar
        self.buffers: dict[int, int] = {}  # of each rotating or growing array
        self.spares: dict[int, int] = {}  # spare buffers: state index they fit -> position
        self.fixed: dict[int, Place] = {}

    def run(self) -> None:
        low, exp = self.low, self.exp
        bodies = (exp.body,)
        self.enter()
        carried = low.touched(*bodies)
        registers = [
            self.moving.add(Var(Scalar(low.registers[c].dtype), c.hint), low.registers[c])
            for c in carried
        ]
        outer = dict(low.registers)
        cond: Block | None = None
        if not isinstance(exp.form, For):
            cond = self.condition(exp.form.cond)
        with low.block() as stms:
            low.bind(*(p for p in self.moving.params if isinstance(p, Var)))
            if isinstance(exp.form, For):
                low.bind(exp.form.var)
                low.ranges[exp.form.var] = low.atom(exp.form.size)
            self.bind_state(self.moving.params)
            for c, k in zip(carried, registers, strict=True):
                low.registers[c] = _atom(self.moving.params[k])
            self.passes()
            for c, k in zip(carried, registers, strict=True):
                self.moving.nexts[k] = low.registers[c]
        low.registers = outer
        outs = tuple(_like(p) for p in self.moving.params)
        escapes = any(m in (GROW, ESCAPE) for m in self.modes)
        close = block if escapes else low.scoped
        self.emit(outs, cond, close(stms, tuple(self.moving.nexts)))
        low.bind(*(o for o in outs if isinstance(o, Var)))
        for c, k in zip(carried, registers, strict=True):
            low.registers[c] = _atom(outs[k])
        self.leave(outs)

    def emit(self, outs: tuple[Name, ...], cond: Block | None, body: Block) -> None:
        form, m = self.exp.form, self.moving
        params, inits = tuple(m.params), tuple(m.inits)
        if isinstance(form, For):
            stop = self.low.atom(form.size)
            self.low.emit(loop.For(outs, form.var, ZERO, stop, SEQ, params, inits, body))
        else:
            assert cond is not None
            self.low.emit(loop.While(outs, params, inits, cond, body))

    def condition(self, body: Body) -> Block:
        low = self.low
        with low.block() as stms:
            low.bind(*(p for p in self.moving.params if isinstance(p, Var)))
            self.bind_state(self.moving.params)
            results = low.body(body)
        return low.scoped(stms, tuple(r for r in results if not isinstance(r, Place)))

    # before the first pass
    def enter(self) -> None:
        low = self.low
        for k, (param, init, mode) in enumerate(
            zip(self.exp.params, self.exp.inits, self.modes, strict=True)
        ):
            self.slots.append(None)
            if mode == SCALAR:
                self.slots[k] = self.moving.add(Var(param.type, param.hint), low.atom(init))
                continue
            assert isinstance(init, Var)
            self.enter_array(k, param, init, mode)
        self.enter_spares()

    def enter_array(self, k: int, param: Var, init: Var, mode: str) -> None:
        low = self.low
        place = low.places[init]
        if mode in (FIXED, PINNED):
            self.fixed[k] = place
            return
        if mode == GROW:
            times = appends_to(self.exp.body, param)
            if isinstance(self.exp.form, For) and times:
                more = low.op("mul", low.atom(self.exp.form.size), index(times))
                place = low.reserve(place, init, more, times)
            capacity = place.capacity if place.capacity is not None else low.size(init.shape[0])
            self.slots[k] = self.moving.add(low.counter("capacity"), capacity)
        whole = low.exact_strides(low.view(place, init), init)
        self.buffers[k] = self.moving.add(self.pointer(param, whole), whole)

    def pointer(self, param: Var, like: Buf) -> Buf:
        shape = tuple(self.current(s) if isinstance(s, Var) else index(s) for s in param.shape)
        strides = self.low.contiguous(shape)
        return Buf(param.dtype, shape, strides, param.hint, like.space)

    def current(self, size: Var) -> Atom:
        """A size at the start of a pass; state sizes are the loop's own parameters."""
        if size in self.exp.params:
            slot = self.slots[self.exp.params.index(size)]
            assert slot is not None
            return _atom(self.moving.params[slot])
        return self.low.atom(size)

    def enter_spares(self) -> None:
        """One more buffer for every rotating array that is made anew in each pass."""
        origins = self.low.storage.result_origins(self.exp.body)
        for k, mode in enumerate(self.modes):
            if mode == ROTATE and origins[k] == {FRESH}:
                param = self.exp.params[k]
                buf = self.low.allocate(param).buf
                pointer = Buf(param.dtype, buf.shape, buf.strides, param.hint, buf.space)
                self.spares[k] = self.moving.add(pointer, buf)

    # one pass
    def bind_state(self, values: list[Name]) -> None:
        low = self.low
        for k, (param, mode) in enumerate(zip(self.exp.params, self.modes, strict=True)):
            slot = self.slots[k]
            if mode == SCALAR:
                assert slot is not None
                low.atoms[param] = _atom(values[slot])
        for k, (param, mode) in enumerate(zip(self.exp.params, self.modes, strict=True)):
            slot = self.slots[k]
            if mode in (FIXED, PINNED):
                low.places[param] = self.fixed[k]
            elif mode != SCALAR:
                buf = _buf(values[self.buffers[k]])
                capacity = None if slot is None else _atom(values[slot])
                reserved = 0
                if mode == GROW and isinstance(self.exp.form, For):
                    reserved = appends_to(self.exp.body, param)
                low.places[param] = Place(buf, (), capacity, reserved)

    def passes(self) -> None:
        """The body, and where the state goes for the next pass."""
        low = self.low
        wants = tuple(
            Want(Place(_buf(self.moving.params[self.spares[k]]))) if k in self.spares else None
            for k in range(len(self.modes))
        )
        results = low.body(self.exp.body, wants)
        freed = {self.buffers[k] for k, m in enumerate(self.modes) if m == ROTATE}
        for k, result in enumerate(results):
            self.next_value(k, result, freed)
        for position, param in zip(self.spares.values(), self.spares, strict=True):
            self.moving.nexts[position] = self.take_free(freed, param)
        self.copy_back(results)

    def next_value(self, k: int, result: Result, freed: set[int]) -> None:
        low, mode, slot = self.low, self.modes[k], self.slots[k]
        if mode == SCALAR:
            assert slot is not None and not isinstance(result, Place)
            self.moving.nexts[slot] = result
        elif mode == ROTATE:
            assert isinstance(result, Place)
            position = self.buffers[k]
            if k in self.spares:
                spare = self.moving.params[self.spares[k]]
                low.copy(Place(_buf(spare)), result, self.exp.params[k])
                self.moving.nexts[position] = spare
            else:
                self.moving.nexts[position] = result.buf
                freed.discard(self.moving.params.index(result.buf))
        elif mode in (GROW, ESCAPE):
            assert isinstance(result, Place)
            out = _var(self.exp.body.results[k])
            whole = low.exact_strides(low.view(result, out), out)
            self.moving.nexts[self.buffers[k]] = whole
            if slot is not None:
                rows = low.size(out.shape[0]) if result.capacity is None else result.capacity
                self.moving.nexts[slot] = rows

    def take_free(self, freed: set[int], k: int) -> Value:
        """A buffer that no state array has after this pass, of the type of state array `k`."""
        for position in sorted(freed):
            owner = next(j for j, p in self.buffers.items() if p == position)
            if self.exp.params[owner].type == self.exp.params[k].type:
                freed.remove(position)
                return self.moving.params[position]
        raise AssertionError("rotating arrays keep their number of buffers")

    def copy_back(self, results: tuple[Result, ...]) -> None:
        """Results that belong in a fixed place but were made elsewhere."""
        low = self.low
        moves = [
            (self.fixed[k], r, self.exp.params[k])
            for k, r in enumerate(results)
            if k in self.fixed and isinstance(r, Place) and not r.is_same(self.fixed[k])
        ]
        low.move(moves, list(self.fixed.values()))

    # after the last pass
    def leave(self, outs: tuple[Name, ...]) -> None:
        low = self.low
        for k, (out, mode) in enumerate(zip(self.stm.outs, self.modes, strict=True)):
            slot = self.slots[k]
            if mode == SCALAR:
                assert slot is not None
                low.atoms[out] = _atom(outs[slot])
        for k, (out, mode) in enumerate(zip(self.stm.outs, self.modes, strict=True)):
            slot = self.slots[k]
            if mode in (FIXED, PINNED):
                low.places[out] = replace(self.fixed[k], capacity=None, reserved=0)
            elif mode != SCALAR:
                buf = _buf(outs[self.buffers[k]])
                shape = low.shape(out)
                whole = low.reshaped(buf, shape, low.contiguous(shape))
                low.places[out] = Place(whole, (), None if slot is None else _atom(outs[slot]))


def appends_to(body: Body, param: Var) -> int:
    """How many appends at most one pass makes to the state array `param`, if all are in the pass
    itself (0: unknown)."""
    chain, count = {param}, 0
    for stm in body.stms:
        match stm.exp:
            case Append(array) if array in chain:
                chain.add(stm.outs[0])
                count += 1
    nested = sum(
        isinstance(s.exp, Append) and s.exp.array.hint == param.hint for s in statements(body)
    )
    return count if count == nested else 0


def _atom(name: Name | Value) -> Atom:
    assert isinstance(name, Var | Const)
    return name


def _buf(name: Name | Value) -> Buf:
    assert isinstance(name, Buf)
    return name


def _var(atom: Atom) -> Var:
    assert isinstance(atom, Var)
    return atom


def _like(param: Name) -> Name:
    if isinstance(param, Buf):
        return Buf(param.dtype, param.shape, param.strides, param.hint, param.space)
    return Var(param.type, param.hint)
