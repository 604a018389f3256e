"""Loops whose iterations the program calls independent (`tp.each`), and that were not shown to be.

After all passes such a loop is a nest, or is checked in each run (`raising.marks`), or its
iterations share something.
"""

from __future__ import annotations

from collections.abc import Iterator

from tapeless.core.names import Loc
from tapeless.ir.syntax import Fun, Loop
from tapeless.ir.walk import statements

INDEPENDENT = "each"  # the strategy of such a loop


def may_depend(loop: Loop) -> bool:
    """Whether passes of the loop may use what others leave."""
    return loop.reverse.kind != INDEPENDENT


def races(fun: Fun) -> Iterator[tuple[Loc | None, tuple[str, ...]]]:
    """Where each loop stands, and the names that travel from one iteration to the next."""
    for stm in statements(fun.body):
        if isinstance(stm.exp, Loop) and stm.exp.reverse.kind == INDEPENDENT:
            names = (p.hint for p in stm.exp.params)
            yield stm.loc, tuple(dict.fromkeys(names))
