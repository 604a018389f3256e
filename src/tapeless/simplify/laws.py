"""Algebraic laws of scalar operators, beside the ones that `ir.build.fold` applies.

Every law holds for all values, NaN, infinities, signed zeros and wrapping integers included; what
changes rounding (powers with small exponents) stays within that of a correctly rounded `pow`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeAlias

from tapeless.core.names import Atom, Const, Var
from tapeless.core.prims import COMMUTATIVE
from tapeless.ir.build import fold
from tapeless.ir.syntax import Exp, Prim

Defs: TypeAlias = Mapping[Var, Exp]
Step: TypeAlias = "Atom | Prim | None"


def law(op: str, args: tuple[Atom, ...], defs: Defs) -> Step:
    """What `op` on `args` equals, more simply: an atom, another operator, or None."""
    known = fold(op, args)
    if known is not None:
        return known
    if op in COMMUTATIVE and isinstance(args[0], Const):
        return Prim(op, (args[1], args[0]))
    if args[-1].dtype.is_bool and op in ("eq", "ne", "and", "or", "not", "select", "xor"):
        return _boolean(op, args, defs)
    if args[-1].dtype.is_float:
        return _float(op, args, defs)
    return _integer(op, args, defs)


def definition(atom: Atom, defs: Defs) -> Prim | None:
    exp = defs.get(atom) if isinstance(atom, Var) else None
    return exp if isinstance(exp, Prim) else None


def _boolean(op: str, args: tuple[Atom, ...], defs: Defs) -> Step:
    """p = True ⇒ p; p = False ⇒ ¬p; p ≠ False ⇒ p; p ≠ True ⇒ ¬p; p ∧ p ⇒ p; p ∨ p ⇒ p;
    c ? True : False ⇒ c; c ? False : True ⇒ ¬c; c ? p : False ⇒ c ∧ p; c ? True : p ⇒ c ∨ p."""
    match op, args:
        case ("eq", (a, Const(value=True))) | ("ne" | "xor", (a, Const(value=False))):
            return a
        case ("eq", (a, Const(value=False))) | ("ne" | "xor", (a, Const(value=True))):
            return Prim("not", (a,))
        case "and" | "or", (a, b) if a == b:
            return a
        case "not", (a,):
            return _negation(definition(a, defs))
        case "select", (c, Const(value=True), Const(value=False)):
            return c
        case "select", (c, Const(value=False), Const(value=True)):
            return Prim("not", (c,))
        case "select", (c, a, Const(value=False)):
            return Prim("and", (c, a))
        case "select", (c, Const(value=True), b):
            return Prim("or", (c, b))
    return _choice(op, args, defs)


def _negation(inner: Prim | None) -> Step:
    """¬¬p ⇒ p; ¬(a = b) ⇒ a ≠ b; ¬(a ≠ b) ⇒ a = b; on integers ¬(a < b) ⇒ b ≤ a and
    ¬(a ≤ b) ⇒ b < a."""
    match inner:
        case Prim("not", (a,)):
            return a
        case Prim("eq", args):
            return Prim("ne", args)
        case Prim("ne", args):
            return Prim("eq", args)
        case Prim("lt", (a, b)) if not a.dtype.is_float:
            return Prim("le", (b, a))
        case Prim("le", (a, b)) if not a.dtype.is_float:
            return Prim("lt", (b, a))
        case _:
            return None


def _choice(op: str, args: tuple[Atom, ...], defs: Defs) -> Step:
    """¬c ? a : b ⇒ c ? b : a; min(a, a) ⇒ a; max(a, a) ⇒ a."""
    if op == "select":
        match definition(args[0], defs):
            case Prim("not", (c,)):
                return Prim("select", (c, args[2], args[1]))
    if op in ("min", "max") and args[0] == args[1]:
        return args[0]
    return None


def _float(op: str, args: tuple[Atom, ...], defs: Defs) -> Step:
    """x - 0 ⇒ x; x + (-0) ⇒ x; -0 - x ⇒ -x; x·(-1) ⇒ -x; x / (-1) ⇒ -x; x / 2ᵏ ⇒ x·2⁻ᵏ;
    x - (-y) ⇒ x + y; (-x)·c ⇒ x·(-c)."""
    match op, args:
        case "sub", (a, Const(value=0.0 as z)) if math.copysign(1.0, z) > 0:
            return a
        case "add", (a, Const(value=0.0 as z)) if math.copysign(1.0, z) < 0:
            return a
        case "sub", (Const(value=0.0 as z), a) if math.copysign(1.0, z) < 0:
            return Prim("neg", (a,))
        case "mul" | "div", (a, Const(value=-1.0)):
            return Prim("neg", (a,))
        case "div", (a, Const(value=c, dtype=d)) if _is_power_of_two(float(c)):
            return Prim("mul", (a, Const(1.0 / c, d)))
        case "mul", (a, Const(value=c, dtype=d)) if (x := _negated(a, defs)) is not None:
            return Prim("mul", (x, Const(-c, d)))
        case "pow", (a, Const(value=c)):
            return _power(a, float(c))
        case "neg" | "abs", (a,):
            return _sign(op, definition(a, defs))
        case ("add", (a, b)):
            return _negated_operand(a, b, defs)
        case ("sub", (a, b)):
            match definition(b, defs):
                case Prim("neg", (x,)):
                    return Prim("add", (a, x))
    return _choice(op, args, defs)


def _negated(atom: Atom, defs: Defs) -> Atom | None:
    """x of -x."""
    inner = definition(atom, defs)
    return inner.args[0] if inner is not None and inner.op == "neg" else None


def _negated_operand(a: Atom, b: Atom, defs: Defs) -> Step:
    """x + (-y) ⇒ x - y; (-x) + y ⇒ y - x."""
    match definition(b, defs):
        case Prim("neg", (c,)):
            return Prim("sub", (a, c))
    match definition(a, defs):
        case Prim("neg", (c,)):
            return Prim("sub", (b, c))
    return None


def _sign(op: str, inner: Prim | None) -> Step:
    """--x ⇒ x; |-x| ⇒ |x|; ||x|| ⇒ |x|."""
    match op, inner:
        case "neg", Prim("neg", (a,)):
            return a
        case "abs", Prim("neg", (a,)):
            return Prim("abs", (a,))
        case "abs", Prim("abs", (a,)):
            return Prim("abs", (a,))
    return None


def _is_power_of_two(c: float) -> bool:
    return c != 0 and math.isfinite(c) and abs(math.frexp(c)[0]) == 0.5 and 1e-30 < abs(c) < 1e30


def _power(a: Atom, c: float) -> Step:
    """x¹ ⇒ x; x⁰ ⇒ 1; x² ⇒ x·x; x⁻¹ ⇒ 1 / x."""
    if c == 1.0:
        return a
    if c == 0.0:
        return Const(1.0, a.dtype)
    if c == 2.0:
        return Prim("mul", (a, a))
    if c == -1.0:
        return Prim("div", (Const(1.0, a.dtype), a))
    return None


def _integer(op: str, args: tuple[Atom, ...], defs: Defs) -> Step:
    """x - c ⇒ x + (-c); (x + c) + d ⇒ x + (c + d); (x·c)·d ⇒ x·(c·d); (x + y) - y ⇒ x;
    (x + y) - x ⇒ y; x² ⇒ x·x; x¹ ⇒ x; x⁰ ⇒ 1; x mod 1 ⇒ 0."""
    match op, args:
        case "sub", (a, Const(value=c, dtype=d)):
            return Prim("add", (a, Const(-c, d)))
        case "add", (a, Const(value=c, dtype=d)):
            match definition(a, defs):
                case Prim("add", (x, Const(value=e))):
                    return Prim("add", (x, Const(c + e, d)))
        case "mul", (a, Const(value=c, dtype=d)):
            match definition(a, defs):
                case Prim("mul", (x, Const(value=e))):
                    return Prim("mul", (x, Const(c * e, d)))
        case "sub", (a, b):
            match definition(a, defs):
                case Prim("add", (x, y)) if y == b:
                    return x
                case Prim("add", (x, y)) if x == b:
                    return y
        case "pow", (a, Const(value=2)):
            return Prim("mul", (a, a))
        case "pow", (a, Const(value=1)):
            return a
        case "pow", (a, Const(value=0, dtype=d)):
            return Const(1, d)
        case "mod", (_, Const(value=1, dtype=d)):
            return Const(0, d)
    return _choice(op, args, defs)
