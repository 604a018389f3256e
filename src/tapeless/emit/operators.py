"""Every operator of core.prims on scalars or vectors: one text generator per operator.

A generator gets the operands' texts, their element type and the width, and returns the name of
the result; nothing here knows about loops or lanes beyond the width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tapeless.core.prims import CASTS
from tapeless.core.types import DType
from tapeless.emit import division, foreign_math
from tapeless.emit.asm import Asm, literal, splat, type_of, wide
from tapeless.emit.casts import cast

Args = Sequence[str]
Rule = Callable[[Asm, Args, DType, int, str], str]


def suffix(dtype: DType, width: int) -> str:
    """The type suffix of an LLVM intrinsic: v8f64, i32."""
    base = f"{'f' if dtype.is_float else 'i'}{dtype.bits}"
    return base if width == 1 else f"v{width}{base}"


def intrinsic(a: Asm, name: str, args: Args, dtype: DType, width: int, flags: str = "") -> str:
    """A call of llvm.`name` whose operands and result have one type."""
    type = type_of(dtype, width)
    symbol = f"llvm.{name}.{suffix(dtype, width)}"
    a.module.declare(symbol, f"declare {type} @{symbol}({', '.join([type] * len(args))})")
    operands = ", ".join(f"{type} {x}" for x in args)
    return a.let(f"call {flags}{type} @{symbol}({operands})")


def select(a: Asm, cond: str, yes: str, no: str, dtype: DType, width: int) -> str:
    type = type_of(dtype, width)
    return a.let(f"select {wide('i1', width)} {cond}, {type} {yes}, {type} {no}")


def _arithmetic(float_op: str, int_op: str) -> Rule:
    def rule(a: Asm, x: Args, t: DType, w: int, flags: str) -> str:
        op = f"{float_op} {flags}" if t.is_float else f"{int_op} "
        return a.let(f"{op}{type_of(t, w)} {x[0]}, {x[1]}")

    return rule


def _intrinsic_rule(name: str) -> Rule:
    def rule(a: Asm, x: Args, t: DType, w: int, flags: str) -> str:
        return intrinsic(a, name, x, t, w, flags)

    return rule


def _compare(ordered: str, signed: str, unsigned: str) -> Rule:
    def rule(a: Asm, x: Args, t: DType, w: int, flags: str) -> str:
        if t.is_float:
            return a.let(f"fcmp {ordered} {type_of(t, w)} {x[0]}, {x[1]}")
        predicate = signed if t.kind == "i" else unsigned
        return a.let(f"icmp {predicate} {type_of(t, w)} {x[0]}, {x[1]}")

    return rule


def _bitwise(op: str) -> Rule:
    def rule(a: Asm, x: Args, t: DType, w: int, flags: str) -> str:
        return a.let(f"{op} {type_of(t, w)} {x[0]}, {x[1]}")

    return rule


def _minmax(float_less: str, signed: str, bits: str) -> Rule:
    """Floats as NumPy: the first operand if it wins or is nan, else the second. The nan is made
    anew: LLVM would join two choices of the same operand to one by two comparisons, which takes
    longer than the processor's own minimum, nans mended afterwards."""

    def rule(a: Asm, x: Args, t: DType, w: int, flags: str) -> str:
        if t.is_bool:
            return a.let(f"{bits} {type_of(t, w)} {x[0]}, {x[1]}")
        if t.is_int:
            name = signed if t.kind == "i" else "u" + signed[1:]
            return intrinsic(a, name, x, t, w)
        type = type_of(t, w)
        wins = a.let(f"fcmp {float_less} {type} {x[0]}, {x[1]}")
        best = select(a, wins, x[0], x[1], t, w)
        lost = a.let(f"fcmp uno {type} {x[0]}, {x[0]}")
        nan = a.let(f"fadd {type} {x[0]}, {x[0]}")
        return select(a, lost, nan, best, t, w)

    return rule


def _neg(a: Asm, x: Args, t: DType, w: int, flags: str) -> str:
    if t.is_float:
        return a.let(f"fneg {type_of(t, w)} {x[0]}")
    return a.let(f"sub {type_of(t, w)} {splat('0', t, w)}, {x[0]}")


def _abs(a: Asm, x: Args, t: DType, w: int, flags: str) -> str:
    if t.is_float:
        return intrinsic(a, "fabs", x, t, w)
    if t.kind == "u":
        return x[0]
    type = type_of(t, w)
    symbol = f"llvm.abs.{suffix(t, w)}"
    a.module.declare(symbol, f"declare {type} @{symbol}({type}, i1)")
    return a.let(f"call {type} @{symbol}({type} {x[0]}, i1 false)")


def _sign(a: Asm, x: Args, t: DType, w: int, flags: str) -> str:
    """1 above zero, -1 below, 0 at either zero, nan for nan."""
    type, zero = type_of(t, w), const(0, t, w)
    if t.is_float:
        above, below = (a.let(f"fcmp {p} {type} {x[0]}, {zero}") for p in ("ogt", "olt"))
        other = a.let(f"fadd {type} {x[0]}, {zero}")  # -0.0 becomes 0.0, nan stays
        low = select(a, below, const(-1, t, w), other, t, w)
        return select(a, above, const(1, t, w), low, t, w)
    above = a.let(f"icmp {'sgt' if t.kind == 'i' else 'ne'} {type} {x[0]}, {zero}")
    low = zero
    if t.kind == "i":
        below = a.let(f"icmp slt {type} {x[0]}, {zero}")
        low = select(a, below, const(-1, t, w), zero, t, w)
    return select(a, above, const(1, t, w), low, t, w)


