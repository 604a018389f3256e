"""The builder: folding laws against the meaning of operators, scopes, types of results."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tapeless.core.names import Const, Loc, Var
from tapeless.core.prims import OPS, evaluate
from tapeless.core.types import DTYPES, INDEX, Array, Scalar, bool_, f64, i8, i64
from tapeless.ir.build import FALSE, ONE, TRUE, ZERO, Builder, const, fold
from tapeless.ir.interp import interpret
from tapeless.ir.syntax import Append, Body, For, Fun, If, Loop, Prim
from tapeless.ir.types_of import types_of
from tapeless.ir.verify import verify

SAMPLES = {
    "f": (0.0, -0.0, 1.0, -2.5, np.inf, np.nan),
    "i": (0, 1, -1, 5, -128),
    "u": (0, 1, 5, 255),
    "b": (False, True),
}
LAWS = [op for op in OPS.values() if op.arity == 2]


@pytest.mark.parametrize("op", LAWS, ids=lambda op: op.name)
def test_laws_hold_for_every_value(op):
    """Whenever an operand is constant and a law applies, it gives what the operator means."""
    for dtype in DTYPES.values():
        if dtype.kind not in op.kinds or (dtype.is_bool and op.name == "mulhi"):
            continue
        for a, c in itertools.product(SAMPLES[dtype.kind], SAMPLES[dtype.kind]):
            if op.name in ("shl", "shr") and not 0 <= c < 8:
                continue
            if op.name == "pow" and dtype.is_int and c < 0:
                continue
            x = Var(Scalar(dtype))
            for args in ((x, Const(c, dtype)), (Const(c, dtype), x)):
                if op.name in ("shl", "shr") and args[1] is x:
                    continue
                known = fold(op.name, args)
                if known is not None:
                    values = [dtype.numpy.type(a if v is x else v.value) for v in args]
                    result = types_of(Prim(op.name, args))[0].dtype
                    expected = evaluate(op.name, values, result)
                    got = a if known is x else known.value
                    assert Const(got, result) == Const(expected.item(), result), (op.name, values)


def test_constants_fold_to_what_operators_mean():
    assert fold("add", (const(2), const(3))) == const(5)
    assert fold("add", (const(100, i8), const(100, i8))) == const(-56, i8)
    assert fold("lt", (const(2), const(3))) == TRUE
    assert fold("and", (TRUE, FALSE)) == FALSE
    assert fold("f64", (const(3),)) == const(3.0, f64)


def test_comparison_with_itself_folds_only_where_nan_cannot_be():
    i, x = Var(INDEX), Var(Scalar(f64))
    assert fold("eq", (i, i)) == TRUE
    assert fold("lt", (i, i)) == FALSE
    assert fold("eq", (x, x)) is None
    assert fold("sub", (x, x)) is None


def test_select_of_a_known_condition_or_of_equals():
    c, a, b = Var(Scalar(bool_)), Var(INDEX), Var(INDEX)
    assert fold("select", (TRUE, a, b)) is a
    assert fold("select", (FALSE, a, b)) is b
    assert fold("select", (c, a, a)) is a
    assert fold("select", (c, a, b)) is None


def test_scopes_become_bodies_and_locations_are_stamped():
    b = Builder()
    x = Var(Scalar(f64), "x")
    c = b.prim("lt", ZERO, ONE) and Var(Scalar(bool_), "c")
    b.loc = Loc("f.py", 7)
    with b.scope():
        y = b.prim("mul", x, x)
        then = b.body((y,))
    out = b.one(If(c, then, Body((), (x,))), "r")
    fun = Fun("f", (x, c), b.body((out,)))
    verify(fun)
    assert interpret(fun, 3.0, True) == (9.0,)
    assert interpret(fun, 3.0, False) == (3.0,)
    assert [str(s.loc) for s in fun.body.stms] == ["f.py:7"]


def test_a_loop_with_growing_state_gets_sizes_of_its_results():
    b = Builder()
    empty = Var(Array(f64, (0,)), "e")
    n, i, k = Var(INDEX, "n"), Var(INDEX, "i"), Var(INDEX, "k")
    a = Var(Array(f64, (k,)), "a")
    with b.scope():
        more = b.prim("add", k, ONE)
        longer = b.one(Append(a, const(1.5, f64), more))
        body = b.body((more, longer))
    count, final = b.let(Loop(For(i, n), (k, a), (ZERO, empty), body), "count", "final")
    assert final.type == Array(f64, (count,))
    fun = Fun("f", (n, empty), b.body((final,)))
    verify(fun)
    np.testing.assert_array_equal(interpret(fun, 3, np.zeros(0))[0], [1.5] * 3)


def test_a_true_check_is_not_emitted():
    b = Builder()
    b.check(TRUE, "ValueError", "never")
    b.check(FALSE, "ValueError", "always")
    assert len(b.scopes[0]) == 1


@pytest.mark.parametrize("to", DTYPES.values(), ids=lambda d: d.name)
def test_casts_have_the_type_they_are_named_after(to):
    for dtype in DTYPES.values():
        assert types_of(Prim(to.name, (Var(Scalar(dtype)),))) == (Scalar(to),)
    assert Builder().cast(const(1, i64), i64) == const(1)
