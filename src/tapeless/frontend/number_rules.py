"""What Python's numbers and operators mean as functions: int, round, operator.add, math.sin."""

from __future__ import annotations

import cmath
import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tapeless.core.names import Const
from tapeless.errors import CompileError, UnsupportedError
from tapeless.frontend.arrays import elementwise, scalar_value
from tapeless.frontend.attributes import attribute
from tapeless.frontend.construct import as_operand
from tapeless.frontend.indexing import subscript
from tapeless.frontend.operators import binary, compare, unary
from tapeless.frontend.rule import Rule, is_none, no_keywords
from tapeless.frontend.scalars import apply_ufunc, convert, scalar
from tapeless.frontend.truth import truth_of
from tapeless.frontend.values import (
    NONE,
    Arr,
    Cx,
    Known,
    Num,
    Ref,
    Tup,
    Value,
    is_number,
)  # fmt: skip

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer


def _int(t: Tracer, value: Value = Known(0)) -> Value:
    value = scalar_value(t, value)
    if isinstance(value, Known):
        return folded(t, int, value)
    x = convert(t, _real(t, value, "int"), np.dtype("i8"), weak=True)
    return x


def _float(t: Tracer, value: Value = Known(0.0)) -> Value:
    value = scalar_value(t, value)
    if isinstance(value, Known):
        return folded(t, float, value)
    return convert(t, _real(t, value, "float"), np.dtype("f8"), weak=True)


def _real(t: Tracer, value: Value, what: str) -> Value:
    if isinstance(value, Arr) and all(isinstance(s, Const) and s.value == 1 for s in value.shape):
        value = subscript(t, value, Tup((Known(0),) * value.rank))
    if not isinstance(value, Num):
        raise CompileError(
            f"{what}() of {t.describe(value)}", t.loc, "convert one number, or use .astype"
        )
    return value


def _bool(t: Tracer, value: Value = Known(False)) -> Value:
    return truth_of(t, value)


def _complex(t: Tracer, re: Value = Known(0), im: Value = Known(0)) -> Value:
    if isinstance(re, Known) and isinstance(im, Known):
        return Known(complex(re.value, im.value))
    z = binary(t, "Add", re, binary(t, "Mult", im, Known(1j)))
    a, b = scalar(t, re), scalar(t, im)
    if isinstance(a, Num) and isinstance(b, Num):  # parts unchanged: no inf * 0
        p, q = (convert(t, x, np.dtype("f8")) for x in (a, b))
        assert isinstance(p, Num) and isinstance(q, Num)
        return Cx(p.atom, q.atom, weak=True)
    return convert(t, z, np.dtype("c16"), weak=True)


def _abs(t: Tracer, value: Value) -> Value:
    if isinstance(value, Known):
        return folded(t, abs, value)
    if isinstance(value, Ref):
        return t.call(attribute(t, value, "__abs__"))
    return elementwise(t, lambda x: apply_ufunc(t, np.absolute, (x,)), [as_operand(t, value)])


def _round(t: Tracer, value: Value, digits: Value = NONE) -> Value:
    value = scalar_value(t, value)
    if isinstance(value, Known) and isinstance(digits, Known):
        return Known(
            round(value.value) if digits.value is None else round(value.value, digits.value)
        )
    if is_none(digits):
        return _int(t, apply_ufunc(t, np.rint, (value,)))
    return t.library(np.round, value, digits)


def _divmod(t: Tracer, a: Value, b: Value) -> Value:
    return Tup((binary(t, "FloorDiv", a, b), binary(t, "Mod", a, b)))


def _pow(t: Tracer, a: Value, b: Value, m: Value = NONE) -> Value:
    if not is_none(m):
        raise UnsupportedError("pow() with a modulus is not supported", t.loc, "multiply in a loop")
    return binary(t, "Pow", a, b)


