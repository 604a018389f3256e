"""Nests that write and sum at once, in reverse."""

from __future__ import annotations

import numpy as np

from tapeless.ad.jvp import jvp
from tapeless.ad.vjp import vjp
from tapeless.ir.interp import interpret
from tapeless.ir.parse import parse
from tapeless.ir.verify import verify

# The column of the second site is the sum of a row, which the nest of the first one makes.
PROGRAM = """
fun f(m: i64, n: i64, wide: i64, k: i64[m, n], a: f64[m, wide]) {
  b: f64[m, wide] = each (i < m) with (acc: f64[m, wide] = a) {
    s: i64 = each (j < n) with (t: i64 += 0) {
      v: i64 = k[i, j]
      put t <- v
      x: f64 = a[i, j]
      w: f64 = sin(x)
      put acc[i, j] <- w
      return
    }
    odd: i64 = s % 2
    at: i64 = n + odd
    y: f64 = a[i, at]
    z: f64 = y * y
    put acc[i, at] <- z
    return
  }
  return b
}
"""


def test_sums_within_are_made_again():
    fun = parse(PROGRAM)
    verify(fun)
    back, forward = vjp(fun, [4]), jvp(fun, [4])
    verify(back)
    rng = np.random.default_rng(0)
    k, a = rng.integers(0, 5, (3, 4)), rng.random((3, 6))
    weight, along = rng.random((3, 6)), rng.random((3, 6))
    bars = interpret(back, 3, 4, 6, k, a, weight)[1]
    dots = interpret(forward, 3, 4, 6, k, a, along)[1]
    assert abs(np.sum(bars * along) - np.sum(dots * weight)) < 1e-13
