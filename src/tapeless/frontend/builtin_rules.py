"""What Python's builtins and NumPy's constructors mean for values of the compiler."""

from __future__ import annotations

import builtins
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tapeless.core.names import Const
from tapeless.core.types import i64
from tapeless.errors import CompileError, UnsupportedError
from tapeless.frontend.arrays import copy, scalar_value
from tapeless.frontend.attributes import attribute, shape_of, size_value
from tapeless.frontend.choosing import best, in_order, items_of, or_default
from tapeless.frontend.class_rules import CLASSES
from tapeless.frontend.comprehensions import as_list, reduce_generator
from tapeless.frontend.construct import array_of, as_array, as_operand
from tapeless.frontend.indexing import new_list
from tapeless.frontend.iteration import (
    Items,
    enumerated,
    item_at,
    iterate,
    length,
    make_range,
    reversed_items,
    zipped,
)
from tapeless.frontend.number_rules import NUMBERS, folded
from tapeless.frontend.operators import binary
from tapeless.frontend.places import count, numpy_dtype
from tapeless.frontend.reductions import ArrayElements, extreme, reduce_items
from tapeless.frontend.rule import Args, Kwargs, Rule, is_none, known, no_keywords
from tapeless.frontend.scalars import as_item
from tapeless.frontend.sequences import seq_of
from tapeless.frontend.truth import truth_of
from tapeless.frontend.values import (
    NONE,
    Arr,
    DictObj,
    Gen,
    InstanceObj,
    Known,
    ListObj,
    Many,
    Ref,
    Seq,
    Tup,
    Value,
    is_number,
)  # fmt: skip

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer


# Iteration ------------------------------------------------------------------------------------


def _len(t: Tracer, x: Value) -> Value:
    if isinstance(x, Ref) and isinstance(x.obj, InstanceObj):
        return t.call(attribute(t, x, "__len__"))
    return size_value(length(t, x))


def _many(t: Tracer, items: Any) -> Value:
    return Tup(tuple(items)) if isinstance(items, list) else items


def _zip(t: Tracer, args: Args, kwargs: Kwargs) -> Value:
    for name in kwargs.keys() - {"strict"}:
        raise CompileError(f"'{name}' is an invalid keyword argument for zip()", t.loc)
    strict = kwargs.get("strict", Known(False))
    if isinstance(strict, Known) and strict.value:
        sizes = [length(t, a) for a in args]
        for other in sizes[1:]:
            t.b.check(
                t.b.prim("eq", sizes[0], other),
                "ValueError",
                "zip() arguments have different lengths",
            )
    return _many(t, zipped(t, list(args)))


def _enumerate(t: Tracer, args: Args, kwargs: Kwargs) -> Value:
    start = kwargs.get("start", args[1] if len(args) > 1 else Known(0))
    return _many(t, enumerated(t, args[0], start))


def _map(t: Tracer, f: Value, *xs: Value) -> Value:
    items = zipped(t, list(xs))
    if isinstance(items, list):
        return Tup(tuple(t.call(f, *iterate(t, i)) for i in items))  # type: ignore[misc]  # tuples
    return Many(items.size, lambda i: t.call(f, *items.item(i).items))  # type: ignore[union-attr]  # tuples


def _filter(t: Tracer, f: Value, xs: Value) -> Value:
    items = iterate(t, xs)
    if isinstance(items, list):
        tests = [truth_of(t, t.call(f, x) if not is_none(f) else x) for x in items]
        known_tests = [test for test in tests if isinstance(test, Known)]
        if len(known_tests) == len(items):
            return Tup(tuple(x for x, test in zip(items, known_tests, strict=True) if test.value))
    raise UnsupportedError("'filter' is decided at run time here", t.loc, "use a mask: x[x > 0]")


