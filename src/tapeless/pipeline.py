"""The passes in their order: the table of contents of the compiler's middle."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tapeless.ir.syntax import Fun
from tapeless.ir.verify import verify as check
from tapeless.simplify import dead, forward

Pass: TypeAlias = Callable[[Fun], Fun]

PASSES: tuple[Pass, ...] = (forward.run, dead.run)


def optimise(fun: Fun, verify: bool = False) -> Fun:
    """`fun` after all passes; `verify` checks the rules of Core after each of them."""
    for step in PASSES:
        fun = step(fun)
        if verify:
            check(fun)
    return fun
