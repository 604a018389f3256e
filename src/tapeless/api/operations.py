"""The operations of the compiler that derivatives are written with.

Each has a rule in `frontend`; called from Python, it is a compiled program of its own.
"""

from __future__ import annotations

from typing import Any

from tapeless.api.jit import jit
from tapeless.api.settings import disable_jit


def value(f: Any, *args: Any, **kwargs: Any) -> Any:
    """f(*args, **kwargs), but for what it writes: the caller keeps its arrays."""
    with disable_jit(False):
        return _value(f, *args, **kwargs)


def pull(f: Any, argnums: Any, seed: Any, *args: Any, **kwargs: Any) -> Any:
    """(f(*args), f'(args)ᵀ·seed) by the arguments at `argnums`. `seed` "value": 1, for a result of
    one number; "first": 1 for the first of two results."""
    with disable_jit(False):
        return _pull(f, argnums, seed, *args, **kwargs)


def push(f: Any, argnums: Any, tangents: Any, *args: Any, **kwargs: Any) -> Any:
    """(f(*args), f'(args)·tangents) by the arguments at `argnums`."""
    with disable_jit(False):
        return _push(f, argnums, tangents, *args, **kwargs)


def columns(f: Any, argnums: Any, *args: Any, **kwargs: Any) -> Any:
    """(f(*args), per float x of the arguments at `argnums` the blocks ∂y/∂x of every float y of
    the result), if there are few numbers among the x; else None."""
    with disable_jit(False):
        return _columns(f, argnums, *args, **kwargs)


def rows(f: Any, argnums: Any, *args: Any, **kwargs: Any) -> Any:
    """(f(*args), per float y of the result the blocks ∂y/∂x of every float x of the arguments at
    `argnums`), if there are few numbers among the y and no loops in f; else None."""
    with disable_jit(False):
        return _rows(f, argnums, *args, **kwargs)


def keep(f: Any, mode: str, argnums: Any, *args: Any, **kwargs: Any) -> Any:
    """(f(*args), what the derivative of `f` there by the arguments at `argnums` reads), for a
    program that goes on from there."""
    raise TypeError("keep is an operation of compiled code")


def with_vjp(f: Any, fwd: Any, bwd: Any, *args: Any) -> Any:
    """f(*args), differentiated by `bwd` in reverse mode."""
    return f(*args)


def with_jvp(f: Any, rule: Any, *args: Any) -> Any:
    """f(*args), differentiated by `rule`."""
    return f(*args)


def leaves(tree: Any) -> Any:
    """The floats of a tree, numbers and arrays, in order."""
    with disable_jit(False):
        return _leaves(tree)


def like(tree: Any, values: Any) -> Any:
    """The tree with `values` in place of its floats, None in place of all else."""
    with disable_jit(False):
        return _like(tree, values)


def tabulate(size: Any, f: Any) -> Any:
    """f(i) for i < size, each float of it an array over i."""
    with disable_jit(False):
        return _tabulate(size, f)


def batch(f: Any, in_axes: Any, optional: Any, out_axes: Any, args: Any, kwargs: Any) -> Any:
    """f(*args, **kwargs) over an axis of every array in the arguments. `optional`: the positions
    and names of parameters that have a default, for which no axis need be given."""
    with disable_jit(False):
        return _batch(f, in_axes, optional, out_axes, args, kwargs)


@jit
def _value(f: Any, *args: Any, **kwargs: Any) -> Any:
    return value(f, *args, **kwargs)


@jit(static_argnames=("argnums",))
def _pull(f: Any, argnums: Any, seed: Any, *args: Any, **kwargs: Any) -> Any:
    return pull(f, argnums, seed, *args, **kwargs)


@jit(static_argnames=("argnums",))
def _push(f: Any, argnums: Any, tangents: Any, *args: Any, **kwargs: Any) -> Any:
    return push(f, argnums, tangents, *args, **kwargs)


@jit(static_argnames=("argnums",))
def _columns(f: Any, argnums: Any, *args: Any, **kwargs: Any) -> Any:
    return columns(f, argnums, *args, **kwargs)


@jit(static_argnames=("argnums",))
def _rows(f: Any, argnums: Any, *args: Any, **kwargs: Any) -> Any:
    return rows(f, argnums, *args, **kwargs)


@jit
def _leaves(tree: Any) -> Any:
    return leaves(tree)


@jit
def _like(tree: Any, values: Any) -> Any:
    return like(tree, values)


@jit
def _tabulate(size: Any, f: Any) -> Any:
    return tabulate(size, f)


@jit(static_argnames=("in_axes", "optional", "out_axes"))
def _batch(f: Any, in_axes: Any, optional: Any, out_axes: Any, args: Any, kwargs: Any) -> Any:
    return batch(f, in_axes, optional, out_axes, args, kwargs)
