"""How many values of a simd loop may be alive at once."""

from __future__ import annotations

from tapeless.emit.facts import follows_data, follows_what_loops_find
from tapeless.emit.pressure import lanes_of, pressure
from tapeless.emit.target import Target
from tapeless.loop.syntax import For
from tests.emit.build import LOCAL, Builder, const


def simd(b: Builder, n, body) -> For:
    b.loop(n, body, kind="simd")
    loop = b.blocks[0][-1]
    assert isinstance(loop, For)
    return loop


def test_one_stretch_weighs_what_it_does():
    b = Builder()
    n = b.size()
    x, y = b.array(n), b.array(n)

    def body(i):
        v = b.load(x, i)
        for _ in range(10):
            v = b.op("mul", v, v)
        b.store(y, (i,), v)

    assert pressure(simd(b, n, body)) == 2 + 10 + 2


def test_of_inner_loops_the_heaviest_counts():
    """Ten loops one after the other need no more registers than one."""

    def with_loops(count):
        b = Builder()
        n, m = b.size(), b.size()

        def body(i):
            row = b.alloc(m, space=LOCAL)
            for _ in range(count):
                b.loop(m, lambda k: b.store(row, (k,), b.op("exp", b.load(row, k))))

        return pressure(simd(b, n, body))

    assert with_loops(1) == with_loops(10) == 2 + 8 + 2


def test_what_lanes_share_counts_for_nothing():
    b = Builder()
    n, a, x = b.size(), b.number(), b.array(8)

    def body(i):
        b.op("exp", b.op("mul", a, b.load(x, 3)))

    assert pressure(simd(b, n, body)) == 0


def test_what_an_inner_loop_carries_varies_if_what_it_becomes_does():
    b = Builder()
    n, m = b.size(), b.size()
    x = b.array(n)

    def body(i):
        start = b.op("add", 1.0, 2.0)
        b.loop(m, lambda k, s: b.op("add", s, b.op("mul", s, b.load(x, i))), start)

    assert pressure(simd(b, n, body)) == 2 + 2 + 1 + 1


def nearest(b: Builder, *, adds_row: bool) -> For:
    """Lanes look for the least of some cells, then add to a row or to one cell of that number."""
    n, m = b.size(), b.size()
    x, sums = b.array(m, n), b.array(m, m)

    def better(i, k, least, at):
        v = b.load(x, k, i)
        less = b.op("lt", v, least)
        return b.op("min", v, least), b.op("select", less, k, at)

    def body(i):
        found = b.loop(m, lambda k, *now: better(i, k, *now), const(1e9), const(0))
        if adds_row:
            b.loop(m, lambda k: b.combine("+", sums, (found[1], k), 1.0))
        else:
            b.combine("+", sums, (found[1], 0), 1.0)

    return simd(b, n, body)


def test_places_that_loops_find_matter_where_most_work_is():
    assert follows_what_loops_find(nearest(Builder(), adds_row=True).body)
    assert not follows_what_loops_find(nearest(Builder(), adds_row=False).body)
    assert not follows_data(nearest(Builder(), adds_row=True).body)


def test_lanes_that_go_their_own_ways_are_few():
    target = Target(vector_bits=512, registers=32)
    assert lanes_of(nearest(Builder(), adds_row=True), target) == 8
    assert lanes_of(nearest(Builder(), adds_row=False), target) == 32
