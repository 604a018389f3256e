"""How many values of a simd loop may be alive at once: what decides how many lanes it gets.

Inner loops keep what they work on in memory of lanes, so that of the stretches between them only
the heaviest counts. What all lanes share needs one register, whatever their number.
"""

from __future__ import annotations

from tapeless.core.prims import MATH
from tapeless.emit.facts import (
    blocks_of,
    constant_trips,
    follows_data,
    follows_what_loops_find,
    has,
    statements,
)  # fmt: skip
from tapeless.emit.target import Target
from tapeless.loop.syntax import (
    Alloc,
    Block,
    Call,
    Check,
    Combine,
    For,
    Load,
    Name,
    Op,
    Row,
    Stm,
    Store,
    Value,
    While,
)  # fmt: skip

SLOW = MATH | {"pow", "floordiv", "mod"}
LIGHT, HEAVY = 24, 120  # bodies whose values fill four, two, or one register


def lanes_of(loop: For, target: Target) -> int:
    """How many lanes a simd loop gets; 1: it runs in order."""
    if has(loop.body, Call) or any(r.ordered or r.op == "=" for r in loop.reduces):
        return 1
    lanes = target.width or chosen_lanes(loop, target)
    trips = constant_trips(loop)
    while trips is not None and lanes > 1 and lanes >= 2 * trips:
        lanes //= 2
    return lanes


def chosen_lanes(loop: For, target: Target) -> int:
    """As many lanes as fill a few registers: independent chains hide latencies, as long as the
    values that are alive fit."""
    size = pressure(loop)
    registers = 4 if size <= LIGHT else 2 if size <= HEAVY else 1
    if follows_data(loop.body) or follows_what_loops_find(loop.body):
        registers = 1  # each lane goes its own way: nothing is gained by more of them
    if target.registers < 32:
        registers = max(registers // 2, 1)
    return target.lanes(data_bits(loop)) * registers


def pressure(loop: For) -> int:
    """The weight of the heaviest stretch of the body without an inner loop, uniform work aside."""
    found = _Stretches(loop)
    found.block(loop.body)
    found.ends()
    return found.longest


class _Stretches:
    """`varying`: what may differ from lane to lane; `length`: the weight of this stretch so far,
    `longest`: of the heaviest one."""

    def __init__(self, loop: For) -> None:
        self.varying: set[Name | Value] = {loop.var, *loop.params}
        self.varying.update(s.buf for s in statements(loop.body) if isinstance(s, Alloc))
        self.length = self.longest = 0

    def ends(self) -> None:
        self.longest = max(self.longest, self.length)
        self.length = 0

    def block(self, block: Block) -> None:
        for stm in block.stms:
            self.statement(stm)

    def statement(self, stm: Stm) -> None:
        match stm:
            case Op(out=out, op=op, args=args):
                self.needs(args, 8 if op in SLOW else 1, out)
            case Load(out=out, buf=buf, at=at) | Row(out=out, buf=buf, at=at):
                self.needs((buf, *at), 2, out)
            case Store(buf=buf, at=at, value=value):
                self.needs((buf, *at, value), 2)
            case Combine(buf=buf, at=at, value=value):
                self.needs((buf, *at, value), 3)
            case Check(cond=cond, args=args):
                self.needs((cond, *args), 2)
            case For() | While():
                self.loop(stm)
            case _:
                for inner in blocks_of(stm):
                    self.block(inner)  # lanes may want both sides of a choice
                self.varying.update(getattr(stm, "outs", ()))

    def needs(self, operands: tuple[Value, ...], weight: int, *outs: Name) -> None:
        if not self.varying.isdisjoint(operands):
            self.varying.update(outs)
            self.length += weight

    def loop(self, stm: For | While) -> None:
        """An inner loop is a stretch of its own, walked until no more varies."""
        self.ends()
        flows = list(zip(stm.params, stm.inits, stm.body.results, strict=True))
        before = -1
        while len(self.varying) > before:
            before = len(self.varying)
            self.varying.update(p for p, *ends in flows if not self.varying.isdisjoint(ends))
            self.length = 2 * sum(p in self.varying for p in stm.params)
            for inner in blocks_of(stm):
                self.block(inner)
            self.ends()
        pairs = zip(stm.outs, stm.params, strict=True)
        self.varying.update(o for o, p in pairs if p in self.varying)


def data_bits(stm: For) -> int:
    """The bits of the widest data of a loop."""
    return max((b for s in statements(stm.body) for b in _bits(s)), default=64)


def _bits(stm: Stm) -> tuple[int, ...]:
    """The bits of data that a statement handles; indices do not count."""
    match stm:
        case Op(out=out) if out.dtype.is_float:
            return (out.dtype.bits,)
        case Load(buf=buf) | Store(buf=buf) | Combine(buf=buf):
            return (8 * buf.dtype.bytes,)
        case _:
            return ()
