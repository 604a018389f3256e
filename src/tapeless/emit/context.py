"""The kernel's context: its fields, memory, failures, and looking for signals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from tapeless.core.types import DType, i64
from tapeless.emit import rare
from tapeless.emit.alias import CONTEXT
from tapeless.emit.asm import is_literal, scalar_type
from tapeless.emit.casts import cast
from tapeless.emit.function import Function
from tapeless.emit.rare import COUNTDOWN, END, TOP
from tapeless.emit.values import Val


class Context(Function):
    """A function that has a context."""

    ctx = "%ctx"

    # fields
    def slot(self, base: str, number: int | str) -> str:
        """The address of an 8-byte slot."""
        if number == 0:
            return base
        return self.a.let(f"getelementptr inbounds i64, ptr {base}, i64 {number}")

    def get(self, number: int, type: str = "i64") -> str:
        where = self.slot(self.ctx, number)
        return self.a.let(f"load {type}, ptr {where}, align 8{self.context_alias}")

    def set(self, number: int, text: str, type: str = "i64") -> None:
        where = self.slot(self.ctx, number)
        self.a.do(f"store {type} {text}, ptr {where}, align 8{self.context_alias}")

    @property
    def context_alias(self) -> str:
        return self.unit.aliasing.suffix(CONTEXT)

    def to_slot(self, value: Val) -> str:
        """A scalar as 8 bytes: a float's bits, an integer extended by its sign, a bool 0 or 1."""
        a, t, text = self.a, value.dtype, value.text
        if t.is_float:
            bits = a.let(f"bitcast {self.type(t, False)} {text} to i{t.bits}")
            return bits if t.bits == 64 else a.let(f"zext i32 {bits} to i64")
        if t.is_bool:
            return a.let(f"zext i1 {text} to i64")
        return text if t.bits == 64 else cast(a, text, t, i64, 1)

    def load_slot(self, where: str, dtype: DType) -> str:
        """A scalar out of an 8-byte slot."""
        type = "i64" if dtype.is_bool else scalar_type(dtype)
        text = self.a.let(f"load {type}, ptr {where}, align 8{self.context_alias}")
        return self.a.let(f"icmp ne i64 {text}, 0") if dtype.is_bool else text

    # failures
    def fail_unless(self, cond: str, site: int, args: Callable[[], list[Val]]) -> None:
        """A check of a scalar condition; `args` writes its scalar arguments where it fails."""
        label, after = self.a.label("fail"), self.a.label("ok")
        self.a.branch(cond, after, label, likely=True)
        with self.a.aside(label):
            words = [self.to_slot(arg) for arg in args()]
            name = rare.fail(self.a.module, len(words))
            given = "".join(f", i64 {word}" for word in words)
            self.a.do(f"call void {name}(ptr {self.ctx}, i64 {site + 1}{given})")
            self.a.leave()
        self.a.start(after)

    def poll(self) -> None:
        """Count down, and look for signals at zero."""
        left = self.a.let(f"sub i64 {self.get(COUNTDOWN)}, 1")
        self.set(COUNTDOWN, left)
        due = self.a.let(f"icmp sle i64 {left}, 0")
        look, after = self.a.label("poll"), self.a.label("go")
        self.a.branch(due, look, after, rare=True)
        with self.a.aside(look):
            self._ask(rare.look(self.a.module), after)
        self.a.start(after)

    def poll_aside(self) -> None:
        """The same where it is rare, in less text."""
        after = self.a.label("go")
        self._ask(rare.tick(self.a.module), after)
        self.a.start(after)

    def _ask(self, function: str, after: str) -> None:
        raised = self.a.let(f"call preserve_mostcc i1 {function}(ptr {self.ctx})")
        self.a.leave_if(raised, after)

    # memory
    def bytes_for(self, sizes: Sequence[str], each: int) -> str:
        """The product of sizes and `each`, or more than any memory has if that is too large."""
        known = each
        open_sizes = []
        for size in sizes:
            if is_literal(size):
                known *= max(int(size), 0)
            else:
                open_sizes.append(size)
        total = str(known)
        for size in open_sizes:
            product = rare.product(self.a.module)
            total = self.a.let(f"call i64 {product}(i64 {total}, i64 {size})")
        return total

    def arena(self, size: str) -> str:
        """`size` bytes of the arena, aligned for vectors."""
        self.arena_uses += 1
        return self._memory(rare.take(self.a.module), size)

    def result_memory(self, size: str) -> str:
        """`size` bytes that the caller will own."""
        return self._memory(rare.result(self.a.module), size)

    def _memory(self, function: str, size: str) -> str:
        """Memory from a function that gives null if there is none."""
        memory = self.a.let(f"call ptr {function}(ptr {self.ctx}, i64 {size})")
        empty = self.a.let(f"icmp eq ptr {memory}, null")
        after = self.a.label("memory")
        self.a.leave_if(empty, after)
        self.a.start(after)
        return memory

    @contextmanager
    def giving_back(self) -> Iterator[None]:
        """Arena memory taken inside is given back at the end."""
        a, before = self.a, self.arena_uses
        start = a.point()
        yield
        if self.arena_uses == before:
            return
        names = [a.name() for _ in range(3)]
        alias = self.context_alias
        start.lines += [
            f"  {names[0]} = load i64, ptr {self.ctx}, align 8{alias}",
            f"  {names[1]} = getelementptr inbounds i64, ptr {self.ctx}, i64 {END}",
            f"  {names[2]} = load i64, ptr {names[1]}, align 8{alias}",
        ]
        self.set(TOP, names[0])
        self.set(END, names[2])
        # What comes next may get the same memory: no access may be moved across this place.
        a.do('call void asm sideeffect "", "~{memory}"()')
