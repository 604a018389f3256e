"""What a program goes through before it is differentiated: constructs without a rule of their own
become others that have one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tapeless.ad.increments import assignments_as_sums
from tapeless.ad.products import products_by_zeros
from tapeless.ad.selections import selection
from tapeless.ad.sequential import combining_as_loops, stored, zero_of
from tapeless.ad.views import views_as_arrays
from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import DType, Scalar
from tapeless.ir.build import Builder
from tapeless.ir.syntax import (
    Acc,
    Alloc,
    Body,
    Each,
    Fold,
    For,
    If,
    Iverson,
    Let,
    Loop,
    Monoid,
    Prim,
    Put,
    Scan,
)  # fmt: skip
from tapeless.ir.types_of import atom_of
from tapeless.ir.walk import map_bodies, refresh

OPERATORS = {"*": "mul", "min": "min", "max": "max"}


Rule = Callable[[Let], list[Let]]


def for_forward(body: Body) -> Body:
    for rule in (views_as_arrays, operators_as_monoids):
        body = rewritten(body, rule)
    return body


def for_reverse(body: Body) -> Body:

    for rule in REVERSE:
        body = rewritten(body, rule)
    return body


def rewritten(body: Body, rule: Rule) -> Body:
    """`body` with every statement, inner ones first, replaced by what `rule` gives for it."""
    stms: list[Let] = []
    for stm in body.stms:
        stms += rule(replace(stm, exp=map_bodies(stm.exp, lambda b: rewritten(b, rule))))
    return Body(tuple(stms), body.results)


# Known operators ---------------------------------------------------------------------------------


def operators_as_monoids(stm: Let) -> list[Let]:
    """acc ⊙= e  becomes  acc by (l, r) ↦ l ⊙ r  for the operators ⊙ whose derivative reads values:
    products, minima and maxima of floats."""
    if isinstance(stm.exp, Each):
        return [replace(stm, exp=replace(stm.exp, accs=tuple(map(_acc, stm.exp.accs))))]
    return [stm]


def _acc(acc: Acc) -> Acc:
    dtype = acc.vars[0].dtype
    if isinstance(acc.op, Monoid) or acc.op not in OPERATORS or not dtype.is_float:
        return acc
    return replace(acc, op=monoid_of(acc.op, dtype))


def monoid_of(op: str, dtype: DType) -> Monoid:
    """A known operator as a monoid on scalars."""
    neutral = {"*": 1.0, "min": float("inf"), "max": float("-inf")}[op]
    left, right, out = (Var(Scalar(dtype), hint) for hint in ("l", "r", "lr"))
    body = Body((Let((out,), Prim(OPERATORS[op], (left, right))),), (out,))
    return Monoid((left,), (right,), body, (Const(neutral, dtype),), commutative=op == "*")


# Brackets ----------------------------------------------------------------------------------------


def brackets_as_branches(stm: Let) -> list[Let]:
    """[p]·e  becomes  e if p else 0."""
    match stm.exp:
        case Iverson(cond, body):
            b = Builder()
            with b.scope():
                zeros = tuple(zero_of(b, o.type) for o in stm.outs)
                return [replace(stm, exp=If(cond, body, b.body(zeros)))]
        case _:
            return [stm]


# Folds -------------------------------------------------------------------------------------------


def folds_as_nests(stm: Let) -> list[Let]:
    """fold i < n by ⊕ of e  becomes  each i < n with (a by ⊕) { put a <- e }  if ⊕ selects."""
    match stm.exp:
        case Fold(var, size, monoid, body) if selection(monoid) is not None:
            accs = tuple(v.fresh() for v in monoid.left)
            put = Let((), Put(accs, (), body.results, ""), stm.loc)
            nest = Body((*body.stms, put), ())
            exp = Each((var,), (size,), (Acc(accs, monoid.neutral, monoid),), nest)
            return [replace(stm, exp=exp)]
        case _:
            return [stm]


def folds_as_loops(stm: Let) -> list[Let]:
    """fold i < n by ⊕ of e  becomes  a = e⁰; for i < n: a = a ⊕ e(i); a scan stores each a."""
    match stm.exp:
        case Fold(var, size, monoid, body):
            params = tuple(v.fresh() for v in monoid.left)
            stms, results = _combined(monoid, params, body)
            loop = Loop(For(var, size), params, monoid.neutral, Body(stms, results))
            return [replace(stm, exp=loop)]
        case Scan():
            return _scan_as_loop(stm, stm.exp)
        case _:
            return [stm]


def _combined(
    monoid: Monoid, params: tuple[Var, ...], body: Body
) -> tuple[tuple[Let, ...], tuple[Atom, ...]]:
    names = dict(zip((*monoid.left, *monoid.right), (*params, *body.results), strict=True))
    step = refresh(monoid.body, names)
    return (*body.stms, *step.stms), step.results


def _scan_as_loop(stm: Let, exp: Scan) -> list[Let]:
    params = tuple(v.fresh() for v in exp.monoid.left)
    stms, results = _combined(exp.monoid, params, exp.body)
    homes = tuple(o.fresh() for o in stm.outs)
    allocs = [
        Let((h,), Alloc("empty", h.dtype, tuple(map(atom_of, h.shape))), stm.loc) for h in homes
    ]
    rows = tuple(h.fresh() for h in homes)
    news = tuple(
        Let((h.fresh(),), stored(row, (exp.var,), r), stm.loc)
        for h, row, r in zip(homes, rows, results, strict=True)
    )
    body = Body((*stms, *news), (*results, *(n.outs[0] for n in news)))
    loop = Loop(For(exp.var, exp.size), (*params, *rows), (*exp.monoid.neutral, *homes), body)
    last = tuple(v.fresh() for v in params)
    return [*allocs, Let((*last, *stm.outs), loop, stm.loc)]


REVERSE: tuple[Rule, ...] = (
    views_as_arrays, brackets_as_branches, assignments_as_sums, folds_as_nests,
    combining_as_loops, products_by_zeros, folds_as_loops,
)  # fmt: skip
