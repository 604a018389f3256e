"""Positional and keyword arguments to values by parameter name."""

from __future__ import annotations

import inspect
import types
from typing import Any

POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Binder:
    """The parameters of a Python function. Python's own words tell what does not fit."""

    def __init__(self, function: types.FunctionType) -> None:
        self.signature = inspect.signature(function, follow_wrapped=False)
        self.names = tuple(self.signature.parameters)
        kinds = [p.kind for p in self.signature.parameters.values()]
        self.is_plain = all(k in POSITIONAL for k in kinds)
        self.is_positional = inspect.Parameter.VAR_POSITIONAL not in kinds
        self.takes_any_name = inspect.Parameter.VAR_KEYWORD in kinds
        self.takes_out = "out" in self.names or self.takes_any_name
        self.name = function.__name__

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        if self.is_plain and not kwargs and len(args) == len(self.names):
            return dict(zip(self.names, args, strict=True))
        if not self.takes_any_name:
            for name in kwargs.keys() - set(self.names):
                raise TypeError(f"{self.name}: got an unexpected keyword argument {name!r}")
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.name}: {error}") from None
        bound.apply_defaults()
        return bound.arguments
