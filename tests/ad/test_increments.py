"""Cells that are assigned what they hold and something more."""

from __future__ import annotations

import numpy as np
import pytest

from tapeless.ad.increments import assignments_as_sums
from tapeless.ir.interp import interpret
from tapeless.ir.parse import parse
from tapeless.ir.syntax import Body, Each
from tapeless.ir.verify import verify

ADDED = """
fun added(n: i64, a: f64[n], x: f64[n]) {
  r: f64[n] = each (i < n) with (p: f64[n] = a) {
    v: f64 = a[i]
    w: f64 = x[i]
    t: f64 = EXP
    put p[i] <- t
    return
  }
  return r
}
"""


@pytest.mark.parametrize(
    ("exp", "op"),
    [
        ("v + w", "+"),
        ("w + v", "+"),
        ("v - w", "+"),
        ("w - v", "="),
        ("v * w", "="),
        ("v + v", "="),
    ],
)
def test_only_sums_with_the_cell_are_sums(exp, op):
    fun = parse(ADDED.replace("EXP", exp))
    (stm,) = fun.body.stms
    (new,) = assignments_as_sums(stm)
    assert isinstance(new.exp, Each)
    assert new.exp.accs[0].op == op
    changed = type(fun)(fun.name, fun.params, Body((new,), fun.body.results), fun.writes)
    verify(changed)
    a, x = np.array([1.0, 2.0, -3.0]), np.array([0.5, -1.0, 4.0])
    np.testing.assert_array_equal(interpret(changed, 3, a, x)[0], interpret(fun, 3, a, x)[0])
