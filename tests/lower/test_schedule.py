"""What scheduling decides: lanes by strides, threads, register tiles; and what it must not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from check import proc_of, same
from test_lower import PROGRAMS

from tapeless.ir.parse import parse
from tapeless.ir.syntax import Each
from tapeless.loop.syntax import SEQ, SIMD, THREADS, Alloc, Block, Copy, For, If, Scope, Stm, While
from tapeless.lower.plan import Plan
from tapeless.lower.schedule import schedule


def loops(name: str, *, parallel: bool = False) -> list[tuple[str, str]]:
    """Kind and counter of every loop, outer before inner."""
    proc = proc_of(parse(PROGRAMS[name][0]), parallel=parallel)
    return [(x.kind, x.var.hint) for x in statements(proc.body) if isinstance(x, For)]


def statements(block: Block) -> Iterator[Stm]:
    for stm in block.stms:
        yield stm
        match stm:
            case Scope(_, body) | For(body=body) | While(body=body):
                yield from statements(body)
            case If(_, _, then, orelse):
                yield from statements(then)
                yield from statements(orelse)


@pytest.mark.parametrize("name", ["matmul", "flat_matmul"])
def test_matrix_product_is_a_register_tile_in_lanes_over_columns(name: str):
    found = loops(name)
    assert found[0] == (SIMD, "j")
    assert found[1:3] == [(SEQ, "tile"), (SEQ, "l")]


def test_product_with_transposed_matrix_lays_the_rows_of_its_lanes_side_by_side():
    assert loops("two_tiles")[:3] == [(SIMD, "j"), (SEQ, "l"), (SEQ, "tile")]


def test_lanes_over_bodies_not_over_their_partners():
    assert loops("bodies") == [(SIMD, "i"), (SEQ, "j")]


def test_short_rows_have_lanes_outside():
    assert loops("least_sum")[0] == (SIMD, "i")


def test_divergent_while_runs_in_lanes():
    assert loops("mandel") == [(SIMD, "i")]


def test_rows_of_unknown_length_have_lanes_along_the_row():
    assert {kind for kind, var in loops("inner_rows") if var.startswith("j")} == {SIMD}


def test_operators_that_do_not_commute_are_not_in_lanes():
    assert loops("argmax") == [(SEQ, "i")]


def test_threads_share_colliding_sums_by_copies():
    for name in ("histogram", "outer_puts"):
        (level,) = [x for x in plan_of(PROGRAMS[name][0]).levels if x.kind == THREADS]
        assert level.copies


def test_threads_prefer_a_dimension_without_collisions():
    levels = plan_of(COLUMN_SUMS).levels
    assert [(x.dim, x.copies) for x in levels if x.kind == THREADS] == [(1, False)]


def test_what_does_not_commute_is_cut_along_its_outermost_dimension_only():
    (level,) = [x for x in plan_of(LAST_OF).levels if x.kind == THREADS]
    assert (level.dim, level.copies) == (0, True)
    few = LAST_OF.replace("i < n, j < m", "i < 2, j < m").replace("x: f64[n, m]", "x: f64[2, m]")
    assert not any(x.kind == THREADS for x in plan_of(few).levels)


def plan_of(text: str) -> Plan:
    """The plan of the outermost nest of a program."""
    fun = parse(text)
    exp = next(s.exp for s in fun.body.stms if isinstance(s.exp, Each) and s.exp.accs)
    return schedule(fun, parallel=True).of(exp)


COLUMN_SUMS = """
fun column_sums(n: i64, m: i64, x: f64[n, m], *s: f64[m]) {
  r: f64[m] = each (i < n, j < m) with (a: f64[m] += s) {
    v: f64 = x[i, j]
    put a[j] <- v
    return
  }
  return r
}
"""
# The last element that is not nan, by place.
LAST_OF = """
fun last_of(n: i64, m: i64, k: i64, x: f64[n, m], at: i64[m], *s: f64[k]) {
  r: f64[k] = each (i < n, j < m) with ((a: f64[k]) = (s) by op (l: f64) (q: f64) neutral (nan) {
    known: bool = q == q
    w: f64 = select(known, q, l)
    return w
  }) {
    v: f64 = x[i, j]
    c: i64 = at[j]
    put a[c!] <- v
    return
  }
  return r
}
"""
LONG = """
fun long(n: i64, m: i64, x: f64[n], at: i64[n], *s: f64[m], *t: i64[m]) {
  a: f64[m], b: i64[m], c: f64 = each (i < n) with (
    p: f64[m] += s, q: i64[m] min= t, r: f64 += 0.0
  ) {
    v: f64 = x[i]
    e: f64 = erf(v)
    f: f64 = erf(e)
    k: i64 = at[i]
    put p[k!] <- f
    put q[k!] <- i
    put r <- e
    return
  }
  return c, a, b
}
"""


@pytest.mark.parametrize("n", [0, 1, 5, 3_000])
@pytest.mark.parametrize("layouts", ["CCCC", "SSSS"])
def test_copies_are_cleared_and_combined(n: int, layouts: str):
    x = np.random.default_rng(n).standard_normal(n)
    at = np.arange(n) * 5 % 9 - 1
    same(LONG, n, 7, x, at, np.ones(7), np.full(7, 99), layouts=layouts)


def test_appending_is_not_in_lanes():
    assert all(kind == SEQ for kind, var in loops("grows") if var == "i")


def test_outermost_dimension_is_shared_among_threads():
    assert loops("matmul", parallel=True)[0][0] == THREADS
    assert loops("time_loop", parallel=True)[:2] == [(SEQ, "t"), (THREADS, "block")]


def test_time_loop_lets_pointers_take_turns():
    proc = proc_of(parse(PROGRAMS["time_loop"][0]), parallel=False)
    (outer,) = [x for x in proc.body.stms if isinstance(x, For)]
    assert not any(isinstance(x, Alloc | Copy) for x in statements(outer.body))
    assert sum(isinstance(x, Alloc) for x in statements(proc.body)) == 1


def test_in_place_loop_allocates_nothing():
    proc = proc_of(parse(PROGRAMS["in_place"][0]))
    assert not any(isinstance(x, Alloc | Copy) for x in statements(proc.body))


WORK = """
fun work(n: i64, x: f64[n], s: i64[n]) {
  y: f64[n] = each (i < n) {
    v: f64 = x[i]
    w: f64 = v * v
    return w
  }
  z: f64[n] = each (j < n) {
    l: i64 = s[j]
    t: f64[l] = zeros f64[l]
    r: f64 = y[j]
    return r
  }
  return z
}
"""


def test_work_counts_what_lanes_share_once():
    fun = parse(WORK)
    plans = schedule(fun, parallel=True)
    lanes, scalars = (plans.of(s.exp) for s in fun.body.stms if isinstance(s.exp, Each))
    assert [level.kind for level in lanes.levels] == [THREADS, SIMD]
    assert [level.kind for level in scalars.levels] == [THREADS, SEQ]
    assert scalars.cost > 4 * lanes.cost


RAGGED = """
fun ragged(n: i64, k: i64, m: i64, starts: i64[n], x: f64[m], c: f64[k]) {
  zero: f64[k] = zeros f64[k]
  sums: f64[k] = each (i < n) with (acc: f64[k] += zero) {
    first: i64 = starts[i]
    rest: i64 = m - first
    each (j < k) {
      c_j: f64 = c[j]
      s: f64 = each (l < rest) with (total: f64 += 0.0) {
        at: i64 = first + l
        x_at: f64 = x[at]
        x_l: f64 = x[l]
        t: f64 = x_at * c_j
        u: f64 = t + x_l
        put total <- u
        return
      }
      put acc[j] <- s
      return
    }
    return
  }
  return sums
}
"""


def test_work_of_copied_nests_is_counted_by_sizes_of_their_own():
    """Rows of a tile have inner nests of a length that each row computes."""
    proc = proc_of(parse(RAGGED))  # verified: every size that is named is in scope
    assert len([x for x in statements(proc.body) if isinstance(x, For) and x.work]) == 2
    same(RAGGED, 6, 5, 9, np.array([0, 2, 3, 8, 9, 1]), np.arange(9.0), np.arange(5.0))
