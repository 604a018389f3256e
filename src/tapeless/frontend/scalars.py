"""Arithmetic on scalars: NumPy's own promotion, Python's meaning, wrapped integers.

The types of every operation come from `np.ufunc.resolve_dtypes`, so promotion is NumPy's by
construction; Python numbers enter as weak types (NEP 50). Results of Python numbers alone are weak.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tapeless.core.names import Atom, Const
from tapeless.core.types import DType, bool_, f32, f64, from_numpy, i64
from tapeless.errors import CompileError, UnsupportedError
from tapeless.frontend.values import Arr, Cx, Known, Num, Value

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer

Scalar = Num | Cx


def scalar(t: Tracer, value: Value) -> Scalar:
    """A number of either time as a run-time scalar (Python numbers stay weak)."""
    if isinstance(value, Num | Cx):
        return value
    assert isinstance(value, Known)
    v = value.value
    weak = not isinstance(v, np.generic)
    if isinstance(v, bool | np.bool_):
        return Num(Const(bool(v), bool_), weak)
    if isinstance(v, complex | np.complexfloating):
        part = f32 if isinstance(v, np.complex64) else f64
        return Cx(Const(float(v.real), part), Const(float(v.imag), part), weak)
    if isinstance(v, np.number):
        dtype = from_numpy(v.dtype)
        if dtype is None:
            raise UnsupportedError(f"element type {v.dtype} is not supported", t.loc)
        return Num(Const(v.item(), dtype), False)
    if isinstance(v, int):
        if not -(2**63) <= v < 2**63:
            raise CompileError(
                f"the int {v} does not fit 64 bits", t.loc, "use a float, or np.uint64"
            )
        return Num(Const(v, i64), weak)
    return Num(Const(float(v), f64), weak)


def type_key(value: Value) -> Any:
    """What `resolve_dtypes` takes for an operand: a NumPy dtype, or int/float/complex if weak."""
    match value:
        case Known(value=v):
            if isinstance(v, np.generic):
                return v.dtype
            return np.dtype(bool) if isinstance(v, bool) else type(v)
        case Num(atom, weak):
            if not weak or atom.dtype.is_bool:
                return atom.dtype.numpy
            return float if atom.dtype.is_float else int
        case Cx(re, _, weak):
            return complex if weak else np.dtype("c8" if re.dtype is f32 else "c16")
    raise TypeError(value)


def is_weak(value: Value) -> bool:
    if isinstance(value, Known):
        return not isinstance(value.value, np.generic)
    return isinstance(value, Num | Cx) and value.weak


_DEFAULT = {int: np.dtype("i8"), float: np.dtype("f8"), complex: np.dtype("c16")}


@functools.lru_cache(maxsize=4096)
def resolve(ufunc: np.ufunc, types: tuple[Any, ...]) -> tuple[np.dtype[Any], ...]:
    """Types that the operands are converted to, then the types of the results."""
    if all(isinstance(k, type) for k in types):
        types = tuple(_DEFAULT[k] for k in types)
    return ufunc.resolve_dtypes((*types, *(None,) * ufunc.nout))


def resolve_type(t: Tracer, values: Sequence[Value]) -> np.dtype[Any]:
    """np.result_type of numbers, arrays and static types (Python's numbers are weak)."""
    strong: list[np.dtype[Any]] = []
    examples: list[Any] = []
    for value in values:
        if isinstance(value, Arr):
            cx = np.dtype("c8" if value.dtype.bits == 32 else "c16")
            strong.append(cx if value.is_complex else value.dtype.numpy)
            continue
        if isinstance(value, Known) and isinstance(value.value, np.dtype | type):
            strong.append(np.dtype(value.value))
            continue
        key = type_key(value)
        if isinstance(key, type):
            examples.append(key(0))
        else:
            strong.append(key)
    if examples and not strong:
        examples = [np.dtype(type(e)) for e in examples]
    return np.result_type(*strong, *examples)


def convert(t: Tracer, value: Value, dtype: np.dtype[Any], weak: bool = False) -> Scalar:
    """The scalar as an element of a NumPy dtype."""
    x = scalar(t, value)
    if dtype.kind == "c":
        part = f32 if dtype.itemsize == 8 else f64
        if isinstance(x, Cx):
            return Cx(t.b.cast(x.re, part), t.b.cast(x.im, part), weak)
        return Cx(t.b.cast(x.atom, part), Const(0.0, part), weak)
    target = from_numpy(dtype)
    if target is None:
        raise UnsupportedError(f"element type {dtype} is not supported", t.loc)
    if isinstance(value, Known) and target.is_int:
        _check_range(t, value.value, dtype)
    if isinstance(x, Cx):
        raise CompileError(
            f"a complex number cannot become {target.name}", t.loc, "take .real or abs()"
        )
    return Num(t.b.cast(x.atom, target), weak)


def _check_range(t: Tracer, value: Any, dtype: np.dtype[Any]) -> None:
    """NumPy refuses a Python int that the element type cannot hold."""
    if type(value) is int:
        info = np.iinfo(dtype)
        if not info.min <= value <= info.max:
            raise CompileError(f"the Python int {value} does not fit {dtype}", t.loc,
                               "convert the array to a wider type first")  # fmt: skip


# Real operators ------------------------------------------------------------------------------

Emit = Callable[..., Atom]


def _prim(name: str) -> Emit:
    return lambda t, *args: t.b.prim(name, *args)


def _floordiv(name: str) -> Emit:
    def emit(t: Tracer, a: Atom, b: Atom) -> Atom:
        if a.dtype.is_int:
            t.b.check(t.b.prim("ne", b, Const(0, b.dtype)), "ZeroDivisionError",
                      "integer division or modulo by zero")  # fmt: skip
        return t.b.prim(name, a, b)

    return emit


def _power(t: Tracer, a: Atom, b: Atom) -> Atom:
    if a.dtype.is_int and b.dtype.kind == "i":
        t.b.check(t.b.prim("le", Const(0, b.dtype), b), "ValueError",
                  "integers to negative integer powers are not allowed")  # fmt: skip
    return t.b.prim("pow", a, b)


def _swapped(name: str) -> Emit:
    return lambda t, a, b: t.b.prim(name, b, a)


def _nonzero(t: Tracer, a: Atom) -> Atom:
    return a if a.dtype.is_bool else t.b.prim("ne", a, Const(0, a.dtype))


def _logical(name: str) -> Emit:
    return lambda t, *args: t.b.prim(name, *(_nonzero(t, a) for a in args))


def _add(t: Tracer, a: Atom, b: Atom) -> Atom:
    if a.dtype.is_bool:
        return t.b.prim("or", a, b)
    out = t.b.prim("add", a, b)
    if t.overflow and a.dtype.kind == "i":  # both operands differ in sign from the sum
        _no_overflow(t, t.b.prim("and", t.b.prim("xor", a, out), t.b.prim("xor", b, out)))
    return out


def _subtract(t: Tracer, a: Atom, b: Atom) -> Atom:
    out = t.b.prim("sub", a, b)
    if t.overflow and a.dtype.kind == "i":
        _no_overflow(t, t.b.prim("and", t.b.prim("xor", a, b), t.b.prim("xor", a, out)))
    return out


def _no_overflow(t: Tracer, sign: Atom) -> None:
    """jit(check="overflow"): `sign` is negative where a result left its range."""
    t.b.check(t.b.prim("le", Const(0, sign.dtype), sign), "OverflowError", "integer overflow")


def _multiply(t: Tracer, a: Atom, b: Atom) -> Atom:
    if a.dtype.is_bool:
        return t.b.prim("and", a, b)
    out = t.b.prim("mul", a, b)
    if t.overflow and a.dtype.kind == "i":  # the high half is the sign of the low half
        sign = t.b.prim("shr", out, Const(a.dtype.bits - 1, a.dtype))
        t.b.check(
            t.b.prim("eq", t.b.prim("mulhi", a, b), sign), "OverflowError", "integer overflow"
        )
    return out


def _negative(t: Tracer, a: Atom) -> Atom:
    return t.b.prim("neg", a)


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
    "positive": lambda t, a: a, "absolute": lambda t,
    a: a if a.dtype.is_bool else t.b.prim("abs", a),
    "fabs": _prim("abs"), "sign": _prim("sign"), "square": _square, "reciprocal": _reciprocal,
    "minimum": _prim("min"), "maximum": _prim("max"), "fmin": _quieter("min"),
    "fmax": _quieter("max"), "equal": _prim("eq"), "not_equal": _prim("ne"), "less": _prim("lt"),
    "less_equal": _prim("le"), "greater": _swapped("lt"), "greater_equal": _swapped("le"),
    "bitwise_and": _prim("and"), "bitwise_or": _prim("or"), "bitwise_xor": _prim("xor"),
    "invert": _prim("not"), "left_shift": _prim("shl"), "right_shift": _prim("shr"),
    "logical_and": _logical("and"), "logical_or": _logical("or"), "logical_xor": _logical("xor"),
    "logical_not": lambda t, a: t.b.prim("not", _nonzero(t, a)),
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


# Complex operators, by their real parts -----------------------------------------------------


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


def apply_ufunc(t: Tracer, ufunc: np.ufunc, args: Sequence[Value]) -> Value:
    """A NumPy ufunc on scalars of either time."""
    name = ufunc.__name__
    weak = all(is_weak(a) for a in args)
    keys = tuple(map(type_key, args))
    if weak and name not in _BOOLEAN:
        keys = tuple(map(_python_int, keys))
    try:
        types = resolve(ufunc, keys)
    except TypeError:
        raise CompileError(
            f"np.{name} is not defined for {', '.join(map(describe_type, args))}", t.loc
        ) from None
    ins, out = types[: len(args)], types[len(args)]
    if any(d.kind == "c" for d in ins):
        return _apply_complex(
            t, name, [convert(t, a, d) for a, d in zip(args, ins, strict=True)], weak
        )
    if name not in REAL:
        raise UnsupportedError(f"np.{name} is not supported", t.loc)
    atoms = [convert(t, a, d) for a, d in zip(args, ins, strict=True)]
    result = REAL[name](t, *(a.atom for a in atoms if isinstance(a, Num)))
    want = from_numpy(out)
    if want is None:
        raise UnsupportedError(f"np.{name} gives element type {out}, which is not supported", t.loc)
    return Num(t.b.cast(result, want), weak)


_BOOLEAN = {"logical_and", "logical_or", "logical_not", "logical_xor", "bitwise_and", "bitwise_or",
            "bitwise_xor", "invert", "equal", "not_equal", "less", "less_equal", "greater",
            "greater_equal"}  # fmt: skip


def _python_int(key: Any) -> Any:
    """A Python bool counts as an int in Python arithmetic."""
    return int if key == np.dtype(bool) else key


def _apply_complex(t: Tracer, name: str, args: list[Scalar], weak: bool) -> Value:
    rule = COMPLEX.get(name)
    if rule is not None:
        result: Value = rule(t, *args)
    else:
        result = t.library(("complex", name), *args)
    if isinstance(result, Cx):
        return Cx(result.re, result.im, weak)
    return Num(result.atom, weak) if rule is not None and isinstance(result, Num) else result


def describe_type(value: Value) -> str:
    key = type_key(value)
    return key.__name__ if isinstance(key, type) else str(key)


# Python operators -----------------------------------------------------------------------------

BINARY: dict[str, tuple[Callable[[Any, Any], Any], np.ufunc]] = {
    "Add": (operator.add, np.add), "Sub": (operator.sub, np.subtract),
    "Mult": (operator.mul, np.multiply), "Div": (operator.truediv, np.true_divide),
    "FloorDiv": (operator.floordiv, np.floor_divide), "Mod": (operator.mod, np.remainder),
    "Pow": (operator.pow, np.power), "BitAnd": (operator.and_, np.bitwise_and),
    "BitOr": (operator.or_, np.bitwise_or), "BitXor": (operator.xor, np.bitwise_xor),
    "LShift": (operator.lshift, np.left_shift), "RShift": (operator.rshift, np.right_shift),
}  # fmt: skip
COMPARE: dict[str, tuple[Callable[[Any, Any], Any], np.ufunc]] = {
    "Eq": (operator.eq, np.equal), "NotEq": (operator.ne, np.not_equal),
    "Lt": (operator.lt, np.less), "LtE": (operator.le, np.less_equal),
    "Gt": (operator.gt, np.greater), "GtE": (operator.ge, np.greater_equal),
}  # fmt: skip
UNARY: dict[str, tuple[Callable[[Any], Any], np.ufunc]] = {
    "USub": (operator.neg, np.negative), "UAdd": (operator.pos, np.positive),
    "Invert": (operator.invert, np.invert),
}  # fmt: skip


def truth(t: Tracer, value: Value) -> Known | Num:
    """The value as a condition."""
    if isinstance(value, Known):
        return Known(bool(value.value))
    if isinstance(value, Cx):
        return Num(t.b.prim("or", _nonzero(t, value.re), _nonzero(t, value.im)), True)
    assert isinstance(value, Num)
    atom = _nonzero(t, value.atom)
    return Known(bool(atom.value)) if isinstance(atom, Const) else Num(atom, value.weak)


def index_atom(t: Tracer, value: Value, what: str = "an index") -> Atom:
    """The value as an i64: for indices, sizes and range bounds."""
    if isinstance(value, Known) and isinstance(value.value, int | np.integer | np.bool_):
        return Const(int(value.value), i64)
    if isinstance(value, Num) and not value.dtype.is_float:
        return t.b.cast(value.atom, i64)
    if isinstance(value, Num | Cx) or (isinstance(value, Known) and isinstance(value.value, float)):
        raise CompileError(f"{what} must be an int, not a float", t.loc, "convert it with int(...)")
    raise CompileError(f"{what} must be an int", t.loc)


def known_int(atom: Atom) -> int | None:
    return int(atom.value) if isinstance(atom, Const) else None


def number_dtype(value: Value) -> DType:
    return value.dtype if isinstance(value, Num | Cx) else f64
