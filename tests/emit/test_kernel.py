"""Whole kernels of hand-written Loop IR, run: loops, branches, checks, memory, the ABI."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tapeless.core.names import Var
from tapeless.core.types import bool_, f32, i8, i32, i64, u8
from tapeless.loop.syntax import Buf, Row
from tests.emit.build import Builder, Reduce, const
from tests.emit.machine import HOST, SCALAR, Compiled, Failure, Machine, array_at

RNG = np.random.default_rng(7)
targets = pytest.mark.parametrize("target", [SCALAR, HOST], ids=["scalar", "lanes"])
kinds = pytest.mark.parametrize("kind", ["seq", "simd", "threads"])
SIZES = (0, 1, 3, 7, 8, 31, 32, 33, 100, 1000)


@kinds
@targets
def test_sum(kind, target):
    b = Builder()
    n = b.size()
    x = b.array(n)
    (total,) = b.loop(
        n, lambda i, s: b.op("add", s, b.load(x, i), loose=True), const(1.5),
        kind=kind, reduces=[Reduce((0,), "+")],
    )  # fmt: skip
    f = Compiled(b.proc(total), target)
    for size in SIZES:
        values = RNG.integers(-50, 50, size).astype(float)
        assert f(size, values).view(float)[0] == values.sum() + 1.5


@kinds
@targets
@pytest.mark.parametrize("strided", [False, True])
def test_saxpy(kind, target, strided):
    b = Builder()
    n, a = b.size(), b.number()
    x, y = b.array(n, strided=strided), b.array(n, strided=strided)
    b.loop(
        n, lambda i: b.store(y, [i], b.op("add", b.op("mul", a, b.load(x, i)), b.load(y, i))),
        kind=kind,
    )  # fmt: skip
    f = Compiled(b.proc(), target)
    for size in SIZES:
        step = 3 if strided else 1
        xs, ys = RNG.random(size * step), RNG.random(size * step)
        expected = ys.copy()
        expected[::step] = 2.0 * xs[::step] + ys[::step]
        f(size, 2.0, xs, *([step] * strided), ys, *([step] * strided))
        np.testing.assert_array_equal(ys, expected)


def test_threads_share_a_loop():
    """Every iteration runs once, in some thread with an arena of its own; sums do not depend on
    the number of threads, not even in their last bits."""
    b = Builder()
    n = b.size()
    x = b.array(n)

    def body(i, s):
        mem = b.alloc(b.op("add", b.op("mod", i, 7), 1000))
        b.loop(10, lambda j: b.store(mem, [j], b.op("f64", b.op("mul", i, j))), kind="simd")
        v = b.op("sqrt", b.load(mem, 9))
        b.store(x, [i], v)
        return b.op("add", s, v, loose=True)

    (total,) = b.loop(n, body, const(0.5), kind="threads", reduces=[Reduce((0,), "+")])
    f = Compiled(b.proc(total))
    for size in SIZES:
        sums = set()
        for threads in (1, 2, 5):
            xs = np.zeros(size)
            sums.add(f.run(Machine(threads=threads), size, xs)[0])
            expected = np.sqrt(9.0 * np.arange(size))
            np.testing.assert_array_equal(xs, expected)
        assert len(sums) == 1
        np.testing.assert_allclose(np.array(list(sums)).view(float), expected.sum() + 0.5)


def test_threads_fail_as_one_would():
    """Of several failures the first in program order is reported, whoever meets it."""
    b = Builder()
    n = b.size()
    x = b.array(n)

    def body(i):
        v = b.load(x, i)
        b.check(b.op("lt", v, 5.0), i, v)

    b.loop(n, body, kind="threads")
    f = Compiled(b.proc())
    for first in (0, 17, 998):
        for threads in (1, 2, 4):
            xs = np.zeros(1000)
            xs[[first, 999]] = first + 6.0, 7.0
            with pytest.raises(Failure) as failure:
                f.run(Machine(threads=threads), 1000, xs)
            assert (failure.value.ints[0], failure.value.floats[1]) == (first, first + 6.0)
            assert failure.value.site == 1


def test_little_work_wakes_nobody():
    b = Builder()
    n = b.size()
    x = b.array(n)
    b.loop(n, lambda i: b.store(x, [i], 1.0), kind="threads", work=n)
    f = Compiled(b.proc())

    class Counting(Machine):
        regions = 0

        def parallel(self, *args):
            self.regions += 1
            super().parallel(*args)

    for size, regions in ((100, 0), (1 << 20, 1)):
        runtime, xs = Counting(threads=2), np.zeros(size)
        f.run(runtime, size, xs)
        assert xs.all()
        assert runtime.regions == regions


def argmax(b, n, x, kind):
    """The largest element and where it is first: a reduction by the program's own operator."""
    neutral = (const(-np.inf), const(1 << 62))
    left = [Var(c.type, "l") for c in neutral]
    right = [Var(c.type, "r") for c in neutral]

    def better(v, i, w, j):
        wins = b.op("lt", v, w)
        ties = b.op("and", b.op("eq", v, w), b.op("lt", j, i))
        take = b.op("or", wins, ties)
        return b.op("select", take, w, v), b.op("select", take, j, i)

    reduce = Reduce((0, 1), "", tuple(left), tuple(right),
                    b.block(better, *left, *right), neutral)  # fmt: skip
    return b.loop(
        n, lambda i, v, j: better(v, j, b.load(x, i), i), *neutral, kind=kind, reduces=[reduce]
    )


