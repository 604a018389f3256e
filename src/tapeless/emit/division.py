"""Integer division that rounds to the floor and never traps, powers, and wide products."""

from __future__ import annotations

from collections.abc import Sequence

from tapeless.core.types import DType, u64
from tapeless.emit.asm import Asm, splat, type_of, wide

Args = Sequence[str]


def _constant(text: str, w: int) -> int | None:
    """The value of a literal operand, if it is one."""
    if w > 1:
        if not text.startswith("splat ("):
            return None
        text = text[:-1].rsplit(" ", 1)[1]
    return int(text) if text.lstrip("-").isdigit() else None


def _select(a: Asm, c: str, x: str, y: str, t: DType, w: int) -> str:
    return a.let(f"select {wide('i1', w)} {c}, {type_of(t, w)} {x}, {type_of(t, w)} {y}")


def _compare(a: Asm, predicate: str, x: str, y: str, t: DType, w: int) -> str:
    return a.let(f"icmp {predicate} {type_of(t, w)} {x}, {y}")


def _divisor(a: Asm, y: str, t: DType, w: int) -> tuple[str, str | None, str | None]:
    """A divisor that cannot trap, and where the original was 0 and was -1."""
    value = _constant(y, w)
    if value is not None and value not in (0, -1):
        return y, None, None
    zero, one = splat("0", t, w), splat("1", t, w)
    is_zero = _compare(a, "eq", y, zero, t, w)
    if t.kind == "u":
        return _select(a, is_zero, one, y, t, w), is_zero, None
    is_minus = _compare(a, "eq", y, splat("-1", t, w), t, w)
    both = a.let(f"or {wide('i1', w)} {is_zero}, {is_minus}")
    return _select(a, both, one, y, t, w), is_zero, is_minus


def floordiv(a: Asm, x: Args, t: DType, w: int) -> str:
    """floor(x / y); 0 where y is 0, and the wrapped negation where y is -1."""
    value = _constant(x[1], w)
    type = type_of(t, w)
    if value is not None and value > 0 and value & (value - 1) == 0:
        shift = splat(str(value.bit_length() - 1), t, w)
        return a.let(f"{'ashr' if t.kind == 'i' else 'lshr'} {type} {x[0]}, {shift}")
    d, is_zero, is_minus = _divisor(a, x[1], t, w)
    zero = splat("0", t, w)
    if t.kind == "u":
        q = a.let(f"udiv {type} {x[0]}, {d}")
    else:
        q = a.let(f"sdiv {type} {x[0]}, {d}")
        _, low = _remainder(a, x[0], q, d, t, w)
        q = a.let(f"sub {type} {q}, {_select(a, low, splat('1', t, w), zero, t, w)}")
        if is_minus is not None:
            negated = a.let(f"sub {type} {zero}, {x[0]}")
            q = _select(a, is_minus, negated, q, t, w)
    return q if is_zero is None else _select(a, is_zero, zero, q, t, w)


def _remainder(a: Asm, x: str, q: str, d: str, t: DType, w: int) -> tuple[str, str]:
    """x - q d, and where its sign differs from that of d (so that one must be borrowed)."""
    type, zero = type_of(t, w), splat("0", t, w)
    r = a.let(f"sub {type} {x}, {a.let(f'mul {type} {q}, {d}')}")
    nonzero = _compare(a, "ne", r, zero, t, w)
    opposite = _compare(a, "slt", a.let(f"xor {type} {r}, {d}"), zero, t, w)
    return r, a.let(f"and {wide('i1', w)} {nonzero}, {opposite}")


def mod(a: Asm, x: Args, t: DType, w: int) -> str:
    """x - y floor(x / y), 0 where y is 0 or -1."""
    value = _constant(x[1], w)
    type = type_of(t, w)
    if value is not None and value > 0 and value & (value - 1) == 0:
        return a.let(f"and {type} {x[0]}, {splat(str(value - 1), t, w)}")
    d, is_zero, _ = _divisor(a, x[1], t, w)
    if t.kind == "u":
        r = a.let(f"urem {type} {x[0]}, {d}")
    else:
        q = a.let(f"sdiv {type} {x[0]}, {d}")
        r, low = _remainder(a, x[0], q, d, t, w)
        r = a.let(f"add {type} {r}, {_select(a, low, d, splat('0', t, w), t, w)}")
    return r if is_zero is None else _select(a, is_zero, splat("0", t, w), r, t, w)


def power(a: Asm, x: Args, t: DType, w: int) -> str:
    """x ** y by squaring, wrapping; the exponent is not negative."""
    symbol = f"tp.ipow.i{t.bits}x{w}"
    type, bit = wide(f"i{t.bits}", w), wide("i1", w)
    one, zero = splat("1", t, w), splat("0", t, w)
    if w == 1:
        alive = [f"  %any = icmp ne {type} %n1, 0"]
    else:
        alive = [f"  %left = icmp ne {type} %n1, {zero}", f"  %b = bitcast {bit} %left to i{w}",
                 f"  %any = icmp ne i{w} %b, 0"]  # fmt: skip
    a.module.define(symbol, "\n".join([
        f"define internal {type} @{symbol}({type} %x, {type} %n) nounwind memory(none) {{",
        "entry:", "  br label %loop", "loop:",
        f"  %r = phi {type} [ {one}, %entry ], [ %r1, %loop ]",
        f"  %p = phi {type} [ %x, %entry ], [ %p1, %loop ]",
        f"  %m = phi {type} [ %n, %entry ], [ %n1, %loop ]",
        f"  %odd = trunc {type} %m to {bit}",
        f"  %f = select {bit} %odd, {type} %p, {type} {one}",
        f"  %r1 = mul {type} %r, %f", f"  %p1 = mul {type} %p, %p",
        f"  %n1 = lshr {type} %m, {one}", *alive,
        "  br i1 %any, label %loop, label %done", "done:", f"  ret {type} %r1", "}",
    ]))  # fmt: skip
    return a.let(f"call {type} @{symbol}({type} {x[0]}, {type} {x[1]})")


def mulhi_u64(a: Asm, x: Args, w: int) -> str:
    """The upper 64 bits of u64 products in lanes, from four 32-bit products."""
    type, t = wide("i64", w), u64
    mask, count = splat("4294967295", t, w), splat("32", t, w)
    low = [a.let(f"and {type} {v}, {mask}") for v in x]
    high = [a.let(f"lshr {type} {v}, {count}") for v in x]
    ll = a.let(f"mul {type} {low[0]}, {low[1]}")
    lh = a.let(f"mul {type} {low[0]}, {high[1]}")
    hl = a.let(f"mul {type} {high[0]}, {low[1]}")
    hh = a.let(f"mul {type} {high[0]}, {high[1]}")
    first = a.let(f"add {type} {lh}, {a.let(f'lshr {type} {ll}, {count}')}")
    second = a.let(f"add {type} {hl}, {a.let(f'and {type} {first}, {mask}')}")
    top = a.let(f"add {type} {hh}, {a.let(f'lshr {type} {first}, {count}')}")
    return a.let(f"add {type} {top}, {a.let(f'lshr {type} {second}, {count}')}")