def folded(t: Tracer, f: Callable[[Any], Any], value: Known) -> Value:
    """f of a number of compile time."""
    try:
        return Known(f(value.value))
    except (TypeError, ValueError, OverflowError) as error:
        raise CompileError(f"{type(error).__name__}: {error}", t.loc) from None


def _operator(op: str) -> Rule:
    return no_keywords(lambda t, a, b: binary(t, op, a, b))


def _comparison(op: str) -> Rule:
    return no_keywords(lambda t, a, b: compare(t, op, a, b))


OPERATORS: dict[Any, Rule] = {
    operator.add: _operator("Add"), operator.sub: _operator("Sub"), operator.mul: _operator("Mult"),
    operator.truediv: _operator("Div"), operator.floordiv: _operator("FloorDiv"),
    operator.mod: _operator("Mod"), operator.pow: _operator("Pow"),
    operator.matmul: _operator("MatMult"), operator.and_: _operator("BitAnd"),
    operator.or_: _operator("BitOr"), operator.xor: _operator("BitXor"),
    operator.lshift: _operator("LShift"), operator.rshift: _operator("RShift"),
    operator.eq: _comparison("Eq"), operator.ne: _comparison("NotEq"),
    operator.lt: _comparison("Lt"), operator.le: _comparison("LtE"), operator.gt: _comparison("Gt"),
    operator.ge: _comparison("GtE"), operator.neg: no_keywords(lambda t, a: unary(t, "USub", a)),
    operator.getitem: no_keywords(subscript),
    operator.index: no_keywords(_int),
}  # fmt: skip


NAMESAKES = {
    "sqrt": np.sqrt, "exp": np.exp, "expm1": np.expm1, "exp2": np.exp2, "log2": np.log2,
    "log10": np.log10, "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2, "sinh": np.sinh,
    "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "cbrt": np.cbrt, "fabs": np.fabs, "copysign": np.copysign, "fmod": np.fmod,
    "degrees": np.degrees, "radians": np.radians, "isnan": np.isnan, "isinf": np.isinf,
    "isfinite": np.isfinite, "nextafter": np.nextafter, "pow": np.power,
}  # fmt: skip


def _namesake(f: Callable[..., Any], ufunc: np.ufunc, cls: type) -> Rule:
    """A function of math or cmath: float (complex) in, Python's number out."""

    def rule(t: Tracer, *args: Value) -> Value:
        numbers = [scalar_value(t, a) for a in args]
        if all(isinstance(a, Known) for a in numbers):
            try:
                return Known(f(*(a.value for a in numbers if isinstance(a, Known))))
            except (ValueError, OverflowError):
                pass  # a domain or range error: what NumPy gives
        for a in numbers:
            if not is_number(a) or (cls is float and isinstance(a, Cx)):
                raise CompileError(f"{f.__name__}() takes numbers, not {t.describe(a)}", t.loc,
                                   f"use np.{ufunc.__name__} for arrays")  # fmt: skip
        wide = np.dtype(np.float64 if cls is float else np.complex128)
        out = apply_ufunc(t, ufunc, [convert(t, a, wide) for a in numbers])
        assert isinstance(out, Num | Cx)
        return Num(out.atom, True) if isinstance(out, Num) else Cx(out.re, out.im, True)

    return no_keywords(rule)


def _math_rules() -> dict[Any, Rule]:
    rules = {getattr(math, n): _namesake(getattr(math, n), u, float) for n, u in NAMESAKES.items()
             if hasattr(math, n)}  # fmt: skip
    for n, u in NAMESAKES.items():
        if hasattr(cmath, n):
            rules[getattr(cmath, n)] = _namesake(getattr(cmath, n), u, complex)
    return rules


NUMBERS: dict[Any, Rule] = {
    int: no_keywords(_int), float: no_keywords(_float), bool: no_keywords(_bool),
    complex: no_keywords(_complex), abs: no_keywords(_abs), round: no_keywords(_round),
    divmod: no_keywords(_divmod), pow: no_keywords(_pow), **OPERATORS, **_math_rules(),
}  # fmt: skip
