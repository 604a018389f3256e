"""Choices by one condition are one choice."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as tp
from tapeless.ir.interp import interpret
from tapeless.ir.parse import parse
from tapeless.ir.syntax import If
from tapeless.ir.verify import verify
from tapeless.ir.walk import statements
from tapeless.simplify import choices

TWICE = """
fun twice(n: i64, x: f64, v: f64[n], k: i64) {
  c: bool = x < 0.0
  y: f64 = if c {
    a: f64 = x * x
    return a
  } else {
    return x
  }
BETWEEN
  z: f64 = if c {
    d: f64 = DEEP
    return d
  } else {
    e: f64 = v[k?]
    return e
  }
  r: f64 = y + z
  return r
}
"""

PLAIN = "  s: f64 = x + 1.0"
BETWEENS = {
    "nothing in the way": ("", "y + x", 1),
    "before both": (PLAIN, "s * y", 1),
    "behind both": ("  s: f64 = y + 1.0", "x * 3.0", 1),
    "needs the first, is needed by the second": ("  s: f64 = y + 1.0", "s * 3.0", 2),
    "may raise between": (
        '  s: f64 = y + 1.0\n  p: bool = 0.0 < s\n  check p else ValueError("low")',
        "x",
        2,
    ),
}


@pytest.mark.parametrize("name", BETWEENS)
def test_joined_if_nothing_needs_them_apart(name):
    between, deep, count = BETWEENS[name]
    deep = "x + 0.0" if deep == "x" else deep
    fun = parse(TWICE.replace("BETWEEN", between).replace("DEEP", deep))
    new = choices.run(fun)
    verify(new)
    assert sum(isinstance(s.exp, If) for s in new.body.stms) == count
    for x in (-3.0, 2.0):
        args = (2, x, np.array([5.0, 7.0]), 1)
        assert interpret(new, *args) == interpret(fun, *args)


def test_a_choice_runs_forward_and_back_at_once():
    """What an arm computes for its way back is not carried out of it."""

    def f(x):
        s = 0.0
        for i in range(x.size):
            t = 0.0
            for k in range(3):
                t += x[i] * k
            if t > 1.0:
                s += np.sin(t) * np.exp(t)
            else:
                s += t * t
        return s

    x = np.array([0.1, 0.5, -1.0, 2.0])
    g = tp.grad(f)
    core = parse(tp.explain(g, x).stages["optimised"])
    assert sum(isinstance(s.exp, If) for s in statements(core.body)) == 1
    t = 3.0 * x
    truth = np.where(t > 1.0, np.exp(t) * (np.sin(t) + np.cos(t)), 2.0 * t) * 3.0
    np.testing.assert_allclose(g(x), truth, rtol=1e-12)
