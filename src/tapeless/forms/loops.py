"""each and loop: what they iterate over in plain Python."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

REVERSE = ("auto", "store", "checkpoint", "recompute", "invert")


def each(*bounds: int) -> range:
    """range(*bounds), whose iterations the program promises to be independent of each other.

    >>> list(each(3)), list(each(1, 6, 2))
    ([0, 1, 2], [1, 3, 5])
    """
    return range(*bounds)


def loop(
    it: int | Iterable[Any], *, reverse: str = "auto", slots: int | None = None,
    levels: int | None = None, memory: int | None = None,
) -> Iterable[Any]:  # fmt: skip
    """A sequential loop over `it` (an int n stands for range(n)), and how its past is had again
    when it is differentiated.

    `reverse`: "auto", "store", "checkpoint", "recompute" or "invert". `slots` (Revolve) and
    `levels` (strip-mining) are for checkpointing, `memory` bounds its bytes.

    >>> sum(t * t for t in loop(4, reverse="checkpoint", slots=2))
    14
    """
    if reverse not in REVERSE:
        raise ValueError(f"loop: reverse must be one of {', '.join(REVERSE)}, not {reverse!r}")
    for name, value in (("slots", slots), ("levels", levels), ("memory", memory)):
        _positive(name, value)
    if slots is not None and levels is not None:
        raise ValueError("loop: give slots or levels, not both")
    if reverse not in ("auto", "checkpoint") and (slots is not None or levels is not None):
        raise ValueError(f"loop: slots and levels are for reverse='checkpoint', not {reverse!r}")
    if isinstance(it, Iterable):
        return it
    return range(operator.index(it))


def _positive(name: str, value: int | None) -> None:
    if value is None:
        return
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"loop: {name} must be an int, not {type(value).__name__}") from None
    if number < 1:
        raise ValueError(f"loop: {name} must be at least 1, not {number}")
