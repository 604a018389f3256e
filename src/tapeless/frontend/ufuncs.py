"""NumPy's elementwise functions on scalars: on real ones, and on complex ones by their parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tapeless.core.names import Atom, Const
from tapeless.core.types import bool_
from tapeless.frontend import overflow
from tapeless.frontend.values import Cx, Num, Scalar

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer


Emit = Callable[..., Atom]


def _prim(name: str) -> Emit:
    return lambda t, *args: t.b.prim(name, *args)


def _floordiv(name: str) -> Emit:
    def emit(t: Tracer, a: Atom, b: Atom) -> Atom:
        if a.dtype.is_int:
            t.b.check(t.b.prim("ne", b, Const(0, b.dtype)), "ZeroDivisionError",
                      "integer division or modulo by zero")  # fmt: skip
            if t.overflow and name == "floordiv":
                overflow.before_division(t, a, b)
        return t.b.prim(name, a, b)

    return emit


def _power(t: Tracer, a: Atom, b: Atom) -> Atom:
    if a.dtype.is_int and b.dtype.kind == "i":
        t.b.check(t.b.prim("le", Const(0, b.dtype), b), "ValueError",
                  "integers to negative integer powers are not allowed")  # fmt: skip
    out = t.b.prim("pow", a, b)
    if t.overflow and a.dtype.is_int:
        overflow.after_power(t, a, b, out)
    return out


def _swapped(name: str) -> Emit:
    return lambda t, a, b: t.b.prim(name, b, a)


def nonzero(t: Tracer, a: Atom) -> Atom:
    return a if a.dtype.is_bool else t.b.prim("ne", a, Const(0, a.dtype))


def _logical(name: str) -> Emit:
    return lambda t, *args: t.b.prim(name, *(nonzero(t, a) for a in args))


def _add(t: Tracer, a: Atom, b: Atom) -> Atom:
    if a.dtype.is_bool:
        return t.b.prim("or", a, b)
    out = t.b.prim("add", a, b)
    if t.overflow and a.dtype.is_int:
        overflow.after_add(t, a, b, out)
    return out


def _subtract(t: Tracer, a: Atom, b: Atom) -> Atom:
    out = t.b.prim("sub", a, b)
    if t.overflow and a.dtype.is_int:
        overflow.after_sub(t, a, b, out)
    return out


def _multiply(t: Tracer, a: Atom, b: Atom) -> Atom:
    if a.dtype.is_bool:
        return t.b.prim("and", a, b)
    out = t.b.prim("mul", a, b)
    if t.overflow and a.dtype.is_int:
        overflow.after_mul(t, a, b, out)
    return out


def _negative(t: Tracer, a: Atom) -> Atom:
    if t.overflow and a.dtype.is_int:
        overflow.before_negation(t, a)
    return t.b.prim("neg", a)


def _absolute(t: Tracer, a: Atom) -> Atom:
    if t.overflow and a.dtype.kind == "i":
        overflow.before_negation(t, a)
    return a if a.dtype.is_bool else t.b.prim("abs", a)


def _left_shift(t: Tracer, a: Atom, b: Atom) -> Atom:
    out = t.b.prim("shl", a, b)
    if t.overflow:
        overflow.after_shift(t, a, b, out)
    return out


def _square(t: Tracer, a: Atom) -> Atom:
    return _multiply(t, a, a)


def _reciprocal(t: Tracer, a: Atom) -> Atom:
    one = Const(1, a.dtype)
    return t.b.prim("div", one, a) if a.dtype.is_float else _floordiv("floordiv")(t, one, a)


def _isinf(t: Tracer, a: Atom) -> Atom:
    return t.b.prim("eq", t.b.prim("abs", a), Const(float("inf"), a.dtype))


def _isfinite(t: Tracer, a: Atom) -> Atom:
    if not a.dtype.is_float:
        return Const(True, bool_)
    return t.b.prim("lt", t.b.prim("abs", a), Const(float("inf"), a.dtype))


def _isnan(t: Tracer, a: Atom) -> Atom:
    return t.b.prim("isnan", a) if a.dtype.is_float else Const(False, bool_)


def _rounding(name: str) -> Emit:
    return lambda t, a: t.b.prim(name, a) if a.dtype.is_float else a


def _quieter(pick: str) -> Emit:
    """fmin, fmax: the other operand where one is NaN."""

    def emit(t: Tracer, a: Atom, b: Atom) -> Atom:
        if not a.dtype.is_float:
            return t.b.prim(pick, a, b)
        inner = t.b.prim("select", t.b.prim("isnan", b), a, t.b.prim(pick, a, b))
        return t.b.prim("select", t.b.prim("isnan", a), b, inner)

    return emit


def _logaddexp(base: str, one_plus: Callable[[Any, Atom], Atom]) -> Emit:
    """log(eᵃ + eᵇ) = max + log(1 + e^(min − max)), and the max alone where both are infinite."""

    def emit(t: Tracer, a: Atom, b: Atom) -> Atom:
        high, low = t.b.prim("max", a, b), t.b.prim("min", a, b)
        tail = one_plus(t, t.b.prim(base, t.b.prim("sub", low, high)))
        total = t.b.prim("add", high, tail)
        return t.b.prim("select", t.b.prim("eq", a, b),
                        t.b.prim("add", a, one_plus(t, Const(1.0, a.dtype))), total)  # fmt: skip

    return emit


def _log2_1p(t: Tracer, x: Atom) -> Atom:
    return t.b.prim("mul", t.b.prim("log1p", x), Const(1.4426950408889634, x.dtype))


def _scaled(factor: float) -> Emit:
    return lambda t, a: t.b.prim("mul", a, Const(factor, a.dtype))


def _heaviside(t: Tracer, a: Atom, b: Atom) -> Atom:
    zero, one = Const(0.0, a.dtype), Const(1.0, a.dtype)
    step = t.b.prim("select", t.b.prim("lt", a, zero), zero, one)
    at = t.b.prim("select", t.b.prim("eq", a, zero), b, step)
    return t.b.prim("select", t.b.prim("isnan", a), a, at)


REAL: dict[str, Emit] = {
    "add": _add, "subtract": _subtract, "multiply": _multiply,
    "divide": _prim("div"), "floor_divide": _floordiv("floordiv"), "remainder": _floordiv("mod"),
    "fmod": _prim("fmod"), "power": _power, "float_power": _power, "negative": _negative,
    "positive": lambda t, a: a,
    "absolute": _absolute,
    "fabs": _prim("abs"), "sign": _prim("sign"), "square": _square, "reciprocal": _reciprocal,
    "minimum": _prim("min"), "maximum": _prim("max"), "fmin": _quieter("min"),
    "fmax": _quieter("max"), "equal": _prim("eq"), "not_equal": _prim("ne"), "less": _prim("lt"),
    "less_equal": _prim("le"), "greater": _swapped("lt"), "greater_equal": _swapped("le"),
    "bitwise_and": _prim("and"), "bitwise_or": _prim("or"), "bitwise_xor": _prim("xor"),
    "invert": _prim("not"), "left_shift": _left_shift, "right_shift": _prim("shr"),
    "logical_and": _logical("and"), "logical_or": _logical("or"), "logical_xor": _logical("xor"),
    "logical_not": lambda t, a: t.b.prim("not", nonzero(t, a)),
    "sqrt": _prim("sqrt"), "cbrt": _prim("cbrt"), "exp": _prim("exp"), "exp2": _prim("exp2"),
    "expm1": _prim("expm1"), "log": _prim("log"), "log2": _prim("log2"), "log10": _prim("log10"),
    "log1p": _prim("log1p"), "sin": _prim("sin"), "cos": _prim("cos"), "tan": _prim("tan"),
    "arcsin": _prim("asin"), "arccos": _prim("acos"), "arctan": _prim("atan"),
    "arctan2": _prim("atan2"), "sinh": _prim("sinh"), "cosh": _prim("cosh"), "tanh": _prim("tanh"),
    "arcsinh": _prim("asinh"), "arccosh": _prim("acosh"), "arctanh": _prim("atanh"),
    "hypot": _prim("hypot"), "floor": _rounding("floor"), "ceil": _rounding("ceil"),
    "trunc": _rounding("trunc"), "rint": _rounding("rint"), "copysign": _prim("copysign"),
    "nextafter": _prim("nextafter"), "signbit": _prim("signbit"), "isnan": _isnan, "isinf": _isinf,
    "isfinite": _isfinite, "conjugate": lambda t, a: a, "deg2rad": _scaled(np.pi / 180),
    "radians": _scaled(np.pi / 180), "rad2deg": _scaled(180 / np.pi),
    "degrees": _scaled(180 / np.pi), "heaviside": _heaviside,
    "logaddexp": _logaddexp("exp", lambda t, x: t.b.prim("log1p", x)),
    "logaddexp2": _logaddexp("exp2", _log2_1p), "erf": _prim("erf"), "erfc": _prim("erfc"),
    "gammaln": _prim("lgamma"), "gamma": _prim("tgamma"), "psi": _prim("digamma"),
    "digamma": _prim("digamma"), "erfinv": _prim("erfinv"), "ndtri": _prim("ndtri"),
    "i0": _prim("i0"), "i1": _prim("i1"), "j0": _prim("j0"), "j1": _prim("j1"),
}  # fmt: skip


def _cx_mul(t: Tracer, a: Cx, b: Cx) -> Cx:
    p = t.b.prim
    return Cx(p("sub", p("mul", a.re, b.re), p("mul", a.im, b.im)),
              p("add", p("mul", a.re, b.im), p("mul", a.im, b.re)))  # fmt: skip


def _cx_div(t: Tracer, a: Cx, b: Cx) -> Cx:
    """Smith's quotient: scaled by the larger part of b, so that |b|² cannot overflow."""
    p = t.b.prim
    wide = p("le", p("abs", b.im), p("abs", b.re))
    big, small = p("select", wide, b.re, b.im), p("select", wide, b.im, b.re)
    ratio = p("div", small, big)
    scale = p("add", big, p("mul", small, ratio))
    x, y = p("select", wide, a.re, a.im), p("select", wide, a.im, a.re)
    re = p("div", p("add", x, p("mul", y, ratio)), scale)
    im = p("div", p("sub", y, p("mul", x, ratio)), scale)
    return Cx(re, p("select", wide, im, p("neg", im)))


