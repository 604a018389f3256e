"""Parallel nests: Each as For levels as planned, Scan as a loop that keeps prefixes."""

from __future__ import annotations

from tapeless.core.names import Const, Var
from tapeless.ir.syntax import Acc, Each, Let, Scan
from tapeless.loop.syntax import SEQ
from tapeless.lower.branches import Result
from tapeless.lower.builder import ZERO
from tapeless.lower.calls import Calls
from tapeless.lower.levels import Levels
from tapeless.lower.registers import Range
from tapeless.lower.state import Place

MOST_BLOCKS = 64  # of a loop that threads share
BLOCK_UNIT = 64  # blocks hold a multiple of so many iterations: whole vectors, whole cache lines


class Nests(Calls):
    """Element results are made where they belong; accumulators are registers or memory."""

    def each(self, stm: Let, exp: Each) -> None:
        count = len(exp.body.results)
        homes = tuple(self.home(o) for o in stm.outs[:count])
        for acc in exp.accs:
            self.enter_acc(acc)
        Levels(self, stm, exp, homes).run()
        self.places.update(zip(stm.outs, homes, strict=False))
        accs = [v for acc in exp.accs for v in acc.vars]
        for out, var in zip(stm.outs[count:], accs, strict=True):
            if var.is_array:
                self.places[out] = self.places[var]
            else:
                self.atoms[out] = self.registers.pop(var)

    def home(self, out: Var) -> Place:
        """Memory for the elements of a nest: that of an operand which dies in it, or new."""
        array = self.reuse.get(out)
        return self.make(out) if array is None else self.places[array]

    def enter_acc(self, acc: Acc) -> None:
        for var, init in zip(acc.vars, acc.inits, strict=True):
            self.accs[var] = acc
            if isinstance(init, Var) and init.is_array:
                self.places[var] = self.places[init]
            else:
                self.registers[var] = self.atom(init)

    def scan(self, stm: Let, exp: Scan) -> None:
        """The prefix in registers, stored at each step."""
        homes = tuple(self.home(o) for o in stm.outs)
        monoid = exp.monoid
        prefix = tuple(v.fresh() for v in monoid.left)
        self.enter_acc(Acc(prefix, monoid.neutral, monoid))

        def inside() -> None:
            values = tuple(_scalar(r) for r in self.body(exp.body))
            left = tuple(self.registers[p] for p in prefix)
            new = self.operate(monoid, left, values)
            self.registers.update(zip(prefix, new, strict=True))
            for home, value in zip(homes, new, strict=True):
                self.store(home, (exp.var,), value)

        loop = Range(SEQ, exp.var, ZERO, self.atom(exp.size), self.atom(exp.size))
        self.carrying_loop(loop, (exp.body,), (exp.var,), inside, prefix)
        for p in prefix:
            del self.registers[p]
        self.places.update(zip(stm.outs, homes, strict=True))


def _scalar(result: Result) -> Var | Const:
    assert not isinstance(result, Place)
    return result
