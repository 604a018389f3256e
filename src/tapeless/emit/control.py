"""Scopes and branches, in one lane or in many.

In lanes a branch whose condition varies runs both sides under masks, each only if some lane wants
it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tapeless.core.types import bool_
from tapeless.emit.carry import Carrier
from tapeless.emit.facts import is_straight
from tapeless.emit.storage import Storage
from tapeless.emit.values import Val, Value, uniform
from tapeless.loop.syntax import LOCAL, Block, Buf, If, Name, Scope
from tapeless.loop.syntax import Value as Operand

FLAT = 6  # operations of a branch that are done rather than branched around


class Control(Storage):
    """If, Scope, and what loops share."""

    def value(self, operand: Operand) -> Value:
        return self.ptr(operand) if isinstance(operand, Buf) else self.val(operand)

    def values(self, operands: Sequence[Operand]) -> list[Value]:
        return [self.value(o) for o in operands]

    def run(self, block: Block) -> list[Value]:
        """Emit a block; its results."""
        self.block(block)
        return self.values(block.results)

    def bind_all(self, names: Sequence[Name], values: Sequence[Value]) -> None:
        self.env.update(zip(names, values, strict=True))

    def scope(self, stm: Scope) -> None:
        with self.giving_back():
            results = self.run(stm.body)
        self.bind_all(stm.outs, results)

    # branches
    def branch(self, stm: If) -> None:
        cond = self.val(stm.cond)
        if cond.text in ("true", "false"):
            self.bind_all(stm.outs, self.run(stm.then if cond.text == "true" else stm.orelse))
        elif all(is_straight(b, FLAT) for b in (stm.then, stm.orelse)) and not any(
            isinstance(o, Buf) for o in stm.outs
        ):
            self._branch_flat(stm, cond)
        elif cond.is_uniform:
            self._branch_uniform(stm, cond)
        else:
            self._branch_masked(stm, cond)

    def _branch_flat(self, stm: If, cond: Val) -> None:
        """Both sides, and a choice."""
        yes, no = self.run(stm.then), self.run(stm.orelse)
        for out, left, right in zip(stm.outs, yes, no, strict=True):
            assert isinstance(left, Val) and isinstance(right, Val)
            if cond.is_uniform and left.is_uniform and right.is_uniform:
                args = (cond, left, right)
                self.env[out] = self.applied("select", left.dtype, args)
            else:
                self.env[out] = self.choose(self.vec(cond), left, right)

    def _branch_uniform(self, stm: If, cond: Val) -> None:
        """A branch that all lanes take together."""
        a = self.a
        yes, no, join = a.label("then"), a.label("else"), a.label("join")
        a.branch(cond.text, yes, no)
        ends: list[tuple[list[Value], str]] = []
        marks = []
        for label, block in ((yes, stm.then), (no, stm.orelse)):
            a.start(label)
            values = self.run(block)
            marks.append(len(a.lines))
            ends.append((values, a.block))
            a.jump(join)
        groups = list(zip(stm.outs, ends[0][0], ends[1][0], strict=True))
        carriers = [
            Carrier(out, not all(Carrier(out, False).fits(v) for v in values))
            for out, *values in groups
        ]
        texts = []
        for (values, _), mark in zip(reversed(ends), reversed(marks), strict=True):
            after = a.lines[mark:]  # conversions go before the jump
            del a.lines[mark:]
            texts.append([c.text(self, v) for c, v in zip(carriers, values, strict=True)])
            a.lines += after
        texts.reverse()
        a.start(join)
        for k, carrier in enumerate(carriers):
            phi = a.phi(carrier.type(self))
            for side in (0, 1):
                phi.add(texts[side][k], ends[side][1])
            self.env[carrier.name] = carrier.value(self, phi.name)

    def _branch_masked(self, stm: If, cond: Val) -> None:
        """Both sides under masks, each skipped if no lane wants it."""
        test = self.vec(cond)
        carriers = [Carrier(out, True) for out in stm.outs]
        yes = self._side(stm.then, self.active(test), carriers)
        opposite = self.a.let(f"xor {self.type(bool_)} {test}, {self.vec(uniform('true', bool_))}")
        no = self._side(stm.orelse, self.active(opposite), carriers)
        for carrier, left, right in zip(carriers, yes, no, strict=True):
            text = carrier.choose(self, test, left, right)
            self.env[carrier.name] = carrier.value(self, text)

    def _side(self, block: Block, mask: str, carriers: list[Carrier]) -> list[Value]:
        """A block in the lanes of a mask; in others its results are nothing in particular."""
        a = self.a
        if not block.stms:
            return self.values(block.results)
        side, join, before = a.label("side"), a.label("join"), a.block
        a.branch(self.any(mask), side, join)
        a.start(side)
        with self.masked(mask):
            values = self.run(block)
        texts = [c.text(self, v) for c, v in zip(carriers, values, strict=True)]
        end = a.block
        a.jump(join)
        a.start(join)
        merged: list[Value] = []
        for carrier, text in zip(carriers, texts, strict=True):
            phi = a.phi(carrier.type(self))
            phi.add(text, end)
            phi.add(carrier.nothing(), before)
            merged.append(carrier.value(self, phi.name))
        return merged

    # what loops carry
    def attempt(
        self, key: object, params: Sequence[Name], write: Callable[[set[int]], None]
    ) -> None:
        """Write a loop, assuming that lanes share what they may share; again, where they do not.

        `write` adds to the set of positions that vary (-1: lanes stop at different times)."""
        varying = self.unit.choices.setdefault((key, self.width), set())
        while True:
            mark, before = self.mark(), len(varying)
            write(varying)
            if len(varying) == before:
                return
            if -1 in varying:
                varying.update(range(len(params)))
                varying.difference_update(
                    k for k, p in enumerate(params) if isinstance(p, Buf) and p.space == LOCAL
                )
            self.rollback(mark)

    def carriers(
        self, params: Sequence[Name], inits: list[Value], varying: set[int]
    ) -> list[Carrier]:
        """How the parameters of a loop travel; those that start differently in lanes vary."""
        varying.update(k for k, v in enumerate(inits) if not Carrier(params[k], False).fits(v))
        return [Carrier(p, k in varying) for k, p in enumerate(params)]

    def texts(self, carriers: list[Carrier], values: list[Value]) -> list[str]:
        return [c.text(self, v) for c, v in zip(carriers, values, strict=True)]

    def turn_results(
        self, values: list[Value], carriers: list[Carrier], varying: set[int]
    ) -> list[str]:
        """What a turn passes on; notes carriers that turn out to need a value per lane."""
        texts = []
        for k, (carrier, value) in enumerate(zip(carriers, values, strict=True)):
            if not carrier.fits(value):
                varying.add(k)
            texts.append(carrier.text(self, value) if carrier.fits(value) else carrier.nothing())
        return texts

    def bind_carriers(self, carriers: list[Carrier], texts: list[str]) -> None:
        for carrier, text in zip(carriers, texts, strict=True):
            self.env[carrier.name] = carrier.value(self, text)

    def bind_outs(self, outs: Sequence[Name], carriers: list[Carrier], texts: list[str]) -> None:
        """The results of a loop travel as its parameters did."""
        for out, carrier, text in zip(outs, carriers, texts, strict=True):
            self.env[out] = Carrier(out, carrier.varying).value(self, text)
