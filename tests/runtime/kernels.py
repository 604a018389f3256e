"""Kernels written by hand in LLVM, by the kernel ABI."""

from __future__ import annotations

import functools

from tapeless.core.names import Loc
from tapeless.runtime.abi import ArraySlot, KernelType, ScalarSlot, Site
from tapeless.runtime.codegen import compile_object
from tapeless.runtime.kernel import Kernel
from tapeless.runtime.machine import load

F64, I64 = ScalarSlot("f64"), ScalarSlot("i64")
VECTOR = ArraySlot("f64", 1)


def slot(base: str, number: int, name: str, type: str = "i64") -> str:
    return (
        f"  %{name}.at = getelementptr i64, ptr %{base}, i64 {number}\n"
        f"  %{name} = load {type}, ptr %{name}.at\n"
    )


def put(base: str, number: int, value: str, name: str, type: str = "i64") -> str:
    return (
        f"  %{name}.to = getelementptr i64, ptr %{base}, i64 {number}\n"
        f"  store {type} {value}, ptr %{name}.to\n"
    )


def define(name: str, body: str) -> str:
    return f"define i32 @{name}(ptr %ctx, ptr %args, ptr %results) {{\nentry:\n{body}}}\n"


# scale(n, a, x[n]) -> y[n] = a * x, sum of y
SCALE = define(
    "scale",
    slot("args", 0, "n") + slot("args", 1, "a", "double") + slot("args", 2, "x", "ptr")
    + slot("ctx", 15, "alloc", "ptr")
    + """
  %bytes = mul i64 %n, 8
  %y = call ptr %alloc(ptr %ctx, i64 %bytes)
  %none = icmp eq ptr %y, null
  br i1 %none, label %memory, label %head
memory:
"""
    + put("ctx", 3, "-2", "site")
    + """
  ret i32 1
head:
  %i = phi i64 [0, %entry], [%next, %body]
  %sum = phi double [0.0, %entry], [%more, %body]
  %go = icmp slt i64 %i, %n
  br i1 %go, label %body, label %done
body:
  %x.i = getelementptr double, ptr %x, i64 %i
  %v = load double, ptr %x.i
  %w = fmul double %v, %a
  %y.i = getelementptr double, ptr %y, i64 %i
  store double %w, ptr %y.i
  %more = fadd double %sum, %w
  %next = add i64 %i, 1
  br label %head
done:
"""
    + put("results", 0, "%y", "r0", "ptr") + put("results", 1, "%n", "r1")
    + put("results", 2, "%sum", "r2", "double") + "  ret i32 0\n",
)  # fmt: skip

# pick(n, k, x[n] strided) -> x[k], checked
PICK = define(
    "pick",
    slot("args", 0, "n") + slot("args", 1, "k") + slot("args", 2, "x", "ptr")
    + slot("args", 3, "step")
    + """
  %ok = icmp ult i64 %k, %n
  br i1 %ok, label %good, label %bad
bad:
"""
    + put("ctx", 3, "2", "site") + put("ctx", 4, "%k", "a0") + put("ctx", 5, "%n", "a1")
    + """
  ret i32 1
good:
  %at = mul i64 %k, %step
  %p = getelementptr double, ptr %x, i64 %at
  %v = load double, ptr %p
"""
    + put("results", 0, "%v", "r0", "double") + "  ret i32 0\n",
)  # fmt: skip

# arena(n, times) -> sum of addresses' distances: takes n bytes `times` times, writing each end
ARENA = define(
    "arena",
    slot("args", 0, "n") + slot("args", 1, "times") + slot("ctx", 14, "grow", "ptr")
    + """
  br label %head
head:
  %i = phi i64 [0, %entry], [%next, %use]
  %go = icmp slt i64 %i, %times
  br i1 %go, label %body, label %done
body:
"""
    + slot("ctx", 0, "top") + slot("ctx", 1, "end")
    + """
  %up = add i64 %n, 63
  %size = and i64 %up, -64
  %after = add i64 %top, %size
  %fits = icmp ule i64 %after, %end
  br i1 %fits, label %bump, label %more
bump:
  store i64 %after, ptr %ctx
  %p0 = inttoptr i64 %top to ptr
  br label %use
more:
  %p1 = call ptr %grow(ptr %ctx, i64 %size)
  %none = icmp eq ptr %p1, null
  br i1 %none, label %memory, label %use
memory:
"""
    + put("ctx", 3, "-2", "site")
    + """
  ret i32 1
use:
  %p = phi ptr [%p0, %bump], [%p1, %more]
  call void @llvm.memset.p0.i64(ptr %p, i8 1, i64 %n, i1 false)
  %next = add i64 %i, 1
  br label %head
done:
"""
    + put("results", 0, "%times", "r0") + "  ret i32 0\n",
) + "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n"  # fmt: skip

