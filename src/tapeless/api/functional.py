"""`functional`: a function that writes its arguments, as one that does not."""

from __future__ import annotations

import copy
import functools
import inspect
import types
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from tapeless.api.jit import Jitted, jit
from tapeless.api.paths import reader
from tapeless.api.settings import is_disabled
from tapeless.errors import TapelessError
from tapeless.frontend.array_protocols import as_array


def functional(f: Callable[..., Any]) -> Callable[..., tuple[Any, dict[str, Any]]]:
    """The pure version of a function that writes its arguments.

    `result, written = functional(f)(*args)`: the caller's arrays keep their contents; `written`
    maps the name of each parameter that `f` writes to what it would hold afterwards. It may be
    differentiated, and used in compiled code.

    >>> def scale(x, by):
    ...     x *= by
    >>> functional(scale)(np.array([1.0, 2.0]), 3.0)
    (None, {'x': array([3., 6.])})
    """
    compiled: Any = f if isinstance(f, Jitted) else jit(f)
    plain: Any = compiled.__func__ if isinstance(compiled, types.MethodType) else compiled

    @functools.wraps(plain.python)
    def pure(*args: Any, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        return call_pure(compiled, args, kwargs)

    pure.__signature__ = inspect.signature(f)  # type: ignore[attr-defined]  # a function has it
    return pure


def call_pure(compiled: Any, args: Any, kwargs: Any) -> tuple[Any, dict[str, Any]]:
    """(result, written) of a call; `frontend` has its meaning in compiled code."""
    owner: tuple[Any, ...] = ()
    if isinstance(compiled, types.MethodType):
        compiled, owner = compiled.__func__, (compiled.__self__,)
    arguments = compiled.bind((*owner, *args), kwargs)
    try:
        program = compiled.store.find(compiled.python, arguments, compiled.signature(arguments))
        for path in program.plan.written:
            value = reader(path)(compiled.python, arguments)
            fresh = np.array(as_array(value), order="K")
            arguments = with_leaf(arguments, (("item", path.root.key), *path.steps), fresh)
        result = (
            call_python(compiled, arguments)
            if is_disabled() else program(compiled.python, arguments)
        )  # fmt: skip
    except TapelessError as error:
        raise error.with_traceback(None) from None
    return result, {p.root.key: arguments[p.root.key] for p in program.plan.written}


def call_python(compiled: Jitted, arguments: dict[str, Any]) -> Any:
    """The plain function on arguments by name."""
    bound = compiled.bind.signature.bind_partial()
    bound.arguments.update(arguments)
    return compiled.python(*bound.args, **bound.kwargs)


def with_leaf(tree: Any, steps: tuple[tuple[str, Hashable], ...], leaf: Any) -> Any:
    """A copy of a tree, as shallow as can be, with another leaf at the end of `steps`."""
    if not steps:
        return leaf
    (kind, key), *rest = steps
    if kind == "attr":
        assert isinstance(key, str)
        changed = with_leaf(getattr(tree, key), tuple(rest), leaf)
        if hasattr(tree, "_replace") and key in getattr(tree, "_fields", ()):
            return tree._replace(**{key: changed})
        made = copy.copy(tree)
        object.__setattr__(made, key, changed)
        return made
    changed = with_leaf(tree[key], tuple(rest), leaf)
    if isinstance(tree, tuple):
        items = [*tree]
        assert isinstance(key, int)
        items[key] = changed
        return tuple.__new__(type(tree), items)
    made = copy.copy(tree)
    made[key] = changed
    return made
