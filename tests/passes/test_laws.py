"""Every simplification law: what it makes of an expression, and that both mean the same."""

from __future__ import annotations

import ast
import inspect
import itertools
import sys
from dataclasses import dataclass, field

import numpy as np
import pytest

from tapeless.core.names import Atom, Const, Var
from tapeless.core.prims import evaluate
from tapeless.core.types import BOOL, DType, Scalar, bool_, f32, f64, i8, i64
from tapeless.ir.syntax import Prim
from tapeless.ir.types_of import types_of
from tapeless.simplify import laws

SAMPLES = {
    "f": (0.0, -0.0, 1.0, -1.0, 0.1, -2.5, 1e30, np.inf, -np.inf, np.nan),
    "i": (0, 1, -1, 5, 100, -128),
    "b": (False, True),
}
X, Y = (Var(Scalar(f64), h) for h in "xy")
S = Var(Scalar(f32), "s")
M, N = (Var(Scalar(i64), h) for h in "mn")
K = Var(Scalar(i8), "k")
P, Q, C = (Var(BOOL, h) for h in "pqc")


def prim(op: str, *args: Atom) -> Prim:
    return Prim(op, args)


def c(value: bool | int | float, dtype: DType = f64) -> Const:
    return Const(value, dtype)


@dataclass
class Law:
    """before ⇒ after. An operand of `before` that is an expression is bound to a variable."""

    before: tuple[object, ...]
    after: Atom | Prim
    name: str
    defs: dict[Var, Prim] = field(default_factory=dict)

    def __post_init__(self) -> None:
        op, *operands = self.before
        self.op = str(op)
        self.args = tuple(self.bound(a) for a in operands)

    def bound(self, operand: object) -> Atom:
        if isinstance(operand, Prim):
            var = Var(types_of(operand)[0], "inner")
            self.defs[var] = operand
            return var
        assert isinstance(operand, Var | Const)
        return operand


TRUE, FALSE = c(True, bool_), c(False, bool_)
LAWS = [
    Law(("add", c(1, i64), M), prim("add", M, c(1, i64)), "1 + m"),
    Law(("eq", P, TRUE), P, "p = True"),
    Law(("ne", P, FALSE), P, "p ≠ False"),
    Law(("eq", P, FALSE), prim("not", P), "p = False"),
    Law(("xor", P, TRUE), prim("not", P), "p xor True"),
    Law(("and", P, P), P, "p ∧ p"),
    Law(("or", P, P), P, "p ∨ p"),
    Law(("select", C, TRUE, FALSE), C, "c ? True : False"),
    Law(("select", C, FALSE, TRUE), prim("not", C), "c ? False : True"),
    Law(("select", C, P, FALSE), prim("and", C, P), "c ? p : False"),
    Law(("select", C, TRUE, P), prim("or", C, P), "c ? True : p"),
    Law(("not", prim("not", P)), P, "¬¬p"),
    Law(("not", prim("eq", X, Y)), prim("ne", X, Y), "¬(x = y)"),
    Law(("not", prim("ne", X, Y)), prim("eq", X, Y), "¬(x ≠ y)"),
    Law(("not", prim("lt", M, N)), prim("le", N, M), "¬(m < n)"),
    Law(("not", prim("le", M, N)), prim("lt", N, M), "¬(m ≤ n)"),
    Law(("select", prim("not", C), X, Y), prim("select", C, Y, X), "¬c ? x : y"),
    Law(("select", prim("not", C), P, Q), prim("select", C, Q, P), "¬c ? p : q"),
    Law(("min", X, X), X, "min(x, x)"),
    Law(("max", M, M), M, "max(m, m)"),
    Law(("sub", X, c(0.0)), X, "x - 0"),
    Law(("add", X, c(-0.0)), X, "x + -0"),
    Law(("sub", c(-0.0), X), prim("neg", X), "-0 - x"),
    Law(("mul", X, c(-1.0)), prim("neg", X), "x·(-1)"),
    Law(("div", X, c(-1.0)), prim("neg", X), "x / (-1)"),
    Law(("div", X, c(8.0)), prim("mul", X, c(0.125)), "x / 2³"),
    Law(("div", S, c(0.5, f32)), prim("mul", S, c(2.0, f32)), "x / 2⁻¹"),
    Law(("sub", X, prim("neg", Y)), prim("add", X, Y), "x - (-y)"),
    Law(("add", X, prim("neg", Y)), prim("sub", X, Y), "x + (-y)"),
    Law(("add", prim("neg", X), Y), prim("sub", Y, X), "(-x) + y"),
    Law(("mul", prim("neg", X), c(3.0)), prim("mul", X, c(-3.0)), "(-x)·c"),
    Law(("neg", prim("neg", X)), X, "--x"),
    Law(("abs", prim("neg", X)), prim("abs", X), "|-x|"),
    Law(("abs", prim("abs", X)), prim("abs", X), "||x||"),
    Law(("pow", X, c(1.0)), X, "x¹"),
    Law(("pow", X, c(0.0)), c(1.0), "x⁰"),
    Law(("pow", X, c(2.0)), prim("mul", X, X), "x²"),
    Law(("pow", X, c(-1.0)), prim("div", c(1.0), X), "x⁻¹"),
    Law(("sub", K, c(-128, i8)), prim("add", K, c(-128, i8)), "k - c"),
    Law(("add", prim("add", K, c(100, i8)), c(100, i8)), prim("add", K, c(-56, i8)), "(k + c) + d"),
    Law(("mul", prim("mul", K, c(50, i8)), c(3, i8)), prim("mul", K, c(-106, i8)), "(k·c)·d"),
    Law(("sub", prim("add", M, N), N), M, "(m + n) - n"),
    Law(("sub", prim("add", M, N), M), N, "(m + n) - m"),
    Law(("pow", M, c(2, i64)), prim("mul", M, M), "m²"),
    Law(("pow", M, c(1, i64)), M, "m¹"),
    Law(("pow", M, c(0, i64)), c(1, i64), "m⁰"),
    Law(("mod", M, c(1, i64)), c(0, i64), "m mod 1"),
]
over_laws = pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)