def to_list(t: Tracer, value: Value) -> Value:
    """list(iterable): a new list."""
    if isinstance(value, Gen):
        return as_list(t, value)
    if isinstance(value, Ref) and isinstance(value.obj, ListObj):
        content = t.state.heap[value.obj]
        if isinstance(content, Seq):
            arrays = tuple(copy(t, a) for a in content.leaves)
            return _list_of(t, Seq(content.size, content.form, arrays))
    items = iterate(t, value)
    if isinstance(items, list):
        return new_list(t, tuple(items))
    return seq_of(t, items)


def _list_of(t: Tracer, content: Any) -> Value:
    obj = ListObj()
    t.state.heap[obj] = content
    return Ref(obj)


def _tuple(t: Tracer, value: Value = NONE) -> Value:
    if value is NONE:
        return Known(())
    items = iterate(t, value)
    if isinstance(items, Many):
        if not isinstance(items.size, Const):
            raise CompileError(
                "a tuple needs a length known at compile time", t.loc, "use np.array(...)"
            )
        items = [item_at(t, items, Const(k, i64)) for k in range(int(items.size.value))]
    return Tup(tuple(items))


def _dict(t: Tracer, args: Args, kwargs: Kwargs) -> Value:
    fields: dict[Any, Value] = {}
    if args and isinstance(args[0], Ref) and isinstance(args[0].obj, DictObj):
        fields.update(t.state.heap[args[0].obj])
    elif args:
        for pair in iterate(t, args[0]):  # type: ignore[union-attr]  # a list of pairs
            key, value = iterate(t, pair)  # type: ignore[misc]  # a pair
            fields[known(t, key, "a key")] = value
    obj = DictObj()
    t.state.heap[obj] = fields | kwargs
    return Ref(obj)


def _sorted(t: Tracer, args: Args, kwargs: Kwargs) -> Value:
    return in_order(t, args[0], kwargs.get("key", NONE), kwargs.get("reverse", Known(False)))


# Reductions -----------------------------------------------------------------------------------


def _reduce(kind: str) -> Rule:
    def rule(t: Tracer, args: Args, kwargs: Kwargs) -> Value:
        if kind in ("min", "max"):
            return _best(t, kind, args, kwargs)
        start = kwargs.pop("start", None) or (args[1] if len(args) > 1 else None)
        total = _reduced(t, kind, args[0])
        return (
            total if start is None else binary(t, "Add" if kind == "sum" else "Mult", start, total)
        )

    return rule


def _best(t: Tracer, kind: str, args: Args, kwargs: Kwargs) -> Value:
    """min() and max() of an iterable, or of their arguments."""
    for name in kwargs.keys() - {"key", "default"}:
        raise CompileError(f"'{name}' is an invalid keyword argument for {kind}()", t.loc)
    key, default = kwargs.get("key", NONE), kwargs.get("default")
    if len(args) > 1:
        if default is not None:
            raise CompileError(f"{kind}() of several arguments has no default", t.loc)
        if not is_none(key):
            return best(t, kind, list(args), key)
        out = scalar_value(t, args[0])
        for x in args[1:]:
            out = _extreme(t, kind, out, scalar_value(t, x))
        return out
    if default is None and is_none(key):
        return _reduced(t, kind, args[0])
    if is_none(key) and isinstance(args[0], Gen):
        return reduce_generator(t, kind, args[0], default)

    def reduced(items: Items) -> Value:
        return reduce_items(t, kind, items) if is_none(key) else best(t, kind, items, key)

    items = items_of(t, args[0])
    return reduced(items) if default is None else or_default(t, items, default, reduced)


def _extreme(t: Tracer, kind: str, a: Value, b: Value) -> Value:
    if isinstance(a, Known) and isinstance(b, Known):
        return Known(getattr(builtins, kind)(a.value, b.value))
    if not (is_number(a) and is_number(b)):
        raise CompileError(f"{kind}() of {t.describe(a)} and {t.describe(b)}", t.loc,
                           f"use np.{kind}imum for arrays")  # fmt: skip
    return extreme(t, kind, a, b)


