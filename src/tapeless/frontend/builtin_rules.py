"""What Python's builtins and NumPy's constructors mean for values of the compiler."""

from __future__ import annotations

import builtins
import cmath
import dataclasses
import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tapeless.core.names import Const
from tapeless.core.types import i64
from tapeless.errors import CompileError, UnsupportedError
from tapeless.frontend.arrays import copy, elementwise, scalar_value
from tapeless.frontend.attributes import attribute, shape_of, size_value
from tapeless.frontend.comprehensions import as_list, reduce_generator
from tapeless.frontend.construct import array_of, as_array, as_operand
from tapeless.frontend.indexing import new_list, subscript
from tapeless.frontend.iteration import (
    enumerated,
    item_at,
    iterate,
    length,
    make_range,
    reversed_items,
    zipped,
)  # fmt: skip
from tapeless.frontend.operators import binary, compare, unary
from tapeless.frontend.places import count, numpy_dtype
from tapeless.frontend.reductions import ArrayElements, extreme, reduce_items
from tapeless.frontend.scalars import apply_ufunc, convert, scalar, type_key
from tapeless.frontend.sequences import seq_of
from tapeless.frontend.truth import truth_of
from tapeless.frontend.values import (
    NONE,
    Arr,
    Cx,
    DictObj,
    Fn,
    Gen,
    InstanceObj,
    Known,
    ListObj,
    Many,
    Method,
    Num,
    Partial,
    Ref,
    Rng,
    Seq,
    Tup,
    Value,
    is_number,
)  # fmt: skip

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer

Args = Sequence[Value]
Kwargs = dict[str, Value]
Rule = Callable[[Any, Args, Kwargs], Value]


def known(t: Tracer, value: Value, what: str) -> Any:
    """The object itself; an error if it is not known at compile time."""
    if isinstance(value, Known):
        return value.value
    if isinstance(value, Tup):
        return tuple(known(t, v, what) for v in value.items)
    if isinstance(value, Ref) and isinstance(value.obj, ListObj):
        content = t.state.heap[value.obj]
        if isinstance(content, tuple):
            return [known(t, v, what) for v in content]
    raise CompileError(f"{what} must be known at compile time", t.loc,
                       "write it as a constant, or name it in static_argnames")  # fmt: skip


def _no_keywords(rule: Callable[..., Value]) -> Rule:
    def checked(t: Tracer, args: Args, kwargs: Kwargs) -> Value:
        if kwargs:
            raise UnsupportedError(
                f"the argument '{next(iter(kwargs))}' is not supported here", t.loc
            )
        try:
            return rule(t, *args)
        except TypeError as error:
            if "positional argument" in str(error):
                raise CompileError("wrong number of arguments", t.loc) from None
            raise

    return checked


# Iteration ------------------------------------------------------------------------------------


def _len(t: Tracer, x: Value) -> Value:
    return size_value(length(t, x))


def _many(t: Tracer, items: Any) -> Value:
    return Tup(tuple(items)) if isinstance(items, list) else items


def _zip(t: Tracer, args: Args, kwargs: Kwargs) -> Value:
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
        tests = [truth_of(t, t.call(f, x) if not _is_none(f) else x) for x in items]
        known_tests = [test for test in tests if isinstance(test, Known)]
        if len(known_tests) == len(items):
            return Tup(tuple(x for x, test in zip(items, known_tests, strict=True) if test.value))
    raise UnsupportedError("'filter' is decided at run time here", t.loc, "use a mask: x[x > 0]")


def _is_none(value: Value) -> bool:
    return isinstance(value, Known) and value.value is None


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
    if kwargs.get("key") is not None and not _is_none(kwargs["key"]):
        raise UnsupportedError("'sorted' with a key is not supported", t.loc, "use np.argsort(...)")
    arr = as_array(t, to_list(t, args[0]))
    out = t.library(np.sort, arr)
    if "reverse" in kwargs and known(t, kwargs["reverse"], "'reverse'"):
        out = t.library(np.flip, out)
    return to_list(t, out)


# Reductions -----------------------------------------------------------------------------------


