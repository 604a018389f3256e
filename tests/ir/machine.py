"""A Core program as machine code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapeless import pipeline
from tapeless.ir.syntax import Fun
from tapeless.runtime.kernel import Kernel
from tapeless.runtime.machine import load


def compiled(fun: Fun) -> Callable[..., tuple[Any, ...]]:
    """`fun` as a function of its parameters: results and final contents of what it writes."""
    arrays = [p for p in fun.params if p.is_array]
    type, code = pipeline.compile(fun, "C" * len(arrays))
    kernel = Kernel(type, load(code))

    def call(*args: Any) -> tuple[Any, ...]:
        flat = [np.array(a) if p.is_array else a for p, a in zip(fun.params, args, strict=True)]
        results = kernel(*flat)
        by_name = dict(zip(fun.params, flat, strict=True))
        return (*results, *(by_name[w] for w in fun.writes))

    return call
