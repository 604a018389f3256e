"""What scheduling decides about a parallel nest; lowering carries it out."""

from __future__ import annotations

from dataclasses import dataclass

from tapeless.core.names import Atom
from tapeless.ir.syntax import Each, Fold, Scan
from tapeless.loop.syntax import SEQ

Nest = Each | Fold | Scan


@dataclass(frozen=True, slots=True)
class Plan:
    """`order`: dimensions of the box from outer to inner; `kinds`: how each of them runs.

    `threads`: the first dimension is shared among threads by blocks; `cost` estimates the
    operations of one of its iterations, and `inner` are the sizes of the loops within, whose
    product scales it. `private`: blocks have accumulators of their own where they would collide.
    """

    order: tuple[int, ...]
    kinds: tuple[str, ...]
    threads: bool = False
    private: bool = False
    cost: int = 1
    inner: tuple[Atom, ...] = ()


class Plans:
    """Plans of the nests of one program; a nest without one runs sequentially in written order."""

    def __init__(self) -> None:
        self._plans: dict[int, tuple[Nest, Plan]] = {}

    def set(self, nest: Nest, plan: Plan) -> None:
        self._plans[id(nest)] = (nest, plan)

    def of(self, nest: Nest) -> Plan:
        known = self._plans.get(id(nest))
        if known is not None:
            return known[1]
        rank = len(nest.sizes) if isinstance(nest, Each) else 1
        return Plan(tuple(range(rank)), (SEQ,) * rank)

    def all(self) -> list[tuple[Nest, Plan]]:
        return list(self._plans.values())
