"""What a program goes through before it is differentiated: constructs without a rule of their own
become others that have one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tapeless.ad.folds import elements_apart, folds_as_loops, folds_as_nests
from tapeless.ad.increments import assignments_as_sums
from tapeless.ad.products import products_by_zeros
from tapeless.ad.sequential import combining_as_loops, zero_of
from tapeless.ad.views import views_as_arrays
from tapeless.core.names import Const, Var
from tapeless.core.types import DType, Scalar
from tapeless.ir.build import Builder
from tapeless.ir.syntax import (
    Acc,
    Body,
    Each,
    If,
    Iverson,
    Let,
    Monoid,
    Prim,
)  # fmt: skip
from tapeless.ir.walk import map_bodies

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


REVERSE: tuple[Rule, ...] = (
    views_as_arrays, brackets_as_branches, assignments_as_sums, folds_as_nests,
    combining_as_loops, products_by_zeros, elements_apart, folds_as_loops,
)  # fmt: skip