def _parts(name: str) -> Callable[..., Cx]:
    return lambda t, *xs: Cx(
        t.b.prim(name, *(x.re for x in xs)), t.b.prim(name, *(x.im for x in xs))
    )


def _cx_eq(t: Tracer, a: Cx, b: Cx) -> Num:
    return Num(t.b.prim("and", t.b.prim("eq", a.re, b.re), t.b.prim("eq", a.im, b.im)))


def _cx_any(test: Emit) -> Callable[[Any, Cx], Num]:
    return lambda t, a: Num(t.b.prim("or", test(t, a.re), test(t, a.im)))


COMPLEX: dict[str, Callable[..., Scalar]] = {
    "add": _parts("add"), "subtract": _parts("sub"), "multiply": _cx_mul, "divide": _cx_div,
    "negative": _parts("neg"), "positive": lambda t, a: a, "square": lambda t, a: _cx_mul(t, a, a),
    "equal": _cx_eq, "not_equal": lambda t, a, b: Num(t.b.prim("not", _cx_eq(t, a, b).atom)),
    "conjugate": lambda t, a: Cx(a.re, t.b.prim("neg", a.im)),
    "absolute": lambda t, a: Num(t.b.prim("hypot", a.re, a.im)),
    "isnan": _cx_any(_isnan), "isinf": _cx_any(_isinf),
    "isfinite": lambda t, a: Num(t.b.prim("and", _isfinite(t, a.re), _isfinite(t, a.im))),
    "reciprocal": lambda t, a: _cx_div(t, Cx(Const(1.0, a.dtype), Const(0.0, a.dtype)), a),
}  # fmt: skip