@over_laws
def test_law_applies(law: Law):
    assert shown(laws.law(law.op, law.args, law.defs)) == shown(law.after)


def shown(exp: object) -> object:
    return (exp.op, exp.args) if isinstance(exp, Prim) else exp


@over_laws
def test_law_holds_for_every_value(law: Law):
    exps = (Prim(law.op, law.args), law.after, *law.defs.values())
    atoms = {a for e in exps for a in (e.args if isinstance(e, Prim) else (e,))}
    free = [a for a in atoms if isinstance(a, Var) and a not in law.defs]
    for values in itertools.product(*(SAMPLES[v.dtype.kind] for v in free)):
        env = dict(zip(free, values, strict=True))
        with np.errstate(all="ignore"):
            before = value_of(Prim(law.op, law.args), env, law.defs)
            after = value_of(law.after, env, law.defs)
        assert before.dtype == after.dtype
        both_nan = before != before and after != after
        if law.op == "pow":
            np.testing.assert_array_max_ulp(before, after, 1)
        else:
            assert both_nan or before.tobytes() == after.tobytes(), (values, before, after)


def value_of(exp: Atom | Prim, env: dict[Var, object], defs: dict[Var, Prim]) -> np.generic:
    match exp:
        case Prim(op, args):
            dtype = types_of(exp)[0].dtype
            return evaluate(op, [value_of(a, env, defs) for a in args], dtype)
        case Const():
            return exp.dtype.numpy.type(exp.value)
        case _:
            return value_of(defs[exp], env, defs) if exp in defs else exp.dtype.numpy.type(env[exp])


def test_every_law_is_above():
    """Each return of a simpler expression in laws.py is reached by one of the laws above."""
    file = inspect.getsourcefile(laws)
    reached: set[int] = set()

    def line(frame, event, arg):
        if frame.f_code.co_filename != file:
            return None
        reached.add(frame.f_lineno)
        return line

    before = sys.gettrace()
    sys.settrace(line)
    try:
        for law in LAWS:
            laws.law(law.op, law.args, law.defs)
    finally:
        sys.settrace(before)
    tree = ast.parse(inspect.getsource(laws))
    wanted = {
        node.lineno: ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Return) and ast.unparse(node) not in ("return None", "return known")
    }
    assert not {line: text for line, text in wanted.items() if line not in reached}
