"""A rule: what a call of a function outside the language means, as a function of the tracer."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tapeless.errors import CompileError, UnsupportedError
from tapeless.frontend.values import (
    Known,
    ListObj,
    Ref,
    Tup,
    Value,
)  # fmt: skip

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer


Args = Sequence[Value]


Kwargs = dict[str, Value]


Rule = Callable[[Any, Args, Kwargs], Value]


def known(t: Tracer, value: Value, what: str) -> Any:
    """The object itself; an error if it is not known at compile time."""
    if isinstance(value, Known):
        return value.value
    if isinstance(value, Tup):
        return tuple(known(t, v, what) for v in value.items)
    if isinstance(value, Ref) and isinstance(value.obj, ListObj):
        content = t.state.heap[value.obj]
        if isinstance(content, tuple):
            return [known(t, v, what) for v in content]
    raise CompileError(f"{what} must be known at compile time", t.loc,
                       "write it as a constant, or name it in static_argnames")  # fmt: skip


def no_keywords(rule: Callable[..., Value]) -> Rule:
    def checked(t: Tracer, args: Args, kwargs: Kwargs) -> Value:
        if kwargs:
            raise UnsupportedError(
                f"the argument '{next(iter(kwargs))}' is not supported here", t.loc
            )
        try:
            return rule(t, *args)
        except TypeError as error:
            if "positional argument" in str(error):
                raise CompileError("wrong number of arguments", t.loc) from None
            raise

    return checked


def simple(rule: Callable[..., Value]) -> Rule:
    """A rule whose parameters are those of the function."""
    return lambda t, args, kwargs: rule(t, *args, **kwargs)


def is_none(value: Value) -> bool:
    return isinstance(value, Known) and value.value is None


@functools.lru_cache(maxsize=512)
def _signature(function: Any) -> inspect.Signature | None:
    """How a builtin may be called, where it says so."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def check_call(t: Tracer, function: Any, args: Args, kwargs: Kwargs) -> None:
    """Refuse what Python refuses: a rule may look at fewer arguments than were given."""
    signature = _signature(function)
    if signature is not None:
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            raise CompileError(f"{function.__name__}(): {error}", t.loc) from None
    elif not args and function in (min, max, map):
        raise CompileError(f"{function.__name__}() needs an argument", t.loc)
