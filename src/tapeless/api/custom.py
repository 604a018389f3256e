"""Functions whose derivatives the user gives, and values that have none."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tapeless.api.operations import with_jvp, with_vjp


class custom_vjp:
    """A function with a rule of its own for reverse mode, given by `f.defvjp(fwd, bwd)`.

    `fwd` takes what `f` takes and gives (result, residuals); `bwd(residuals, cotangent)` gives a
    tuple with a cotangent per argument, None for zero. Both are functions of the language; second
    derivatives differentiate them. Forward mode is an error.

    >>> import tapeless as tp
    >>> @tp.custom_vjp
    ... def root(x):
    ...     return np.sqrt(x)
    >>> root.defvjp(lambda x: (np.sqrt(x), np.sqrt(x)), lambda r, ct: (ct / (2.0 * r),))
    >>> tp.grad(root)(4.0)
    np.float64(0.25)
    """

    def __init__(self, f: Callable[..., Any]) -> None:
        functools.update_wrapper(self, f)
        self.f = f
        self.fwd: Callable[..., Any] | None = None
        self.bwd: Callable[..., Any] | None = None

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        """Give the rule: see the class."""
        self.fwd, self.bwd = fwd, bwd

    def __call__(self, *args: Any) -> Any:
        return with_vjp(self.f, self.fwd, self.bwd, *args)


class custom_jvp:
    """A function with a rule of its own for both modes, given by `f.defjvp(rule)`.

    `rule(primals, tangents)` takes two tuples and gives (result, tangent of the result). It is
    linear in the tangents: reverse mode turns it round.

    >>> import tapeless as tp
    >>> @tp.custom_jvp
    ... def square(x):
    ...     return x * x
    >>> @square.defjvp
    ... def rule(primals, tangents):
    ...     (x,), (dx,) = primals, tangents
    ...     return square(x), 2.0 * x * dx
    >>> tp.grad(square)(3.0)
    np.float64(6.0)
    """

    def __init__(self, f: Callable[..., Any]) -> None:
        functools.update_wrapper(self, f)
        self.f = f
        self.rule: Callable[..., Any] | None = None

    def defjvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Give the rule: see the class."""
        self.rule = rule
        return rule

    def __call__(self, *args: Any) -> Any:
        return with_jvp(self.f, self.rule, *args)


def stop_gradient(x: Any) -> Any:
    """A copy of `x`, any tree, that counts as a constant where a derivative is taken.

    >>> import tapeless as tp
    >>> tp.grad(lambda x: x * tp.stop_gradient(x))(3.0)
    np.float64(3.0)
    """
    return x.copy() if isinstance(x, np.ndarray) else copy.deepcopy(x)
