"""Choices between values that were both computed: the way back takes only one of them.

    y = c ? √x : 0   has  x̄ = c ? ȳ/(2√x) : 0,   not  (c ? ȳ : 0)/(2√x), which is 0/0 at x = 0

So what is computed for one side alone, by steps whose slopes may be infinite, moves into an arm.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from tapeless.core.names import Atom, Var
from tapeless.core.prims import CASTS
from tapeless.ir.syntax import Body, If, Let, Prim
from tapeless.ir.walk import map_bodies, uses

# Operators whose slope times 0 is 0, as long as their operands are finite.
GENTLE = frozenset({
    "add", "sub", "mul", "neg", "abs", "min", "max", "fma", "select", "sin", "cos", "tanh", "sign",
    "floor", "ceil", "trunc", "rint", "erf", "erfc", "atan", "asinh", "copysign", "mod", "fmod",
})  # fmt: skip


def choices_as_branches(body: Body) -> Body:
    """c ? a : b  becomes  if c { …; a } else { …; b }  where a side has steep steps of its own."""
    stms = [replace(s, exp=map_bodies(s.exp, choices_as_branches)) for s in body.stms]
    k = len(stms) - 1
    while k >= 0:
        stm = stms[k]
        match stm.exp:
            case Prim("select", (cond, a, b)) if stm.outs[0].dtype.is_float:
                counts = Counter(uses(Body(tuple(stms), body.results)))
                sides = [cone(stms[:k], a, counts), cone(stms[:k], b, counts)]
                if any(map(is_steep, sides)):
                    arms = (Body(tuple(s), (r,)) for s, r in zip(sides, (a, b), strict=True))
                    stms[k] = Let(stm.outs, If(cond, *arms), stm.loc)
                    moved = {id(s) for side in sides for s in side}
                    stms = [s for s in stms if id(s) not in moved]
                    k -= len(moved)
        k -= 1
    return Body(tuple(stms), body.results)


def cone(stms: Sequence[Let], root: Atom, counts: Counter[Atom]) -> list[Let]:
    """The scalar steps that are made for `root` alone, which is used once."""
    left: Counter[Atom] = Counter([root])
    found: list[Let] = []
    for stm in reversed(stms):
        if isinstance(stm.exp, Prim) and left[stm.outs[0]] == counts[stm.outs[0]] > 0:
            found.append(stm)
            left.update(a for a in stm.exp.args if isinstance(a, Var))
    return found[::-1]


def is_steep(side: Sequence[Let]) -> bool:
    steps = [s.exp.op for s in side if isinstance(s.exp, Prim) and s.outs[0].dtype.is_float]
    return any(op not in GENTLE and op not in CASTS for op in steps)
