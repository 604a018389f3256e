"""Operators that give one of their operands, and where a nest puts what it combines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import INDEX, DType, Scalar
from tapeless.ir.build import Builder
from tapeless.ir.syntax import Acc, Body, Each, If, Index, Let, Monoid, Prim, Put
from tapeless.ir.walk import binders_of, bodies_of, map_bodies, refresh, statements

NOWHERE = Const((1 << 63) - 1, INDEX.dtype)


@dataclass(frozen=True, slots=True)
class Sites:
    """The box of passes that put to an accumulator; what they put, whether it was just read."""

    sizes: tuple[Atom, ...]
    value: Atom
    is_read: bool


def sites_of(exp: Each, acc: Acc) -> Sites:
    found = find_sites(exp, acc)
    assert found is not None
    return found


def find_sites(exp: Each, acc: Acc) -> Sites | None:
    """The box of the one Put to `acc`, if the sizes of all nests around it are known outside."""
    puts = [s.exp for s in statements(exp.body) if _puts(s, acc.vars[0])]
    sizes = _sizes_down(exp.body, acc.vars[0], set(exp.vars)) if len(puts) == 1 else None
    if sizes is None:
        return None
    assert isinstance(puts[0], Put)
    value = puts[0].values[0]
    is_read = any(value in s.outs and isinstance(s.exp, Index) for s in statements(exp.body))
    return Sites((*exp.sizes, *sizes), value, is_read)


def _puts(stm: Let, var: Var) -> bool:
    return isinstance(stm.exp, Put) and stm.exp.targets[0] is var


def _sizes_down(body: Body, var: Var, inside: set[Var]) -> tuple[Atom, ...] | None:
    inside = inside | {v for s in body.stms for v in (*s.outs, *binders_of(s.exp))}
    for stm in body.stms:
        if _puts(stm, var):
            return ()
        if not any(_puts(s, var) for b in bodies_of(stm.exp) for s in statements(b)):
            continue
        match stm.exp:
            case Each(_, sizes, _, inner):
                below = _sizes_down(inner, var, inside)
                return None if below is None or not inside.isdisjoint(sizes) else (*sizes, *below)
            case If(_, then, orelse):
                arms = (_sizes_down(arm, var, inside) for arm in (then, orelse))
                return next((a for a in arms if a is not None), None)
            case _:
                return None
    return None


Instead = Callable[[Put, tuple[Var, ...]], list[Let]]


def with_put(
    body: Body, var: Var, counters: tuple[Var, ...], make: Instead,
    own: frozenset[Var] = frozenset(),
) -> Body:  # fmt: skip
    """`body` with `make` instead of the Put to `var`, and no Put to what else is bound outside."""
    stms: list[Let] = []
    for stm in body.stms:
        exp = stm.exp
        if isinstance(exp, Put):
            if exp.targets[0] is var:
                stms += make(exp, counters)
            elif exp.targets[0] in own:
                stms.append(stm)
            continue
        here, mine = counters, own
        if isinstance(exp, Each):
            here = (*counters, *exp.vars)
            mine = own.union(v for acc in exp.accs for v in acc.vars)

        def inner(b: Body, here: tuple[Var, ...] = here, mine: frozenset[Var] = mine) -> Body:
            return with_put(b, var, here, make, mine)

        stms.append(replace(stm, exp=map_bodies(exp, inner)))
    return Body(tuple(stms), body.results)


# Operators ----------------------------------------------------------------------------------------


def extreme(op: str, dtype: DType) -> Monoid:
    """min or max of values that carry their places: NaN wins, then the better value, then the one
    that comes first."""
    l, r = (Var(Scalar(dtype), hint) for hint in ("l", "r"))
    at_l, at_r = (Var(INDEX, hint) for hint in ("l_at", "r_at"))
    b = Builder()
    with b.scope():
        better = b.prim("lt", l, r) if op == "max" else b.prim("lt", r, l)
        l_nan, r_nan = b.prim("ne", l, l), b.prim("ne", r, r)
        tie = b.prim("or", b.prim("eq", l, r), b.prim("and", l_nan, r_nan))
        first = b.prim("and", tie, b.prim("lt", at_r, at_l))
        only = b.prim("and", r_nan, b.prim("not", l_nan))
        wins = b.prim("or", b.prim("or", better, only), first)
        body = b.body((b.prim("select", wins, r, l), b.prim("select", wins, at_r, at_l)))
    worst = Const(float("inf") if op == "min" else float("-inf"), dtype)
    return Monoid((l, at_l), (r, at_r), body, (worst, NOWHERE), commutative=True)


def selection(monoid: Monoid) -> Monoid | None:
    """An operator c ? left : right with a place that goes with the operands, or None if it is of
    another kind."""
    if any(v.is_array for v in monoid.left):
        return None
    defs = {o: s.exp for s in monoid.body.stms for o in s.outs}
    found: set[tuple[Atom, bool]] = set()
    for left, right, result in zip(monoid.left, monoid.right, monoid.body.results, strict=True):
        match defs.get(result) if isinstance(result, Var) else None:
            case Prim("select", (cond, a, b)) if {a, b} == {left, right}:
                found.add((cond, a is left))
            case _:
                return None
    if len(found) != 1:
        return None
    ((cond, keeps_left),) = found
    at_l, at_r, at = (Var(INDEX, hint) for hint in ("l_at", "r_at", "at"))
    pair = (at_l, at_r) if keeps_left else (at_r, at_l)
    stms = (*monoid.body.stms, Let((at,), Prim("select", (cond, *pair))))
    lefts, rights = (*monoid.left, at_l), (*monoid.right, at_r)
    names = {v: v.fresh() for v in (*lefts, *rights)}
    return Monoid(
        tuple(names[v] for v in lefts), tuple(names[v] for v in rights),
        refresh(Body(stms, (*monoid.body.results, at)), names), (*monoid.neutral, NOWHERE),
        monoid.commutative,
    )  # fmt: skip
