"""jit(check="overflow"): arithmetic of integers that raises where a result leaves its range.

Without it, integers wrap as NumPy's do. Every function here adds one check to what a rule computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import DType, Scalar, f64
from tapeless.ir.build import TRUE
from tapeless.ir.syntax import Put

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer


def _require(t: Tracer, holds: Atom) -> None:
    t.b.check(holds, "OverflowError", "integer overflow")


def _not_negative(t: Tracer, sign: Atom) -> None:
    _require(t, t.b.prim("le", Const(0, sign.dtype), sign))


def after_add(t: Tracer, a: Atom, b: Atom, out: Atom) -> None:
    """Signed: an operand has the sign of the sum. Unsigned: a ≤ a + b."""
    p = t.b.prim
    if a.dtype.kind == "u":
        _require(t, p("le", a, out))
    else:
        _not_negative(t, p("and", p("xor", a, out), p("xor", b, out)))


def after_sub(t: Tracer, a: Atom, b: Atom, out: Atom) -> None:
    """Signed: a has the sign of b or of the difference. Unsigned: b ≤ a."""
    p = t.b.prim
    if a.dtype.kind == "u":
        _require(t, p("le", b, a))
    else:
        _not_negative(t, p("and", p("xor", a, b), p("xor", a, out)))


def after_mul(t: Tracer, a: Atom, b: Atom, out: Atom) -> None:
    """The high half of the product is the sign of the low half."""
    p = t.b.prim
    sign = p("shr", out, Const(a.dtype.bits - 1, a.dtype))
    _require(t, p("eq", p("mulhi", a, b), Const(0, a.dtype) if a.dtype.kind == "u" else sign))


def before_negation(t: Tracer, a: Atom) -> None:
    """-a and |a| fit unless a is the least number; of unsigned numbers only -0 does."""
    least = Const(int(np.iinfo(a.dtype.numpy).min), a.dtype)
    _require(t, t.b.prim("eq" if a.dtype.kind == "u" else "ne", a, least))


def after_shift(t: Tracer, a: Atom, b: Atom, out: Atom) -> None:
    """(a << b) >> b = a"""
    _require(t, t.b.prim("eq", t.b.prim("shr", out, b), a))


def before_division(t: Tracer, a: Atom, b: Atom) -> None:
    """Only the least number over -1 does not fit."""
    if a.dtype.kind == "i":
        p, least = t.b.prim, Const(int(np.iinfo(a.dtype.numpy).min), a.dtype)
        _require(t, p("or", p("ne", a, least), p("ne", b, Const(-1, b.dtype))))


def after_power(t: Tracer, a: Atom, b: Atom, out: Atom) -> None:
    near(t, t.b.prim("pow", t.b.cast(a, f64), t.b.cast(b, f64)), out)


def near(t: Tracer, real: Atom, out: Atom) -> None:
    """`real` is the result in floats. What wraps is off by a multiple of 2^bits, rounding by far
    less than a quarter of that."""
    p = t.b.prim
    limit = Const(2.0 ** (out.dtype.bits - 2), f64)
    _require(t, p("lt", p("abs", p("sub", real, t.b.cast(out, f64))), limit))


def before_cast(t: Tracer, a: Atom, target: DType) -> None:
    if a.dtype.is_float or a.dtype.is_int:
        _require(t, in_range(t, a, target))


def in_range(t: Tracer, a: Atom, target: DType) -> Atom:
    """Whether the number without its fraction lies in the range of an integer type."""
    p, info = t.b.prim, np.iinfo(target.numpy)
    fits: Atom = TRUE
    if a.dtype.is_float:
        low, high = float(info.min), float(info.max) + 1.0
        # low - 1 may be no float: then it is low
        part = a.dtype.numpy.type
        if part(low) - part(1) < part(low):
            fits = p("lt", Const(low - 1.0, a.dtype), a)
        else:
            fits = p("le", Const(low, a.dtype), a)
        return p("and", fits, p("lt", a, Const(high, a.dtype)))
    own = np.iinfo(a.dtype.numpy)
    if own.min < info.min:
        fits = p("le", Const(int(info.min), a.dtype), a)
    if own.max > info.max:
        fits = p("and", fits, p("le", a, Const(int(info.max), a.dtype)))
    return fits


# Sums and products ------------------------------------------------------------------------------


def shadow(t: Tracer, kind: str, term: Atom) -> Var | None:
    """An accumulator in floats beside one of integers, with this term put to it; None if the
    reduction cannot overflow."""
    if not (t.overflow and kind in ("sum", "prod") and term.dtype.is_int):
        return None
    var = Var(Scalar(f64), "real", t.loc)
    t.b.run(Put((var,), (), (t.b.cast(term, f64),), ""))
    return var