def _reduce(kind: str) -> Rule:
    def rule(t: Tracer, args: Args, kwargs: Kwargs) -> Value:
        if kind in ("min", "max") and len(args) > 1:
            if kwargs:
                raise UnsupportedError(
                    f"'{kind}' with a key is not supported", t.loc, "compare by hand"
                )
            out = scalar_value(t, args[0])
            for x in args[1:]:
                out = _extreme(t, kind, out, scalar_value(t, x))
            return out
        start = kwargs.pop("start", None) or (args[1] if len(args) > 1 else None)
        if kwargs:
            raise UnsupportedError(f"'{kind}' with '{next(iter(kwargs))}' is not supported", t.loc,
                                   "use np.argmin, np.argmax, or a loop")  # fmt: skip
        total = _reduced(t, kind, args[0])
        return (
            total if start is None else binary(t, "Add" if kind == "sum" else "Mult", start, total)
        )

    return rule


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


# Numbers --------------------------------------------------------------------------------------


def _int(t: Tracer, value: Value = Known(0)) -> Value:
    value = scalar_value(t, value)
    if isinstance(value, Known):
        return _fold(t, int, value)
    x = convert(t, _real(t, value, "int"), np.dtype("i8"), weak=True)
    return x


def _float(t: Tracer, value: Value = Known(0.0)) -> Value:
    value = scalar_value(t, value)
    if isinstance(value, Known):
        return _fold(t, float, value)
    return convert(t, _real(t, value, "float"), np.dtype("f8"), weak=True)


def _real(t: Tracer, value: Value, what: str) -> Value:
    if isinstance(value, Arr) and all(isinstance(s, Const) and s.value == 1 for s in value.shape):
        value = subscript(t, value, Tup((Known(0),) * value.rank))
    if not isinstance(value, Num):
        raise CompileError(
            f"{what}() of {t.describe(value)}", t.loc, "convert one number, or use .astype"
        )
    return value


def _bool(t: Tracer, value: Value = Known(False)) -> Value:
    return truth_of(t, value)


def _complex(t: Tracer, re: Value = Known(0), im: Value = Known(0)) -> Value:
    if isinstance(re, Known) and isinstance(im, Known):
        return Known(complex(re.value, im.value))
    z = binary(t, "Add", re, binary(t, "Mult", im, Known(1j)))
    a, b = scalar(t, re), scalar(t, im)
    if isinstance(a, Num) and isinstance(b, Num):  # parts unchanged: no inf * 0
        p, q = (convert(t, x, np.dtype("f8")) for x in (a, b))
        assert isinstance(p, Num) and isinstance(q, Num)
        return Cx(p.atom, q.atom, weak=True)
    return convert(t, z, np.dtype("c16"), weak=True)


def _abs(t: Tracer, value: Value) -> Value:
    if isinstance(value, Known):
        return _fold(t, abs, value)
    return elementwise(t, lambda x: apply_ufunc(t, np.absolute, (x,)), [as_operand(t, value)])


def _round(t: Tracer, value: Value, digits: Value = NONE) -> Value:
    value = scalar_value(t, value)
    if isinstance(value, Known) and isinstance(digits, Known):
        return Known(
            round(value.value) if digits.value is None else round(value.value, digits.value)
        )
    if _is_none(digits):
        return _int(t, apply_ufunc(t, np.rint, (value,)))
    return t.library(np.round, value, digits)


def _divmod(t: Tracer, a: Value, b: Value) -> Value:
    return Tup((binary(t, "FloorDiv", a, b), binary(t, "Mod", a, b)))


def _pow(t: Tracer, a: Value, b: Value, m: Value = NONE) -> Value:
    if not _is_none(m):
        raise UnsupportedError("pow() with a modulus is not supported", t.loc, "multiply in a loop")
    return binary(t, "Pow", a, b)


def _fold(t: Tracer, f: Callable[[Any], Any], value: Known) -> Value:
    try:
        return Known(f(value.value))
    except (TypeError, ValueError, OverflowError) as error:
        raise CompileError(f"{type(error).__name__}: {error}", t.loc) from None


