"""Values that a choice may leave unused, whose derivative may not be finite.

    t = √x, kept in an array;  y = select(x > 0, t, 0)

Where x = 0 the cotangent of t is 0, since the other side is chosen, and 0·∞ is no number: such a
product counts as 0. What is used on one side only and not kept is computed there (`ad.sink`).
"""

from __future__ import annotations

from collections.abc import Iterator

from tapeless.ad.sink import CHOICES, PRODUCTS, TAME
from tapeless.analysis.activity import Dependence
from tapeless.core.names import Atom, Const, Var
from tapeless.ir.build import Builder
from tapeless.ir.syntax import Body, If, Iverson, Prim
from tapeless.ir.walk import bodies_of, free_vars, statements

# Finite derivatives for all finite operands, and no infinite values.
CALM = TAME | PRODUCTS | {"sin", "cos", "tanh", "atan", "erf", "erfc", "asinh"}


def before_choices(body: Body) -> set[Var]:
    """For reverse mode: results of statements that a choice may leave unused."""
    left = Dependence(body).useful(_operands(body))
    return {out for out in _singular(body) if out in left}


def after_choices(body: Body) -> set[Var]:
    """For forward mode: results computed from what a choice gives, which may be a constant."""
    given = (o for s in statements(body) if _chooses(s.exp) for o in s.outs)
    reached = Dependence(body).varied(given)
    return {out for out in _singular(body) if out in reached}


def _chooses(exp: object) -> bool:
    return isinstance(exp, If | Iverson) or (isinstance(exp, Prim) and exp.op in CHOICES)


def _operands(body: Body) -> Iterator[Var]:
    """What is used on one side of a choice."""
    for stm in statements(body):
        match stm.exp:
            case Prim(op, args) if op in CHOICES:
                yield from (a for a in args if isinstance(a, Var))
            case If() | Iverson():
                for arm in bodies_of(stm.exp):
                    yield from free_vars(arm)


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
