"""Printer and parser: parse(show(x)) is x up to the identity of variables."""

from __future__ import annotations

import pytest

from tapeless.core.names import Const, Var
from tapeless.core.types import DTYPES, Scalar, f64, i64
from tapeless.ir.parse import parse
from tapeless.ir.print import KEYWORDS, show
from tapeless.ir.syntax import Body, Fun, Let, Prim
from tapeless.ir.tokens import ParseError
from tapeless.ir.walk import refresh_fun
from tests.ir.programs import PROGRAMS, Program
from tests.ir.structure import difference

over_programs = pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)


@over_programs
def test_reading_what_was_printed_gives_the_program(program: Program):
    fun = parse(program.text)
    assert difference(parse(show(fun)), fun) is None
    assert show(parse(show(fun))) == show(fun)


@over_programs
def test_renaming_changes_identities_only(program: Program):
    fun = parse(program.text)
    new = refresh_fun(fun)
    assert difference(new, fun) is None
    assert not set(new.params) & set(fun.params)
    assert show(new) == show(fun)


@over_programs
def test_structure_sees_a_changed_constant(program: Program):
    """The comparison of these tests can fail: another last result is noticed."""
    fun = parse(program.text)
    changed = Body(fun.body.stms, (*fun.body.results[:-1], Const(12345, i64)))
    assert difference(fun, Fun(fun.name, fun.params, changed, fun.writes)) is not None


@pytest.mark.parametrize("hint", [*sorted(KEYWORDS), "a b", "x.y", "1st", "", "λ", "t_1", "t_1_2"])
def test_any_hint_prints_as_a_name(hint: str):
    x = Var(Scalar(f64), hint)
    y, z = Var(Scalar(f64), hint), Var(Scalar(f64), hint)
    stms = (Let((y,), Prim("neg", (x,))), Let((z,), Prim("add", (x, y))))
    fun = Fun("f", (x,), Body(stms, (z, y, x)))
    assert difference(parse(show(fun)), fun) is None


FLOATS = (
    0.0,
    -0.0,
    1.0,
    -2.5,
    1e300,
    5e-324,
    1e22,
    1 / 3,
    float("inf"),
    -float("inf"),
    float("nan"),
)


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=lambda d: d.name)
def test_constants_of_every_type(dtype):
    values = {"f": FLOATS, "b": (False, True)}.get(dtype.kind, (0, 1, -1, 2**63, -(2**63), 255))
    consts = tuple(Const(v, dtype) for v in values)
    fun = Fun("f", (), Body((), consts))
    assert parse(show(fun)).body.results == consts


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fun f() { return", "line 1: expected a name, found 'end of text'"),
        ("fun f(x: f64) { return y }", "line 1: unknown variable 'y'"),
        ("fun f(x: f64, x: f64) { return }", "'x' is bound twice"),
        ("fun f(x: g64) { return }", "'g64' is not an element type"),
        ("fun f(if: f64) { return }", "'if' is a keyword"),
        ("fun f() {\n x: f64 = 1.0\n return }", "line 3: expected an operator"),
        ("fun f() { return 1.5:i64 }", "1.5 is not of type i64"),
        ("fun f() { return } x", "expected the end, found 'x'"),
        ("fun f() { § return }", "unexpected character '§'"),
        ("fun f(b: bool) { check b else V(1) return }", "expected a message in double quotes"),
        ("fun f(n: i64) { each (i < n) with (a: i64 = 0 / 2) { return } return }", "line 1"),
    ],
)
def test_errors_of_the_reader_name_line_and_cause(text: str, message: str):
    with pytest.raises(ParseError) as error:
        parse(text)
    assert message in str(error.value)
