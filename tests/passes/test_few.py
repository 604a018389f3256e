"""Nests of few cells become scalars, and arrays that leave branches and loops their elements."""

import numpy as np
import pytest

import tapeless as tp
from tapeless.ir.parse import parse
from tapeless.ir.syntax import Alloc, Each, Fun, Loop, Update
from tapeless.ir.walk import statements
from tapeless.pipeline import optimise


def kinds(fun: Fun) -> set[type]:
    return {type(s.exp) for s in statements(fun.body)}


SUMS = """
fun f(a: f64[3], n: i64, x: f64[n]) {
  out: f64[n] = each (i < n) {
    v: f64 = x[i]
    y: f64[3] = each (k < 3) {
      a_k: f64 = a[k]
      t: f64 = a_k * v
      return t
    }
    s: f64 = each (k_1 < 3) with (s_1: f64 += 0.0) {
      y_k: f64 = y[k_1]
      u: f64 = sin(y_k)
      put s_1 <- u
      return
    }
    return s
  }
  return out
}
"""

BRANCH = """
fun f(c: bool, x: f64) {
  y: f64[2] = if c {
    a: f64[2] = zeros f64[2]
    b: f64[2] = a with [0] = x
    return b
  } else {
    d: f64[2] = empty f64[2]
    e: f64[2] = d with [0] = 1.0
    g: f64[2] = e with [1] = x
    return g
  }
  y_0: f64 = y[0]
  y_1: f64 = y[1]
  r: f64 = y_0 + y_1
  return r
}
"""

STATE = """
fun f(n: i64) {
  a: f64[2] = zeros f64[2]
  b: f64[2] = a with [0] = 1.0
  p: f64[2] = loop (q: f64[2] = b) for i < n {
    u: f64 = q[0]
    v: f64 = q[1]
    w: f64 = u * 0.5
    s: f64 = v - w
    q_1: f64[2] = q with [0] = s
    q_2: f64[2] = q_1 with [1] = u
    return q_2
  }
  r: f64 = p[1]
  return r
}
"""


@pytest.mark.parametrize("text", [BRANCH, STATE], ids=["branch", "state"])
def test_no_array_is_left(text):
    assert not kinds(optimise(parse(text), verify=True)) & {Alloc, Update}


def test_small_nests_inside_a_nest_are_written_out():
    fun = optimise(parse(SUMS), verify=True)
    assert sum(isinstance(s.exp, Each) for s in statements(fun.body)) == 1


def test_small_loops_are_written_out():
    @tp.jit
    def f(x):
        p, q = x, 1.0
        for k in range(4):
            p, q = p * q + k, p - q
        return p

    core = tp.explain(f, 0.5).stages["optimised"]
    assert Loop not in kinds(parse(core))
    assert f(0.5) == f.python(0.5)


def test_an_array_read_at_any_place_stays_an_array():
    @tp.jit
    def f(c, x, i):
        y = np.array([x, 2.0 * x]) if c else np.array([1.0, x])
        return y[i]

    assert f(True, 3.0, 1) == 6.0
    assert f(False, 3.0, 0) == 1.0


def test_cells_added_to_more_than_once():
    @tp.jit
    def f(x: tp.f64["n", 3]):  # noqa: F821
        out = np.zeros(len(x))
        for i in range(len(x)):
            h = np.zeros(2)
            for k in range(3):
                h[k % 2] += x[i, k]
            out[i] = h[0] * h[1]
        return out

    x = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, -6.0]])
    np.testing.assert_array_equal(f(x), [8.0, -10.0])
