"""The kernel's context: fields, arena allocation, failures, and looking for signals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from tapeless.core.types import DType, i64
from tapeless.emit.alias import CONTEXT
from tapeless.emit.asm import is_literal, scalar_type
from tapeless.emit.casts import cast
from tapeless.emit.function import Function
from tapeless.emit.values import Val

TOP, END, SITE, ARGS, COUNTDOWN, THREADS = 0, 1, 3, 4, 12, 13
GROW, ALLOC_RESULT, POLL, PARALLEL, THREAD_NUM, ARENAS, FOREIGN = 14, 15, 16, 17, 18, 19, 20
INTERRUPTED, OUT_OF_MEMORY = -1, -2
CACHE_LINE = 64

# Out of line, and sparing its callers' registers: does a signal handler raise?
LOOK = "tp.look"
LOOK_TEXT = f"""define internal preserve_mostcc i1 @{LOOK}(ptr %ctx) noinline cold nounwind {{
  %entry = getelementptr inbounds i64, ptr %ctx, i64 {POLL}
  %poll = load ptr, ptr %entry, align 8
  %answer = call i32 %poll(ptr %ctx)
  %raised = icmp ne i32 %answer, 0
  br i1 %raised, label %stop, label %done
stop:
  %site = getelementptr inbounds i64, ptr %ctx, i64 {SITE}
  store i64 {INTERRUPTED}, ptr %site, align 8
  br label %done
done:
  ret i1 %raised
}}"""


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
    def fail(self, code: int) -> None:
        """Leave the kernel with `ctx.site`."""
        self.set(SITE, str(code))
        self.a.do("ret i32 1")

    def fail_unless(self, cond: str, site: int, args: Callable[[], list[Val]]) -> None:
        """A check of a scalar condition; `args` writes its scalar arguments where it fails."""
        label, after = self.a.label("fail"), self.a.label("ok")
        self.a.branch(cond, after, label, likely=True)
        with self.a.aside(label):
            for k, arg in enumerate(args()):
                self.set(ARGS + k, self.to_slot(arg))
            self.fail(site + 1)
        self.a.start(after)

    def poll(self) -> None:
        """Count down, and look for signals at zero."""
        left = self.a.let(f"sub i64 {self.get(COUNTDOWN)}, 1")
        self.set(COUNTDOWN, left)
        due = self.a.let(f"icmp sle i64 {left}, 0")
        look, after = self.a.label("poll"), self.a.label("go")
        self.a.branch(due, look, after, rare=True)
        symbol = self.a.module.define(LOOK, LOOK_TEXT)
        with self.a.aside(look):
            raised = self.a.let(f"call preserve_mostcc i1 {symbol}(ptr {self.ctx})")
            stop = self.a.label("stop")
            self.a.branch(raised, stop, after, rare=True)
            self.a.start(stop)
            self.a.do("ret i32 1")
        self.a.start(after)

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
        total, bad = str(known), ""
        for size in open_sizes:
            pair = self.a.let(
                f"call {{i64, i1}} @llvm.umul.with.overflow.i64(i64 {total}, i64 {size})"
            )
            total = self.a.let(f"extractvalue {{i64, i1}} {pair}, 0")
            over = self.a.let(f"extractvalue {{i64, i1}} {pair}, 1")
            bad = over if not bad else self.a.let(f"or i1 {bad}, {over}")
        if bad:
            total = self.a.let(f"select i1 {bad}, i64 {1 << 62}, i64 {total}")
        return total

    def arena(self, size: str) -> str:
        """`size` bytes of the arena, aligned for vectors."""
        a = self.a
        self.arena_uses += 1
        if is_literal(size):
            need = str(-(-int(size) // CACHE_LINE) * CACHE_LINE)
        else:
            up = a.let(f"add i64 {size}, {CACHE_LINE - 1}")
            need = a.let(f"and i64 {up}, {-CACHE_LINE}")
        top, end = self.get(TOP), self.get(END)
        room = a.let(f"sub i64 {end}, {top}")
        fits = a.let(f"icmp ule i64 {need}, {room}")
        quick, slow, after = a.label("bump"), a.label("grow"), a.label("have")
        a.branch(fits, quick, slow, likely=True)
        a.start(quick)
        self.set(TOP, a.let(f"add i64 {top}, {need}"))
        here = a.let(f"inttoptr i64 {top} to ptr")
        a.jump(after)
        with a.aside(slow):
            grown = self.memory_from(GROW, need)
            last = a.block
            a.jump(after)
        a.start(after)
        phi = a.phi("ptr")
        phi.add(here, quick)
        phi.add(grown, last)
        return phi.name

    def memory_from(self, field: int, size: str) -> str:
        """Memory from a function of the context; failure leaves the kernel."""
        function = self.get(field, "ptr")
        memory = self.a.let(f"call ptr {function}(ptr {self.ctx}, i64 {size})")
        empty = self.a.let(f"icmp eq ptr {memory}, null")
        none, after = self.a.label("nomemory"), self.a.label("memory")
        self.a.branch(empty, none, after, rare=True)
        with self.a.aside(none):
            self.fail(OUT_OF_MEMORY)
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
