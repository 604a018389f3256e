"""Scalar operators: name, arity, result type and meaning, each defined once.

Casts are operators too: the operator named after an element type converts to it
(float to int truncates toward zero and saturates out of range; anything to bool is `!= 0`).
`min`/`max` propagate NaN; `floordiv`/`mod` round to the floor for ints and floats;
integer arithmetic wraps; shifts take counts in range; integer division by zero gives 0
(programs check before dividing).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tapeless.core.lazy import Lazy
from tapeless.core.types import DTYPES, DType, bool_, dtype_named, i64, u32, u64

FLOATS = frozenset("f")
INTS = frozenset("iu")
NUMBERS = frozenset("fiu")
BITS = frozenset("iub")
ANY = frozenset("fiub")


def same(args: Sequence[DType]) -> DType:
    """All operands have one type, and the result has it too."""
    return args[0]


def boolean(args: Sequence[DType]) -> DType:
    return bool_


def chosen(args: Sequence[DType]) -> DType:
    """select(c, a, b): the type of a and b."""
    return args[1]


def first(args: Sequence[DType]) -> DType:
    return args[0]


@dataclass(frozen=True, slots=True)
class Op:
    """A scalar operator. `flops`: what the cost model charges; `meaning`: on NumPy scalars."""

    name: str
    arity: int
    kinds: frozenset[str]
    result: Callable[[Sequence[DType]], DType]
    meaning: Callable[..., Any]
    flops: int = 1
    symbol: str = ""

    def result_type(self, args: Sequence[DType]) -> DType:
        return self.result(args)


def _floordiv(a: Any, b: Any) -> Any:
    if isinstance(a, np.integer) and b == 0:
        return type(a)(0)
    if isinstance(a, np.signedinteger) and b == -1:
        return np.negative(a)
    return np.floor_divide(a, b)


def _mod(a: Any, b: Any) -> Any:
    if isinstance(a, np.integer) and (b == 0 or (isinstance(a, np.signedinteger) and b == -1)):
        return type(a)(0)
    return np.remainder(a, b)


def _pow(a: Any, b: Any) -> Any:
    if isinstance(a, np.integer):
        bits = a.dtype.itemsize * 8
        value = pow(int(a), int(b), 1 << bits)
        return np.array(value, f"u{bits // 8}").astype(a.dtype)[()]
    return np.power(a, b)


def _mulhi(a: Any, b: Any) -> Any:
    bits = a.dtype.itemsize * 8
    return a.dtype.type((int(a) * int(b)) >> bits)


def saturating_cast(value: Any, to: DType) -> Any:
    """Conversion to `to`: floats outside an integer's range saturate, NaN gives 0."""
    if to.is_int and isinstance(value, np.floating):
        info = np.iinfo(to.numpy)
        if np.isnan(value):
            return to.numpy.type(0)
        exact = int(value) if np.isfinite(value) else (info.max if value > 0 else info.min)
        return to.numpy.type(min(max(exact, int(info.min)), int(info.max)))
    return value.astype(to.numpy)


