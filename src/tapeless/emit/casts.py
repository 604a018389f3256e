"""Conversions between element types."""

from __future__ import annotations

from tapeless.core.types import DType
from tapeless.emit.asm import Asm, splat, type_of


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
    lanes = "" if w == 1 else f"v{w}"
    sign = "s" if to.kind == "i" else "u"
    symbol = f"llvm.fpto{sign}i.sat.{lanes}i{to.bits}.{lanes}f{source.bits}"
    result, operand = type_of(to, w), type_of(source, w)
    a.module.declare(symbol, f"declare {result} @{symbol}({operand})")
    return a.let(f"call {result} @{symbol}({operand} {x})")


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
