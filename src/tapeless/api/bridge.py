"""What systems with derivatives of their own need of a function: its arguments in order, and its
derivatives as functions again, so that they can be differentiated in turn."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tapeless.api.operations import pull, push

Function = Callable[..., Any]


def in_order(
    f: Function, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call: by position where `f` has a position for them, else by name."""
    if not kwargs:
        return args, kwargs
    bound = inspect.signature(f).bind(*args, **kwargs)
    return bound.args, bound.kwargs


def called(f: Any) -> str:
    """The function in the user's words."""
    name = getattr(f, "__name__", type(f).__name__)
    return "the lambda" if name == "<lambda>" else str(name)


def names_of(f: Function, count: int) -> list[str]:
    """What the positional arguments of a call with `count` of them are called."""
    try:
        known = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):  # a builtin function
        known = []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [p.name for p in known if p.kind in kinds]
    return names[:count] + [f"argument {k}" for k in range(len(names), count)]


def pulled(f: Function, picks: tuple[int, ...]) -> Function:
    """(ȳ, *args) ↦ f'(args)ᵀ·ȳ by the arguments `picks`, a tuple."""

    def cotangents(seed: Any, *args: Any, **kwargs: Any) -> Any:
        return pull(f, picks, seed, *args, **kwargs)[1]

    return cotangents


def pushed(f: Function, picks: tuple[int, ...]) -> Function:
    """(ẋ, *args) ↦ f'(args)·ẋ for tangents of the arguments `picks`, a tuple."""

    def tangent(dots: Any, *args: Any, **kwargs: Any) -> Any:
        return push(f, picks, dots, *args, **kwargs)[1]

    return tangent