# Objects --------------------------------------------------------------------------------------


def class_of(t: Tracer, value: Value) -> type:
    """The class that a value has in Python."""
    match value:
        case Known(value=v):
            return type(v)
        case Arr():
            return np.ndarray
        case Tup(_, cls):
            return cls or tuple
        case Ref(InstanceObj(cls=cls)):
            return cls
        case Ref(obj):
            return list if isinstance(obj, ListObj) else dict
        case Num() | Cx():
            key = type_key(value)
            return key if isinstance(key, type) else (bool if value.weak else key.type)
        case Rng():
            return range
        case Fn() | Method() | Partial():
            return type(class_of)
    return object


def _isinstance(t: Tracer, value: Value, classes: Value) -> Value:
    return Known(issubclass(class_of(t, value), known(t, classes, "the classes of isinstance")))


def _getattr(t: Tracer, owner: Value, name: Value, default: Value | None = None) -> Value:
    try:
        return attribute(t, owner, known(t, name, "the name of an attribute"))
    except CompileError:
        if default is None:
            raise
        return default


def _hasattr(t: Tracer, owner: Value, name: Value) -> Value:
    try:
        attribute(t, owner, known(t, name, "the name of an attribute"))
    except CompileError:
        return Known(False)
    return Known(True)


def _callable(t: Tracer, value: Value) -> Value:
    if isinstance(value, Known):
        return Known(callable(value.value))
    return Known(isinstance(value, Fn | Method | Partial))


def _partial(t: Tracer, args: Args, kwargs: Kwargs) -> Value:
    return Partial(args[0], tuple(args[1:]), kwargs)


def _replace(t: Tracer, args: Args, kwargs: Kwargs) -> Value:
    """dataclasses.replace: a new object with some fields changed."""
    owner = args[0]
    if not (isinstance(owner, Ref) and isinstance(owner.obj, InstanceObj)):
        raise CompileError("dataclasses.replace() takes a dataclass", t.loc)
    fields = t.state.heap[owner.obj]
    if not set(kwargs) <= set(fields):
        raise CompileError(f"{owner.obj.cls.__name__} has the fields {', '.join(fields)}", t.loc)
    obj = InstanceObj(owner.obj.cls, home=owner.obj.home)
    t.state.heap[obj] = {**fields, **kwargs}
    return Ref(obj)


def _as_dict(t: Tracer, owner: Value) -> Value:
    assert isinstance(owner, Ref)
    obj = DictObj()
    t.state.heap[obj] = dict(t.state.heap[owner.obj])
    return Ref(obj)


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
    if _is_none(axis):
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
        return _fold(t, cls, value)
    dtype = np.dtype(cls)
    if isinstance(value, Arr):
        return as_array(t, value, dtype) if numpy_dtype(value) != dtype else copy(t, value)
    return convert(t, value, dtype)


# Operators and namesakes of ufuncs --------------------------------------------------------------


def _operator(op: str) -> Rule:
    return _no_keywords(lambda t, a, b: binary(t, op, a, b))


def _comparison(op: str) -> Rule:
    return _no_keywords(lambda t, a, b: compare(t, op, a, b))


OPERATORS: dict[Any, Rule] = {
    operator.add: _operator("Add"), operator.sub: _operator("Sub"), operator.mul: _operator("Mult"),
    operator.truediv: _operator("Div"), operator.floordiv: _operator("FloorDiv"),
    operator.mod: _operator("Mod"), operator.pow: _operator("Pow"),
    operator.matmul: _operator("MatMult"), operator.and_: _operator("BitAnd"),
    operator.or_: _operator("BitOr"), operator.xor: _operator("BitXor"),
    operator.lshift: _operator("LShift"), operator.rshift: _operator("RShift"),
    operator.eq: _comparison("Eq"), operator.ne: _comparison("NotEq"),
    operator.lt: _comparison("Lt"), operator.le: _comparison("LtE"), operator.gt: _comparison("Gt"),
    operator.ge: _comparison("GtE"), operator.neg: _no_keywords(lambda t, a: unary(t, "USub", a)),
    operator.getitem: _no_keywords(subscript),
    operator.index: _no_keywords(_int),
}  # fmt: skip

