"""Arrays and shapes from Python values: np.array, operands of arithmetic, types as converters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tapeless.core.names import Atom, Const
from tapeless.core.types import DTYPES, from_numpy, i64
from tapeless.errors import CompileError, UnsupportedError
from tapeless.frontend.arrays import assign, cast, copy, empty, generate, rank0, scalar_value
from tapeless.frontend.iteration import iterate, seq_item
from tapeless.frontend.join import ArrayForm, Number, spelled
from tapeless.frontend.places import Indices, compose, element, full_axes, meet, numpy_dtype
from tapeless.frontend.scalars import convert, index_atom, resolve_type, scalar
from tapeless.frontend.values import (
    Arr,
    Axis,
    Cx,
    Gen,
    Known,
    ListObj,
    Many,
    Num,
    Ref,
    Rng,
    Seq,
    Tup,
    Value,
    is_number,
)  # fmt: skip
from tapeless.ir.build import ZERO

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer


def as_operand(t: Tracer, value: Value) -> Value:
    """What arithmetic with arrays makes of a value: an array or a number."""
    if isinstance(value, Arr | Num | Cx) or is_number(value):
        return value
    return array_of(t, value, None)


def as_array(t: Tracer, value: Value, dtype: Any = None) -> Arr:
    """np.asarray: an array as it is unless its type differs; numbers become 0-dimensional."""
    if isinstance(value, Arr):
        if dtype is None or numpy_dtype(value) == dtype:
            return value
        return cast(t, value, dtype)
    return array_of(t, value, dtype)


def array_of(t: Tracer, value: Value, dtype: Any) -> Arr:
    """np.array(value, dtype): a new array."""
    value = spelled(value)
    match value:
        case Arr():
            same = dtype is None or numpy_dtype(value) == dtype
            return copy(t, value) if same else cast(t, value, dtype)
        case Tup(items):
            return _of_items(t, items, dtype)
        case Ref(ListObj() as obj):
            content = t.state.heap[obj]
            return _of_seq(t, content, dtype) if isinstance(content, Seq) else _of_items(
                t, content, dtype)  # fmt: skip
        case Known(value=list() as items):
            return _of_items(t, tuple(map(Known, items)), dtype)
        case Gen():
            raise CompileError("np.array of a generator is an object array", t.loc,
                               "use a list: np.array([... for ...])")  # fmt: skip
        case Rng() | Many() | Known(value=range()):
            return _of_many(t, iterate(t, value), dtype)
    if is_number(value):
        return rank0(t, scalar(t, value) if dtype is None else convert(t, value, dtype))
    raise CompileError(
        f"{t.describe(value)} cannot become an array", t.loc, "pass numbers or arrays"
    )


def _of_many(t: Tracer, items: Any, dtype: Any) -> Arr:
    if isinstance(items, list):
        return _of_items(t, tuple(items), dtype)
    out = generate(t, (items.size,), lambda idx: items.item(idx[0]), dtype=dtype)
    if not isinstance(out, Arr):
        raise CompileError("an array of tuples needs numbers of one kind", t.loc)
    return out


def _of_seq(t: Tracer, seq: Seq, dtype: Any) -> Arr:
    """A list of run-time length: of numbers or arrays it is the array, else it has columns."""
    if isinstance(seq.form, Number | ArrayForm):
        (leaf,) = seq.leaves
        same = dtype is None or numpy_dtype(leaf) == dtype
        return copy(t, leaf) if same else cast(t, leaf, dtype)
    out = generate(t, (seq.size,), lambda idx: as_array(t, seq_item(t, seq, idx[0]), dtype))
    assert isinstance(out, Arr)
    return out


def _of_items(t: Tracer, items: Sequence[Value], dtype: Any) -> Arr:
    """Nested static sequences of numbers and arrays of one shape."""
    shape, leaves = _leaves(t, items)
    if dtype is None:
        dtype = common_type(t, leaves)
    arrays = [a for a in leaves if isinstance(a, Arr)]
    inner: Indices = arrays[0].shape if arrays else ()
    for other in arrays[1:]:
        if other.rank != len(inner):
            raise CompileError(
                "the rows have different ranks", t.loc, "make them arrays of one shape"
            )
        inner = tuple(
            meet(t, a, b, "the shapes of the rows do not agree")
            for a, b in zip(inner, other.shape, strict=True)
        )
    if arrays and len(arrays) < len(leaves):
        raise CompileError("an array cannot be made of numbers and arrays mixed", t.loc,
                           "use np.concatenate")  # fmt: skip
    sizes = (*(Const(n, i64) for n in shape), *inner)
    part = (
        from_numpy(dtype) if dtype.kind != "c" else DTYPES["f32" if dtype.itemsize == 8 else "f64"]
    )
    if part is None:
        raise UnsupportedError(f"element type {dtype} is not supported", t.loc)
    out = empty(t, sizes, part, dtype.kind == "c")
    for at, leaf in zip(np.ndindex(*shape), leaves, strict=True):
        fixed = [Axis(Const(k, i64)) for k in at]
        assign(t, compose(t, inner, [*fixed, *full_axes(inner)], out), leaf)
    return out


def _leaves(t: Tracer, items: Sequence[Value]) -> tuple[tuple[int, ...], list[Value]]:
    """The static shape of nested sequences, and what is at their bottom in row-major order."""
    rows: list[tuple[tuple[int, ...], list[Value]]] = []
    for item in items:
        inner = spelled(scalar_value(t, item))
        if isinstance(inner, Ref) and isinstance(inner.obj, ListObj):
            content = t.state.heap[inner.obj]
            inner = _of_seq(t, content, None) if isinstance(content, Seq) else Tup(content)
        if isinstance(inner, Known) and isinstance(inner.value, list):
            inner = Tup(tuple(map(Known, inner.value)))
        if isinstance(inner, Tup):
            rows.append(_leaves(t, inner.items))
        elif isinstance(inner, Arr) or is_number(inner):
            rows.append(((), [inner]))
        else:
            raise CompileError(f"{t.describe(inner)} cannot be an element of an array", t.loc)
    if any(r[0] != rows[0][0] for r in rows):
        raise CompileError("the rows have different lengths (a ragged array)", t.loc,
                           "make them equally long, or keep one flat array")  # fmt: skip
    tail = rows[0][0] if rows else ()
    return (len(rows), *tail), [leaf for row in rows for leaf in row[1]]


def common_type(t: Tracer, values: Sequence[Value]) -> np.dtype[Any]:
    """The type that NumPy gives an array of these."""
    return resolve_type(t, values) if values else np.dtype(float)


def element_at(t: Tracer, value: Value, idx: tuple[Atom, ...]) -> Value:
    """One element of an array; a number is its own element."""
    return element(t, value, idx) if isinstance(value, Arr) else value


def shape_atoms(t: Tracer, shape: Value) -> Indices:
    """A shape (a tuple of sizes, or one) as atoms."""
    shape = scalar_value(t, shape)
    items = [shape] if is_number(shape) else iterate(t, shape)
    if not isinstance(items, list):
        raise CompileError("the rank of a shape must be known at compile time", t.loc)
    out = tuple(index_atom(t, s, "a size") for s in items)
    for size in out:
        if isinstance(size, Const):
            if size.value < 0:
                raise CompileError("negative dimensions are not allowed", t.loc)
        elif not t.is_nonnegative(size):
            t.b.check(
                t.b.prim("le", ZERO, size), "ValueError", "negative dimensions are not allowed"
            )
            t.nonnegative.add(size)
    return out
