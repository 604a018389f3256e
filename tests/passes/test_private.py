"""Scratch arrays: which loops they keep from being parallel, and which they must."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as tp
from tapeless.ir.syntax import Alloc, Each, Loop
from tests.passes.support import exps, optimised

FILL = """
    z1: f64[m] = each (r < m) with (p: f64[m] = z) {
      u: f64 = x[i, r]
      v: f64 = u * 2.0
      put p[r] <- v
      return
    }"""

REST = """
    z2: f64[m] = loop (w: f64[m] = z1) for k < m {
      a: f64 = w[k]
      b: f64 = w[0]
      c: f64 = a + b
      w1: f64[m] = w with [k] = c
      return w1
    }
    t: f64 = each (r1 < m) with (q: f64 += 0.0) {
      e: f64 = z2[r1]
      put q <- e
      return
    }
    s1: f64 = s + t
    return s1, z2"""


def program(body: str, results: str, types: str = "f64[m]") -> str:
    return f"""
fun f(n: i64, m: i64, x: f64[n, m]) {{
  z0: {types} = zeros {types}
  s2: f64, z3: {types} = loop (s: f64 = 0.0, z: {types} = z0) for i < n {{{body}
  }}
  return {results}
}}"""


def outermost(text: str) -> set[type]:
    """What the nests and loops at the top of the optimised program are."""
    return {type(s.exp) for s in optimised(text).body.stms} & {Each, Loop}


def test_scratch_that_every_pass_fills_is_its_own():
    assert outermost(program(FILL + REST, "s2")) == {Each}


def test_scratch_that_is_wanted_afterwards_is_passed_on():
    assert Loop in outermost(program(FILL + REST, "s2, z3"))


def test_scratch_read_before_it_is_filled_is_passed_on():
    fill = FILL.replace("u: f64 = x[i, r]", "u: f64 = z[r]")
    assert Loop in outermost(program(fill + REST, "s2"))


def test_scratch_filled_in_part_is_passed_on():
    fill = "\n    h: i64 = m // 2" + FILL.replace("(r < m)", "(r < h)")
    assert Loop in outermost(program(fill + REST, "s2"))


def test_scratch_filled_on_one_side_of_a_branch_is_passed_on():
    put = """h: bool = u < 0.5
      if h {
        put p[r] <- v
        return
      } else {
        return
      }"""
    assert Loop in outermost(program(FILL.replace("put p[r] <- v", put) + REST, "s2"))


def test_buffers_that_take_turns_are_not_multiplied():
    def relax(x, steps):
        old = x.copy()
        new = np.empty_like(old)
        for _ in range(steps):
            for i in range(old.size):
                new[i] = 0.5 * (old[i] + old[old.size - 1 - i])
            old, new = new, old
        return old

    x = np.random.default_rng(0).random(40)
    np.testing.assert_allclose(tp.jit(relax)(x, 5), relax(x, 5), rtol=1e-14)


def mixture(x, l):
    """Scratch in two nested loops, an index that counts along a triangle."""
    n, d = x.shape
    z = np.empty(d)
    beta = np.empty(l.shape[0])
    total = 0.0
    for i in range(n):
        for c in range(l.shape[0]):
            for r in range(d):
                z[r] = x[i, r]
            at = 0
            for col in range(d):
                for row in range(col + 1, d):
                    z[row] += l[c, at] * x[i, col]
                    at += 1
            square = 0.0
            for r in range(d):
                square += z[r] * z[r]
            beta[c] = square
        total += np.max(beta)
    return total


def test_scratch_of_nested_loops_runs_in_lanes():
    rng = np.random.default_rng(0)
    for n, d, k in ((1, 1, 1), (5, 3, 2), (40, 7, 5), (130, 4, 3)):
        x, l = rng.standard_normal((n, d)), rng.standard_normal((k, d * (d - 1) // 2))
        np.testing.assert_allclose(tp.jit(mixture)(x, l), mixture(x, l), rtol=1e-12)
    loops = [
        line for line in tp.explain(mixture, x, l).stages["loops"].splitlines() if "for" in line
    ]
    assert "simd i" in loops[1], loops[:2]


def test_what_is_made_in_each_pass_is_one_allocation():
    fun = optimised(program(FILL + REST, "s2"))
    assert not any(isinstance(e, Alloc) for e in exps(fun))


def solves(a, b):
    """Every cell is written before a later one reads it."""
    out = np.empty_like(b)
    y = np.empty(b.shape[1])
    for s in range(b.shape[0]):
        for i in range(b.shape[1]):
            t = b[s, i]
            for j in range(i):
                t -= a[i, j] * y[j]
            y[i] = t / a[i, i]
        for i in range(b.shape[1]):
            out[s, i] = y[i]
    return out


def two_rows(x):
    """Two scratch arrays; the first cell is written apart from the others."""
    out = np.empty(x.shape[0])
    old, new = np.empty(x.shape[1]), np.empty(x.shape[1])
    for i in range(x.shape[0]):
        for k in range(x.shape[1]):
            old[k] = x[i, k]
        for _ in range(3):
            new[0] = old[0]
            for k in range(1, x.shape[1]):
                new[k] = old[k - 1] + 0.5 * new[k - 1]
            for k in range(x.shape[1]):
                old[k] = new[k]
        out[i] = old[x.shape[1] - 1]
    return out


def one_too_late(x):
    """The cell that is read was written by the pass before."""
    out = np.zeros(x.shape[0])
    y = np.zeros(x.shape[1] + 1)
    for i in range(x.shape[0]):
        for k in range(x.shape[1]):
            out[i] += y[k + 1]
            y[k] = x[i, k]
        y[x.shape[1]] = 2.0
    return out


def from_the_end(x):
    """A negative index reads what the pass before left."""
    out = np.empty(x.shape[0])
    y = np.zeros(x.shape[1])
    for i in range(x.shape[0]):
        total = 0.0
        for k in range(x.shape[1]):
            y[k] = x[i, k]
            total += y[k - 1]
        out[i] = total
    return out


def sometimes(x):
    """What a branch does not write, the pass before has left."""
    out = np.zeros(x.shape[0])
    y = np.zeros(x.shape[1])
    for i in range(x.shape[0]):
        for k in range(x.shape[1]):
            if x[i, k] > 0.5:
                y[k] = x[i, k]
        for k in range(x.shape[1]):
            out[i] += y[k]
    return out


def backwards(x):
    """Filled from the last cell on: read only where it was written, yet passed on."""
    out = np.zeros(x.shape[0])
    y = np.zeros(x.shape[1])
    for i in range(x.shape[0]):
        for k in range(x.shape[1] - 1, -1, -1):
            y[k] = x[i, k]
        out[i] = y[0]
    return out


@pytest.mark.parametrize("n, m", [(1, 1), (2, 1), (1, 4), (5, 3), (33, 6)])
@pytest.mark.parametrize("f", [two_rows, one_too_late, from_the_end, sometimes, backwards])
def test_scratch_holds_what_it_would(f, n, m):
    x = np.random.default_rng(n).random((n, m))
    np.testing.assert_allclose(tp.jit(f)(x), f(x), rtol=1e-13)


def test_scratch_that_is_filled_while_it_is_read_is_its_own():
    rng = np.random.default_rng(0)
    a, b = rng.random((5, 5)) + 5 * np.eye(5), rng.random((40, 5))
    np.testing.assert_allclose(tp.jit(solves)(a, b), solves(a, b), rtol=1e-13)
    assert "each (s < b)" in tp.explain(solves, a, b).stages["optimised"]
    assert "simd i" in tp.explain(two_rows, b).stages["loops"]
    for f in (one_too_late, from_the_end, sometimes):
        assert "simd i" not in tp.explain(f, b).stages["loops"]


def test_borders_go_along_with_buffers_that_take_turns():
    """Only the inside is written: the borders of both buffers come from the pass before."""

    def relax(x, steps):
        old = x.copy()
        new = x + 1.0
        for _ in range(steps):
            for i in range(1, old.size - 1):
                new[i] = 0.5 * (old[i - 1] + old[i + 1])
            old, new = new, old
        return old

    x = np.random.default_rng(0).random(7)
    for steps in range(4):
        np.testing.assert_allclose(tp.jit(relax)(x, steps), relax(x, steps), rtol=1e-14)
