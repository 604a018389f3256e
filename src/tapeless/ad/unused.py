"""Values that a choice may leave unused, whose derivative may not be finite.

    t = √x, kept in an array;  y = select(x > 0, t, 0)

Where x = 0 the cotangent of t is 0, since the other side is chosen, and 0·∞ is no number: such a
product counts as 0. What is used on one side only and not kept is computed there (`ad.sink`).
"""

from __future__ import annotations

from collections.abc import Iterator

from tapeless.ad.sink import PRODUCTS, TAME
from tapeless.analysis.activity import Dependence
from tapeless.core.names import Atom, Const, Var
from tapeless.ir.build import Builder
from tapeless.ir.syntax import Body, If, Iverson, Let, Prim
from tapeless.ir.walk import bodies_of, free_vars, statements

# Finite derivatives for all finite operands, and no infinite values.
CALM = TAME | PRODUCTS | {"sin", "cos", "tanh", "atan", "erf", "erfc", "asinh"}


def before_choices(body: Body) -> set[Var]:
    """For reverse mode: results of statements that a choice may leave unused."""
    left = Dependence(body).useful(_operands(body))
    return {out for out in _singular(body) if out in left}


def after_choices(body: Body, varied: set[Var]) -> set[Var]:
    """For forward mode: results computed from what a choice gives that has a constant side."""
    given = (o for s in statements(body) for o in _sometimes_constant(s, varied))
    reached = Dependence(body).varied(given)
    return {out for out in _singular(body) if out in reached}


def _sometimes_constant(stm: Let, varied: set[Var]) -> Iterator[Var]:
    sides: tuple[tuple[Atom, ...], ...]
    match stm.exp:
        case Prim("select", (_, a, b)) | Prim("min" | "max", (a, b)):
            sides = ((a,), (b,))
        case If(_, then, orelse):
            sides = (then.results, orelse.results)
        case Iverson():
            yield from stm.outs
            return
        case _:
            return
    for out, *each in zip(stm.outs, *sides, strict=True):
        if any(x not in varied for x in each):
            yield out


def _operands(body: Body) -> Iterator[Var]:
    """What is used on one side of a choice only."""
    for stm in statements(body):
        match stm.exp:
            case Prim("select", (_, a, b)) | Prim("min" | "max", (a, b)):
                yield from {x for x in (a, b) if isinstance(x, Var)}
            case If(_, then, orelse):
                yield from free_vars(then).keys() ^ free_vars(orelse).keys()
            case Iverson(_, inside):
                yield from free_vars(inside)


def _singular(body: Body) -> Iterator[Var]:
    """Results of operators whose derivative may not be finite, and of products with them."""
    direct: set[Atom] = set()
    for stm in body.stms:
        if isinstance(stm.exp, Prim):
            op, args = stm.exp.op, stm.exp.args
            if op not in CALM or not direct.isdisjoint(args):
                direct.update(stm.outs)
                if op not in TAME:
                    yield from stm.outs
        for inner in bodies_of(stm.exp):
            yield from _singular(inner)


def unless_unused(b: Builder, seed: Atom, part: Atom) -> Atom:
    """`part`, a multiple of `seed`; 0 where it is no number because the seed is 0."""
    if isinstance(part, Const) or isinstance(seed, Const):
        return part
    lost = b.prim("and", b.prim("eq", seed, Const(0.0, seed.dtype)), b.prim("isnan", part))
    return b.prim("select", lost, Const(0.0, part.dtype), part)
