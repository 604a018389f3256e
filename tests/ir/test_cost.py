"""Counted cost against what can be counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tapeless.core.prims import OPS
from tapeless.ir.cost import cost
from tapeless.ir.interp import interpret
from tapeless.ir.parse import parse
from tests.ir.programs import PROGRAMS

N = 100
X = np.linspace(0.0, 1.0, N)
HEAD = "fun f(n: i64, x: f64[n]) { "
SUM = "s: f64 = each (i < n) with (a: f64 += 0.0) { v: f64 = x[i] put a <- v return } return s }"
SQUARES = "y: f64[n] = each (i < n) { v: f64 = x[i] w: f64 = v * v return w } "
STORE = "y: f64[n] = loop (a: f64[n] = {}) for i < n {{ b: f64[n] = a with [i] = 1.0 return b }} "


def counted(text: str):
    return cost(parse(text), N, X.copy())


def test_a_sum_reads_and_adds_every_element_once():
    assert counted(HEAD + SUM) == type(counted(HEAD + SUM))(N, N, 0, 0)


def test_a_map_writes_its_result():
    c = counted(HEAD + SQUARES + "return y }")
    assert (c.flops, c.reads, c.writes, c.peak_bytes) == (N, N, N, 8 * N)


def test_an_elementary_function_has_its_price():
    text = HEAD + SQUARES.replace("v * v", "exp(v)") + "return y }"
    assert counted(text).flops == N * OPS["exp"].flops > N


def test_a_histogram_reads_and_writes_cells():
    text = """fun f(n: i64, x: f64[n]) {
      z: f64[3] = zeros f64[3]
      h: f64[3] = each (i < n) with (a: f64[3] += z) {
        v: f64 = x[i]
        k: i64 = i % 3
        put a[k] <- v
        return
      }
      return h
    }"""
    c = counted(text)
    assert (c.flops, c.reads, c.writes, c.peak_bytes) == (2 * N, 2 * N, N + 3, 24)


def test_updates_of_an_array_that_dies_cost_one_element():
    c = counted(HEAD + "z: f64[n] = zeros f64[n] " + STORE.format("z") + "return y }")
    assert (c.reads, c.writes, c.peak_bytes) == (0, 2 * N, 8 * N)


def test_an_argument_is_copied_once_before_it_is_updated():
    c = counted(HEAD + STORE.format("x") + "return y }")
    assert (c.reads, c.writes, c.peak_bytes) == (N, 2 * N, 8 * N)


def test_a_written_argument_is_updated_in_place():
    c = counted((HEAD + STORE.format("x") + "return y }").replace("x: f64[n])", "*x: f64[n])"))
    assert (c.reads, c.writes, c.peak_bytes) == (0, N, 0)


def test_an_array_that_is_needed_later_is_copied():
    text = "z: f64[n] = zeros f64[n] " + STORE.format("z")
    c = counted(HEAD + text + "return y, z }")
    assert (c.reads, c.writes, c.peak_bytes) == (N, 3 * N, 16 * N)


def test_intermediate_arrays_die_at_their_last_use():
    chain = SQUARES + "".join(
        SQUARES.replace("y:", f"y{k}:").replace("x[", f"{a}[").replace("i <", f"i{k} <")
        .replace("[i]", f"[i{k}]").replace("v", f"v{k}").replace("w", f"w{k}")
        for k, a in ((2, "y"), (3, "y2"), (4, "y3"))
    )  # fmt: skip
    assert counted(HEAD + chain + "return y4 }").peak_bytes == 2 * 8 * N


def test_two_buffers_of_a_time_loop():
    text = """fun f(n: i64, x: f64[n]) {
      y: f64[n] = loop (a: f64[n] = x) for t < 5 {
        b: f64[n] = each (i < n) {
          v: f64 = a[0]
          u: f64 = a[i]
          w: f64 = v + u
          return w
        }
        return b
      }
      return y
    }"""
    assert counted(text).peak_bytes == 2 * 8 * N


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_counting_changes_no_result(program):
    fun = parse(program.text)
    args = [np.copy(a) if isinstance(a, np.ndarray) else a for a in program.args]
    first = cost(fun, *args)
    assert cost(fun, *args) == first
    assert min(first.flops, first.reads, first.writes, first.peak_bytes) >= 0
    for got, expected in zip(interpret(fun, *args), program.results(), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-14)
    for before, after in zip(program.args, args, strict=True):
        np.testing.assert_array_equal(before, after)
