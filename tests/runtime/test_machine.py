"""Object code: compiled, linked by our linker and by LLVM's, loaded without LLVM."""

from __future__ import annotations

import ctypes

import pytest

from tapeless.runtime import image, machine
from tapeless.runtime.codegen import compile_object
from tapeless.runtime.image import Image, ImageError
from tests.runtime.processes import output

# Constants in tables and in memory, a jump table, data, zeroed data, calls out, addresses.
TEXT = """
@table = internal constant [3 x double] [double 1.5, double 2.5, double 4.0]
@names = internal global [2 x ptr] [ptr @twice, ptr @thrice]
@count = internal global i64 5
@zeros = internal global [1000 x i64] zeroinitializer
declare double @cos(double)
declare i64 @strlen(ptr)
@text = internal constant [6 x i8] c"hello\\00"
define internal i64 @twice(i64 %x) { %y = mul i64 %x, 2
  ret i64 %y }
define internal i64 @thrice(i64 %x) { %y = mul i64 %x, 3
  ret i64 %y }
define double @lookup(i64 %k) {
  %p = getelementptr [3 x double], ptr @table, i64 0, i64 %k
  %v = load double, ptr %p
  %c = call double @cos(double %v)
  ret double %c
}
define i64 @through(i64 %k, i64 %x) {
  %p = getelementptr [2 x ptr], ptr @names, i64 0, i64 %k
  %f = load ptr, ptr %p
  %y = call i64 %f(i64 %x)
  ret i64 %y
}
define i64 @state(i64 %add) {
  %old = load i64, ptr @count
  %new = add i64 %old, %add
  store i64 %new, ptr @count
  %p = getelementptr [1000 x i64], ptr @zeros, i64 0, i64 999
  %z = load i64, ptr %p
  store i64 %new, ptr %p
  %s = add i64 %old, %z
  ret i64 %s
}
define i64 @outside() {
  %n = call i64 @strlen(ptr @text)
  %a = ptrtoint ptr @strlen to i64
  %ok = icmp ne i64 %a, 0
  %k = zext i1 %ok to i64
  %r = add i64 %n, %k
  ret i64 %r
}
define i64 @switch(i64 %x) {
  switch i64 %x, label %other [ i64 0, label %a  i64 1, label %b  i64 2, label %c  i64 3, label %d
                                i64 4, label %e  i64 5, label %f ]
a: br label %join
b: br label %join
c: br label %join
d: br label %join
e: br label %join
f: br label %join
other: ret i64 -1
join:
  %r = phi i64 [17, %a], [5, %b], [40, %c], [33, %d], [12, %e], [100, %f]
  ret i64 %r
}
"""


def function(loaded: machine.Loaded, name: str, result: type, *args: type):
    return ctypes.CFUNCTYPE(result, *args)(loaded.address(name))


@pytest.fixture(scope="module")
def code() -> bytes:
    return compile_object(TEXT)


@pytest.mark.parametrize("own", [True, False])
def test_every_kind_of_reference(code: bytes, own: bool):
    if own and not image.SUPPORTED:
        pytest.skip("not this linker's machine")
    loaded = machine.Loaded(Image(code) if own else None, code)
    i = ctypes.c_int64
    lookup = function(loaded, "lookup", ctypes.c_double, i)
    assert lookup(2) == pytest.approx(-0.6536436208636119, rel=1e-15)
    through = function(loaded, "through", i, i, i)
    assert (through(0, 7), through(1, 7)) == (14, 21)
    assert function(loaded, "outside", i)() == 6
    switch = function(loaded, "switch", i, i)
    assert [switch(k) for k in range(7)] == [17, 5, 40, 33, 12, 100, -1]


@pytest.mark.skipif(not image.SUPPORTED, reason="not this linker's machine")
def test_data_belong_to_one_image(code: bytes):
    i = ctypes.c_int64
    first, second = machine.load(code), machine.load(code)
    assert first._code is not None
    state = function(first, "state", i, i)
    assert (state(1), state(1)) == (5, 12)
    assert function(second, "state", i, i)(1) == 5


@pytest.mark.skipif(not image.SUPPORTED, reason="not this linker's machine")
def test_code_cannot_be_written(code: bytes):
    loaded = machine.load(code)
    place = loaded.address("switch")
    with open("/proc/self/maps", encoding="ascii") as file:
        for line in file:
            span, rights = line.split()[:2]
            low, high = (int(x, 16) for x in span.split("-"))
            if low <= place < high:
                assert rights[:3] == "r-x"
                return
    pytest.fail("the code is nowhere")


@pytest.mark.skipif(not image.SUPPORTED, reason="not this linker's machine")
def test_what_is_no_object_is_refused(code: bytes):
    for data in (b"", b"\x7fELF", bytes(100), code[:100], code[: len(code) // 2]):
        with pytest.raises(ImageError):
            Image(data)
    with pytest.raises(ImageError):
        Image(code).address("nowhere")
    missing = compile_object(
        "declare i64 @no_such_symbol()\n"
        "define i64 @f() { %x = call i64 @no_such_symbol() ret i64 %x }"
    )
    with pytest.raises(ImageError, match="no_such_symbol"):
        Image(missing)


def test_levels_agree():
    for level in range(4):
        loaded = machine.load(compile_object(TEXT, level=level, vectorize=level == 3))
        through = function(loaded, "through", ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
        assert through(1, 5) == 15


def test_host_is_what_llvm_says():
    here = machine.host()
    assert here.cpu and here.triple
    assert here.vector_bits in (128, 256, 512) and here.registers in (16, 32)
    assert machine.host.__wrapped__() == here  # from the cache now


def test_a_stored_kernel_needs_no_llvm():
    program = (
        "import sys, numpy\n"
        "from tapeless.runtime import machine, support\n"
        "machine.host(); support.support()\n"
        "print('llvmlite.binding' in sys.modules)\n"
    )
    output(program)
    assert output(program) == "False" or not image.SUPPORTED
