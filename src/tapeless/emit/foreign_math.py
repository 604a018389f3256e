"""Elementary functions: calls into `emit.math`, and float remainders written here."""

from __future__ import annotations

from collections.abc import Sequence

from tapeless.core.types import DType, i64, u32, u64
from tapeless.emit.asm import Asm, literal, splat, type_of, wide
from tapeless.emit.math import LONG, define
from tapeless.emit.math.blocks import spread
from tapeless.emit.math.ops import BLOCK

Args = Sequence[str]


def call(a: Asm, name: str, x: Args, t: DType, w: int) -> str:
    """An elementary function on all lanes at once. Where the module holds a copy of a long
    function for lanes, a single value goes through that one too."""
    in_lanes = f"tp.{name}.f{t.bits}x{BLOCK}" in a.module.definitions
    inner = BLOCK if w == 1 and name in LONG and in_lanes else w
    for symbol, text in define(name, t.bits, inner).items():
        a.module.define(symbol, text)
    type = type_of(t, inner)

    def one(*args: str) -> str:
        operands = ", ".join(f"{type} {v}" for v in args)
        return a.let(f"call {type} @tp.{name}.f{t.bits}x{inner}({operands})")

    return spread(a.let, one, type_of(t, 1), x, w, inner)


def _real(value: float, t: DType, w: int) -> str:
    return splat(literal(value, t), t, w)


def _select(a: Asm, c: str, x: str, y: str, t: DType, w: int) -> str:
    return a.let(f"select {wide('i1', w)} {c}, {type_of(t, w)} {x}, {type_of(t, w)} {y}")


def _unary(a: Asm, name: str, x: str, t: DType, w: int) -> str:
    type = type_of(t, w)
    symbol = f"llvm.{name}.{'' if w == 1 else f'v{w}'}f{t.bits}"
    a.module.declare(symbol, f"declare {type} @{symbol}({type})")
    return a.let(f"call {type} @{symbol}({type} {x})")


def fmod(a: Asm, x: Args, t: DType, w: int, flags: str = "") -> str:
    """The remainder of truncated division, exact."""
    return call(a, "fmod", x, t, w)


def _copysign(a: Asm, x: str, y: str, t: DType, w: int) -> str:
    type = type_of(t, w)
    symbol = f"llvm.copysign.{'' if w == 1 else f'v{w}'}f{t.bits}"
    a.module.declare(symbol, f"declare {type} @{symbol}({type}, {type})")
    return a.let(f"call {type} @{symbol}({type} {x}, {type} {y})")


def _truncated(a: Asm, x: Args, t: DType, w: int) -> tuple[str, str, str]:
    """The remainder of truncated division, where it is not 0, and where its sign is not that of
    y, so that the floor is one less."""
    type, bit, zero = type_of(t, w), wide("i1", w), _real(0.0, t, w)
    r = fmod(a, x, t, w)
    nonzero = a.let(f"fcmp une {type} {r}, {zero}")
    minus = [a.let(f"fcmp olt {type} {v}, {zero}") for v in (x[1], r)]
    differ = a.let(f"xor {bit} {minus[0]}, {minus[1]}")
    return r, nonzero, a.let(f"and {bit} {nonzero}, {differ}")


def float_mod(a: Asm, x: Args, t: DType, w: int) -> str:
    """x - y floor(x / y) with the sign of y, as np.remainder; nan where y is 0."""
    r, nonzero, moved = _truncated(a, x, t, w)
    r = _select(a, moved, a.let(f"fadd {type_of(t, w)} {r}, {x[1]}"), r, t, w)
    return _select(a, nonzero, r, _copysign(a, _real(0.0, t, w), x[1], t, w), t, w)


