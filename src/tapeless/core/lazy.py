"""Modules that are costly to import are loaded when they are first used."""

from __future__ import annotations

import importlib
from typing import Any


class Lazy:
    """Stands for the module `name`, which is imported at the first access to an attribute."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(importlib.import_module(self._name), attribute)
        setattr(self, attribute, value)
        return value
