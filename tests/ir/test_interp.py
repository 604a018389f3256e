"""The interpreter against NumPy, construct by construct, and what it refuses."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tapeless.ir.interp import interpret
from tapeless.ir.parse import parse
from tapeless.ir.slots import Undefined
from tapeless.ir.verify import verify
from tests.ir.programs import PROGRAMS, A, Program, X

over_programs = pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)


def assert_equal(got, expected) -> None:
    assert len(got) == len(expected)
    for g, e in zip(got, expected, strict=True):
        assert np.asarray(g).dtype == np.asarray(e).dtype
        assert np.shape(g) == np.shape(e)
        np.testing.assert_allclose(g, e, rtol=1e-14)
        np.testing.assert_array_equal(np.signbit(np.float64(g)), np.signbit(np.float64(e)))


@over_programs
def test_means_what_numpy_says(program: Program):
    fun = parse(program.text)
    verify(fun)
    args = [np.copy(a) if isinstance(a, np.ndarray) else a for a in program.args]
    assert_equal(interpret(fun, *args), program.results())
    for before, after in zip(program.args, args, strict=True):
        np.testing.assert_array_equal(before, after)


def run(text: str, *args):
    fun = parse(text)
    verify(fun)
    return interpret(fun, *args)


READ = "fun f(m: i64, n: i64, a: f64[m, n], i: i64, j: i64) { v: f64 = a[i?, j~] return v }"


@pytest.mark.parametrize(("i", "j"), [(0, 0), (2, 3), (1, -1), (0, -4)])
def test_index_modes_in_range(i: int, j: int):
    assert run(READ, 3, 4, A, i, j) == (A[i, j],)


@pytest.mark.parametrize(
    ("i", "j", "message"),
    [
        (3, 0, "index 3 is out of bounds for axis 0 with size 3"),
        (-1, 0, "index -1 is out of bounds for axis 0 with size 3"),
        (0, 4, "index 4 is out of bounds for axis 1 with size 4"),
        (0, -5, "index -5 is out of bounds for axis 1 with size 4"),
    ],
)
def test_index_modes_out_of_range(i: int, j: int, message: str):
    with pytest.raises(IndexError, match=message):
        run(READ, 3, 4, A, i, j)


def test_a_failed_check_raises_its_error_with_its_message():
    program = next(p for p in PROGRAMS if p.name == "check")
    with pytest.raises(ValueError, match=re.escape('sizes 5 and 4 differ, "{}"')):
        run(program.text, 5, X, 4, X[:4])


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("fun f(n: i64, x: f64[n]) { v: f64 = x[9] return v }", (5, X)),
        ("fun f(n: i64) { a: f64[n] = zeros f64[n] return a }", (-1,)),
        ("fun f(n: i64, x: f64[n]) { return x }", (4, X)),
        (
            """fun f(x: f64[5]) {
              y: f64[5] = each (i < 5) with (a: f64[5] = x) { put a[0] <- 1.0 return }
              return y
            }""",
            (X,),
        ),
        ("fun f(n: i64) { each (i < n) { return } return }", (-1,)),
    ],
    ids=["proved index out of range", "negative size", "wrong size", "cell twice", "negative box"],
)
def test_what_no_correct_program_does_is_refused(text: str, args: tuple):
    with pytest.raises(Undefined):
        run(text, *args)


def test_empty_memory_is_poisoned():
    a, b, c = run(
        "fun f() { a: f64[2] = empty f64[2] b: i8[2] = empty i8[2] c: bool[1] = empty bool[1] "
        "return a, b, c }"
    )
    assert np.isnan(a).all()
    assert (b == 0x5A).all()
    assert c.all()


@pytest.mark.parametrize("n", [0, 1, 2])
def test_empty_and_tiny_sizes(n: int):
    for name in ("each_map", "each_accumulate", "histogram", "scan", "fold", "loop_for", "append"):
        program = next(p for p in PROGRAMS if p.name == name)
        args = {
            "each_map": (n, 4, A[:n]),
            "each_accumulate": (n, X[:n], 10.0, 2.0),
            "histogram": (n, np.arange(n), X[:n], np.ones(3)),
        }.get(name, (n, X[:n]))
        results = run(program.text, *args)
        assert len(results) == len(run(program.text, *program.args))
