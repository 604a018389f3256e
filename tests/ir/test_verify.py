"""Mutants: programs that break one rule of Core each, which the verifier must name."""

from __future__ import annotations

import re

import pytest

from tapeless.core.names import Const, Var
from tapeless.core.types import DTYPES, Array, Scalar, f64, i64
from tapeless.ir.invalid import InvalidIR
from tapeless.ir.parse import parse
from tapeless.ir.syntax import Alloc, Body, Fun, Index, Let, Prim
from tapeless.ir.verify import verify
from tests.ir.programs import PROGRAMS

# Program, what is replaced by what, and what the verifier says.
MUTANTS = [
    ("prim", "x * 2.0", "x * k", "operands of mul differ in type"),
    ("prim", "exp(s)", "exp(k)", "exp does not take i64"),
    ("prim", "exp(s)", "exp(s, s)", "exp takes 1 operands"),
    ("prim", "exp(s)", "sine(s)", "unknown operator 'sine'"),
    ("prim", "c: f64 = f64(k)", "c: f32 = f64(k)", "c has type f32, but f64 is needed"),
    ("prim", "select(w, e, c)", "select(k, e, c)", "condition of select has type i64"),
    ("prim", "select(w, e, c)", "select(w, e, k)", "operands of select differ in type"),
    ("prim", "w: bool = q | n", "w: bool = q << n", "shl does not take bool"),
    ("index", "x[0]", "x[0, 0]", "2 indices, but the rank is 1"),
    ("index", "x[0]", "x[1.0]", "index 1.0:f64 has type f64, but i64 is needed"),
    ("index", "x[k?]", "x[k!]", "index modes 'i' are not among 'pcw'"),
    ("index", "x[0]", "k[0]", "is not an array"),
    ("index", "a: f64 = x[0]", "a: i64 = x[0]", "has type i64, but f64 is needed"),
    ("update", "[1] = 7.0", "[1] = 7", "value 7:i64 has type i64, but f64 is needed"),
    ("update", "a: f64[n]", "a: f64[5]", "but f64[n"),
    ("alloc", "zeros i32[n, 2]", "zeros i32[n, 3]", "a has type i32"),
    ("alloc", "zeros i32[n, 2]", "zeros i32[n, 2.0]", "size 2.0:f64 has type f64"),
    ("append", "append(a, x_i, k1)", "append(a, k, k1)", "value k has type i64"),
    ("append", "append(a, x_i, k1)", "append(a, x_i, k)", "a1 has type"),
    ("append", "e: f64[0] = zeros f64[0]", "e: f64[1] = zeros f64[1]", "initial value e"),
    ("append_row", "append(a, r, m1)", "append(a, a, m1)", "value a"),
    ("if", "return x, 3.0", "return x", "an arm has another number of results"),
    ("if", "return x, 3.0", "return x, 3", "result 3:i64 has type i64"),
    ("if", "return x, 3.0", "return u, 3.0", "u is not in scope"),
    ("iverson", "v: f64 = x[k]", "v: f64 = x[k?]", "the body of an Iverson has an effect"),
    ("iverson", "iverson inside", "iverson k", "condition k has type i64"),
    ("loop_for", "(s: f64 = 0.0,", "(s: f64 = 0,", "initial value 0:i64"),
    ("loop_for", "return t, b", "return t", "as many results as state variables"),
    ("loop_for", "return t, b", "return v, i", "next state"),
    ("loop_for", "for i < n", "for i < 2.0", "bound 2.0:f64 has type f64"),
    ("loop_for", "return m, a_1, x", "return m, a, x", "a is not in scope"),
    ("loop_while", "return more", "return s", "condition s has type i64"),
    ("loop_while", "more: bool = a != 1", "more: bool = a != 1 check more else ValueError(\"\")",
     "the condition of a While has an effect"),
    ("loop_reverse", "reverse store", "reverse tape", "unknown strategy 'tape'"),
    ("loop_reverse", "levels=2", "levels=0", "levels of a Loop must be at least 1"),
    ("loop_reverse", "slots=m", "slots=1.0", "option 1.0:f64 has type f64"),
    ("each_map", "t: f64[n, m]", "t: f64[m, n]", "element result v"),
    ("each_map", "(j < n, i < m)", "(j < n, i < 1.5)", "size 1.5:f64 has type f64"),
    ("each_accumulate", "a: f64 += b", "a: f64 += 1", "initial value 1:i64"),
    ("each_accumulate", "put c <- v", "put c <- v put c <- v", "has more than one Put"),
    ("each_accumulate", "put a <- 1.0", "u: f64 = a * 2.0", "accumulator a is used as a value"),
    ("each_accumulate", "put a <- 1.0", "put a[i] <- 1.0", "1 indices, but the rank is 0"),
    ("each_accumulate", "put a <- 1.0", "put w <- 1.0", "Put to what is no accumulator in scope"),
    ("each_accumulate", "put a <- 1.0", "put a <- 1", "value 1:i64 has type i64"),
    ("each_map", "return v, w", "return v", "outputs are elements"),
    ("each_accumulate", "put d <- v",
     "loop () for j < 2 { put d <- v return }", "Put to d under a Loop"),
    ("histogram", "put a[b!] <- v", "put a[b, 0] <- v", "2 indices, but the rank is 1"),
    ("histogram", "h: f64[3] = each", "h: f64[n] = each", "h has type"),
    ("monoid_accumulator", "put (m, k) <- v, i", "put m <- v", "Put to a part of an accumulator"),
    ("monoid_accumulator", "return c, ci", "return c, c", "result of the monoid c"),
    ("monoid_accumulator", "neutral (-inf, -1)", "neutral (-inf)", "1 neutral elements"),
    ("fold", "return v, 1.0", "return v", "1 elements, but 2 are needed"),
    ("fold", "return v, 1.0", "return v, 1", "element 1:i64"),
    ("fold", "s: f64 = a * a2", "s: f64 = x[9?]", "the body of a monoid has an effect"),
    ("scan", "y: f64[n] = scan", "y: f64 = scan", "y has type f64, but f64"),
    ("check", "check same", "check n", "condition n has type i64"),
    ("check", "ValueError", "NoSuchError", "NoSuchError is no exception of the language"),
    ("check", "{} and {}", "{} and {} and {}", "message does not fit its arguments"),
    ("sort", "sort a[k]", "sort a", "0 indices, but the rank is 1"),
    ("sort", "p: i64[n] = sort", "p: f64[n] = sort", "p has type"),
    ("call", "call tests.matvec(a, x)", "call tests.nothing(a, x)", "unknown callee"),
    ("call", "y: f64[m], s: i64", "y: f64[n], s: i64", "y has type"),
    ("call", "1: n * -1", "2: n * -1", "View of a missing axis"),
    ("written", "x: f64[n], *y", "*x0: f64, x: f64[n], *y", "is no array parameter"),
]  # fmt: skip


