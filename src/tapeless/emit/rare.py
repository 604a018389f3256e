"""Functions that every kernel may call for what is rare or costs more than a call anyhow.

One copy of each stands in a module that uses it, so that the text at the places of use, which
costs time to compile, is short.
"""

from __future__ import annotations

from tapeless.emit.asm import Module

TOP, END, SITE, ARGS, COUNTDOWN, THREADS = 0, 1, 3, 4, 12, 13
GROW, ALLOC_RESULT, POLL, PARALLEL, THREAD_NUM, ARENAS, FOREIGN = 14, 15, 16, 17, 18, 19, 20
INTERRUPTED, OUT_OF_MEMORY = -1, -2
CACHE_LINE = 64
TOO_MUCH = 1 << 62  # bytes: more than any memory has


def field(name: str, number: int, base: str = "%ctx") -> str:
    """The line that names the address of an 8-byte slot."""
    return f"  %{name} = getelementptr inbounds i64, ptr {base}, i64 {number}"


def fail(module: Module, count: int) -> str:
    """void (ctx, site, arguments): records what failed."""
    args = "".join(f", i64 %x{k}" for k in range(count))
    stores = "\n".join(
        f"{field(f'arg{k}', ARGS + k)}\n  store i64 %x{k}, ptr %arg{k}, align 8"
        for k in range(count)
    )
    return module.define(f"tp.fail{count}", f"""\
define internal void @tp.fail{count}(ptr %ctx, i64 %site{args}) noinline cold nounwind {{
{stores}
{field("where", SITE)}
  store i64 %site, ptr %where, align 8
  ret void
}}""")  # fmt: skip


def look(module: Module) -> str:
    """i1 (ctx), sparing its callers' registers: does a signal handler raise?"""
    return module.define("tp.look", f"""\
define internal preserve_mostcc i1 @tp.look(ptr %ctx) noinline cold nounwind {{
{field("entry", POLL)}
  %poll = load ptr, ptr %entry, align 8
  %answer = call i32 %poll(ptr %ctx)
  %raised = icmp ne i32 %answer, 0
  br i1 %raised, label %stop, label %done
stop:
  call void {fail(module, 0)}(ptr %ctx, i64 {INTERRUPTED})
  br label %done
done:
  ret i1 %raised
}}""")  # fmt: skip


def tick(module: Module) -> str:
    """i1 (ctx): counts down, and looks for signals at zero."""
    return module.define("tp.tick", f"""\
define internal preserve_mostcc i1 @tp.tick(ptr %ctx) noinline cold nounwind {{
{field("countdown", COUNTDOWN)}
  %before = load i64, ptr %countdown, align 8
  %left = sub i64 %before, 1
  store i64 %left, ptr %countdown, align 8
  %due = icmp sle i64 %left, 0
  br i1 %due, label %look, label %done
look:
  %raised = call preserve_mostcc i1 {look(module)}(ptr %ctx)
  ret i1 %raised
done:
  ret i1 false
}}""")  # fmt: skip


def product(module: Module) -> str:
    """i64 (x, y): the product of two sizes, or TOO_MUCH."""
    return module.define("tp.product", f"""\
define internal i64 @tp.product(i64 %x, i64 %y) noinline nounwind willreturn memory(none) {{
  %pair = call {{i64, i1}} @llvm.umul.with.overflow.i64(i64 %x, i64 %y)
  %total = extractvalue {{i64, i1}} %pair, 0
  %over = extractvalue {{i64, i1}} %pair, 1
  %sum = select i1 %over, i64 {TOO_MUCH}, i64 %total
  ret i64 %sum
}}""")  # fmt: skip


def take(module: Module) -> str:
    """ptr (ctx, bytes): memory of the arena, aligned for vectors, or null. No bytes take a line
    too: an arena without any memory has no place for them."""
    return module.define("tp.take", f"""\
define internal ptr @tp.take(ptr %ctx, i64 %bytes) noinline nounwind {{
  %some = call i64 @llvm.umax.i64(i64 %bytes, i64 1)
  %up = add i64 %some, {CACHE_LINE - 1}
  %need = and i64 %up, {-CACHE_LINE}
{field("ends", END)}
  %top = load i64, ptr %ctx, align 8
  %end = load i64, ptr %ends, align 8
  %room = sub i64 %end, %top
  %fits = icmp ule i64 %need, %room
  br i1 %fits, label %quick, label %slow
quick:
  %next = add i64 %top, %need
  store i64 %next, ptr %ctx, align 8
  %here = inttoptr i64 %top to ptr
  ret ptr %here
slow:
  %grown = call ptr {_from(module, "grow", GROW)}(ptr %ctx, i64 %need)
  ret ptr %grown
}}""")  # fmt: skip


def result(module: Module) -> str:
    """ptr (ctx, bytes): memory that the caller will own, or null."""
    return _from(module, "result", ALLOC_RESULT)


def _from(module: Module, name: str, number: int) -> str:
    """ptr (ctx, bytes): what a function of the context gives; null is recorded as a failure."""
    return module.define(f"tp.{name}", f"""\
define internal ptr @tp.{name}(ptr %ctx, i64 %bytes) noinline nounwind {{
{field("entry", number)}
  %function = load ptr, ptr %entry, align 8
  %memory = call ptr %function(ptr %ctx, i64 %bytes)
  %empty = icmp eq ptr %memory, null
  br i1 %empty, label %none, label %done
none:
  call void {fail(module, 0)}(ptr %ctx, i64 {OUT_OF_MEMORY})
  br label %done
done:
  ret ptr %memory
}}""")  # fmt: skip
