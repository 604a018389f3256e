"""`check_grads`: derivatives against differences of values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless.api.derivatives import jvp
from tapeless.api.pullbacks import vjp
from tapeless.api.trees import tree_map

# Central differences of order 8: f'(x)·v = Σ c_k·(f(x + k·h·v) − f(x − k·h·v)) / h + O(h⁸).
WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)


def check_grads(
    f: Callable[..., Any], args: Sequence[Any], order: int = 2,
    modes: Sequence[str] = ("fwd", "rev"), atol: float | None = None, rtol: float | None = None,
    eps: float | None = None,
) -> None:  # fmt: skip
    """Compare derivatives of `f` at `args`, up to `order`, with differences of values along random
    directions, in forward ("fwd") and reverse ("rev") mode. Raises AssertionError if they differ by
    more than atol + rtol·|difference|.

    >>> check_grads(lambda x: np.sum(np.sin(x) ** 2), (np.array([0.3, 2.0]),))
    """
    unknown = set(modes) - {"fwd", "rev"}
    if unknown:
        raise ValueError(f"check_grads: modes are 'fwd' and 'rev', not {sorted(unknown)[0]!r}")
    rng = np.random.default_rng(0)
    primals = tuple(args)
    _check(f, primals, order, tuple(modes), (atol, rtol, eps), rng, ())


def _check(
    f: Callable[..., Any], primals: tuple[Any, ...], order: int, modes: tuple[str, ...],
    asked: tuple[float | None, ...], rng: np.random.Generator, path: tuple[str, ...],
) -> None:  # fmt: skip
    if order < 1:
        return
    dots = tuple(_random_like(x, rng) for x in primals)
    out, out_dot = jvp(f, primals, dots) if "fwd" in modes else (f(*primals), None)
    tolerances = _tolerances((primals, out), asked)
    expected = _difference(f, primals, dots, tolerances[2])
    if "fwd" in modes:
        _agree(out_dot, expected, tolerances, (*path, "fwd"))
    if "rev" in modes:
        out, pullback = vjp(f, *primals)
        bar = _random_like(out, rng)
        seen, wanted = _dot(pullback(bar), dots), _dot(bar, expected)
        _agree(seen, wanted, tolerances, (*path, "rev"))
    if "fwd" in modes:
        _check(lambda *xs: jvp(f, xs, dots)[1], primals, order - 1, modes, asked, rng,
               (*path, "fwd"))  # fmt: skip
    if "rev" in modes:
        _check(lambda *xs: vjp(f, *xs)[1](bar), primals, order - 1, modes, asked, rng,
               (*path, "rev"))  # fmt: skip


def _tolerances(tree: Any, asked: tuple[float | None, ...]) -> tuple[float, float, float]:
    """Absolute and relative tolerance, and the step of the differences."""
    single = any(np.asarray(x).dtype in (np.float32, np.complex64) for x in _floats(tree))
    usual = (2e-3, 2e-3, 3e-2) if single else (1e-8, 1e-8, 3e-3)
    atol, rtol, eps = (u if a is None else a for a, u in zip(asked, usual, strict=True))
    return atol, rtol, eps


def _difference(
    f: Callable[..., Any], primals: tuple[Any, ...], dots: tuple[Any, ...], h: float
) -> list[Any]:
    total: list[Any] = []
    for k, weight in enumerate(WEIGHTS, 1):
        there, back = (_floats(f(*_moved(primals, dots, s * k * h))) for s in (1, -1))
        parts = [
            weight * (np.asarray(a, _wide(a)) - np.asarray(b, _wide(b))) / h
            for a, b in zip(there, back, strict=True)
        ]
        total = parts if k == 1 else [t + p for t, p in zip(total, parts, strict=True)]
    return total


def _agree(
    seen: Any, expected: Any, tolerances: tuple[float, float, float], path: tuple[str, ...]
) -> None:
    atol, rtol, _ = tolerances
    for a, b in zip(_floats(seen), _floats(expected), strict=True):
        error = np.abs(np.asarray(a) - np.asarray(b))
        if not np.all(error <= atol + rtol * np.abs(b)):
            raise AssertionError(
                f"the derivative ({' of '.join(reversed(path))}) differs from differences of values"
                f" by {np.max(error):.3g}: {a} against {b}"
            )


# Trees ------------------------------------------------------------------------------------------


def _map(visit: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """The tree with `visit` applied to its floats and what is in their place in `others`; None for
    other leaves."""

    def one(leaf: Any, *beside: Any) -> Any:
        return visit(leaf, *beside) if np.asarray(leaf).dtype.kind in "fc" else None

    return tree_map(one, tree, *others)


def _floats(tree: Any) -> list[Any]:
    found: list[Any] = []
    _map(found.append, tree)
    return found


def _wide(x: Any) -> Any:
    return np.complex128 if np.iscomplexobj(x) else np.float64


def _random_like(tree: Any, rng: np.random.Generator) -> Any:
    def one(x: Any) -> Any:
        x = np.asarray(x)
        made = rng.standard_normal(x.shape)
        if x.dtype.kind == "c":
            made = made + 1j * rng.standard_normal(x.shape)
        return np.asarray(made, x.dtype)[()]

    return _map(one, tree)


def _moved(primals: Any, dots: Any, step: float) -> Any:
    def copied(x: Any, dot: Any) -> Any:
        if dot is None:
            return np.array(x) if isinstance(x, np.ndarray) else x
        return np.asarray(x + step * dot, np.asarray(x).dtype)[()]

    return tree_map(copied, primals, dots)


def _dot(a: Any, b: Any) -> float:
    """Re ⟨a, b⟩ over all floats of two trees."""
    pairs = zip(_floats(a), _floats(b), strict=True)
    return float(sum(np.sum(np.real(np.conj(x) * y)) for x, y in pairs))
