"""The uniqueness rule: what consumes an array that it may not is named."""

from __future__ import annotations

import pytest

from tapeless.ir.invalid import InvalidIR
from tapeless.ir.parse import parse
from tapeless.ir.verify import verify

SAFE = {
    "update of a new array": """fun f(n: i64) {
      a: f64[n] = zeros f64[n]
      b: f64[n] = a with [0] = 1.0
      return b
    }""",
    "written parameter": "fun f(n: i64, *x: f64[n]) { y: f64[n] = x with [0] = 1.0 return y }",
    "loop state": """fun f(n: i64, *x: f64[n]) {
      y: f64[n] = loop (a: f64[n] = x) for i < n {
        v: f64 = a[i]
        b: f64[n] = a with [i] = v
        return b
      }
      return y
    }""",
    "one arm consumes": """fun f(n: i64, *x: f64[n], c: bool) {
      y: f64[n] = if c {
        b: f64[n] = x with [0] = 1.0
        return b
      } else {
        return x
      }
      return y
    }""",
    "reads of its own cell": """fun f(n: i64, *x: f64[n]) {
      y: f64[n] = each (i < n) with (a: f64[n] = x) {
        v: f64 = x[i]
        put a[i] <- v
        return
      }
      return y
    }""",
}

UNSAFE = [
    ("update of a new array", "return b", "return b, a", "a is used after it was consumed"),
    ("update of a new array", "return b", "c: f64 = a[0] return b, c", "a is used after"),
    ("update of a new array", "return b", "c: f64[n] = a with [0] = 1.0 return b", "a is used"),
    ("written parameter", "*x", "x", "x is consumed, but not owned here"),
    ("written parameter", "return y", "return y, x", "x is used after it was consumed"),
    ("loop state", "return y", "return y, x", "x is used after"),
    ("loop state", "v: f64 = a[i]", "v: f64 = x[i]", "x is used after"),
    ("loop state", "b: f64[n] = a with", "b: f64[n] = x with", "x is used after"),
    ("loop state", "return b", "w: f64 = a[i] return b", "a is used after"),
    ("loop state", "*x", "x", "x is consumed, but not owned here"),
    ("one arm consumes", "return y", "return y, x", "x is used after it was consumed"),
    ("one arm consumes", "return b", "return x", "x is used after"),
    ("one arm consumes", "*x", "x", "x is consumed, but not owned here"),
    ("reads of its own cell", "v: f64 = x[i]", "v: f64 = x[0]", "x is used after"),
    ("reads of its own cell", "put a[i] <- v", "put a[i] <- v w: f64 = x[i]", "x is used after"),
    ("reads of its own cell", "with (a: f64[n] =", "with (a: f64[n] +=", "x is used after"),
    ("reads of its own cell", "return y", "return y, x", "x is used after"),
    ("reads of its own cell", "v: f64 = x[i]", "b: f64[n] = x with [i] = 1.0 v: f64 = b[i]",
     "x is used after"),
]  # fmt: skip


@pytest.mark.parametrize("text", SAFE.values(), ids=SAFE.keys())
def test_safe_program_passes(text: str):
    verify(parse(text), unique=True)


@pytest.mark.parametrize(
    ("name", "old", "new", "message"), UNSAFE, ids=[f"{m[0]}: {m[2][:40]}" for m in UNSAFE]
)
def test_mutant_is_rejected(name: str, old: str, new: str, message: str):
    text = SAFE[name]
    assert old in text
    fun = parse(text.replace(old, new, 1))
    verify(fun)
    with pytest.raises(InvalidIR) as error:
        verify(fun, unique=True)
    start, rest = message.split(" ", 1)
    assert error.value.problem.startswith(start + ".")
    assert rest in error.value.problem


def test_a_body_that_runs_again_owns_nothing_from_outside():
    fun = parse("""fun f(n: i64, *x: f64[n]) {
      y: f64[n] = each (i < n) {
        b: f64[n] = x with [i] = 1.0
        v: f64 = b[0]
        return v
      }
      return y
    }""")
    verify(fun)
    with pytest.raises(InvalidIR, match="is consumed, but not owned here"):
        verify(fun, unique=True)
