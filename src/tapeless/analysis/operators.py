"""What an integer operator's result is known to be: its exact value, or bounds and cases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tapeless.analysis import poly
from tapeless.analysis.poly import Poly
from tapeless.core.names import Atom, Var
from tapeless.core.prims import CASTS
from tapeless.core.types import i64
from tapeless.ir.syntax import Prim

if TYPE_CHECKING:
    from tapeless.analysis.facts import Facts

MIN, MAX = -(1 << 63), (1 << 63) - 1


def value_of(facts: Facts, var: Var, op: str, args: tuple[Atom, ...]) -> Poly:
    """The value of `var` = op(args): exact, or a new symbol with what is known of it."""
    exact = _exact(facts, op, args)
    if exact is not None and facts.fits(exact):
        return exact
    v = facts.new_symbol(var)
    me = poly.symbol(v)
    if op in CASTS:
        _cast(facts, v, args[0])
    elif op in ("min", "max", "select", "abs"):
        _choice(facts, v, me, op, args)
    elif op in ("floordiv", "mod", "shr", "and"):
        _division(facts, v, me, op, args)
    return me


def chosen(facts: Facts, op: str, args: tuple[Atom, ...]) -> Atom | None:
    """c ? a : b where c is known; min(a, b) ⇒ a where a ≤ b is known."""
    if op == "select":
        truth = facts.decide(args[0])
        return None if truth is None else args[1] if truth else args[2]
    if op in ("min", "max") and args[0].dtype is i64:
        a, b = args
        if facts.decide_prim("le", (a, b)):
            return a if op == "min" else b
        if facts.decide_prim("le", (b, a)):
            return b if op == "min" else a
    return None


def _exact(facts: Facts, op: str, args: tuple[Atom, ...]) -> Poly | None:
    if op not in ("add", "sub", "mul", "neg"):
        return None
    p = facts.value(args[0])
    if op == "neg":
        return poly.scale(p, -1)
    q = facts.value(args[1])
    if op == "mul":
        return poly.multiply(p, q)
    return poly.add(p, q) if op == "add" else poly.sub(p, q)


def _cast(facts: Facts, v: int, source: Atom) -> None:
    dtype = source.dtype
    if dtype.is_bool:
        facts.ranges(v, 0, 1)
    elif dtype.is_int and (dtype.bits < 64):
        signed = dtype.kind == "i"
        low = -(1 << (dtype.bits - 1)) if signed else 0
        facts.ranges(v, low, (1 << (dtype.bits - signed)) - 1)


def _choice(facts: Facts, v: int, me: Poly, op: str, args: tuple[Atom, ...]) -> None:
    """The value is one of two, and which one is known in each case."""
    if op == "abs":
        p = facts.value(args[0])
        q = poly.scale(p, -1)
    else:
        p, q = (facts.value(a) for a in args[-2:])
    above = op in ("max", "abs")
    ends = [(facts.lowest(x), facts.highest(x)) for x in (p, q)]
    (a, b), (c, d) = ends
    pick = max if above else min
    if op == "select":
        low, high = min(a, c), max(b, d)
    else:
        low, high = pick(a, c), pick(b, d)
    facts.ranges(v, max(low, MIN), min(high, MAX))
    if op == "select":
        then, orelse = _condition(facts, args[0])
        facts.cases[v] = ((p, then), (q, orelse))
        return
    for x in (p, q):
        facts.always(v, poly.sub(me, x) if above else poly.sub(x, me))
    gap = poly.sub(p, q) if above else poly.sub(q, p)
    facts.cases[v] = ((p, gap), (q, poly.scale(gap, -1)))


def _condition(facts: Facts, cond: Atom) -> tuple[Poly, Poly]:
    """What is ≥ 0 if a comparison holds, and if it does not."""
    match facts.defs.get(cond) if isinstance(cond, Var) else None:
        case Prim("lt", (a, b)) if a.dtype is i64:
            gap = poly.sub(facts.value(b), facts.value(a))
            return poly.shift(gap, -1), poly.scale(gap, -1)
        case Prim("le", (a, b)) if a.dtype is i64:
            gap = poly.sub(facts.value(b), facts.value(a))
            return gap, poly.shift(poly.scale(gap, -1), -1)
        case _:
            return {}, {}


def _division(facts: Facts, v: int, me: Poly, op: str, args: tuple[Atom, ...]) -> None:
    p, q = facts.value(args[0]), facts.value(args[1])
    k = poly.constant_of(q)
    if op == "and":
        if facts.prove(q) or facts.prove(p):
            facts.ranges(v, 0, facts.highest(q) if facts.prove(q) else facts.highest(p))
        return
    if op == "shr":
        if k is None or not 0 <= k < 63:
            return
        k, op = 1 << k, "floordiv"
        q = poly.constant(k)
    if not facts.prove(poly.shift(q, -1)):
        return
    if op == "mod":
        facts.ranges(v, 0, max(facts.highest(q) - 1, 0))
        facts.always(v, poly.sub(poly.shift(q, -1), me))
        if facts.prove(p):
            facts.always(v, poly.sub(p, me))
        return
    low, high = facts.lowest(p), facts.highest(p)
    if k is not None:
        facts.ranges(v, low // k, high // k)
        facts.always(v, poly.combine(p, 1, me, -k))
        facts.always(v, poly.shift(poly.combine(p, -1, me, k), k - 1))
    elif facts.prove(p):
        facts.ranges(v, 0, max(high, 0))
        facts.always(v, poly.sub(p, me))