@kinds
@targets
def test_own_operator(kind, target):
    b = Builder()
    n = b.size()
    x = b.array(n)
    best, where = argmax(b, n, x, kind)
    f = Compiled(b.proc(best, where), target)
    for size in SIZES[1:]:
        xs = RNG.integers(0, 20, size).astype(float)
        for threads in (1, 2):
            results = f.run(Machine(threads=threads), size, xs)
            assert results[:1].view(float)[0] == xs.max()
            assert results[1] == xs.argmax()


@targets
def test_scalars_of_all_types(target):
    """Arguments and results by the ABI: floats by bits, integers extended, bools 0 or 1."""
    b = Builder()
    xs = [b.number(t) for t in (f32, i8, u8, i32, i64, bool_)]
    half = b.op("mul", xs[0], const(0.5, f32))
    results = [half, *(b.op("add", x, const(1, x.dtype)) for x in xs[1:5]), b.op("not", xs[5])]
    out = Compiled(b.proc(*results), target)(np.float32(3.0), -128, 255, -5, 1 << 40, True)
    assert out[:1].view(np.float32)[0] == 1.5
    assert list(out[1:6]) == [-127, 0, -4, (1 << 40) + 1, 0]


@kinds
@targets
def test_branch_in_loop(kind, target):
    """y = sqrt(x) where x > 0, else x * x, a memory effect in only one side."""
    b = Builder()
    n = b.size()
    x, y = b.array(n), b.array(n)

    def body(i):
        v = b.load(x, i)
        (r,) = b.if_(
            b.op("lt", 0.0, v), lambda: b.op("exp", b.op("log", v)), lambda: b.op("mul", v, v)
        )
        b.if_(b.op("lt", r, 100.0), lambda: b.store(y, [i], r))

    b.loop(n, body, kind=kind)
    f = Compiled(b.proc(), target)
    for size in SIZES:
        xs, ys = RNG.normal(0, 10, size), np.full(size, -1.0)
        expected = np.where(xs > 0, xs, xs * xs)
        f(size, xs, ys)
        np.testing.assert_allclose(ys, np.where(expected < 100, expected, -1.0), rtol=1e-14)


