"""Loops in two versions: no checks where one test in front suffices, the same errors as ever."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from check import proc_of, same

from tapeless.ir.parse import parse
from tapeless.loop.syntax import Block, Check, For, If, Scope, While

SHIFTED = """
fun shifted(n: i64, m: i64, a: i64, x: f64[m]) {
  s: f64 = each (i < n) with (acc: f64 += 0.0) {
    at: i64 = i + a
    v: f64 = x[at~]
    put acc <- v
    return
  }
  return s
}
"""
ROWS = """
fun rows(n: i64, m: i64, l: i64, start: i64[n], x: f64[m]) {
  s: f64[n] = each (i < n) {
    first: i64 = start[i]
    t: f64 = each (k < l) with (acc: f64 += 0.0) {
      at: i64 = first + k
      v: f64 = x[at~]
      put acc <- v
      return
    }
    return t
  }
  return s
}
"""
TRIANGLE = """
fun triangle(n: i64, m: i64, a: i64, *x: f64[m]) {
  y: f64[m] = loop (p: f64[m] = x) for i < n {
    p2: f64[m] = loop (q: f64[m] = p) for j < i {
      k: i64 = i - j
      at: i64 = k * a
      v: f64 = q[at?]
      w: f64 = v + 1.0
      q2: f64[m] = q with [j?] = w
      return q2
    }
    return p2
  }
  return y
}
"""


def fast(block: Block) -> Iterator[object]:
    """Statements, of a branch only those of the first arm."""
    for stm in block.stms:
        yield stm
        match stm:
            case Scope(_, body) | For(body=body) | While(body=body):
                yield from fast(body)
            case If(_, _, then, _):
                yield from fast(then)


@pytest.mark.parametrize("text", [SHIFTED, ROWS, TRIANGLE])
def test_first_version_has_loops_without_checks(text: str):
    found = list(fast(proc_of(parse(text)).body))
    assert any(isinstance(s, For) for s in found)
    assert not any(isinstance(s, Check) for s in found)


@pytest.mark.parametrize("a", [0, 3, 4, -1, -7, -10, -11, 2**63 - 2, -(2**63), 2**62])
def test_shifted_sum(a: int):
    same(SHIFTED, 6, 10, a, np.arange(10.0))


def test_nothing_is_tested_for_a_loop_that_does_not_run():
    same(SHIFTED, 0, 0, 5, np.arange(0.0))


@pytest.mark.parametrize("first", [0, 8, -3, 9, 2**63 - 1])
def test_rows_with_starts_of_all_kinds(first: int):
    start = np.array([2, first, 1])
    same(ROWS, 3, 10, 2, start, np.arange(10.0))


@pytest.mark.parametrize("a", [1, 2, 0, -1, 2**61, 2**31])
def test_steps_of_unknown_sign(a: int):
    same(TRIANGLE, 5, 9, a, np.arange(9.0))
