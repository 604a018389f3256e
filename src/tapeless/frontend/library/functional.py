"""functools: reduce."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tapeless.frontend.intrinsics import static
from tapeless.frontend.library.registry import implements

NOTHING = ("no initial value",)


@implements(functools.reduce)
def reduce(function: Callable[[Any, Any], Any], sequence: Any, initial: Any = NOTHING, /) -> Any:
    if static(initial is NOTHING):
        out = sequence[0]
        for item in sequence[1:]:
            out = function(out, item)
        return out
    out = initial
    for item in sequence:
        out = function(out, item)
    return out
