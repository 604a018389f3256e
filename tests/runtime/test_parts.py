"""A module split into several gives the code that it gives whole."""

from __future__ import annotations

import ctypes
import re

import pytest

from tapeless.runtime import image, machine, parts
from tapeless.runtime.codegen import compile_object, side_by_side

# Calls both ways between functions, an address of a function, a table that two of them read.
TEXT = """
@powers = internal unnamed_addr constant [3 x i64] [i64 1, i64 10, i64 100]
declare i64 @llvm.smax.i64(i64, i64)
define internal i64 @power(i64 %k) noinline nounwind {
  %p = getelementptr [3 x i64], ptr @powers, i64 0, i64 %k
  %v = load i64, ptr %p
  ret i64 %v
}
define internal preserve_mostcc i1 @is_even(i64 %n) noinline nounwind {
  %low = and i64 %n, 1
  %even = icmp eq i64 %low, 0
  ret i1 %even
}
define i64 @scaled(i64 %k, i64 %x) {
  %p = call i64 @power(i64 %k)
  %y = mul i64 %p, %x
  %even = call preserve_mostcc i1 @is_even(i64 %y)
  %z = select i1 %even, i64 %y, i64 -1
  ret i64 %z
}
define i64 @sum(i64 %x) {
  %p = getelementptr [3 x i64], ptr @powers, i64 0, i64 2
  %v = load i64, ptr %p
  %s = add i64 %v, %x
  %m = call i64 @llvm.smax.i64(i64 %s, i64 0)
  ret i64 %m
}
define i64 @pick(i1 %c, i64 %x) {
  %f = select i1 %c, ptr @power, ptr @sum
  %y = call i64 %f(i64 %x)
  ret i64 %y
}
"""


def compiled(part: int) -> bytes:
    return parts.bundle([compile_object(text) for text in parts.split(TEXT, part)])


@pytest.mark.parametrize("part", [5, 12, 20, 1000])
@pytest.mark.parametrize("own", [True, False])
def test_functions_in_several_objects_call_each_other(part: int, own: bool):
    code = compiled(part)
    linked = image.Image(code) if own and image.SUPPORTED else None
    loaded = machine.Loaded(linked, code)

    def call(name: str, *args: int) -> int:
        return ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * len(args))(
            loaded.address(name)
        )(*args)

    assert [call("scaled", k, 7) for k in range(3)] == [-1, 70, 700]
    assert (call("sum", 11), call("sum", -200)) == (111, 0)
    assert (call("pick", 1, 2), call("pick", 0, 2)) == (100, 102)


def test_every_function_stands_in_one_part():
    for part in (5, 12, 20):
        texts = parts.split(TEXT, part)
        assert 2 <= len(texts) <= parts.MOST
        defined = [name for text in texts for name in re.findall(r"^define .*?@(\w+)", text, re.M)]
        assert sorted(defined) == ["is_even", "pick", "power", "scaled", "sum"]


def test_what_cannot_be_in_two_modules_is_in_one():
    data = "@count = internal global i64 5\n" + TEXT
    assert parts.split(data, 5) == [data]
    assert parts.split(TEXT, 1000) == [TEXT]


def test_bundles_are_taken_apart():
    for objects in ([b"one"], [b"one", b"", b"three"]):
        assert list(parts.unbundle(parts.bundle(objects))) == objects


@pytest.mark.skipif(not image.SUPPORTED, reason="not this linker's machine")
def test_a_damaged_bundle_is_refused():
    code = compiled(5)
    for data in (code[:20], code[:200], code[: len(code) // 2], code[:-64]):
        with pytest.raises(image.ImageError):
            image.Image(data)


def test_a_failure_on_another_thread_is_raised():
    def fails() -> bytes:
        raise RuntimeError("no code")

    with pytest.raises(RuntimeError, match="no code"):
        side_by_side([lambda: b"", fails])
