"""Derivatives of functions: programs of the language that call two operations of the compiler.

`pull` moves cotangents back through a function, `push` moves tangents forward. All else here is
written with them, in the language itself, and is compiled where it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapeless.api.jit import jit
from tapeless.api.settings import disable_jit


def pull(f: Any, argnums: Any, seed: Any, *args: Any, **kwargs: Any) -> Any:
    """(f(*args), f'(args)ᵀ·seed); `seed` None: 1, for a result, or a first one, of one number."""
    with disable_jit(False):
        return _compiled_pull(f, argnums, seed, *args, **kwargs)


def push(f: Any, primals: Any, tangents: Any, **kwargs: Any) -> Any:
    """(f(*primals), f'(primals)·tangents)."""
    with disable_jit(False):
        return _compiled_push(f, primals, tangents, **kwargs)


@jit(static_argnames=("f", "argnums"))
def _compiled_pull(f: Any, argnums: Any, seed: Any, *args: Any, **kwargs: Any) -> Any:
    return pull(f, argnums, seed, *args, **kwargs)


@jit(static_argnames=("f",))
def _compiled_push(f: Any, primals: Any, tangents: Any, **kwargs: Any) -> Any:
    return push(f, primals, tangents, **kwargs)


def value_and_grad(
    f: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that gives the value of `f` and its gradient by the arguments at `argnums`.

    With `has_aux`, `f` gives (value, aux), and the result is ((value, aux), gradient)."""

    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        return pull(f, argnums, None, *args, **kwargs)

    return compiled(value_and_gradient)


def grad(
    f: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that gives the gradient of `f` by the arguments at `argnums`.

    With `has_aux`, `f` gives (value, aux), and the result is (gradient, aux)."""

    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, bars = pull(f, argnums, None, *args, **kwargs)
        return (bars, value[1]) if has_aux else bars

    return compiled(gradient)


def jvp(f: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
    """(f(*primals), its derivative along `tangents`)."""
    return push(f, primals, tangents)


def jacfwd(f: Callable[..., Any], argnums: int = 0) -> Callable[..., Any]:
    """The Jacobian of `f` by an array argument, one tangent per element of it."""

    def jacobian(*args: Any) -> Any:
        x = args[argnums]

        def of_x(value: Any) -> Any:
            return f(*args[:argnums], value, *args[argnums + 1 :])

        def along(k: int) -> Any:
            step = np.zeros(x.size)
            step[k] = 1.0
            return push(of_x, (x,), (step.reshape(x.shape),))[1]

        columns = np.array([along(k) for k in range(x.size)])
        return np.moveaxis(columns, 0, -1).reshape((*columns.shape[1:], *x.shape))

    return compiled(jacobian)


def compiled(f: Callable[..., Any]) -> Callable[..., Any]:
    made: Callable[..., Any] = jit(f)
    return made
