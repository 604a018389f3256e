"""Mathematical functions as LLVM IR text, for any lane width and any target.

`define(name, bits, width)` writes one of FUNCTIONS.  Each is built from IEEE operations, fused
multiply-adds and bit patterns alone, so that every width and every machine computes the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from tapeless.emit.math import (
    bessel,
    error,
    exponential,
    gamma,
    hyperbolic,
    inverse,
    logarithm,
    powers,
    trigonometric,
)
from tapeless.emit.math.ops import BLOCK, Ops
from tapeless.emit.math.values import Float

_BODIES: dict[str, Callable[..., Float]] = {
    "exp": exponential.exp, "exp2": exponential.exp2, "expm1": exponential.expm1,
    "log": logarithm.log, "log2": logarithm.log2, "log10": logarithm.log10,
    "log1p": logarithm.log1p,
    "sin": trigonometric.sin, "cos": trigonometric.cos, "tan": trigonometric.tan,
    "tanh": hyperbolic.tanh, "sinh": hyperbolic.sinh, "cosh": hyperbolic.cosh,
    "asinh": hyperbolic.asinh, "acosh": hyperbolic.acosh, "atanh": hyperbolic.atanh,
    "asin": inverse.asin, "acos": inverse.acos, "atan": inverse.atan, "atan2": inverse.atan2,
    "erf": error.erf, "erfc": error.erfc, "erfinv": error.erfinv, "ndtri": error.ndtri,
    "lgamma": gamma.lgamma, "tgamma": gamma.tgamma, "digamma": gamma.digamma,
    "trigamma": gamma.trigamma,
    "i0": bessel.i0, "i1": bessel.i1, "j0": bessel.j0, "j1": bessel.j1,
    "pow": powers.pow, "cbrt": powers.cbrt, "hypot": powers.hypot, "fmod": powers.fmod,
}  # fmt: skip

_BINARY = {"pow", "atan2", "hypot", "fmod"}
_NATIVE_SINGLE = {"exp", "exp2", "log", "sin", "cos"}
# Hundreds of instructions that cost four times as much to compile in 32 lanes as in 8, and run a
# third faster at best: wide calls go to the one copy of BLOCK lanes.
LONG = {"erfinv", "ndtri", "lgamma", "tgamma", "digamma", "trigamma", "j0", "j1"}

FUNCTIONS: dict[str, int] = {name: 1 + (name in _BINARY) for name in _BODIES}


@cache
def _define(name: str, bits: int, width: int) -> tuple[tuple[str, str], ...]:
    """The definitions of one function, as an immutable value."""
    o = Ops(name, bits, width, FUNCTIONS[name])
    body = _BODIES[name]
    lanes = BLOCK if name in LONG and width > BLOCK else width
    if bits == 32 and name not in _NATIVE_SINGLE:
        result = o.widened(name, body, *o.args, lanes=lanes)
    elif lanes != width:
        result = o.function(name, body, *o.args, lanes=lanes)
    else:
        result = body(o, *o.args)
    return tuple(o.finish(result).items())


def define(name: str, bits: int, width: int) -> dict[str, str]:
    """Symbol -> LLVM IR text of each function and constant that `name` needs.

    The function computes on <width x double> (bits = 64) or <width x float> (bits = 32), width 1
    meaning plain scalars; its symbol is f"tp.{name}.f{bits}x{width}".  Equal symbols always have
    equal texts, so the answers of several calls may be merged."""
    return dict(_define(name, bits, width))
