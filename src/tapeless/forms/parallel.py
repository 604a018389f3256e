"""map, reduce, scan, scatter, reduce_by_index."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

Trees = Any  # an array, or a tuple of arrays of one length


def map(f: Callable[..., Any], *xs: Any) -> Trees:
    """The array of f(x, y, …) over the leading axes of the arrays; a tuple of arrays if f
    returns tuples.

    >>> map(lambda a, b: a * b, np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    array([3., 8.])
    >>> map(lambda a: (a, a > 1), [1, 2])
    (array([1, 2]), array([False,  True]))
    """
    if not callable(f):
        raise TypeError(f"map takes a function and arrays, not {_name(f)}")
    if not xs:
        raise TypeError("map needs at least one array")
    columns = [_column(x, "map") for x in xs]
    _same_length(columns, "map")
    if not len(columns[0]):
        return _nothing(f, columns)
    return _stacked([f(*row) for row in zip(*columns, strict=True)])


def reduce(op: Callable[[Any, Any], Any], xs: Any, neutral: Any) -> Any:
    """neutral ∘ x₀ ∘ x₁ ∘ …  for an associative ∘ with that neutral element.

    Of several arrays at once: `xs` and `neutral` are tuples, and `op` joins tuples.

    >>> reduce(operator.mul, np.array([2.0, 3.0]), 1.0)
    np.float64(6.0)
    >>> best = lambda a, b: a if a[0] >= b[0] else b
    >>> reduce(best, (np.array([1.0, 5.0, 2.0]), np.arange(3)), (-np.inf, -1))
    (np.float64(5.0), np.int64(1))
    """
    total = neutral
    for x in _elements(op, xs, neutral, "reduce"):
        total = _joined(op, total, x, neutral, "reduce")
    return total


def scan(op: Callable[[Any, Any], Any], xs: Any, neutral: Any) -> Trees:
    """Every prefix of the reduction, itself included: as long as `xs`.

    >>> scan(operator.add, np.array([1, 2, 3]), 0)
    array([1, 3, 6])
    """
    total, prefixes = neutral, []
    for x in _elements(op, xs, neutral, "scan"):
        total = _joined(op, total, x, neutral, "scan")
        prefixes.append(total)
    if prefixes:
        return _stacked(prefixes)
    if not isinstance(neutral, tuple):
        return _empty(xs, neutral)
    columns = xs if isinstance(xs, tuple) else [()] * len(neutral)
    return tuple(_empty(x, e) for x, e in zip(columns, neutral, strict=True))


def scatter(dest: Any, idx: Any, vals: Any) -> Any:
    """A copy of `dest` with dest[idx[k]] = vals[k] for k = 0, 1, …: the last of equal indices wins.

    Indices outside 0 ≤ i < len(dest) are ignored, negative ones too. `idx` may be a tuple of index
    arrays, one per leading axis; `vals` may be one value for all.

    >>> scatter(np.zeros(4), np.array([1, 9, 1, -1]), np.array([5.0, 6.0, 7.0, 8.0]))
    array([0., 7., 0., 0.])
    """
    out = np.array(dest)
    places, keep = _places(out, idx, "scatter")
    values = _values(out, places[0], vals, "scatter")
    for k in np.flatnonzero(keep):
        out[tuple(p[k] for p in places)] = values[k]
    return out


def reduce_by_index(
    dest: Any, idx: Any, vals: Any, op: Callable[[Any, Any], Any] = operator.add, neutral: Any = 0
) -> Trees:
    """A copy of `dest` with dest[idx[k]] = dest[idx[k]] ∘ vals[k] for k = 0, 1, …

    Indices outside 0 ≤ i < len(dest) are ignored, negative ones too. `dest` and `vals` may be
    tuples of arrays, joined by an `op` of tuples. ∘ is associative with `neutral`.

    >>> reduce_by_index(np.zeros(3), np.array([0, 2, 2, 7]), np.array([1.0, 2.0, 3.0, 4.0]))
    array([1., 0., 5.])
    """
    _callable(op, "reduce_by_index")
    if isinstance(dest, tuple):
        return _reduce_tuples(dest, idx, vals, op)
    out = np.array(dest)
    places, keep = _places(out, idx, "reduce_by_index")
    values = _values(out, places[0], vals, "reduce_by_index")
    for k in np.flatnonzero(keep):
        at = tuple(p[k] for p in places)
        out[at] = op(out[at], values[k])
    return out


def _reduce_tuples(dest: tuple[Any, ...], idx: Any, vals: Any, op: Callable[..., Any]) -> Trees:
    outs = tuple(np.array(d) for d in dest)
    if not isinstance(vals, tuple) or len(vals) != len(outs):
        raise TypeError(f"reduce_by_index: dest is a tuple of {len(outs)}, so vals must be one too")
    if any(out.shape != outs[0].shape for out in outs):
        raise ValueError("reduce_by_index: the arrays of dest must have one shape")
    places, keep = _places(outs[0], idx, "reduce_by_index")
    columns = [_values(o, places[0], v, "reduce_by_index") for o, v in zip(outs, vals, strict=True)]
    for k in np.flatnonzero(keep):
        at = tuple(p[k] for p in places)
        now = tuple(out[at] for out in outs)
        then = _joined(op, now, tuple(c[k] for c in columns), dest, "reduce_by_index")
        for out, value in zip(outs, then, strict=True):
            out[at] = value
    return outs


# Arguments --------------------------------------------------------------------------------------


def _name(value: Any) -> str:
    return type(value).__name__


def _callable(op: Any, form: str) -> None:
    if not callable(op):
        raise TypeError(f"{form}: the operator must be a function of two values, not {_name(op)}")


def _column(xs: Any, form: str) -> Any:
    """Something of one or more axes: an array, or a list as it is."""
    if isinstance(xs, list | range):
        return xs
    column: Any = np.asarray(xs)
    if not np.ndim(column):
        raise TypeError(f"{form} takes arrays, not {_name(xs)}")
    return column


def _same_length(columns: Sequence[Sequence[Any]], form: str) -> None:
    lengths = [len(c) for c in columns]
    if len(set(lengths)) > 1:
        raise ValueError(f"{form}: the arrays have different lengths: {lengths}")


def _elements(op: Any, xs: Any, neutral: Any, form: str) -> Iterable[Any]:
    """The operands of a reduction: elements, or tuples of elements of several arrays."""
    _callable(op, form)
    if isinstance(xs, tuple) and isinstance(neutral, tuple):
        if len(xs) != len(neutral):
            raise ValueError(
                f"{form}: {len(xs)} arrays but {len(neutral)} values of the neutral element"
            )
        columns = [_column(x, form) for x in xs]
        _same_length(columns, form)
        return zip(*columns, strict=True)
    if isinstance(xs, Iterable) and not hasattr(xs, "__array_interface__"):
        return xs
    column: Iterable[Any] = _column(xs, form)
    return column


def _joined(op: Callable[..., Any], a: Any, b: Any, neutral: Any, form: str) -> Any:
    """a ∘ b, of the same structure as the neutral element."""
    out = op(a, b)
    if isinstance(out, tuple) != isinstance(neutral, tuple):
        raise TypeError(f"{form}: the operator gives {_name(out)}, the neutral element is"
                        f" {_name(neutral)}")  # fmt: skip
    if isinstance(out, tuple) and len(out) != len(neutral):
        raise TypeError(f"{form}: the operator gives {len(out)} values, the neutral element has"
                        f" {len(neutral)}")  # fmt: skip
    return out


def _places(dest: Any, idx: Any, form: str) -> tuple[list[Any], Any]:
    """Index arrays for the leading axes, and which of their entries are inside."""
    if dest.ndim == 0:
        raise TypeError(f"{form}: dest must be an array with at least one axis")
    places = [np.asarray(i) for i in (idx if isinstance(idx, tuple) else (idx,))]
    if len(places) > dest.ndim:
        raise ValueError(f"{form}: {len(places)} index arrays for an array of {dest.ndim} axes")
    for place in places:
        if place.dtype.kind not in "iu" and place.size:
            raise TypeError(f"{form}: indices must be integers, not {place.dtype}")
        if place.ndim != 1 or place.shape != places[0].shape:
            raise ValueError(f"{form}: indices must be arrays with one axis and one length")
    inside = [(p >= 0) & (p < n) for p, n in zip(places, dest.shape, strict=False)]
    return places, np.logical_and.reduce(inside)


def _values(dest: Any, place: Any, vals: Any, form: str) -> Any:
    """One value (or row) per index."""
    values = np.asarray(vals)
    if values.ndim == 0:
        return np.broadcast_to(values, len(place))
    if len(values) != len(place):
        raise ValueError(f"{form}: {len(place)} indices but {len(values)} values")
    if not np.can_cast(values.dtype, dest.dtype, "same_kind"):
        raise TypeError(f"{form}: values of type {values.dtype} do not fit dest of {dest.dtype}")
    return values


# Results ----------------------------------------------------------------------------------------


def _stacked(rows: Sequence[Any]) -> Trees:
    """A list of results as an array; a list of tuples as a tuple of arrays."""
    if not isinstance(rows[0], tuple):
        return np.array(rows)
    widths = {len(r) if isinstance(r, tuple) else -1 for r in rows}
    if len(widths) > 1:
        raise TypeError("the function returns tuples of different lengths")
    parts = builtins.map(_stacked, builtins.map(list, zip(*rows, strict=True)))
    made = rows[0]
    return type(made)(*parts) if hasattr(made, "_fields") else tuple(parts)


def _empty(xs: Any, neutral: Any) -> Any:
    dtype = xs.dtype if isinstance(xs, np.ndarray) else np.asarray(neutral).dtype
    return np.empty(np.shape(xs) if np.ndim(xs) else 0, np.result_type(dtype, neutral))


def _nothing(f: Callable[..., Any], columns: Sequence[Any]) -> Trees:
    """map over no elements: what f makes of zeros tells types and structure of its result."""
    row = [np.zeros(c.shape[1:], c.dtype)[()] if isinstance(c, np.ndarray) else 0 for c in columns]
    try:
        with np.errstate(all="ignore"):
            shape = _stacked([f(*row)])
    except Exception:  # noqa: BLE001  # a function that refuses zeros has no say here
        return np.empty(0)
    return _none_of(shape)


def _none_of(tree: Trees) -> Trees:
    if isinstance(tree, tuple):
        parts = [_none_of(part) for part in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)
    return tree[:0]
