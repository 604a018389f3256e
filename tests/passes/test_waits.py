"""Recurrences of integers: what a pass waits for is combined last, with the same results."""

from __future__ import annotations

import numpy as np
import pytest

from tapeless.ir.interp import interpret
from tapeless.ir.parse import parse
from tapeless.ir.syntax import Loop, Prim
from tests.passes.support import exps, optimised

CHAIN = """
fun chain(n: i64, x: {type}[n], y: {type}[n]) {{
  a: {type}[n] = zeros {type}[n]
  r: {type}[n], last: {type} = loop (p: {type}[n] = a, s: {type} = {start}) for i < n {{
    u: {type} = x[i]
    v: {type} = y[i]
    t: {type} = s * u
    first: bool = t < u
    m: {type} = select(first, t, u)
    second: bool = v < m
    w: {type} = select(second, v, m)
    q: {type}[n] = p with [i] = w
    return q, w
  }}
  return r
}}"""


def steps_after_state(loop: Loop) -> int:
    """How many operations follow each other from one pass to the next."""
    depth = {p: 0 for p in loop.params if not p.is_array}
    for stm in loop.body.stms:
        if isinstance(stm.exp, Prim) and any(a in depth for a in stm.exp.args):
            depth[stm.outs[0]] = 1 + max(depth[a] for a in stm.exp.args if a in depth)
    return max(depth.get(r, 0) for r in loop.body.results)


@pytest.mark.parametrize(("type", "steps"), [("i64", 2), ("f64", 5)])
def test_steps_from_pass_to_pass(type: str, steps: int):
    text = CHAIN.format(type=type, start="1.5" if type == "f64" else "1")
    (loop,) = (e for e in exps(optimised(text)) if isinstance(e, Loop))
    assert steps_after_state(loop) == steps


def test_numbers_that_wrap():
    fun = parse(CHAIN.format(type="i64", start="3"))
    new = optimised(CHAIN.format(type="i64", start="3"))
    big = np.array([2**62, 5, -(2**63), 2**61, 7])
    other = np.array([2**63 - 1, 2**62, 1, -5, 2**40])
    (expected,), (got,) = interpret(fun, 5, big, other), interpret(new, 5, big, other)
    np.testing.assert_array_equal(got, expected)
