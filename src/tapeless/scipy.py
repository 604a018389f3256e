"""SciPy's `minimize`, `least_squares` and `root` with exact derivatives, and trees as unknowns."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize

from tapeless.api.bridge import called
from tapeless.api.derivatives import hessian, hvp, jacobian, value_and_grad
from tapeless.api.jit import jit
from tapeless.api.trees import leaves_of, tree_map

Function = Callable[..., Any]
Vector = Any

WITHOUT_GRADIENT = frozenset({"nelder-mead", "powell", "cobyla", "cobyqa"})
WITH_PRODUCTS = frozenset({"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"})
WITH_HESSIAN = frozenset({"dogleg", "trust-exact"})
WITH_JACOBIAN = frozenset({"hybr", "lm"})


def minimize(
    fun: Function, x0: Any, args: tuple[Any, ...] = (), method: Any = None, **options: Any
) -> Any:
    """`scipy.optimize.minimize` with the gradient of `fun`, and with products or the whole of its
    Hessian where the method takes them; constraints get their Jacobians.

    `x0` may be a tree: its floats are the unknowns, `fun` takes such a tree, and the result's `x`
    is one. Bounds and callbacks are about the unknowns in a row."""
    refuse(fun, options, "jac", "hess", "hessp")
    unknowns = Unknowns(x0)
    name = method.lower() if isinstance(method, str) else ""
    if name in WITHOUT_GRADIENT:
        value = jit(fun)
        target: Function = lambda x, *rest: float(value(unknowns.tree(x), *rest))  # noqa: E731
    else:
        slope = value_and_grad(fun)
        options["jac"] = True

        def target(x: Vector, *rest: Any) -> tuple[float, Vector]:
            value, gradient = slope(unknowns.tree(x), *rest)
            return float(value), unknowns.flat(gradient)

    if name in WITH_PRODUCTS:
        options["hessp"] = unknowns.products(fun)
    elif name in WITH_HESSIAN:
        options["hess"] = unknowns.table(hessian(fun))
    if "constraints" in options:
        options["constraints"] = constrained(unknowns, options["constraints"])
    return unknowns.put(optimize.minimize(target, unknowns.start, args, method, **options))


def least_squares(
    fun: Function, x0: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None,
    **options: Any,
) -> Any:  # fmt: skip
    """`scipy.optimize.least_squares` with the Jacobian of `fun`, whose result, an array of any
    shape or a tree, are the residuals. `x0` may be a tree, as for `minimize`."""
    refuse(fun, options, "jac")
    unknowns, f = Unknowns(x0), functools.partial(fun, **kwargs) if kwargs else fun
    options["jac"] = unknowns.table(jacobian(f))
    return unknowns.put(
        optimize.least_squares(unknowns.values(f), unknowns.start, args=args, **options)
    )


def root(
    fun: Function, x0: Any, args: tuple[Any, ...] = (), method: str = "hybr", **options: Any
) -> Any:
    """`scipy.optimize.root` with the Jacobian of `fun` where the method takes one. `x0` may be a
    tree, as for `minimize`; so may be what `fun` gives."""
    refuse(fun, options, "jac")
    unknowns = Unknowns(x0)
    if method.lower() in WITH_JACOBIAN:
        options["jac"] = unknowns.table(jacobian(fun))
    return unknowns.put(
        optimize.root(unknowns.values(fun), unknowns.start, args, method, **options)
    )


def refuse(fun: Function, options: dict[str, Any], *names: str) -> None:
    for name in names:
        if name in options:
            raise TypeError(
                f"{called(fun)}: {name} is not needed, derivatives are exact here\n"
                f"  Remedy: leave it out, or call scipy.optimize"
            )


class Unknowns:
    """The floats of a tree as one vector, and back. Numbers in a row, and integers in an array, are
    an array of floats, as SciPy has it."""

    def __init__(self, x0: Any) -> None:
        is_row = isinstance(x0, tuple | list) and all(isinstance(x, int | float) for x in x0)
        if is_row or (isinstance(x0, np.ndarray | int) and np.asarray(x0).dtype.kind in "iu"):
            x0 = np.asarray(x0, float)
        self.like = x0
        self.is_vector = isinstance(x0, np.ndarray) and x0.shape == (x0.size,)
        self.start = self.flat(x0)

    def flat(self, tree: Any) -> Vector:
        parts = [np.ravel(leaf) for _, leaf in leaves_of(tree) if is_float(leaf)]
        return np.concatenate(parts).astype(float) if parts else np.zeros(0)

    def tree(self, x: Vector) -> Any:
        if self.is_vector:
            return np.asarray(x, self.like.dtype)
        at = 0

        def leaf(like: Any) -> Any:
            nonlocal at
            if not is_float(like):
                return like
            part = x[at : at + np.size(like)].reshape(np.shape(like))
            at += np.size(like)
            if isinstance(like, np.ndarray):
                return part.astype(like.dtype)
            return type(like)(part[()])

        return tree_map(leaf, self.like)

    def values(self, f: Function) -> Function:
        """The result of `f` as a vector."""
        run = jit(f)
        return lambda x, *rest: self.flat(run(self.tree(x), *rest))

    def table(self, derivative: Function) -> Function:
        """A Jacobian or Hessian as a matrix: the leaves of the tree that it is are its blocks, row
        by row."""
        sizes = [np.size(leaf) for _, leaf in leaves_of(self.like) if is_float(leaf)]

        def matrix(x: Vector, *rest: Any) -> Any:
            found = derivative(self.tree(x), *rest)
            blocks = [leaf for _, leaf in leaves_of(found) if is_float(leaf)]
            rows = [
                [np.reshape(block, (-1, n)) for block, n in zip(blocks[k:], sizes, strict=False)]
                for k in range(0, len(blocks), len(sizes))
            ]
            return np.block(rows)

        return matrix

    def products(self, f: Function) -> Function:
        """Hessian times vector."""

        def product(x: Vector, v: Vector, *rest: Any) -> Vector:
            tangents = (self.direction(v), *(None for _ in rest))
            found = hvp(f, (self.tree(x), *rest), tangents)
            return self.flat(found[0] if rest else found)

        return product

    def direction(self, v: Vector) -> Any:
        """A vector as a tangent: None for what is no float."""
        return tree_map(
            lambda like, leaf: leaf if is_float(like) else None, self.like, self.tree(v)
        )

    def put(self, result: Any) -> Any:
        """SciPy's result, its `x` as a tree."""
        result.x = self.tree(result.x)
        return result


def constrained(unknowns: Unknowns, constraints: Any) -> Any:
    """Constraints on the tree as constraints on the vector, with Jacobians where none are given."""
    if isinstance(constraints, tuple | list):
        return [constrained(unknowns, c) for c in constraints]
    if isinstance(constraints, dict):
        f = constraints["fun"]
        return {"jac": unknowns.table(jacobian(f))} | constraints | {"fun": unknowns.values(f)}
    if isinstance(constraints, optimize.NonlinearConstraint):
        c = constraints

        def weighed(x: Any, weights: Any) -> Any:
            return np.sum(np.ravel(c.fun(x)) * weights)

        second = unknowns.table(hessian(weighed))
        return optimize.NonlinearConstraint(
            unknowns.values(c.fun), c.lb, c.ub, unknowns.table(jacobian(c.fun)), second,
            c.keep_feasible,
        )  # fmt: skip
    return constraints


def is_float(leaf: Any) -> bool:
    return leaf is not None and np.asarray(leaf).dtype.kind == "f"
