"""Conversions between element types."""

from __future__ import annotations

from tapeless.core.types import DType
from tapeless.emit.asm import Asm, literal, splat, type_of


def cast(a: Asm, x: str, source: DType, to: DType, w: int) -> str:
    """Float to int truncates and saturates (nan gives 0); anything to bool is `!= 0`."""
    if source == to:
        return x
    if to.is_bool:
        return _to_bool(a, x, source, w)
    if source.is_float:
        return _from_float(a, x, source, to, w)
    if to.is_float:
        op = "sitofp" if source.kind == "i" else "uitofp"
        return a.let(f"{op} {type_of(source, w)} {x} to {type_of(to, w)}")
    if source.bits == to.bits:
        return x
    if source.bits > to.bits:
        op = "trunc"
    else:
        op = "sext" if source.kind == "i" else "zext"
    return a.let(f"{op} {type_of(source, w)} {x} to {type_of(to, w)}")


def _to_bool(a: Asm, x: str, source: DType, w: int) -> str:
    zero = splat("0.0" if source.is_float else "0", source, w)
    compare = "fcmp une" if source.is_float else "icmp ne"
    return a.let(f"{compare} {type_of(source, w)} {x}, {zero}")


def _from_float(a: Asm, x: str, source: DType, to: DType, w: int) -> str:
    if to.is_float:
        op = "fptrunc" if to.bits < source.bits else "fpext"
        return a.let(f"{op} {type_of(source, w)} {x} to {type_of(to, w)}")
    if w > 1 and to.bits == 64:
        return _to_wide_lanes(a, x, source, to, w)
    lanes = "" if w == 1 else f"v{w}"
    sign = "s" if to.kind == "i" else "u"
    symbol = f"llvm.fpto{sign}i.sat.{lanes}i{to.bits}.{lanes}f{source.bits}"
    result, operand = type_of(to, w), type_of(source, w)
    a.module.declare(symbol, f"declare {result} @{symbol}({operand})")
    return a.let(f"call {result} @{symbol}({operand} {x})")


def _to_wide_lanes(a: Asm, x: str, source: DType, to: DType, w: int) -> str:
    """Lanes of 64 bits, for which LLVM would go through the lanes one by one: those in range are
    converted, the others are chosen from the ends."""
    low = -(1 << 63) if to.kind == "i" else 0
    high = (1 << 63 if to.kind == "i" else 1 << 64) - 1
    floats, result, mask = type_of(source, w), type_of(to, w), f"<{w} x i1>"

    def number(value: float) -> str:
        return splat(literal(value, source), source, w)

    above = a.let(f"fcmp oge {floats} {x}, {number(float(high))}")
    within = a.let(f"fcmp {'oge' if low else 'ogt'} {floats} {x}, {number(float(low))}")
    below_top = a.let(f"fcmp olt {floats} {x}, {number(float(high))}")
    fine = a.let(f"and {mask} {within}, {below_top}")
    safe = a.let(f"select {mask} {fine}, {floats} {x}, {floats} {number(0.0)}")
    op = "fptosi" if to.kind == "i" else "fptoui"
    found = a.let(f"{op} {floats} {safe} to {result}")
    top = splat(literal(high, to), to, w)
    found = a.let(f"select {mask} {above}, {result} {top}, {result} {found}")
    if not low:
        return found
    below = a.let(f"fcmp olt {floats} {x}, {number(float(low))}")
    bottom = splat(literal(low, to), to, w)
    return a.let(f"select {mask} {below}, {result} {bottom}, {result} {found}")


def memory_to_register(a: Asm, x: str, dtype: DType, w: int) -> str:
    """A bool is a byte in memory and one bit in a register."""
    if not dtype.is_bool:
        return x
    type = "i8" if w == 1 else f"<{w} x i8>"
    return a.let(f"icmp ne {type} {x}, {'0' if w == 1 else 'zeroinitializer'}")


def register_to_memory(a: Asm, x: str, dtype: DType, w: int) -> str:
    if not dtype.is_bool:
        return x
    return a.let(f"zext {type_of(dtype, w)} {x} to {'i8' if w == 1 else f'<{w} x i8>'}")
