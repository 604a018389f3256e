"""Simd loops: every form of access, masks, buffers of single lanes, and partial results.

Each program runs with one lane and with several widths; integers and exact floats must agree with
NumPy to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from tapeless.core.types import bool_, f32, f64, i8, i16, i32, i64, u8, u64
from tapeless.emit.target import Target
from tapeless.loop.syntax import Row
from tests.emit.build import LOCAL, Builder, Reduce, const
from tests.emit.machine import HOST, Compiled, Failure

RNG = np.random.default_rng(11)
SIZES = (0, 1, 5, 8, 16, 17, 64, 100)
WIDTHS = {w: Target(width=w, vector_bits=512, registers=32) for w in (1, 2, 8, 32)} | {
    0: HOST, 256: Target(vector_bits=256, registers=16),
}  # fmt: skip
widths = pytest.mark.parametrize("target", WIDTHS.values(), ids=lambda t: f"w{t.width}")


@widths
@pytest.mark.parametrize("op", ["+", "*", "min", "max"])
@pytest.mark.parametrize("dtype", [f64, f32, i64, i32, i8, u8], ids=repr)
def test_reductions(target, op, dtype):
    name = {"+": "add", "*": "mul"}.get(op, op)
    b = Builder()
    n = b.size()
    x = b.array(n, dtype=dtype)
    start = b.number(dtype)
    (r,) = b.loop(
        n, lambda i, s: b.op(name, s, b.load(x, i), loose=True), start, kind="simd",
        reduces=[Reduce((0,), op)],
    )  # fmt: skip
    f = Compiled(b.proc(r), target)
    numpy = dtype.numpy.type
    ufunc = {"+": np.add, "*": np.multiply, "min": np.minimum, "max": np.maximum}[op]
    for size in SIZES:
        xs = RNG.integers(1, 3, size).astype(numpy)
        xs[RNG.random(size) < 0.9] = 1
        first = numpy(2)
        got = f(size, xs, float(first) if dtype == f64 else first)
        expected = ufunc.reduce(np.append(first, xs), dtype=numpy)
        assert got.view(numpy)[0] == expected


@widths
def test_nan_wins_extremes(target):
    b = Builder()
    n = b.size()
    x = b.array(n)
    outs = b.loop(
        n, lambda i, s, t: (b.op("min", s, b.load(x, i)), b.op("max", t, b.load(x, i))),
        const(np.inf), const(-np.inf), kind="simd",
        reduces=[Reduce((0,), "min"), Reduce((1,), "max")],
    )  # fmt: skip
    f = Compiled(b.proc(*outs), target)
    for size in SIZES[1:]:
        for bad in range(size):
            xs = RNG.random(size)
            xs[bad] = np.nan
            assert np.isnan(f(size, xs).view(float)[:2]).all()


@widths
@pytest.mark.parametrize("dtype", [f64, f32, i64, i32, i16, i8, bool_], ids=repr)
def test_accesses(target, dtype):
    """Forwards, backwards, every third, through an index array, one cell for all."""
    b = Builder()
    n = b.size()
    x, at = b.array(n, dtype=dtype), b.array(n, dtype=i64)
    outs = [b.array(n, dtype=dtype) for _ in range(4)]

    def body(i):
        back = b.op("sub", b.op("sub", n, 1), i)
        third = b.op("mod", b.op("mul", i, 3), n)
        b.store(outs[0], [back], b.load(x, i))
        b.store(outs[1], [i], b.load(x, back))
        b.store(outs[2], [i], b.load(x, third))
        b.store(outs[3], [b.load(at, i)], b.load(x, b.load(at, back)))

    b.loop(n, body, kind="simd")
    f = Compiled(b.proc(), target)
    for size in SIZES:
        xs = RNG.integers(0, 2 if dtype == bool_ else 100, size).astype(dtype.numpy)
        order = RNG.permutation(size)
        got = [np.zeros(size, dtype.numpy) for _ in outs]
        f(size, xs, order, *got)
        k = np.arange(size)
        last = np.zeros_like(xs)
        last[order] = xs[order[::-1]]
        for g, e in zip(got, (xs[::-1], xs[::-1], xs[3 * k % max(size, 1)], last), strict=True):
            np.testing.assert_array_equal(g, e)


@widths
@pytest.mark.parametrize("guarded", [False, True])
@pytest.mark.parametrize("op", ["+", "max"])
def test_lanes_that_meet(target, op, guarded):
    """A histogram: lanes with the same cell combine one after the other, masked ones not at all."""
    b = Builder()
    n = b.size()
    keys, values = b.array(n, dtype=i64), b.array(n)
    cells, one, rows = b.array(5), b.array(1), b.array(n)

    def body(i):
        k, v = b.load(keys, i), b.load(values, i)

        def combine():
            b.combine(op, cells, [k], v)
            b.combine(op, one, [0], v)
            b.combine(op, rows, [i], v)

        if guarded:
            b.if_(b.op("lt", v, 50.0), combine)
        else:
            combine()

    b.loop(n, body, kind="simd")
    f = Compiled(b.proc(), target)
    ufunc = {"+": np.add, "max": np.maximum}[op]
    for size in SIZES:
        ks, vs = RNG.integers(0, 5, size), RNG.integers(0, 100, size).astype(float)
        got = [np.full(5, 3.0), np.full(1, 3.0), np.full(size, 3.0)]
        expected = [g.copy() for g in got]
        used = vs < 50 if guarded else vs < 100
        where = (ks[used], np.zeros(used.sum(), int), np.arange(size)[used])
        for e, at in zip(expected, where, strict=True):
            ufunc.at(e, at, vs[used])
        f(size, ks, vs, *got)
        for g, e in zip(got, expected, strict=True):
            np.testing.assert_array_equal(g, e)


@widths
def test_last_lane_wins(target):
    """Stores of all lanes to one cell leave what the last iteration stored."""
    b = Builder()
    n = b.size()
    x, out = b.array(n), b.array(2)

    def body(i):
        v = b.load(x, i)
        b.store(out, [0], v)
        b.if_(b.op("lt", v, 0.5), lambda: b.store(out, [1], v))

    b.loop(n, body, kind="simd")
    f = Compiled(b.proc(), target)
    for size in SIZES[1:]:
        xs, got = RNG.random(size), np.array([-1.0, -1.0])
        f(size, xs, got)
        small = xs[xs < 0.5]
        assert list(got) == [xs[-1], small[-1] if len(small) else -1.0]


@widths
@pytest.mark.parametrize("size_known", [True, False])
def test_local_buffers(target, size_known):
    """Scratch memory of single lanes, indexed by what differs between lanes: a counting sort of
    each row."""
    b = Builder()
    n, m = b.size(), b.size("m")
    x, out = b.array(n, m, dtype=i64), b.array(n, m, dtype=i64)

    def body(i):
        def scratch():
            mem = b.alloc(4 if size_known else m, dtype=i64, zero=True, space=LOCAL)
            b.loop(m, lambda j: b.combine("+", mem, [b.load(x, i, j)], 1))
            b.loop(4, lambda j: b.store(out, [i, j], b.load(mem, j)))

        b.scope(scratch)

    b.loop(n, body, kind="simd")
    f = Compiled(b.proc(), target)
    for size in SIZES:
        xs, got = RNG.integers(0, 4, (size, 6)), np.zeros((size, 6), np.int64)
        f(size, 6, xs, got)
        for row, counts in zip(xs, got, strict=True):
            np.testing.assert_array_equal(counts[:4], np.bincount(row, minlength=4))


@widths
def test_lists_in_lanes(target):
    """Lists that grow in every lane until its own length; all lanes' room grows together."""
    b = Builder()
    n = b.size()
    sums = b.array(n, dtype=i64)

    def body(i):
        first = b.alloc(1, dtype=i64, space=LOCAL)
        many = b.op("mod", b.op("mul", i, 7), 11)

        def append(j, cap, buf):
            full = b.any_lane(b.op("le", cap, j))

            def grown():
                double = b.op("mul", cap, 2)
                new = b.alloc(double, dtype=i64, space=LOCAL)
                b.copy(resized(b, new, cap), resized(b, buf, cap))
                return double, new

            cap, buf = b.if_(full, grown, lambda: (cap, buf))
            b.store(buf, [j], b.op("mul", j, i))
            return cap, buf

        _, last = b.loop(many, append, const(1), first)
        (total,) = b.loop(many, lambda j, s: b.op("add", s, b.load(last, j)), const(0))
        b.store(sums, [i], total)

    b.loop(n, body, kind="simd")
    f = Compiled(b.proc(), target)
    for size in SIZES:
        got = np.zeros(size, np.int64)
        f(size, got)
        lengths = 7 * np.arange(size) % 11
        np.testing.assert_array_equal(got, lengths * (lengths - 1) // 2 * np.arange(size))


def resized(b, buf, size):
    out = type(buf)(buf.dtype, (size,), buf.strides, buf.hint, buf.space)
    b.emit(Row(out, buf, ()))
    return out


@widths
def test_nested_control(target):
    """Branches in loops in branches: masks narrow and widen, lanes keep what they have."""
    b = Builder()
    n = b.size()
    x, out = b.array(n, dtype=i64), b.array(n, dtype=i64)

    def body(i):
        v = b.load(x, i)

        def positive():
            def turn(k, s):
                (t,) = b.if_(
                    b.op("eq", b.op("mod", k, 3), 0),
                    lambda: b.op("add", s, b.load(x, b.op("mod", k, n))),
                    lambda: b.op("sub", s, 1),
                )
                return b.op("sub", k, 2), t

            _, s = b.while_(lambda k, s: b.op("lt", 0, k), turn, v, const(0))
            (t,) = b.loop(v, lambda j, t: b.op("add", t, b.op("mul", j, i)), s, start=3)
            return t

        (r,) = b.if_(b.op("lt", 0, v), positive, lambda: b.op("neg", v))
        b.store(out, [i], r)

    b.loop(n, body, kind="simd")
    f = Compiled(b.proc(), target)

    def expected(xs, i):
        v = int(xs[i])
        if v <= 0:
            return -v
        k, s = v, 0
        while k > 0:
            s = s + int(xs[k % len(xs)]) if k % 3 == 0 else s - 1
            k -= 2
        return s + sum(j * i for j in range(3, v))

    for size in SIZES:
        xs, got = RNG.integers(-5, 20, size), np.zeros(size, np.int64)
        f(size, xs, got)
        assert list(got) == [expected(xs, i) for i in range(size)]


@widths
def test_only_wanted_lanes_touch_memory(target):
    """A masked lane's index may be anything; a check there does not fail."""
    b = Builder()
    n = b.size()
    at, x, out = b.array(n, dtype=i64), b.array(n), b.array(n)

    def body(i):
        k = b.load(at, i)
        inside = b.op("and", b.op("le", 0, k), b.op("lt", k, n))

        def read():
            b.check(b.op("lt", k, n), i, k)
            v = b.load(x, k)
            b.store(out, [k], v)
            return v

        (v,) = b.if_(inside, read, lambda: const(-1.0))
        b.if_(b.op("eq", v, 2.0), lambda: b.check(b.op("lt", i, 60), i))

    b.loop(n, body, kind="simd")
    f = Compiled(b.proc(), target)
    for size in SIZES:
        xs, got = RNG.random(size), np.zeros(size)
        where = RNG.integers(-(1 << 62), 1 << 62, size)
        where[::3] = np.arange(size)[::3]
        f(size, where, xs, got)
        expected = np.where(np.arange(size) % 3 == 0, xs, 0)
        np.testing.assert_array_equal(got, expected)
    xs[[63, 99]] = 2.0
    with pytest.raises(Failure) as failure:
        f(100, where, xs, got)
    assert failure.value.site == 2
    assert failure.value.ints[0] == 63


@widths
def test_uniform_work_is_shared(target):
    """Loops, branches and pointers that all lanes agree on; a row chosen by what lanes share."""
    b = Builder()
    n, m = b.size(), b.size("m")
    x, out = b.array(m, n), b.array(n)

    def body(i):
        def add(k, s):
            (r,) = b.if_(
                b.op("eq", b.op("mod", k, 2), 0),
                lambda: b.row(x, k), lambda: b.row(x, b.op("sub", k, 1)),
            )  # fmt: skip
            return b.op("add", s, b.load(r, i))

        (s,) = b.loop(m, add, const(0.0))
        b.store(out, [i], s)

    b.loop(n, body, kind="simd")
    f = Compiled(b.proc(), target)
    for size in SIZES:
        xs, got = RNG.integers(0, 9, (7, size)).astype(float), np.zeros(size)
        f(size, 7, xs, got)
        np.testing.assert_array_equal(got, xs[np.arange(7) // 2 * 2].sum(axis=0))


@widths
def test_rows_that_differ(target):
    """Each lane points at a row of its own, chosen in a branch."""
    b = Builder()
    n, m = b.size(), b.size("m")
    x, y, out = b.array(n, m), b.array(n, m), b.array(n)

    def body(i):
        odd = b.op("eq", b.op("and", i, 1), 1)
        (r,) = b.if_(odd, lambda: b.row(x, i), lambda: b.row(y, i))
        (s,) = b.loop(m, lambda j, s: b.op("add", s, b.load(r, j)), const(0.0))
        b.store(out, [i], s)

    b.loop(n, body, kind="simd")
    f = Compiled(b.proc(), target)
    for size in SIZES:
        xs, ys = (RNG.integers(0, 9, (size, 5)).astype(float) for _ in range(2))
        got = np.zeros(size)
        f(size, 5, xs, ys, got)
        odd = np.arange(size) % 2 == 1
        np.testing.assert_array_equal(got, np.where(odd, xs.sum(axis=1), ys.sum(axis=1)))


@widths
@pytest.mark.parametrize("trips", [1, 2, 3, 4, 7, 12, 40])
def test_known_trips(target, trips):
    b = Builder()
    x = b.array(trips)
    (s,) = b.loop(
        trips, lambda i, s: b.op("add", s, b.load(x, i)), const(0.0), kind="simd",
        reduces=[Reduce((0,), "+")],
    )  # fmt: skip
    b.loop(trips, lambda i: b.store(x, [i], b.op("f64", i)), kind="simd")
    f = Compiled(b.proc(s), target)
    xs = RNG.integers(0, 9, trips).astype(float)
    expected = xs.sum()
    assert f(xs).view(float)[0] == expected
    np.testing.assert_array_equal(xs, np.arange(trips))


@widths
@pytest.mark.parametrize("to", [i8, i32, i64, u64], ids=repr)
@pytest.mark.parametrize("source", [f32, f64], ids=repr)
def test_casts_to_integers_saturate(target, source, to):
    b = Builder()
    n = b.size()
    x, out = b.array(n, dtype=source), b.array(n, dtype=to)

    def body(i):
        b.store(out, [i], b.op(to.name, b.load(x, i)))

    b.loop(n, body, kind="simd")
    f = Compiled(b.proc(), target)
    ends = [np.inf, -np.inf, np.nan, 2.0**63, -(2.0**63), 2.0**64, 1e30, -1e30, -1.5, 2.5, 1e18]
    xs = np.resize(np.array(ends, dtype=source.numpy), 45)
    got = np.zeros(45, dtype=to.numpy)
    f(45, xs, got)
    info = np.iinfo(to.numpy)

    def saturated(v: float) -> int:
        if np.isnan(v):
            return 0
        return info.max if v >= info.max else info.min if v <= info.min else int(v)

    assert got.tolist() == [saturated(float(v)) for v in xs]


@widths
@pytest.mark.parametrize("size", [0, 7, 256, 1000])
@pytest.mark.parametrize("dtype", [f64, i64, i8], ids=repr)
def test_cells_that_data_name_in_strips(target, size, dtype):
    """Two sums and a maximum: a value that all turns share, and values of their own."""
    b = Builder()
    n, m = b.size(), b.size()
    cell, x = b.array(n, dtype=i64), b.array(n, dtype=dtype)
    count, total, most = b.array(m, dtype=i64), b.array(m, dtype=dtype), b.array(m, dtype=dtype)

    def body(i):
        k = b.load(cell, i)
        v = b.load(x, i)
        b.combine("+", count, [k], const(1, i64))
        b.combine("+", total, [k], v)
        b.combine("max", most, [k], v)

    b.loop(n, body, kind="simd")
    f = Compiled(b.proc(), target)
    cells = RNG.integers(0, 5, size)
    xs = RNG.integers(-3, 3, size).astype(dtype.numpy)
    counts, totals, mosts = (
        np.zeros(5, np.int64),
        np.zeros(5, dtype.numpy),
        np.zeros(5, dtype.numpy),
    )
    expected = [c.copy() for c in (counts, totals, mosts)]
    np.add.at(expected[0], cells, 1)
    np.add.at(expected[1], cells, xs)
    np.maximum.at(expected[2], cells, xs)
    f(size, 5, cells, xs, counts, totals, mosts)
    for got, want in zip((counts, totals, mosts), expected, strict=True):
        assert got.tolist() == want.tolist()