@kinds
@targets
def test_while_in_loop(kind, target):
    """Steps of the 3n + 1 walk of every number: lanes stop at different times."""
    b = Builder()
    n = b.size()
    out = b.array(n, dtype=i64)

    def body(i):
        def turn(k, steps):
            odd = b.op("eq", b.op("and", k, 1), 1)
            up = b.op("add", b.op("mul", k, 3), 1)
            half = b.op("shr", k, 1)
            return b.op("select", odd, up, half), b.op("add", steps, 1)

        _, steps = b.while_(lambda k, s: b.op("ne", k, 1), turn, b.op("add", i, 1), const(0))
        b.store(out, [i], steps)

    b.loop(n, body, kind=kind)
    f = Compiled(b.proc(), target)

    def steps(k):
        count = 0
        while k != 1:
            k, count = (3 * k + 1 if k % 2 else k // 2), count + 1
        return count

    for size in SIZES:
        result = np.full(size, -1)
        f(size, result)
        assert list(result) == [steps(k + 1) for k in range(size)]


@kinds
@targets
def test_triangle(kind, target):
    """Inner loops whose ranges differ from lane to lane."""
    b = Builder()
    n = b.size()
    x, out = b.array(n), b.array(n)

    def body(i):
        (s,) = b.loop(i, lambda j, s: b.op("add", s, b.load(x, j)), const(0.0), start=0)
        (t,) = b.loop(n, lambda j, s: b.op("add", s, b.load(x, j)), const(0.0), start=i)
        b.store(out, [i], b.op("sub", s, t))

    b.loop(n, body, kind=kind)
    f = Compiled(b.proc(), target)
    for size in SIZES[:-1]:
        xs, result = RNG.integers(-9, 9, size).astype(float), np.zeros(size)
        f(size, xs, result)
        expected = [xs[:i].sum() - xs[i:].sum() for i in range(size)]
        np.testing.assert_array_equal(result, expected)


@kinds
@targets
def test_check_fails(kind, target):
    """The first failing iteration is reported, with its arguments."""
    b = Builder()
    n = b.size()
    x = b.array(n)

    def body(i):
        v = b.load(x, i)
        b.check(b.op("lt", v, 5.0), i, v)

    b.loop(n, body, kind=kind)
    f = Compiled(b.proc(), target)
    xs = np.zeros(100)
    f(100, xs)
    xs[[37, 39, 80]] = 7.5, 9.5, 10.5
    with pytest.raises(Failure) as failure:
        f(100, xs)
    assert failure.value.site == 1
    assert failure.value.ints[0] == 37
    assert failure.value.floats[1] == 7.5


@targets
def test_results_and_scratch(target):
    """A result array, zeroed memory, and scratch memory from the arena."""
    b = Builder()
    n = b.size()
    out = b.alloc(n, 3, result=0, zero=True)
    scratch = b.alloc(n)
    b.loop(n, lambda i: b.store(scratch, [i], b.op("f64", i)), kind="simd")
    b.loop(n, lambda i: b.store(out, [i, 1], b.load(scratch, i)), kind="simd")
    total = b.op("add", n, 1)
    f = Compiled(b.proc(out, total), target)
    for size in SIZES:
        results = f(size)
        expected = np.zeros((size, 3))
        expected[:, 1] = np.arange(size)
        np.testing.assert_array_equal(array_at(results, 0, 2), expected)
        assert results[3] == size + 1


def test_arena_grows_and_is_given_back():
    b = Builder()
    n = b.size()

    def body(i, s):
        def inner():
            mem = b.alloc(b.op("mul", n, 100))
            b.store(mem, [i], 1.0)
            return b.load(mem, i)

        (one,) = b.scope(inner)
        return b.op("add", s, one)

    (total,) = b.loop(n, body, const(0.0))
    f = Compiled(b.proc(total))
    runtime = Machine()
    assert f.run(runtime, 50).view(float)[0] == 50.0
    assert not runtime.grown
    runtime = Machine(arena=1024)
    assert f.run(runtime, 50).view(float)[0] == 50.0
    assert len(runtime.grown) == 50


def test_out_of_memory():
    b = Builder()
    n = b.size()
    mem = b.alloc(n, n)
    b.store(mem, [0, 0], 1.0)
    f = Compiled(b.proc())
    for size in (1 << 20, 1 << 32, 1 << 62, -1):
        with pytest.raises(Failure) as failure:
            f.run(Machine(most_memory=1 << 20), size)
        assert failure.value.site == -2


@pytest.mark.parametrize("inner", [False, True])
def test_interrupt(inner):
    """Long loops of every form look for signals, and stop."""
    b = Builder()
    n = b.size()

    def body(i, s):
        if not inner:
            return b.op("add", s, b.op("exp", b.op("f64", i)))
        (t,) = b.while_(lambda t: b.op("lt", t, 1e9), lambda t: b.op("add", t, 1.0), b.op("f64", i))
        return b.op("add", s, t)

    (total,) = b.loop(n, body, const(0.0))
    f = Compiled(b.proc(total))
    runtime = Machine(interrupt_at=3)
    with pytest.raises(Failure) as failure:
        f.run(runtime, 1 << 40)
    assert failure.value.site == -1
    assert runtime.polls == 3


@targets
def test_growing_list(target):
    """A buffer that a branch replaces by a larger one, carried by a loop."""
    b = Builder()
    n = b.size()
    first = b.alloc(2, dtype=i64)

    def body(i, cap, buf):
        full = b.op("eq", i, cap)

        def grown():
            double = b.op("mul", cap, 2)
            new = b.alloc(double, dtype=i64)
            b.loop(cap, lambda j: b.store(new, [j], b.load(buf, j)))
            return double, new

        cap, buf = b.if_(full, grown, lambda: (cap, buf))
        b.store(buf, [i], b.op("mul", i, i))
        return cap, buf

    _, last = b.loop(n, body, const(2), first)
    out = b.alloc(n, dtype=i64, result=0)
    b.loop(n, lambda i: b.store(out, [i], b.load(last, i)), kind="simd")
    f = Compiled(b.proc(out), target)
    for size in SIZES:
        results = f(size)
        np.testing.assert_array_equal(array_at(results, 0, 1, np.int64), np.arange(size) ** 2)


@targets
def test_rotating_buffers(target):
    """Two buffers that change places in every pass."""
    b = Builder()
    n, steps = b.size(), b.size()
    x = b.array(n)
    one, two = b.alloc(n), b.alloc(n)
    b.copy(one, x)

    def step(_, old, new):
        def cell(i):
            left = b.op("max", b.op("sub", i, 1), 0)
            b.store(new, [i], b.op("add", b.load(old, i), b.load(old, left)))

        b.loop(n, cell, kind="simd")
        return new, old

    last, _ = b.loop(steps, step, one, two)
    b.copy(x, last)
    f = Compiled(b.proc(), target)
    for size in SIZES:
        xs = RNG.integers(0, 5, size).astype(float)
        expected = xs.copy()
        for _ in range(5):
            expected = expected + expected[np.maximum(np.arange(size) - 1, 0)]
        f(size, 5, xs)
        np.testing.assert_array_equal(xs, expected)


@targets
def test_rows_and_copies(target):
    """Sub-arrays, copies of contiguous and of strided ones, the same memory reshaped."""
    b = Builder()
    n, m = b.size("n"), b.size("m")
    x, y = b.array(n, m), b.array(m, n, strided=True)
    last = b.row(x, b.op("sub", n, 1))
    b.loop(m, lambda j: b.store(last, [j], b.op("f64", j)), kind="simd")
    b.copy(y, transposed(b, x))
    f = Compiled(b.proc(), target)
    for rows, cols in ((1, 1), (3, 5), (40, 33)):
        xs, ys = RNG.random((rows, cols)), np.zeros((cols, 2 * rows))
        f(rows, cols, xs, ys, 2 * rows, 2)
        np.testing.assert_array_equal(xs[-1], np.arange(cols))
        np.testing.assert_array_equal(ys[:, ::2], xs.T)


def transposed(b, x):
    out = Buf(x.dtype, x.shape[::-1], x.strides[::-1])
    b.emit(Row(out, x, ()))
    return out


def test_foreign_call():
    b = Builder()
    n = b.size()
    x = b.array(n)
    status = b.call("double", x, n, const(2.5))
    f = Compiled(b.proc(status))

    def double(slots):
        words = (ctypes.c_int64 * 3).from_address(slots)
        data = (ctypes.c_double * words[1]).from_address(words[0])
        factor = ctypes.c_double.from_address(slots + 16).value
        for k in range(words[1]):
            data[k] *= factor
        return 42

    entry = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(double)
    xs = np.arange(4.0)
    assert f.run(Machine(), 4, xs, foreign=(entry,))[0] == 42
    np.testing.assert_array_equal(xs, [0.0, 2.5, 5.0, 7.5])


def test_combine_and_bools():
    b = Builder()
    n = b.size()
    keys, hist = b.array(n, dtype=i64), b.array(8, dtype=i64)
    flags = b.array(n, dtype=bool_)

    def body(i):
        k = b.load(keys, i)
        b.combine("+", hist, [k], 1)
        b.store(flags, [i], b.op("lt", k, 4))

    b.loop(n, body)
    f = Compiled(b.proc())
    ks, counts = RNG.integers(0, 8, 1000), np.zeros(8, np.int64)
    marks = np.zeros(1000, bool)
    f(1000, ks, counts, marks)
    np.testing.assert_array_equal(counts, np.bincount(ks, minlength=8))
    np.testing.assert_array_equal(marks, ks < 4)
