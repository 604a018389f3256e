"""Loops whose passes all read what one of them writes: parallel, with the meaning they had."""

from __future__ import annotations

import numpy as np
import pytest

from tapeless.ir.parse import parse
from tapeless.ir.syntax import Loop
from tests.passes.support import exps, optimised, outcome

GAUSS_JORDAN = """
fun eliminate(n: i64, m: i64, *a: f64[n, m]) {
  r: f64[n, m] = loop (p: f64[n, m] = a) for k < n {
    r1: f64[n, m] = loop (p1: f64[n, m] = p) for i < n {
      other: bool = i != k
      r2: f64[n, m] = if other {
        r3: f64[n, m] = loop (p2: f64[n, m] = p1) for j < m {
          u: f64 = p2[k~, j~]
          v: f64 = p2[i~, j~]
          w: f64 = u * 0.5
          s: f64 = v - w
          p3: f64[n, m] = p2 with [i~, j~] = s
          return p3
        }
        return r3
      } else {
        return p1
      }
      return r2
    }
    return r1
  }
  return r
}"""

# x[j + 1] = x[j + 1] · x[k + 1] + y[j]: pass k writes the cell that all read.
SHIFTED = """
fun shifted(n: i64, y: f64[n], *x: f64[n]) {
  m0: i64 = n + -1
  m: i64 = max(m0, 0)
  r: f64[n] = loop (p: f64[n] = x) for k < m {
    at: i64 = k + 1
    r1: f64[n] = loop (q: f64[n] = p) for j < m {
      here: i64 = j + 1
      u: f64 = q[at~]
      v: f64 = q[here~]
      w: f64 = u * v
      z: f64 = y[j~]
      s: f64 = w + z
      t: f64 = s * 0.3
      q1: f64[n] = q with [here~] = t
      return q1
    }
    return r1
  }
  return r
}"""

# The cell that all read is written by no pass that is known to happen.
ANYWHERE = """
fun anywhere(n: i64, *x: f64[n], y: i64[n]) {
  r: f64[n] = loop (p: f64[n] = x) for k < n {
    at: i64 = y[k~]
    r1: f64[n] = loop (q: f64[n] = p) for j < n {
      u: f64 = q[at~]
      v: f64 = q[j~]
      s: f64 = u + v
      q1: f64[n] = q with [j~] = s
      return q1
    }
    return r1
  }
  return r
}"""

# Pass k also reads what the pass before it writes: it cannot come first.
CHAINED = """
fun chained(n: i64, *x: f64[n]) {
  m0: i64 = n + -1
  m: i64 = max(m0, 0)
  r: f64[n] = loop (p: f64[n] = x) for k < m {
    at: i64 = k + 1
    r1: f64[n] = loop (q: f64[n] = p) for j < m {
      here: i64 = j + 1
      u: f64 = q[at~]
      v: f64 = q[j~]
      s: f64 = u + v
      t: f64 = s * 0.4
      q1: f64[n] = q with [here~] = t
      return q1
    }
    return r1
  }
  return r
}"""


def loops(text: str) -> int:
    return sum(isinstance(e, Loop) for e in exps(optimised(text)))


@pytest.mark.parametrize("text", [GAUSS_JORDAN, SHIFTED])
def test_only_the_outer_loop_is_sequential(text: str):
    assert loops(text) == 1


@pytest.mark.parametrize("text", [ANYWHERE, CHAINED])
def test_passes_that_wait_for_each_other_stay_in_order(text: str):
    assert loops(text) == 2


# Two arrays of different rank, of which one has the conflict.
RANKS = """
fun ranks(n: i64, *a: f64[n, n], *x: f64[n]) {
  r: f64[n, n], s: f64[n] = loop (p: f64[n, n] = a, q: f64[n] = x) for k < n {
    r1: f64[n, n], s1: f64[n] = loop (p1: f64[n, n] = p, q1: f64[n] = q) for i < n {
      u: f64 = p1[k~, i~]
      v: f64 = p1[i~, k~]
      w: f64 = u + v
      y: f64 = q1[i~]
      z: f64 = y + w
      p2: f64[n, n] = p1 with [i~, k~] = w
      q2: f64[n] = q1 with [i~] = z
      return p2, q2
    }
    return r1, s1
  }
  return r, s
}"""


def test_arrays_of_different_rank():
    assert loops(RANKS) == 1


# A pass reads what the pass before it wrote; whether the first read is in range is not known.
RECURRENCE = """
fun recurrence(n: i64, m: i64, *a: f64[n, m]) {
  l0: i64 = n + -1
  l: i64 = max(l0, 0)
  r: f64[n, m] = loop (p: f64[n, m] = a) for j < l {
    here: i64 = j + 1
    u: f64 = p[0~, j~]
    v: f64 = p[0~, here~]
    s: f64 = u + v
    p1: f64[n, m] = p with [0~, here~] = s
    return p1
  }
  return r
}"""


def test_recurrence_waits_for_arithmetic_only():
    new = optimised(RECURRENCE)
    (loop,) = (e for e in exps(new) if isinstance(e, Loop))
    assert len(loop.params) == 2
    fun = parse(RECURRENCE)
    for n, m in ((0, 0), (1, 0), (2, 2), (3, 2), (4, 4), (2, 0)):
        args = [n, m, np.arange(float(n * m)).reshape(n, m)]
        old, now = outcome(fun, args), outcome(new, args)
        if isinstance(old, type):
            assert old is now
        else:
            np.testing.assert_array_equal(old[0], now[0])
