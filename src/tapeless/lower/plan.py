"""What scheduling decides about a parallel nest; lowering carries it out."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tapeless.core.names import Atom
from tapeless.ir.syntax import Each, Exp, Scan
from tapeless.ir.walk import Rewriter
from tapeless.loop.syntax import SEQ

Nest = Each | Scan


@dataclass(frozen=True, slots=True)
class Level:
    """One loop of a nest, over dimension `dim` of its box.

    `blocks`: the dimension is cut into blocks, which this loop counts and a later level of the
    same dimension runs through. `rows`: so many neighbouring iterations run together, statement by
    statement, so that what they have in common is done once (unroll and jam). `copies`: each block
    adds to copies of the arrays in whose cells blocks may meet.
    """

    dim: int
    kind: str = SEQ
    blocks: bool = False
    rows: int = 1
    copies: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """`levels` from outer to inner. `cost` and `inner`: operations of one cell of the box, a
    number times the product of sizes that are known outside of the nest; one that lanes do not
    share counts as eight."""

    levels: tuple[Level, ...]
    cost: int = 1
    inner: tuple[Atom, ...] = ()


class Plans:
    """Plans of the nests of one program; a nest without one runs sequentially in written order."""

    def __init__(self) -> None:
        self._plans: dict[int, tuple[Exp, Plan]] = {}

    def set(self, nest: Exp, plan: Plan) -> None:
        self._plans[id(nest)] = (nest, plan)

    def of(self, nest: Nest) -> Plan:
        known = self._plans.get(id(nest))
        if known is not None:
            return known[1]
        rank = len(nest.sizes) if isinstance(nest, Each) else 1
        return Plan(tuple(Level(d) for d in range(rank)))

    def inherit(self, new: Exp, old: Exp, names: Rewriter) -> None:
        """The plan of `old` is also that of `new`, a copy of it under new `names`."""
        known = self._plans.get(id(old))
        if known is not None:
            plan = known[1]
            self.set(new, replace(plan, inner=names.atoms(plan.inner)))