def const(value: float, dtype: DType, width: int) -> str:
    """A number in every lane."""
    from_value = float(value) if dtype.is_float else int(value)
    return splat(literal(from_value, dtype), dtype, width)


def neutral(op: str, dtype: DType) -> str:
    """The literal that changes nothing under one of + * min max."""
    if op in ("+", "*"):
        return literal((-0.0 if dtype.is_float else 0) if op == "+" else 1, dtype)
    if dtype.is_float:
        return literal(float("inf") if op == "min" else float("-inf"), dtype)
    if dtype.is_bool:
        return literal(op == "min", dtype)
    low = -(1 << (dtype.bits - 1)) if dtype.kind == "i" else 0
    return literal((1 << dtype.bits) - 1 + low if op == "min" else low, dtype)


def _not(a: Asm, x: Args, t: DType, w: int, flags: str) -> str:
    ones = splat("true" if t.is_bool else "-1", t, w)
    return a.let(f"xor {type_of(t, w)} {x[0]}, {ones}")


def _shr(a: Asm, x: Args, t: DType, w: int, flags: str) -> str:
    return a.let(f"{'ashr' if t.kind == 'i' else 'lshr'} {type_of(t, w)} {x[0]}, {x[1]}")


def _isnan(a: Asm, x: Args, t: DType, w: int, flags: str) -> str:
    return a.let(f"fcmp uno {type_of(t, w)} {x[0]}, {x[0]}")


def _as_bits(a: Asm, x: Args, t: DType, w: int, flags: str) -> str:
    return a.let(f"bitcast {type_of(t, w)} {x[0]} to {wide(f'i{t.bits}', w)}")


def _from_bits(a: Asm, x: Args, t: DType, w: int, flags: str) -> str:
    to = wide("double" if t.bits == 64 else "float", w)
    return a.let(f"bitcast {type_of(t, w)} {x[0]} to {to}")


def _signbit(a: Asm, x: Args, t: DType, w: int, flags: str) -> str:
    bits = _as_bits(a, x, t, w, flags)
    zero = "0" if w == 1 else "zeroinitializer"
    return a.let(f"icmp slt {wide(f'i{t.bits}', w)} {bits}, {zero}")


def _mulhi(a: Asm, x: Args, t: DType, w: int, flags: str) -> str:
    """The upper half of the double-width product."""
    if t.bits == 64 and w > 1 and t.kind == "u":
        return division.mulhi_u64(a, x, w)
    double = wide(f"i{2 * t.bits}", w)
    ext = "sext" if t.kind == "i" else "zext"
    left, right = (a.let(f"{ext} {type_of(t, w)} {v} to {double}") for v in x)
    product = a.let(f"mul {double} {left}, {right}")
    count = str(t.bits) if w == 1 else f"splat (i{2 * t.bits} {t.bits})"
    high = a.let(f"lshr {double} {product}, {count}")
    return a.let(f"trunc {double} {high} to {type_of(t, w)}")


def _floordiv(a: Asm, x: Args, t: DType, w: int, flags: str) -> str:
    if t.is_float:
        return foreign_math.float_floordiv(a, x, t, w)
    return division.floordiv(a, x, t, w)


def _mod(a: Asm, x: Args, t: DType, w: int, flags: str) -> str:
    return foreign_math.float_mod(a, x, t, w) if t.is_float else division.mod(a, x, t, w)


def _pow(a: Asm, x: Args, t: DType, w: int, flags: str) -> str:
    return foreign_math.call(a, "pow", x, t, w) if t.is_float else division.power(a, x, t, w)


RULES: dict[str, Rule] = {
    "add": _arithmetic("fadd", "add"), "sub": _arithmetic("fsub", "sub"),
    "mul": _arithmetic("fmul", "mul"), "div": _arithmetic("fdiv", "udiv"),
    "floordiv": _floordiv, "mod": _mod, "fmod": foreign_math.fmod, "pow": _pow,
    "neg": _neg, "abs": _abs, "sign": _sign,
    "min": _minmax("olt", "smin", "and"), "max": _minmax("ogt", "smax", "or"),
    "fma": _intrinsic_rule("fma"), "mulhi": _mulhi,
    "floor": _intrinsic_rule("floor"), "ceil": _intrinsic_rule("ceil"),
    "trunc": _intrinsic_rule("trunc"), "rint": _intrinsic_rule("roundeven"),
    "copysign": _intrinsic_rule("copysign"), "sqrt": _intrinsic_rule("sqrt"),
    "nextafter": foreign_math.nextafter, "exponent": foreign_math.exponent,
    "eq": _compare("oeq", "eq", "eq"), "ne": _compare("une", "ne", "ne"),
    "lt": _compare("olt", "slt", "ult"), "le": _compare("ole", "sle", "ule"),
    "and": _bitwise("and"), "or": _bitwise("or"), "xor": _bitwise("xor"),
    "shl": _bitwise("shl"), "shr": _shr, "not": _not,
    "isnan": _isnan, "signbit": _signbit, "to_bits": _as_bits, "from_bits": _from_bits,
}  # fmt: skip


def apply(
    a: Asm, op: str, out: DType, args: Args, types: Sequence[DType], width: int, flags: str = ""
) -> str:
    """The result of one operator on operands of the same width."""
    if op == "select":
        return select(a, args[0], args[1], args[2], out, width)
    if op in CASTS:
        return cast(a, args[0], types[0], out, width)
    rule = RULES.get(op)
    if rule is None:
        return foreign_math.call(a, op, args, types[0], width)
    return rule(a, args, types[0], width, flags)
