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
from tapeless.core.types import DType, bool_, f32, f64, from_numpy, i32, i64, u64
from tapeless.errors import CompileError, UnsupportedError
from tapeless.frontend import overflow
from tapeless.frontend.ufuncs import COMPLEX, REAL, nonzero
from tapeless.frontend.values import Arr, Cx, Known, Num, Scalar, Value

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer


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
    return Num(as_type(t, x, target), weak)


def as_type(t: Tracer, x: Num, target: DType) -> Atom:
    """The number in another element type. Like NumPy, which refuses a Python int that an integer
    type cannot hold."""
    if x.weak and x.dtype is i64 and target.is_int and target is not i64:
        info = np.iinfo(target.numpy)
        low, high = Const(info.min, i64), Const(min(info.max, 2**63 - 1), i64)
        fits = t.b.prim("and", t.b.prim("le", low, x.atom), t.b.prim("le", x.atom, high))
        message = f"Python integer {{0}} out of bounds for {target.numpy.name}"
        t.b.check(fits, "OverflowError", message, x.atom)
    elif t.overflow and target.is_int:
        overflow.before_cast(t, x.atom, target)
    return _whole(t, x.atom, target) if x.dtype.is_float else t.b.cast(x.atom, target)


def _whole(t: Tracer, a: Atom, target: DType) -> Atom:
    """A float in another type. What has no sign, or fewer than 32 bits, is the low bits of a wider
    integer, as in NumPy: -1.0 becomes 255."""
    if not target.is_int or target in (i32, i64):
        return t.b.cast(a, target)
    if target is u64:
        negative = t.b.prim("lt", a, Const(0.0, a.dtype))
        low = t.b.cast(t.b.cast(a, i64), u64)
        return t.b.prim("select", negative, low, t.b.cast(a, u64))
    return t.b.cast(t.b.cast(a, i32 if target.bits < 32 else i64), target)


def as_item(t: Tracer, value: Value, dtype: np.dtype[Any]) -> Scalar:
    """The number as NumPy stores it in an array, or makes a number of that type: a Python float
    that an integer type cannot hold is refused like an int."""
    x = scalar(t, value)
    target = from_numpy(dtype)
    if isinstance(x, Num) and x.weak and x.dtype.is_float and target and target.is_int:
        fits = overflow.in_range(t, x.atom, target)
        message = f"Python number {{0}} out of bounds for {target.numpy.name}"
        t.b.check(fits, "OverflowError", message, x.atom)
    return convert(t, value, dtype)


def _check_range(t: Tracer, value: Any, dtype: np.dtype[Any]) -> None:
    """NumPy refuses a Python int that the element type cannot hold."""
    if type(value) is int:
        info = np.iinfo(dtype)
        if not info.min <= value <= info.max:
            raise CompileError(f"the Python int {value} does not fit {dtype}", t.loc,
                               "convert the array to a wider type first")  # fmt: skip


# Real operators ------------------------------------------------------------------------------


# Complex operators, by their real parts -----------------------------------------------------


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
    if name in EXACT and (int in keys or ins[0] != ins[1]) and ins[0].kind in "iu":
        return _compare_exactly(t, name, args)
    if any(d.kind == "c" for d in ins):
        return _apply_complex(
            t, name, [convert(t, a, d) for a, d in zip(args, ins, strict=True)], weak
        )
    if name not in REAL:
        raise UnsupportedError(f"np.{name} is not supported", t.loc)
    atoms = [convert(t, a, d) for a, d in zip(args, ins, strict=True)]
    if len(set(ins)) > 1 and name in SIGNED_FIRST:
        return _compare_signs(t, name, atoms, weak)
    result = REAL[name](t, *(a.atom for a in atoms if isinstance(a, Num)))
    want = from_numpy(out)
    if want is None:
        raise UnsupportedError(f"np.{name} gives element type {out}, which is not supported", t.loc)
    return Num(t.b.cast(result, want), weak)


# Comparisons of i64 with u64, and what they are where the signed operand is negative and first.
SIGNED_FIRST = {"equal": False, "not_equal": True, "less": True, "less_equal": True,
                "greater": False, "greater_equal": False}  # fmt: skip


def _compare_signs(t: Tracer, name: str, args: Sequence[Scalar], weak: bool) -> Value:
    """i64 and u64 compare as the integers that they are."""
    a, b = args
    assert isinstance(a, Num) and isinstance(b, Num)
    is_first = a.dtype.kind == "i"
    signed = a if is_first else b
    turned = not is_first and name not in ("equal", "not_equal")
    below = SIGNED_FIRST[name] != turned
    unsigned = [t.b.cast(x.atom, u64) for x in (a, b)]
    negative = t.b.prim("lt", signed.atom, Const(0, i64))
    plain = REAL[name](t, *unsigned)
    return Num(t.b.prim("select", negative, Const(below, bool_), plain), weak)


_BOOLEAN = {"logical_and", "logical_or", "logical_not", "logical_xor", "bitwise_and", "bitwise_or",
            "bitwise_xor", "invert", "equal", "not_equal", "less", "less_equal", "greater",
            "greater_equal"}  # fmt: skip


EXACT = {
    "equal": False,
    "not_equal": True,
    "less": False,
    "less_equal": False,
    "greater": True,
    "greater_equal": True,
}  # an unsigned number … a negative one


def _compare_exactly(t: Tracer, name: str, args: Sequence[Value]) -> Num:
    """Integers of different types, or a Python int and any: compared by value."""
    x, y = (scalar(t, a) for a in args)
    assert isinstance(x, Num)
    assert isinstance(y, Num)
    weak = x.weak and y.weak
    if u64 not in (x.dtype, y.dtype):
        return Num(REAL[name](t, t.b.cast(x.atom, i64), t.b.cast(y.atom, i64)), weak)
    small = REAL[name](t, t.b.cast(x.atom, u64), t.b.cast(y.atom, u64))
    signed = y if x.dtype is u64 else x
    on_negative = EXACT[name] ^ (signed is x and name not in ("equal", "not_equal"))
    negative = t.b.prim("lt", signed.atom, Const(0, signed.dtype))
    return Num(t.b.prim("select", negative, Const(on_negative, bool_), small), weak)


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
        return Num(t.b.prim("or", nonzero(t, value.re), nonzero(t, value.im)), True)
    assert isinstance(value, Num)
    atom = nonzero(t, value.atom)
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
