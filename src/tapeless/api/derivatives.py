"""Derivatives of functions: programs of the language on a few operations of the compiler.

`pull` moves cotangents back through a function, `push` moves tangents forward; `leaves`, `like` and
`tabulate` take trees apart and put them together. All else is written with them, in the language
itself, and compiled where it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapeless.api.derived import derived, with_default
from tapeless.api.operations import batch, columns, leaves, like, pull, push, rows, tabulate, value

Function = Callable[..., Any]
Argnums = int | tuple[int, ...]


def value_and_grad(f: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """A function that gives the value of `f` and its gradient by the arguments at `argnums`.

    >>> def loss(w, x):
    ...     return np.sum((w * x - 1.0) ** 2)
    >>> value_and_grad(loss)(np.array([1.0, 2.0]), np.array([3.0, 1.0]))
    (np.float64(5.0), array([12.,  2.]))

    With `has_aux`, `f` gives (value, aux), and the result is ((value, aux), gradient)."""

    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        return pull(f, argnums, "first" if has_aux else "value", *args, **kwargs)

    return derived(f, "value_and_grad", value_and_gradient)


def grad(f: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """A function that gives the gradient of `f` by the arguments at `argnums`, in their structure.

    `f` gives one real number. Integers among the arguments get None. The gradient by a complex
    number is ∂/∂Re + i·∂/∂Im.

    >>> grad(lambda x: x**3)(2.0)
    np.float64(12.0)
    >>> grad(lambda p, x: p["a"] * x, argnums=(0, 1))({"a": 2.0, "n": 1}, 5.0)
    ({'a': np.float64(5.0), 'n': None}, np.float64(2.0))

    With `has_aux`, `f` gives (value, aux), and the result is (gradient, aux)."""

    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, bars = pull(f, argnums, "first" if has_aux else "value", *args, **kwargs)
        return (bars, value[1]) if has_aux else bars

    return derived(f, "grad", gradient)


def jvp(f: Function, primals: Any, tangents: Any) -> Any:
    """(f(*primals), its derivative along `tangents`); None stands for a tangent of zeros.

    >>> jvp(lambda x, y: x * y, (2.0, 3.0), (1.0, None))
    (np.float64(6.0), np.float64(3.0))
    """
    if not isinstance(primals, (tuple, list)):
        raise TypeError("jvp takes a tuple of primals and a tuple of tangents: jvp(f, (x,), (dx,))")
    return push(f, tuple(range(len(primals))), tangents, *primals)


def hvp(f: Function, primals: Any, tangents: Any) -> Any:
    """The second derivative of `f`, which gives one number, applied to `tangents`: forward mode
    over reverse mode. One value for one primal, a tuple for several.

    >>> hvp(lambda x: np.sum(x**3), (np.array([1.0, 2.0]),), (np.array([1.0, 0.0]),))
    array([6., 0.])
    """
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError("hvp takes a tuple of primals and a tuple of tangents: hvp(f, (x,), (v,))")

    def gradient(*xs: Any) -> Any:
        return pull(f, tuple(range(len(primals))), "value", *xs)[1]

    products = jvp(gradient, primals, tangents)[1]
    return products[0] if len(primals) == 1 else products


# Jacobians --------------------------------------------------------------------------------------


def jacfwd(f: Function, argnums: Argnums = 0) -> Function:
    """A function that gives the Jacobian of `f`, a column at a time: ∂f/∂x in the structure of the
    result of `f`, each array in it with the axes of x behind its own.

    >>> jacfwd(lambda x: np.array([x[0] * x[1], x[0]]))(np.array([2.0, 3.0]))
    array([[3., 2.],
           [1., 0.]])
    """

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        return _by_columns(f, argnums, args, kwargs)

    return derived(f, "jacfwd", jacobian)


def jacrev(f: Function, argnums: Argnums = 0) -> Function:
    """The Jacobian of `f` as `jacfwd` gives it, a row at a time.

    >>> jacrev(lambda x: np.sum(x**2))(np.array([2.0, 3.0]))
    array([4., 6.])
    """

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        return _by_rows(f, argnums, args, kwargs)

    return derived(f, "jacrev", jacobian)


def jacobian(f: Function, argnums: Argnums = 0) -> Function:
    """The Jacobian of `f`: by columns if the arguments have at most as many numbers as the result,
    else by rows. What is not known at compile time is decided at run time.

    >>> jacobian(lambda x: x**2)(np.array([2.0, 3.0]))
    array([[4., 0.],
           [0., 6.]])
    """

    def either(*args: Any, **kwargs: Any) -> Any:
        picks = argnums if isinstance(argnums, tuple) else (argnums,)
        width = _numbers(tuple([args[k] for k in picks]))
        if width <= _numbers(value(f, *args, **kwargs)):
            return _by_columns(f, argnums, args, kwargs)
        return _by_rows(f, argnums, args, kwargs)

    return derived(f, "jacobian", either)


def hessian(f: Function, argnums: Argnums = 0) -> Function:
    """The second derivative of `f`: the Jacobian, forward, of its Jacobian, backward.

    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([2.0, 3.0]))
    array([[6., 4.],
           [4., 0.]])
    """

    def second(*args: Any, **kwargs: Any) -> Any:
        def first(*xs: Any, **more: Any) -> Any:
            return _by_rows(f, argnums, xs, more)

        return _by_columns(first, argnums, args, kwargs)

    return derived(f, "hessian", second)


def vmap(f: Function, in_axes: Any = 0, out_axes: Any = 0) -> Function:
    """`f` over an axis of its arguments, all at once. `in_axes`: that axis of every argument, or of
    each (None: the same for all); `out_axes`: where it goes in the results. Both may be trees. What
    is left at its default, a number, is the same for all.

    >>> vmap(lambda a, b: a * b, in_axes=(0, None))(np.array([1.0, 2.0]), 3.0)
    array([3., 6.])
    """

    optional = with_default(f)

    def batched(*args: Any, **kwargs: Any) -> Any:
        return batch(f, in_axes, optional, out_axes, args, kwargs)

    return derived(f, "vmap", batched)


def _by_columns(f: Function, argnums: Argnums, args: Any, kwargs: Any) -> Any:
    picks = argnums if isinstance(argnums, tuple) else (argnums,)
    xs = tuple([args[k] for k in picks])
    found = columns(f, picks, *args, **kwargs)  # per float of the arguments: ∂y/∂x of every y
    out, blocks = _columns(f, picks, xs, args, kwargs) if found is None else found
    table: Any = ()
    for i, y in enumerate(leaves(out)):
        blocks_of_y = [_wide(b[i], x, y) for b, x in zip(blocks, leaves(xs), strict=True)]
        row = like(xs, tuple(blocks_of_y))
        table += (row if isinstance(argnums, tuple) else row[0],)
    return like(out, table)


def _by_rows(f: Function, argnums: Argnums, args: Any, kwargs: Any) -> Any:
    picks = argnums if isinstance(argnums, tuple) else (argnums,)
    xs = tuple([args[k] for k in picks])
    found = rows(f, picks, *args, **kwargs)  # per float of the result: ∂y/∂x of every x
    out, blocks = _rows(f, picks, args, kwargs) if found is None else found
    table: Any = ()
    for y, block in zip(leaves(out), blocks, strict=True):
        blocks_of_y = [_wide(b, x, y) for b, x in zip(block, leaves(xs), strict=True)]
        row = like(xs, tuple(blocks_of_y))
        table += (row if isinstance(argnums, tuple) else row[0],)
    return like(out, table)


def _columns(f: Function, picks: Any, xs: Any, args: Any, kwargs: Any) -> Any:
    """What `columns` gives, for any number of directions: one after the other."""
    blocks: Any = ()
    for j, x in enumerate(leaves(xs)):

        def along(step: Any, j: int = j) -> Any:
            return leaves(push(f, picks, like(xs, _only(xs, j, step)), *args, **kwargs)[1])

        blocks += (_blocks_along(along, x),)
    return value(f, *args, **kwargs), blocks


def _rows(f: Function, picks: Any, args: Any, kwargs: Any) -> Any:
    """What `rows` gives, for any number of directions: one after the other."""
    out = value(f, *args, **kwargs)
    blocks: Any = ()
    for i, y in enumerate(leaves(out)):

        def back(seed: Any, i: int = i) -> Any:
            return leaves(pull(f, picks, like(out, _only(out, i, seed)), *args, **kwargs)[1])

        blocks += (_blocks_back(back, y),)
    return out, blocks


def _blocks_along(along: Function, x: Any) -> Any:
    """The blocks ∂y/∂x for every y, whose tangents along a step of x `along` gives."""
    if np.iscomplexobj(x):
        return tuple([a + 1j * b for a, b in zip(_real_columns(along, x), _real_columns(
            lambda step: along(1j * step), x), strict=True)])  # fmt: skip
    return _real_columns(along, x)


def _real_columns(along: Function, x: Any) -> Any:
    if np.ndim(x) == 0:
        return along(np.ones_like(x)[()])
    tables = tabulate(np.size(x), lambda k: along(_unit(x, k)))
    return tuple([
        np.moveaxis(t, 0, -1).reshape((*np.shape(t)[1:], *np.shape(x))) for t in tables
    ])  # fmt: skip


def _blocks_back(back: Function, y: Any) -> Any:
    """The blocks ∂y/∂x for every x, whose cotangents for a seed of y `back` gives."""
    if np.iscomplexobj(y):
        return tuple([a + 1j * b for a, b in zip(_real_rows(back, y), _real_rows(
            lambda seed: back(1j * seed), y), strict=True)])  # fmt: skip
    return _real_rows(back, y)


def _real_rows(back: Function, y: Any) -> Any:
    if np.ndim(y) == 0:
        return back(np.ones_like(y)[()])
    tables = tabulate(np.size(y), lambda k: back(_unit(y, k)))
    return tuple([t.reshape((*np.shape(y), *np.shape(t)[1:])) for t in tables])


def _wide(block: Any, x: Any, y: Any) -> Any:
    """A block ∂y/∂x in the element type that holds both."""
    dtype = np.result_type(x, y)
    return block if block.dtype == dtype else block.astype(dtype)


def _unit(x: Any, k: Any) -> Any:
    """Zeros like x with a one at the k-th place in row-major order."""
    flat = np.zeros(np.size(x), x.dtype)
    flat[k] = 1.0
    return flat.reshape(np.shape(x))


def _only(tree: Any, j: int, value: Any) -> Any:
    """`value` for the j-th float of a tree, None for all others."""
    return (None,) * j + (value,) + (None,) * (len(leaves(tree)) - j - 1)


def _numbers(tree: Any) -> Any:
    """How many floats there are in a tree."""
    count = 0
    for leaf in leaves(tree):
        count += np.size(leaf)
    return count
