"""Every statement of Loop IR, sent to who emits it; operators, and checks."""

from __future__ import annotations

from dataclasses import replace

from tapeless.core.names import Const, Var
from tapeless.core.types import bool_, i64, u64
from tapeless.emit.rows import together
from tapeless.emit.threads import Threads
from tapeless.emit.values import UNIFORM, Val, uniform
from tapeless.loop.syntax import (
    SIMD,
    THREADS,
    Alloc,
    AnyLane,
    Block,
    Call,
    Check,
    Combine,
    Copy,
    For,
    If,
    Load,
    Op,
    Row,
    Scope,
    Stm,
    Store,
    Team,
    While,
)


class Emitter(Threads):
    """A function that can hold all statements."""

    def another(self, header: str) -> Threads:
        return Emitter(self.unit, header)

    def block(self, block: Block) -> None:
        if self.width == 1:
            for stm in block.stms:
                self.statement(stm)
            return
        for item in together(block.stms, self.width, lambda buf: self.ptr(buf).root):
            if isinstance(item, list):
                self.store_row(item)
            else:
                self.statement(item)

    def statement(self, stm: Stm) -> None:
        match stm:
            case Op():
                self.op(stm)
            case Load():
                self.load(stm)
            case Store():
                self.store(stm)
            case Combine():
                self.combine(stm)
            case Row():
                self.row(stm)
            case For():
                self.loop(stm)
            case If():
                self.branch(stm)
            case Check():
                self.check(stm)
            case Alloc():
                self.allocate(stm)
            case Copy():
                self.copy(stm)
            case Scope():
                self.scope(stm)
            case While():
                self.loop_while(stm)
            case AnyLane():
                self.any_lane(stm)
            case Team():
                self.team(stm)
            case Call():
                self.call(stm)

    def op(self, stm: Op) -> None:
        """An operator; index arithmetic keeps values linear."""
        args = [self.val(a) for a in stm.args]
        if stm.out.dtype == i64 and stm.op in ("add", "sub", "mul"):
            rule = {"add": self.add, "sub": self.sub, "mul": self.mul}[stm.op]
            self.env[stm.out] = rule(args[0], args[1])
            if stm.op == "mul":
                self.factors[stm.out] = (stm.args[0], stm.args[1])
            return
        if stm.op == "i64" and args[0].dtype == i64:
            self.env[stm.out] = args[0]
            return
        if stm.op in ("le", "lt") and args[0].dtype == i64:
            self.compared[stm.out] = stm
        index = self.index_test(stm) if stm.op == "and" and stm.out.dtype == bool_ else None
        if index is not None:
            self.env[stm.out] = self.applied("lt", bool_, index)
            return
        self.env[stm.out] = self.applied(stm.op, stm.out.dtype, args, stm.loose)

    def index_test(self, stm: Op) -> tuple[Val, Val] | None:
        """0 <= i and i < n is one comparison of unsigned numbers, since sizes are not negative."""
        low, high = (self.compared.get(a) if isinstance(a, Var) else None for a in stm.args)
        if low is None or high is None or (low.op, high.op) != ("le", "lt"):
            return None
        (zero, i), (same, n) = low.args, high.args
        if zero != Const(0, i64) or same != i or n not in self.unit.memory.sizes:
            return None
        return replace(self.val(i), dtype=u64), replace(self.val(n), dtype=u64)

    def any_lane(self, stm: AnyLane) -> None:
        cond = self.val(stm.cond)
        if cond.is_uniform:
            self.env[stm.out] = cond
            return
        self.env[stm.out] = Val(UNIFORM, self.any(self.active(self.vec(cond))), bool_)

    def check(self, stm: Check) -> None:
        cond, args = self.val(stm.cond), [self.val(a) for a in stm.args]
        if cond.text == "true":
            return
        holds, failing = cond.text, self.mask
        if not cond.is_uniform:
            ones = self.vec(uniform("true", bool_))
            wrong = self.a.let(f"xor {self.type(bool_)} {self.vec(cond)}, {ones}")
            failing = self.active(wrong)
            holds = self.a.let(f"xor i1 {self.any(failing)}, true")
        self.fail_unless(holds, stm.site, lambda: self.of_first(failing, args))

    def of_first(self, mask: str | None, values: list[Val]) -> list[Val]:
        """The values in the first lane of a mask."""
        k = "0"
        if mask is not None and not all(v.is_uniform for v in values):
            k = self.first_lane(mask)
        return [self.of_lane(v, k) for v in values]

    def loop(self, stm: For) -> None:
        if stm.kind == SIMD:
            self.simd(stm)
        elif stm.kind == THREADS:
            self.threads(stm)
        else:
            self.sequential(stm)
