"""What it costs to run a body once more: the measure of which work may be repeated."""

from __future__ import annotations

from tapeless.core.prims import MATH
from tapeless.ir.syntax import Body, Index, Prim
from tapeless.ir.walk import statements

SLOW = MATH | {"div", "sqrt", "pow", "floordiv", "mod", "fmod", "cbrt"}
MANY = 1000


def cost(body: Body) -> int:
    """Rough cost of one run: loads and float operators count; constructs within are never cheap."""
    total = 0
    for stm in body.stms:
        match stm.exp:
            case Prim(op, args):
                total += 8 if op in SLOW else args[-1].dtype.is_float
            case Index():
                total += 1
            case _:
                return MANY
    return total


def length(body: Body) -> int:
    return sum(1 for _ in statements(body))