# spin(n) -> n, polling in every iteration
SPIN = define(
    "spin",
    slot("args", 0, "n") + slot("ctx", 16, "poll", "ptr")
    + """
  br label %head
head:
  %i = phi i64 [0, %entry], [%next, %step], [%next, %look]
  %go = icmp slt i64 %i, %n
  br i1 %go, label %step, label %done
step:
  %next = add i64 %i, 1
  %count.at = getelementptr i64, ptr %ctx, i64 12
  %count = load i64, ptr %count.at
  %less = sub i64 %count, 1
  store i64 %less, ptr %count.at
  %zero = icmp sle i64 %less, 0
  br i1 %zero, label %look, label %head
look:
  %answer = call i32 %poll(ptr %ctx)
  %stop = icmp ne i32 %answer, 0
  br i1 %stop, label %out, label %head
out:
"""
    + put("ctx", 3, "-1", "site")
    + """
  ret i32 1
done:
"""
    + put("results", 0, "%i", "r0") + "  ret i32 0\n",
)  # fmt: skip

# team(x[n]): every thread writes its number + 1 to x[number]
TEAM = (
    """
define internal void @work(ptr %data) {
  %f.at = getelementptr i64, ptr %data, i64 1
  %f = load ptr, ptr %f.at
  %x = load ptr, ptr %data
  %t = call i32 %f()
  %p = getelementptr i64, ptr %x, i32 %t
  %t1 = add i32 %t, 1
  %v = sext i32 %t1 to i64
  store i64 %v, ptr %p
  ret void
}
"""
    + define(
        "team",
        slot("args", 0, "x", "ptr") + slot("ctx", 13, "threads") + slot("ctx", 17, "region", "ptr")
        + slot("ctx", 18, "number", "ptr")
        + """
  %serial = icmp eq ptr %region, null
  br i1 %serial, label %one, label %many
one:
  store i64 1, ptr %x
  br label %done
many:
  %data = alloca [2 x i64]
  store ptr %x, ptr %data
  %second = getelementptr i64, ptr %data, i64 1
  store ptr %number, ptr %second
  %count = trunc i64 %threads to i32
  call void %region(ptr %ctx, ptr @work, ptr %data, i32 %count)
  br label %done
done:
"""
        + put("results", 0, "%threads", "r0") + "  ret i32 0\n",
    )
)  # fmt: skip

# late(x[n]): the same, where all threads but the first take 5 ms longer
LATE = "declare i32 @usleep(i32)" + TEAM.replace("@team(", "@late(").replace(
    "  %t1 =",
    """  %is_first = icmp eq i32 %t, 0
  %us = select i1 %is_first, i32 0, i32 5000
  %slept = call i32 @usleep(i32 %us)
  %t1 =""",
)

LINE = Loc(__file__, 3, 0, 3, 4, "somewhere")
TYPES = {
    "scale": (SCALE, KernelType("scale", (I64, F64, VECTOR), (VECTOR, F64), ())),
    "pick": (
        PICK,
        KernelType(
            "pick",
            (I64, I64, ArraySlot("f64", 1, "S")),
            (F64,),
            (
                Site("ValueError", "never", (), None),
                Site("IndexError", "index {} is out of bounds for size {}", ("i64", "i64"), LINE),
            ),
        ),
    ),
    "arena": (ARENA, KernelType("arena", (I64, I64), (I64,), ())),
    "spin": (SPIN, KernelType("spin", (I64,), (I64,), ())),
    "team": (TEAM, KernelType("team", (ArraySlot("i64", 1, "C", True),), (I64,), ())),
    "late": (LATE, KernelType("late", (ArraySlot("i64", 1, "C", True),), (I64,), ())),
}


@functools.cache
def kernel(name: str) -> Kernel:
    text, type = TYPES[name]
    return Kernel(type, load(compile_object(text)))