_TABLE: list[Op] = [
    Op("add", 2, NUMBERS, same, np.add, symbol="+"),
    Op("sub", 2, NUMBERS, same, np.subtract, symbol="-"),
    Op("mul", 2, NUMBERS, same, np.multiply, symbol="*"),
    Op("div", 2, FLOATS, same, np.divide, symbol="/"),
    Op("floordiv", 2, NUMBERS, same, _floordiv, symbol="//"),
    Op("mod", 2, NUMBERS, same, _mod, symbol="%"),
    Op("fmod", 2, FLOATS, same, np.fmod),
    Op("pow", 2, NUMBERS, same, _pow, symbol="**"),
    Op("neg", 1, NUMBERS, same, np.negative),
    Op("abs", 1, NUMBERS, same, np.abs),
    Op("sign", 1, NUMBERS, same, np.sign),
    Op("min", 2, ANY, same, np.minimum),
    Op("max", 2, ANY, same, np.maximum),
    Op("fma", 3, FLOATS, same, lambda a, b, c: a * b + c, 2),
    Op("mulhi", 2, INTS, same, _mulhi),
    Op("floor", 1, FLOATS, same, np.floor),
    Op("ceil", 1, FLOATS, same, np.ceil),
    Op("trunc", 1, FLOATS, same, np.trunc),
    Op("rint", 1, FLOATS, same, np.rint),
    Op("copysign", 2, FLOATS, same, np.copysign),
    Op("nextafter", 2, FLOATS, same, np.nextafter),
    Op("eq", 2, ANY, boolean, np.equal, symbol="=="),
    Op("ne", 2, ANY, boolean, np.not_equal, symbol="!="),
    Op("lt", 2, ANY, boolean, np.less, symbol="<"),
    Op("le", 2, ANY, boolean, np.less_equal, symbol="<="),
    Op("and", 2, BITS, same, np.bitwise_and, symbol="&"),
    Op("or", 2, BITS, same, np.bitwise_or, symbol="|"),
    Op("xor", 2, BITS, same, np.bitwise_xor, symbol="^"),
    Op("not", 1, BITS, same, np.invert),
    Op("shl", 2, INTS, same, np.left_shift, symbol="<<"),
    Op("shr", 2, INTS, same, np.right_shift, symbol=">>"),
    Op("select", 3, ANY, chosen, lambda c, a, b: a if c else b),
    Op("isnan", 1, FLOATS, boolean, np.isnan),
    Op("signbit", 1, FLOATS, boolean, np.signbit),
    Op(
        "to_bits",
        1,
        FLOATS,
        lambda a: u64 if a[0].bits == 64 else u32,
        lambda a: a.view(f"u{a.dtype.itemsize}"),
    ),
    Op(
        "from_bits",
        1,
        INTS,
        lambda a: dtype_named(f"f{a[0].bits}"),
        lambda a: a.view(f"f{a.dtype.itemsize}"),
    ),
    Op(
        "exponent",
        1,
        FLOATS,
        lambda a: i64,
        lambda a: np.int64(np.frexp(a)[1] if np.isfinite(a) and a != 0 else 0),
    ),
    Op("sqrt", 1, FLOATS, same, np.sqrt),
]


special = Lazy("scipy.special")


def _with_scipy(name: str) -> Callable[..., Any]:
    """SciPy's function, looked up at the first call: importing it takes long."""
    return lambda *args: getattr(special, name)(*args)  # noqa: PLW0108  (looked up late)


_MATH: dict[str, Callable[..., Any]] = {
    "exp": np.exp, "log": np.log, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "tanh": np.tanh, "sinh": np.sinh, "cosh": np.cosh, "exp2": np.exp2, "log2": np.log2,
    "log10": np.log10, "log1p": np.log1p, "expm1": np.expm1, "cbrt": np.cbrt,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "erf": _with_scipy("erf"), "erfc": _with_scipy("erfc"),
    "lgamma": _with_scipy("gammaln"), "tgamma": _with_scipy("gamma"),
    "digamma": _with_scipy("digamma"), "trigamma": lambda x: special.polygamma(1, x),
    "erfinv": _with_scipy("erfinv"), "ndtri": _with_scipy("ndtri"),
    "i0": _with_scipy("i0"), "i1": _with_scipy("i1"),
    "j0": _with_scipy("j0"), "j1": _with_scipy("j1"),
}  # fmt: skip

MATH_FLOPS = 8


def _always(to: DType, _: DType) -> DType:
    return to


_TABLE += [Op(name, 1, FLOATS, same, f, MATH_FLOPS) for name, f in _MATH.items()]
_TABLE += [
    Op("atan2", 2, FLOATS, same, np.arctan2, MATH_FLOPS),
    Op("hypot", 2, FLOATS, same, np.hypot, MATH_FLOPS),
]
_TABLE += [
    Op(to.name, 1, ANY, partial(_always, to), partial(saturating_cast, to=to))
    for to in DTYPES.values()
]

OPS: dict[str, Op] = {op.name: op for op in _TABLE}
CASTS = frozenset(DTYPES)
MATH = frozenset(_MATH) | {"atan2", "hypot"}
COMMUTATIVE = frozenset({"add", "mul", "min", "max", "eq", "ne", "and", "or", "xor", "mulhi"})


def evaluate(op: str, args: Sequence[Any], dtype: DType) -> Any:
    """The value of `op` on NumPy scalars, as a NumPy scalar of element type `dtype`."""
    with np.errstate(all="ignore"):
        value = OPS[op].meaning(*args)
    return dtype.numpy.type(value)
