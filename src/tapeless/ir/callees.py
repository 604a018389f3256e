"""Foreign functions that a Call may name: signature, reference meaning, cost.

Operands are scalars, whole arrays or views; results are new arrays or scalars.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tapeless.core.names import Atom
from tapeless.core.types import Type
from tapeless.ir.syntax import View


@dataclass(frozen=True, slots=True)
class Callee:
    """`result_types` sees the operands; `meaning` maps NumPy operands to a tuple of results."""

    name: str
    result_types: Callable[[Sequence[Atom | View]], tuple[Type, ...]]
    meaning: Callable[..., tuple[Any, ...]]
    flops: Callable[..., int]


CALLEES: dict[str, Callee] = {}
