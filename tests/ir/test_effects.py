"""What may be dropped, run twice, or run earlier."""

from __future__ import annotations

import pytest

from tapeless.ir.effects import is_pure, is_pure_exp, is_total, may_raise
from tapeless.ir.parse import parse
from tapeless.ir.syntax import Body, Each, Exp
from tapeless.ir.walk import bodies_of, free_vars, statements
from tests.ir.programs import PROGRAMS

HEAD = "fun f(n: i64, x: f64[n], k: i64, b: bool, v: f64) { "

# Statement, whether it may raise by itself, is pure, and is total.
CASES = [
    ("r: f64 = exp(v)", False, True, True),
    ("r: i64 = k // 0", False, True, True),
    ("r: i64 = k << 3", False, True, True),
    ("r: i64 = k << n", False, True, False),
    ("r: f64 = x[k]", False, True, False),
    ("r: f64 = x[k?]", True, False, False),
    ("r: f64 = x[k~]", True, False, False),
    ("r: f64[n] = x with [k] = v", False, True, False),
    ("r: f64[n] = x with [k!] = v", False, True, False),
    ("r: f64[n] = x with [k?] = v", True, False, False),
    ("r: f64[n] = zeros f64[n]", False, True, True),
    ('check b else ValueError("")', True, False, False),
    ("r: f64 = if b { s: f64 = x[k?] return s } else { return v }", False, False, False),
    ("r: f64 = if b { s: f64 = exp(v) return s } else { return v }", False, True, True),
    ("r: f64 = if b { s: f64 = x[k] return s } else { return v }", False, True, False),
    ("r: f64 = loop (s: f64 = v) while { return b } do { return s }", False, True, False),
    ("r: f64 = loop (s: f64 = v) for i < n { return s }", False, True, True),
    ("r: f64 = each (i < n) with (a: f64 += v) { put a <- v return }", False, True, True),
    ("r: i64[n] = sort x", False, True, True),
]


def only(text: str) -> Exp:
    return parse(HEAD + text + " return }").body.stms[0].exp


@pytest.mark.parametrize(("text", "raises", "pure", "total"), CASES, ids=[c[0] for c in CASES])
def test_effects_of_a_statement(text: str, raises: bool, pure: bool, total: bool):
    exp = only(text)
    assert may_raise(exp) == raises
    assert is_pure_exp(exp) == pure
    assert is_total(exp) == total


def test_a_put_is_an_effect_outside_the_each_that_binds_its_target():
    exp = only(
        "r: f64 = each (i < n) with (a: f64 += v) { each (j < n) { put a <- v return } return }"
    )
    assert isinstance(exp, Each)
    assert is_pure_exp(exp)
    assert not is_pure(exp.body)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_free_variables_are_used_inside_and_bound_outside(program):
    fun = parse(program.text)
    assert set(free_vars(fun.body)) <= set(fun.params)
    for stm in statements(fun.body):
        for body in bodies_of(stm.exp):
            inside = {v for s in statements(body) for v in s.outs}
            assert not inside & set(free_vars(body))


def test_free_variables_count_sizes_and_targets():
    exp = only(
        "r: f64 = each (i < n) with (a: f64 += v) { q: f64[k] = zeros f64[k] put a <- v return }"
    )
    body: Body = bodies_of(exp)[0]
    assert {v.hint for v in free_vars(body)} == {"k", "v", "a"}