def problem_of(fun: Fun) -> str:
    """What the verifier says, with the names of variables as the text has them."""
    with pytest.raises(InvalidIR) as error:
        verify(fun)
    return re.sub(r"([^\W\d]\w*)\.[0-9a-f]+\b", r"\1", error.value.problem)


@pytest.mark.parametrize(
    ("name", "old", "new", "message"), MUTANTS, ids=[f"{m[0]}: {m[2][:40]}" for m in MUTANTS]
)
def test_mutant_is_rejected(name: str, old: str, new: str, message: str):
    text = next(p.text for p in PROGRAMS if p.name == name)
    verify(parse(text))
    assert text.count(old) >= 1
    assert message in problem_of(parse(text.replace(old, new, 1)))


# What the text form cannot say.
x, n = Var(Scalar(f64), "x"), Var(Scalar(i64), "n")
y, z = x.fresh(), x.fresh()
array = Var(Array(f64, (n,)), "array")


def body(*stms: Let, results: tuple = ()) -> Body:
    return Body(stms, results)


NEG, NEG_Z = Let((y,), Prim("neg", (x,))), Let((y,), Prim("neg", (z,)))
ONES = Let((array,), Alloc("ones", f64, (n,)))
ZEROS = Let((array,), Alloc("zeros", f64, (n,)))
TWICE = Let((y, z), Prim("neg", (x,)))
NARROW = Let((z,), Prim("from_bits", (Const(1, DTYPES["u8"]),)))

BUILT = [
    ("bound twice", Fun("f", (x,), body(NEG, NEG)), "x is bound twice"),
    ("bound as parameter", Fun("f", (x, y), body(NEG)), "x is bound twice"),
    ("used before its binding", Fun("f", (x,), body(NEG_Z, NEG)), "x is not in scope"),
    ("unbound result", Fun("f", (x,), body(NEG, results=(z,))), "x is not in scope"),
    ("array before its size", Fun("f", (array, n), body()), "size n of array is not in scope"),
    ("size of another type", Fun("f", (x, Var(Array(f64, (x,)), "a")), body()), "size x of a"),
    ("negative size", Fun("f", (Var(Array(f64, (-1,)), "a"),), body()), "a has a negative size"),
    ("kind of Alloc", Fun("f", (n,), body(ONES)), "unknown kind"),
    ("from_bits", Fun("f", (), body(NARROW)), "from_bits does not take u8"),
    ("written twice", Fun("f", (n, array), body(), (array, array)), "in `writes` twice"),
    ("written scalar", Fun("f", (x,), body(), (x,)), "x in `writes` is no array parameter"),
    ("written stranger", Fun("f", (n,), body(ZEROS), (array,)), "is no array parameter"),
    ("too many outputs", Fun("f", (x,), body(TWICE)), "1 results for 2 names"),
    ("no modes", Fun("f", (n, array), body(Let((y,), Index(array, (n,), "")))), "0 index modes"),
]  # fmt: skip


@pytest.mark.parametrize(("fun", "message"), [b[1:] for b in BUILT], ids=[b[0] for b in BUILT])
def test_built_mutant_is_rejected(fun: Fun, message: str):
    assert message in problem_of(fun)


def test_sizes_learnt_in_an_arm_are_forgotten_after_it():
    text = """fun f(n: i64, x: f64[n], m: i64, y: f64[m]) {
      same: bool = n == m
      z: f64[n] = if same { return y } else { return x }
      w: f64[n] = if same { return x } else { return y }
      return z, w
    }"""
    assert "result y has type f64[m]" in problem_of(parse(text))
    verify(parse(text.replace("{ return x } else { return y }", "{ return x } else { return x }")))


def test_a_check_of_a_conjunction_teaches_both_sizes():
    verify(
        parse("""fun f(a: i64, b: i64, c: i64, x: f64[a, 3], y: f64[b, c]) {
      p: bool = a == b
      q: bool = c == 3
      both: bool = p & q
      check both else ValueError("shapes differ")
      z: f64[a, 3] = if p { return x } else { return y }
      return z
    }""")
    )


def test_the_error_shows_statement_and_program():
    with pytest.raises(InvalidIR) as error:
        verify(parse("fun f(k: i64) { x: f64 = exp(k) return x }"))
    assert "in the statement\n  x: f64 = exp(k)\nof\nfun f(k: i64) {" in str(error.value)
