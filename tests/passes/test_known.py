"""Parts of operators that nobody wants, and operators that are known."""

from __future__ import annotations

import numpy as np

from tapeless.ir.interp import interpret
from tapeless.ir.parse import parse
from tapeless.ir.syntax import Each, Fold, Put
from tapeless.ir.verify import verify
from tapeless.simplify import dead, known

LEAST = """
fun least(n: i64, x: f64[n], y: f64[n]) {
  v: f64, w: f64, at: i64 = fold i < n by op (a: f64, b: f64, p: i64) (c: f64, d: f64, q: i64) neutral (inf, 0.0, -1) {
    less: bool = c < a
    m: f64 = min(a, c)
    e: f64 = select(less, d, b)
    r: i64 = select(less, q, p)
    return m, e, r
  } of {
    xi: f64 = x[i]
    yi: f64 = y[i]
    return xi, yi, i
  }
  return RESULTS
}
"""  # noqa: E501

COLUMNS = """
fun columns(m: i64, n: i64, x: f64[m, n], low: f64[n], at: i64[n]) {
  a: f64[n], b: i64[n] = each (i < m, j < n) with ((p: f64[n], q: i64[n]) = (low, at) by op (l: f64, li: i64) (r: f64, ri: i64) neutral (inf, -1) {
    v: f64 = min(l, r)
    less: bool = r < l
    k: i64 = select(less, ri, li)
    return v, k
  }) {
    e: f64 = x[i, j]
    put (p, q)[j] <- e, i
    return
  }
  return a
}
"""  # noqa: E501

X, Y = np.array([3.0, -1.0, 2.0, -1.0]), np.array([0.5, 1.5, 2.5, 3.5])


def cleaned(text):
    fun = known.run(dead.run(parse(text)))
    verify(fun)
    return fun


def test_parts_that_nobody_wants_go():
    fun = cleaned(LEAST.replace("RESULTS", "w"))
    (fold,) = (s.exp for s in fun.body.stms if isinstance(s.exp, Fold))
    assert len(fold.monoid.left) == 2  # which one it is needs the value
    assert interpret(fun, 4, X, Y)[0] == 1.5


def test_what_is_left_may_be_known():
    fun = cleaned(LEAST.replace("RESULTS", "v"))
    (nest,) = (s.exp for s in fun.body.stms if isinstance(s.exp, Each))
    assert [acc.op for acc in nest.accs] == ["min"]
    assert interpret(fun, 4, X, Y)[0] == -1.0
    assert interpret(fun, 0, X[:0], Y[:0])[0] == np.inf


def test_all_parts_stay_that_are_wanted():
    fun = cleaned(LEAST.replace("RESULTS", "v, w, at"))
    assert [float(r) for r in interpret(fun, 4, X, Y)] == [-1.0, 1.5, 1.0]


def test_parts_of_accumulators_go_with_what_is_put_to_them():
    fun = cleaned(COLUMNS)
    (nest,) = (s.exp for s in fun.body.stms if isinstance(s.exp, Each))
    assert [acc.op for acc in nest.accs] == ["min"]
    (put,) = (s.exp for s in nest.body.stms if isinstance(s.exp, Put))
    assert len(put.values) == 1
    x = np.array([[1.0, 5.0], [2.0, -3.0]])
    got = interpret(fun, 2, 2, x, np.array([0.0, 9.0]), np.array([7, 7]))[0]
    np.testing.assert_array_equal(got, [0.0, -3.0])