NAMESAKES = {
    "sqrt": np.sqrt, "exp": np.exp, "expm1": np.expm1, "exp2": np.exp2, "log2": np.log2,
    "log10": np.log10, "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2, "sinh": np.sinh,
    "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "cbrt": np.cbrt, "fabs": np.fabs, "copysign": np.copysign, "fmod": np.fmod,
    "degrees": np.degrees, "radians": np.radians, "isnan": np.isnan, "isinf": np.isinf,
    "isfinite": np.isfinite, "nextafter": np.nextafter, "pow": np.power,
}  # fmt: skip


def _namesake(f: Callable[..., Any], ufunc: np.ufunc, cls: type) -> Rule:
    """A function of math or cmath: float (complex) in, Python's number out."""

    def rule(t: Tracer, *args: Value) -> Value:
        numbers = [scalar_value(t, a) for a in args]
        if all(isinstance(a, Known) for a in numbers):
            try:
                return Known(f(*(a.value for a in numbers if isinstance(a, Known))))
            except (ValueError, OverflowError):
                pass  # a domain or range error: what NumPy gives
        for a in numbers:
            if not is_number(a) or (cls is float and isinstance(a, Cx)):
                raise CompileError(f"{f.__name__}() takes numbers, not {t.describe(a)}", t.loc,
                                   f"use np.{ufunc.__name__} for arrays")  # fmt: skip
        wide = np.dtype(np.float64 if cls is float else np.complex128)
        out = apply_ufunc(t, ufunc, [convert(t, a, wide) for a in numbers])
        assert isinstance(out, Num | Cx)
        return Num(out.atom, True) if isinstance(out, Num) else Cx(out.re, out.im, True)

    return _no_keywords(rule)


def _math_rules() -> dict[Any, Rule]:
    rules = {getattr(math, n): _namesake(getattr(math, n), u, float) for n, u in NAMESAKES.items()
             if hasattr(math, n)}  # fmt: skip
    for n, u in NAMESAKES.items():
        if hasattr(cmath, n):
            rules[getattr(cmath, n)] = _namesake(getattr(cmath, n), u, complex)
    return rules


BUILTINS: dict[Any, Rule] = {
    len: _no_keywords(_len), range: _no_keywords(lambda t, *a: make_range(t, list(a))), zip: _zip,
    enumerate: _enumerate, reversed: _no_keywords(lambda t, x: _many(t, reversed_items(t, x))),
    map: _no_keywords(_map), filter: _no_keywords(_filter), tuple: _no_keywords(_tuple),
    list: _no_keywords(lambda t, x=Known(()): to_list(t, x)), dict: _dict, sorted: _sorted,
    sum: _reduce("sum"), min: _reduce("min"), max: _reduce("max"), any: _reduce("any"),
    all: _reduce("all"), math.prod: _reduce("prod"), int: _no_keywords(_int),
    float: _no_keywords(_float), bool: _no_keywords(_bool), complex: _no_keywords(_complex),
    abs: _no_keywords(_abs), round: _no_keywords(_round), divmod: _no_keywords(_divmod),
    pow: _no_keywords(_pow), isinstance: _no_keywords(_isinstance),
    type: _no_keywords(lambda t, x: Known(class_of(t, x))), getattr: _no_keywords(_getattr),
    hasattr: _no_keywords(_hasattr), callable: _no_keywords(_callable),
    functools.partial: _partial, dataclasses.replace: _replace,
    dataclasses.asdict: _no_keywords(_as_dict), np.array: _array, np.asarray: _asarray,
    np.ascontiguousarray: _asarray, np.asfortranarray: _asarray, np.asanyarray: _asarray,
    np.dtype: _no_keywords(_dtype), np.shape: _no_keywords(_shape), np.ndim: _no_keywords(_ndim),
    np.size: _no_keywords(_size), **OPERATORS, **_math_rules(),
}  # fmt: skip
