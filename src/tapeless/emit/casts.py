"""Conversions between element types."""

from __future__ import annotations

from tapeless.core.types import DType
from tapeless.emit.asm import Asm, literal, splat, type_of, wide


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
    if to.bits == 64:
        return _to_wide(a, x, source, to, w)
    return _saturated(a, x, source, to, w)


def _saturated(a: Asm, x: str, source: DType, to: DType, w: int) -> str:
    lanes = "" if w == 1 else f"v{w}"
    sign = "s" if to.kind == "i" else "u"
    symbol = f"llvm.fpto{sign}i.sat.{lanes}i{to.bits}.{lanes}f{source.bits}"
    result, operand = type_of(to, w), type_of(source, w)
    a.module.declare(symbol, f"declare {result} @{symbol}({operand})")
    return a.let(f"call {result} @{symbol}({operand} {x})")


def _to_wide(a: Asm, x: str, source: DType, to: DType, w: int) -> str:
    """To 64 bits, where processors do not saturate: nearly always all values are in range."""
    floats, result, mask = type_of(source, w), type_of(to, w), wide("i1", w)
    top = splat(literal(2.0 ** (63 if to.kind == "i" else 64), source), source, w)
    if to.kind == "i":
        symbol = f"llvm.fabs.{'' if w == 1 else f'v{w}'}f{source.bits}"
        a.module.declare(symbol, f"declare {floats} @{symbol}({floats})")
        size = a.let(f"call {floats} @{symbol}({floats} {x})")
        fine = a.let(f"fcmp olt {floats} {size}, {top}")
    else:
        positive = a.let(f"fcmp oge {floats} {x}, {splat(literal(0.0, source), source, w)}")
        fine = a.let(f"and {mask} {positive}, {a.let(f'fcmp olt {floats} {x}, {top}')}")
    if w > 1:
        bits = a.let(f"bitcast {mask} {fine} to i{w}")
        fine = a.let(f"icmp eq i{w} {bits}, -1")
    usual, rare, after = a.label("fits"), a.label("saturates"), a.label("whole")
    a.branch(fine, usual, rare, likely=True)
    a.start(usual)
    found = a.let(f"fpto{'s' if to.kind == 'i' else 'u'}i {floats} {x} to {result}")
    a.jump(after)
    with a.aside(rare):
        clip = _saturated if w == 1 else _clipped
        clipped = clip(a, x, source, to, w)
        a.jump(after)
    a.start(after)
    phi = a.phi(result)
    phi.add(found, usual)
    phi.add(clipped, rare)
    return phi.name


def _clipped(a: Asm, x: str, source: DType, to: DType, w: int) -> str:
    """Lanes in range are converted, the others chosen from the ends: LLVM's own way would be
    through the lanes one by one."""
    low = -(1 << 63) if to.kind == "i" else 0
    high = (1 << 63 if to.kind == "i" else 1 << 64) - 1
    floats, result, mask = type_of(source, w), type_of(to, w), wide("i1", w)
    least, most = (splat(literal(float(end), source), source, w) for end in (low, high))
    below = a.let(f"fcmp olt {floats} {x}, {least}")
    above = a.let(f"fcmp oge {floats} {x}, {most}")
    number = a.let(f"fcmp ord {floats} {x}, {x}")
    outside = a.let(f"or {mask} {below}, {above}")
    inside = a.let(f"xor {mask} {outside}, {number}")
    zero = splat(literal(0.0, source), source, w)
    safe = a.let(f"select {mask} {inside}, {floats} {x}, {floats} {zero}")
    found = a.let(f"fpto{'s' if low else 'u'}i {floats} {safe} to {result}")
    for end, which in ((low, below), (high, above)):
        value = splat(literal(end, to), to, w)
        found = a.let(f"select {mask} {which}, {result} {value}, {result} {found}")
    return found


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
