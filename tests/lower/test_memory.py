"""Predicted memory of kernels against what the interpreter of Loop IR allocates."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from check import proc_of
from machine import peak_of
from test_lower import PROGRAMS, floats

from tapeless.ir.parse import parse
from tapeless.loop.memory import peak

CHAIN = """fun chain(n: i64, x: f64[n]) {
  a: f64[n] = each (i < n) {
    v: f64 = x[i]
    w: f64 = exp(v)
    return w
  }
  first: f64 = a[0?]
  b: f64[n] = each (j < n) {
    k: i64 = n - j
    m: i64 = k - 1
    p: f64 = a[m]
    return p
  }
  second: f64 = b[0?]
  c: f64[n] = each (j2 < n) {
    k2: i64 = n - j2
    m2: i64 = k2 - 1
    p2: f64 = b[m2]
    return p2
  }
  third: f64 = c[0?]
  d: f64[n] = each (j3 < n) {
    k3: i64 = n - j3
    m3: i64 = k3 - 1
    p3: f64 = c[m3]
    return p3
  }
  return d
}"""


@pytest.mark.parametrize(
    "name",
    sorted(
        set(PROGRAMS) - {"arms", "grows", "grows_in_an_arm", "appends_rows", "checked", "sorts"}
    ),
)
def test_prediction_is_what_is_allocated(name: str):
    text, runs = PROGRAMS[name]
    fun = parse(text)
    for parallel in (False, True):
        proc = proc_of(fun, parallel=parallel)
        for args in runs:
            scalars = {p: a for p, a in zip(fun.params, args, strict=True) if not p.is_array}
            predicted = peak(proc, scalars, lanes=lambda loop: 1)
            try:
                measured = peak_of(proc, *(np.copy(a) for a in args))
            except IndexError:
                continue
            assert predicted.exact
            assert predicted.total == measured


def test_arrays_that_died_make_room():
    fun = parse(CHAIN)
    proc = proc_of(fun)
    found = peak(proc, {fun.params[0]: 1000})
    assert found.results == 8 * 1000
    assert found.total <= 3 * 8 * 1000
    assert peak_of(proc, 1000, floats(1000)) == found.total


def test_result_of_an_elementwise_chain_is_all_that_is_allocated():
    fun = parse(PROGRAMS["time_loop"][0])
    proc = proc_of(fun)
    found = peak(proc, {fun.params[0]: 512, fun.params[1]: 1000})
    assert (found.total, found.results) == (8 * 512, 0)
