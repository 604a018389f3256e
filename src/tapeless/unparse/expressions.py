"""Atoms and operators of Core as Python expressions."""

from __future__ import annotations

import ast
import math
import string
from collections.abc import Sequence

from tapeless.core.names import Const
from tapeless.core.prims import CASTS, OPS
from tapeless.core.types import DType

_OPERATORS: dict[str, type[ast.operator]] = {
    "add": ast.Add, "sub": ast.Sub, "mul": ast.Mult, "div": ast.Div, "floordiv": ast.FloorDiv,
    "mod": ast.Mod, "pow": ast.Pow, "and": ast.BitAnd, "or": ast.BitOr, "xor": ast.BitXor,
    "shl": ast.LShift, "shr": ast.RShift,
}  # fmt: skip
_COMPARISONS: dict[str, type[ast.cmpop]] = {
    "eq": ast.Eq, "ne": ast.NotEq, "lt": ast.Lt, "le": ast.LtE,
}  # fmt: skip
_FUNCTIONS = {
    "abs": "abs", "min": "np.minimum", "max": "np.maximum", "asin": "np.arcsin",
    "acos": "np.arccos", "atan": "np.arctan", "asinh": "np.arcsinh", "acosh": "np.arccosh",
    "atanh": "np.arctanh", "atan2": "np.arctan2", "lgamma": "special.gammaln",
    "tgamma": "special.gamma", "erf": "special.erf", "erfc": "special.erfc",
    "digamma": "special.digamma", "erfinv": "special.erfinv", "ndtri": "special.ndtri",
    "i0": "special.i0", "i1": "special.i1", "j0": "special.j0", "j1": "special.j1",
}  # fmt: skip


def name(text: str) -> ast.expr:
    """A name, dotted or not."""
    first, *rest = text.split(".")
    node: ast.expr = ast.Name(first)
    for attr in rest:
        node = ast.Attribute(node, attr)
    return node


def call(function: str, *args: ast.expr, **keywords: ast.expr) -> ast.expr:
    return ast.Call(name(function), list(args), [ast.keyword(k, v) for k, v in keywords.items()])


def number(value: int) -> ast.expr:
    return ast.Constant(value) if value >= 0 else ast.UnaryOp(ast.USub(), ast.Constant(-value))


def items(parts: Sequence[ast.expr]) -> ast.expr:
    """One expression, or a tuple of several (or none)."""
    return parts[0] if len(parts) == 1 else ast.Tuple(list(parts))


def subscript(array: ast.expr, at: Sequence[ast.expr]) -> ast.expr:
    return ast.Subscript(array, items(at))


def binary(op: type[ast.operator], left: ast.expr, right: ast.expr) -> ast.expr:
    return ast.BinOp(left, op(), right)


def compare(left: ast.expr, op: type[ast.cmpop], right: ast.expr) -> ast.expr:
    return ast.Compare(left, [op()], [right])


def constant(c: Const) -> ast.expr:
    """A literal: Python's own numbers for i64, f64 and bool, NumPy's for the rest."""
    value: ast.expr
    if c.dtype.is_bool:
        return ast.Constant(bool(c.value))
    if c.dtype.is_float:
        value = _float(float(c.value))
    else:
        value = number(int(c.value))
    return value if c.dtype.name in ("i64", "f64") else call(numpy_name(c.dtype), value)


def _float(value: float) -> ast.expr:
    if math.isnan(value):
        return name("math.nan")
    size = name("math.inf") if math.isinf(value) else ast.Constant(abs(value))
    negative = math.copysign(1.0, value) < 0
    return ast.UnaryOp(ast.USub(), size) if negative else size


def numpy_name(dtype: DType) -> str:
    return "np.bool_" if dtype.is_bool else f"np.{dtype.numpy.name}"


def prim(op: str, args: Sequence[ast.expr], dtypes: Sequence[DType]) -> ast.expr:
    """An operator on operands of these element types."""
    if op in _OPERATORS:
        return binary(_OPERATORS[op], *args)
    if op in _COMPARISONS:
        return compare(args[0], _COMPARISONS[op], args[1])
    if op in CASTS:
        return cast(op, args[0], dtypes[0])
    match op:
        case "select":
            return ast.IfExp(args[0], args[1], args[2])
        case "neg":
            return ast.UnaryOp(ast.USub(), args[0])
        case "not":
            return ast.UnaryOp(ast.Not() if dtypes[0].is_bool else ast.Invert(), args[0])
        case "fma":
            return binary(ast.Add, binary(ast.Mult, args[0], args[1]), args[2])
        case "trigamma":
            return call("special.polygamma", ast.Constant(1), args[0])
        case "exponent":
            return subscript(call("math.frexp", args[0]), [ast.Constant(1)])
        case "to_bits" | "from_bits":
            to = OPS[op].result_type(dtypes)
            viewed = call(numpy_name(dtypes[0]), args[0])
            return ast.Call(ast.Attribute(viewed, "view"), [name(numpy_name(to))], [])
    return call(_FUNCTIONS.get(op, f"np.{op}"), *args)


def cast(to: str, value: ast.expr, dtype: DType) -> ast.expr:
    if to == "bool":
        return compare(value, ast.NotEq, ast.Constant(0))
    if to in ("i64", "f64"):
        return call("int" if to == "i64" else "float", value)
    return call("np." + {"i": "int", "u": "uint", "f": "float"}[to[0]] + to[1:], value)


def text(template: str, args: Sequence[ast.expr]) -> ast.expr:
    """`template.format(*args)` as an f-string."""
    parts: list[ast.expr] = []
    for literal, field, _, _ in _FORMATTER.parse(template):
        if literal:
            parts.append(ast.Constant(literal))
        if field is not None:
            parts.append(ast.FormattedValue(args[int(field)], -1))
    if all(isinstance(p, ast.Constant) for p in parts):
        return ast.Constant("".join(str(p.value) for p in parts if isinstance(p, ast.Constant)))
    return ast.JoinedStr(parts)


_FORMATTER = string.Formatter()
