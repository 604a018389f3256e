"""How many values of a simd loop may be alive at once: what decides how many lanes it gets.

Inner loops keep what they work on in memory of lanes, so that of the stretches between them only
the heaviest counts. What all lanes share needs one register, whatever their number.
"""

from __future__ import annotations

from tapeless.core.prims import MATH
from tapeless.emit.facts import blocks_of, statements
from tapeless.loop.syntax import (
    Alloc,
    Block,
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
