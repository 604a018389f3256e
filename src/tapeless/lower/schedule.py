"""How each parallel nest runs."""

from __future__ import annotations

from tapeless.ir.syntax import Fun
from tapeless.lower.plan import Plans


def schedule(fun: Fun, *, parallel: bool) -> Plans:
    """Plans for the nests of `fun`; `parallel` allows threads."""
    return Plans()