def float_floordiv(a: Asm, x: Args, t: DType, w: int) -> str:
    """floor(x / y) as np.floor_divide: exact remainder first, then the nearest integer."""
    type, bit = type_of(t, w), wide("i1", w)
    r, _, moved = _truncated(a, x, t, w)
    plain = a.let(f"fdiv {type} {x[0]}, {x[1]}")
    q = a.let(f"fdiv {type} {a.let(f'fsub {type} {x[0]}, {r}')}, {x[1]}")
    q = _select(a, moved, a.let(f"fsub {type} {q}, {_real(1.0, t, w)}"), q, t, w)
    low = _unary(a, "floor", q, t, w)
    gap = a.let(f"fsub {type} {q}, {low}")
    up = a.let(f"fcmp ogt {type} {gap}, {_real(0.5, t, w)}")
    low = _select(a, up, a.let(f"fadd {type} {low}, {_real(1.0, t, w)}"), low, t, w)
    zero = a.let(f"fcmp oeq {type} {q}, {_real(0.0, t, w)}")
    low = _select(a, zero, _copysign(a, _real(0.0, t, w), plain, t, w), low, t, w)
    by_zero = a.let(f"fcmp oeq {type} {x[1]}, {_real(0.0, t, w)}")
    return a.let(f"select {bit} {by_zero}, {type} {plain}, {type} {low}")


def nextafter(a: Asm, x: Args, t: DType, w: int, flags: str) -> str:
    """The next number from x towards y: one step of the bit pattern."""
    type, bit = type_of(t, w), wide("i1", w)
    bits_of = u64 if t.bits == 64 else u32
    int_type, one = type_of(bits_of, w), splat("1", bits_of, w)
    bits = a.let(f"bitcast {type} {x[0]} to {int_type}")
    up = a.let(f"fcmp olt {type} {x[0]}, {x[1]}")
    positive = a.let(f"fcmp ogt {type} {x[0]}, {_real(0.0, t, w)}")
    away = a.let(f"xor {bit} {a.let(f'xor {bit} {up}, {positive}')}, {splat('true', _BIT, w)}")
    step = _select(a, away, one, splat("-1", bits_of, w), bits_of, w)
    moved = a.let(f"bitcast {int_type} {a.let(f'add {int_type} {bits}, {step}')} to {type}")
    tiny = a.let(f"bitcast {int_type} {one} to {type}")
    zero = a.let(f"fcmp oeq {type} {x[0]}, {_real(0.0, t, w)}")
    moved = _select(a, zero, _copysign(a, tiny, x[1], t, w), moved, t, w)
    same = a.let(f"fcmp oeq {type} {x[0]}, {x[1]}")
    moved = _select(a, same, x[1], moved, t, w)
    bad = a.let(f"fcmp uno {type} {x[0]}, {x[1]}")
    return _select(a, bad, a.let(f"fadd {type} {x[0]}, {x[1]}"), moved, t, w)


def exponent(a: Asm, x: Args, t: DType, w: int, flags: str) -> str:
    """e with |x| = m 2^e, 1/2 <= m < 1; 0 for zeros, infinities and nan."""
    if t.bits == 32:
        x = [a.let(f"fpext {type_of(t, w)} {x[0]} to {wide('double', w)}")]
    type, ints = wide("double", w), wide("i64", w)
    tiny = a.let(f"fcmp olt {type} {_unary(a, 'fabs', x[0], _F64, w)}, "
                 f"{_real(2.0**-1000, _F64, w)}")  # fmt: skip
    scaled = a.let(f"fmul {type} {x[0]}, {_real(2.0**60, _F64, w)}")
    bits = a.let(f"bitcast {type} {_select(a, tiny, scaled, x[0], _F64, w)} to {ints}")
    field = a.let(f"and {ints} {a.let(f'lshr {ints} {bits}, ' + splat('52', i64, w))}, "
                  f"{splat('2047', i64, w)}")  # fmt: skip
    bias = _select(a, tiny, splat("1082", i64, w), splat("1022", i64, w), i64, w)
    result = a.let(f"sub {ints} {field}, {bias}")
    special = a.let(f"icmp eq {ints} {field}, {splat('2047', i64, w)}")
    empty = a.let(f"fcmp oeq {type} {x[0]}, {_real(0.0, _F64, w)}")
    none = a.let(f"or {wide('i1', w)} {special}, {empty}")
    return _select(a, none, splat("0", i64, w), result, i64, w)


_BIT = DType("bool", "b", 1)
_F64 = DType("f64", "f", 64)
