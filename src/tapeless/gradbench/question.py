"""What a file in `programs/` offers: functions that can be asked for by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


def as_json(result: Any) -> Any:
    """Trees of arrays and numbers as lists, objects and numbers."""
    if isinstance(result, dict):
        return {name: as_json(part) for name, part in result.items()}
    if isinstance(result, tuple | list):
        return [as_json(part) for part in result]
    return result.tolist() if isinstance(result, np.ndarray | np.generic) else result


@dataclass(frozen=True)
class Question:
    """A compiled program, and how its result is told."""

    run: Callable[..., Any]
    tell: Callable[[Any], Any] = as_json


@dataclass(frozen=True)
class Module:
    """Questions about one input: `arguments` makes from it what all the programs take."""

    arguments: Callable[[Any], tuple[Any, ...]]
    questions: Mapping[str, Question]
