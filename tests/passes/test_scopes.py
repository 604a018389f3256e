"""What passes leave behind is bound where it is used, and holds where it stands."""

from __future__ import annotations

import numpy as np

from tapeless.ir.interp import interpret
from tests.passes.support import exps, kinds, optimised

EQUAL_SUMS = """
fun sums(n: i64, x: f64[n]) {
  y: f64[n, n] = each (i < n, j < n) {
    s: i64 = i + j
    k: i64 = j + 1
    a: i64 = i + k
    b: i64 = s + 1
    c: i64 = s + 1
    d: i64 = a * b
    e: i64 = d * c
    f: f64 = f64(e)
    return f
  }
  return y
}"""

RUNNING_PRICE = """
fun price(n: i64, m: i64, x: f64[n, m]) {
  r: f64 = loop (t: f64 = 0.0) for i < n {
    p: f64, q: f64 = loop (p1: f64 = 1.0, q1: f64 = 0.0) for j < m {
      e: f64 = x[i, j]
      p2: f64 = p1 * e
      d: f64 = p2 / e
      q2: f64 = q1 + d
      return p2, q2
    }
    u: f64 = t + q
    return u
  }
  return r
}"""

CHECKED_BETWEEN = """
fun between(n: i64, m: i64, x: f64[n], y: f64[m]) {
  a: f64[n] = each (i < n) {
    u: f64 = x[i]
    v: f64 = exp(u)
    return v
  }
  same: bool = n == m
  check same else ValueError("sizes {0} and {1}", n, m)
  b: f64[n] = each (j < n) {
    p: f64 = x[j]
    q: f64 = y[j]
    r: f64 = p * q
    return r
  }
  return a, b
}"""

GUARDED_BY_STATE = """
fun guarded(n: i64, x: f64[n]) {
  s: f64, k: i64 = loop (s1: f64 = 0.0, k1: i64 = 0) for i < n {
    u: f64 = x[i]
    k2: i64 = k1 + i
    c: bool = 3 < k2
    t: f64 = s1 + u
    s2: f64 = select(c, t, s1)
    return s2, k2
  }
  return s, k
}"""

GROWING = """
fun growing(n: i64, x: f64[n]) {
  start: f64[0] = empty f64[0]
  k: i64, a: f64[k] = loop (k1: i64 = 0, a1: f64[k1] = start) for i < n {
    u: f64 = x[i]
    k2: i64 = k1 + 1
    a2: f64[k2] = append(a1, u, k2)
    return k2, a2
  }
  return a
}"""

UNREAD = """
fun unread(n: i64, x: f64[n], k: i64[n]) {
  z: f64[n] = zeros f64[n]
  h: f64[n] = each (i < n) with (acc: f64[n] += z) {
    at: i64 = k[i]
    far: i64 = at + n
    v: f64 = x[i]
    put acc[far?] <- v
    return
  }
  return n
}"""

TAKEN_OVER = """
fun taken(n: i64, x: f64[n]) {
  a: f64[n] = each (i < n) {
    u: f64 = x[i]
    v: f64 = exp(u)
    return v
  }
  b: f64[n] = each (j < n) with (acc: f64[n] = a) {
    p: f64 = x[j]
    put acc[j] <- p
    return
  }
  return b
}"""

READ_BY_THE_CONDITION = """
fun until(n: i64, x: f64[n]) {
  start: i64[3] = zeros i64[3]
  k: i64, a: i64[3] = loop (k1: i64 = 0, a1: i64[3] = start) while {
    u: i64 = a1[1]
    early: bool = k1 < 50
    low: bool = u < 2
    more: bool = early & low
    return more
  } do {
    k2: i64, a2: i64[3] = each (j < 3) with (
      sum: i64 += k1
      acc: i64[3] += a1
    ) {
      put sum <- j
      put acc[j] <- 1
      return
    }
    return k2, a2
  }
  return k
}"""


def test_what_only_the_condition_of_a_loop_reads_is_written():
    new = optimised(READ_BY_THE_CONDITION)
    assert interpret(new, 1, np.zeros(1)) == (6,)


def test_an_index_error_stays_where_the_array_is_not_read():
    assert "Put" in [type(e).__name__ for e in exps(optimised(UNREAD))]


def test_an_array_taken_over_by_the_next_nest_is_made_before_it():
    optimised(TAKEN_OVER)


def test_the_size_of_an_array_that_grows_stays_state():
    optimised(GROWING)


def test_a_sum_found_again_twice_is_bound():
    optimised(EQUAL_SUMS)


def test_a_sum_of_what_another_state_variable_holds_stays_a_loop():
    assert "Loop" in kinds(optimised(RUNNING_PRICE))


def test_a_sum_under_a_condition_on_state_stays_a_loop():
    assert "Loop" in kinds(optimised(GUARDED_BY_STATE))


def test_a_nest_does_not_move_up_past_the_check_it_relies_on():
    new = [type(e).__name__ for e in exps(optimised(CHECKED_BETWEEN))]
    assert new.index("Check") < new.index("Each")