def _reduced(t: Tracer, kind: str, value: Value) -> Value:
    try:
        if isinstance(value, Gen):
            return reduce_generator(t, kind, value)
        if isinstance(value, Arr) and value.rank > 1:
            raise ArrayElements
        return reduce_items(t, kind, iterate(t, value))
    except ArrayElements:
        pass
    if kind != "sum":
        raise CompileError(f"{kind}() of arrays", t.loc, f"use np.{kind}(..., axis=0)")
    return t.library(np.sum, array_of(t, to_list(t, value), None), axis=Known(0))


# Arrays ---------------------------------------------------------------------------------------


def _array(t: Tracer, args: Args, kwargs: Kwargs) -> Value:
    dtype = dtype_argument(t, kwargs.get("dtype", args[1] if len(args) > 1 else NONE))
    kept = kwargs.get("copy", Known(True))
    if isinstance(kept, Known) and kept.value in (False, None):
        return as_array(t, args[0], dtype)
    return array_of(t, args[0], dtype)


def _asarray(t: Tracer, args: Args, kwargs: Kwargs) -> Value:
    dtype = dtype_argument(t, kwargs.get("dtype", args[1] if len(args) > 1 else NONE))
    return as_array(t, args[0], dtype)


def dtype_argument(t: Tracer, value: Value) -> np.dtype[Any] | None:
    found = known(t, value, "a dtype")
    if found is None:
        return None
    try:
        dtype: np.dtype[Any] = np.dtype(found)
    except TypeError:
        raise CompileError(f"{found!r} is not an element type", t.loc) from None
    return dtype


def _dtype(t: Tracer, value: Value) -> Value:
    return Known(dtype_argument(t, value))


def _shape(t: Tracer, value: Value) -> Value:
    value = as_operand(t, value)
    return shape_of(t, value) if isinstance(value, Arr) else Known(())


def _ndim(t: Tracer, value: Value) -> Value:
    value = as_operand(t, value)
    return Known(value.rank if isinstance(value, Arr) else 0)


def _size(t: Tracer, value: Value, axis: Value = NONE) -> Value:
    value = as_operand(t, value)
    if not isinstance(value, Arr):
        return Known(1)
    if is_none(axis):
        return size_value(count(t, value.shape))
    return size_value(value.shape[known(t, axis, "the axis")])


CONVERTERS = frozenset(
    getattr(np, n) for n in (
        "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16",
        "uint32", "uint64", "bool_", "complex64", "complex128", "intp", "uintp", "longlong",
        "ulonglong",
    )
)  # fmt: skip


def convert_call(t: Tracer, cls: Any, args: Args, kwargs: Kwargs) -> Value:
    """np.float64(x): a number, or an array, of that type."""
    if kwargs or len(args) > 1:
        raise CompileError(f"np.{cls.__name__}() takes one value", t.loc)
    value = as_operand(t, scalar_value(t, args[0] if args else Known(0)))
    if isinstance(value, Known):
        return folded(t, cls, value)
    dtype = np.dtype(cls)
    if isinstance(value, Arr):
        return as_array(t, value, dtype) if numpy_dtype(value) != dtype else copy(t, value)
    return as_item(t, value, dtype)


BUILTINS: dict[Any, Rule] = {
    len: no_keywords(_len), range: no_keywords(lambda t, *a: make_range(t, list(a))), zip: _zip,
    enumerate: _enumerate, reversed: no_keywords(lambda t, x: _many(t, reversed_items(t, x))),
    map: no_keywords(_map), filter: no_keywords(_filter), tuple: no_keywords(_tuple),
    list: no_keywords(lambda t, x=Known(()): to_list(t, x)), dict: _dict, sorted: _sorted,
    sum: _reduce("sum"), min: _reduce("min"), max: _reduce("max"), any: _reduce("any"),
    all: _reduce("all"), math.prod: _reduce("prod"),
    np.array: _array, np.asarray: _asarray, np.ascontiguousarray: _asarray,
    np.asfortranarray: _asarray, np.asanyarray: _asarray, np.dtype: no_keywords(_dtype),
    np.shape: no_keywords(_shape), np.ndim: no_keywords(_ndim), np.size: no_keywords(_size),
    **NUMBERS, **CLASSES,
}  # fmt: skip
