"""value.name: fields, properties and methods; what operators mean for instances."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import types
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tapeless.core.names import Const
from tapeless.core.types import i64
from tapeless.errors import CompileError, UnsupportedError
from tapeless.frontend.argtypes import plain
from tapeless.frontend.arrays import generate
from tapeless.frontend.places import count, element, numpy_dtype, transpose
from tapeless.frontend.scalars import scalar, type_key
from tapeless.frontend.signature import Path
from tapeless.frontend.values import (
    Arr,
    ArrayMethod,
    Cx,
    DictObj,
    Fn,
    InstanceObj,
    Known,
    ListObj,
    Method,
    Num,
    Partial,
    Ref,
    Rng,
    Super,
    Tup,
    Value,
    is_number,
    weak_int,
)  # fmt: skip

if TYPE_CHECKING:
    from tapeless.core.names import Atom
    from tapeless.frontend.tracer import Tracer

LIST_METHODS = frozenset(
    {"append", "extend", "pop", "insert", "copy", "index", "count", "reverse", "clear"}
)
DICT_METHODS = frozenset({"keys", "values", "items", "get", "copy", "update"})
BINARY_DUNDER = {
    "Add": "add", "Sub": "sub", "Mult": "mul", "Div": "truediv", "FloorDiv": "floordiv",
    "Mod": "mod", "Pow": "pow", "MatMult": "matmul", "Eq": "eq", "NotEq": "ne", "Lt": "lt",
    "LtE": "le", "Gt": "gt", "GtE": "ge", "USub": "neg", "UAdd": "pos", "BitAnd": "and",
    "BitOr": "or", "BitXor": "xor",
}  # fmt: skip


def attribute(t: Tracer, owner: Value, name: str) -> Value:
    match owner:
        case Known(value=v) if not is_number(owner) or isinstance(v, type):
            return t.outside.attribute(t, owner, name)
        case Arr():
            return _of_array(t, owner, name)
        case Known() | Num() | Cx():
            return _of_number(t, owner, name)
        case Tup(items, cls):
            return _of_tuple(t, owner, items, cls, name)
        case Ref(InstanceObj() as obj):
            return _of_instance(t, owner, obj, name)
        case Ref(ListObj()) if name in LIST_METHODS:
            return Method(Known(ArrayMethod(name)), owner)
        case Ref(DictObj()) if name in DICT_METHODS:
            return Method(Known(ArrayMethod(name)), owner)
        case Super(cls, instance):
            return _of_super(t, cls, instance, name)
        case Rng(start, step) if name in ("start", "step", "stop"):
            if name == "stop":
                raise UnsupportedError("'.stop' of a range is not supported", t.loc)
            return start if name == "start" else step
        case Fn(source=source) if name == "__name__":
            return Known(source.name)
        case Partial(function=function) if name == "func":
            return function
    raise CompileError(f"{t.describe(owner)} has no attribute '{name}'", t.loc)


def shape_of(t: Tracer, arr: Arr) -> Value:
    return sizes_tuple(tuple(map(t.root, arr.shape)))


def sizes_tuple(sizes: tuple[Atom, ...]) -> Value:
    """Sizes as a tuple of Python ints."""
    items = tuple(size_value(s) for s in sizes)
    if all(isinstance(i, Known) for i in items):
        return Known(tuple(i.value for i in items if isinstance(i, Known)))
    return Tup(items)


def size_value(size: Atom) -> Value:
    return Known(int(size.value)) if isinstance(size, Const) else weak_int(size)


def _of_array(t: Tracer, arr: Arr, name: str) -> Value:
    match name:
        case "shape":
            return shape_of(t, arr)
        case "ndim":
            return Known(arr.rank)
        case "size":
            return size_value(count(t, arr.shape))
        case "dtype":
            return Known(numpy_dtype(arr))
        case "itemsize":
            return Known(numpy_dtype(arr).itemsize)
        case "nbytes":
            size = Const(numpy_dtype(arr).itemsize, i64)
            return size_value(t.b.prim("mul", count(t, arr.shape), size))
        case "T" | "mT":
            order = list(range(arr.rank))
            order = order[::-1] if name == "T" else [*order[:-2], *order[-2:][::-1]]
            return transpose(t, arr, order)
        case "real" if not arr.is_complex:
            return arr
        case "real" | "imag":
            return part(t, arr, name)
        case "flags" | "strides" | "base" | "data" | "ctypes":
            raise UnsupportedError(
                f"'.{name}' of an array is not supported: the compiler chooses how"
                " arrays lie in memory",
                t.loc,
                "use .shape and .dtype",
            )
    if ("attribute", name) in t.rules.keys:
        return t.library(("attribute", name), arr)
    if hasattr(np.ndarray, name):
        return Method(Known(ArrayMethod(name)), arr)
    remedy = "write in place: x[i] = v, x[i] += v" if name == "at" else ""
    raise CompileError(f"an array has no attribute '{name}'", t.loc, remedy)


def part(t: Tracer, arr: Arr, name: str) -> Value:
    """The real or imaginary part of an array, as a new array that may not be written."""

    def one(idx: tuple[Atom, ...]) -> Value:
        x = element(t, arr, idx)
        if isinstance(x, Cx):
            return Num(x.re if name == "real" else x.im)
        return Num(Const(0, x.dtype))

    out = generate(t, arr.shape, one)
    if isinstance(out, Arr):
        out.obj.readonly = f"'.{name}' of a complex array is a copy here, which cannot be written"
    return out


def _of_number(t: Tracer, value: Value, name: str) -> Value:
    if name in ("real", "imag"):
        x = scalar(t, value)
        if isinstance(x, Cx):
            return Num(x.re if name == "real" else x.im, x.weak)
        if name == "real":
            return value
        return Num(Const(0, x.dtype), x.weak)
    key = type_key(value)
    if name == "dtype":
        if isinstance(key, type):
            raise CompileError(f"a Python {key.__name__} has no attribute 'dtype'", t.loc)
        return Known(key)
    simple: dict[str, Value] = {"ndim": Known(0), "shape": Known(()), "size": Known(1), "T": value}
    if name in simple:
        return simple[name]
    if hasattr(np.float64, name) or hasattr(int, name):
        return Method(Known(ArrayMethod(name)), value)
    raise CompileError(f"a number has no attribute '{name}'", t.loc)


def _of_tuple(
    t: Tracer, owner: Tup, items: tuple[Value, ...], cls: type | None, name: str
) -> Value:
    fields: tuple[str, ...] = getattr(cls, "_fields", ())
    if name in fields:
        return items[fields.index(name)]
    if name in ("index", "count") or (fields and name in ("_replace", "_asdict")):
        return Method(Known(ArrayMethod(name)), owner)
    if cls is not None and hasattr(cls, name):
        return _of_class(t, owner, cls, name)
    raise CompileError(f"{t.describe(owner)} has no attribute '{name}'", t.loc)


def _of_instance(t: Tracer, owner: Ref, obj: InstanceObj, name: str) -> Value:
    fields = t.state.heap[obj]
    if name in fields:
        found: Value = fields[name]
        return found
    if obj.path is not None and _is_data(obj, name):
        value = t.outside.value(t, getattr(obj.value, name), obj.path.attr(name))
        fields[name] = value  # read once; no change that a branch would have to join
        return value
    if not hasattr(obj.cls, name):
        raise CompileError(f"{t.describe(owner)} has no attribute '{name}'", t.loc)
    return _of_class(t, owner, obj.cls, name, obj.home, obj.path or obj.home)


def _is_data(obj: InstanceObj, name: str) -> bool:
    """Whether the attribute is a value of the instance, or a constant that its class gives it:
    both may be replaced between calls."""
    if name in getattr(obj.value, "__dict__", {}):
        return True
    raw = inspect.getattr_static(obj.cls, name, None)
    if isinstance(raw, types.MemberDescriptorType):  # __slots__
        return hasattr(obj.value, name)
    return hasattr(obj.cls, name) and not hasattr(raw, "__get__")


def _of_super(t: Tracer, cls: type, instance: Value, name: str) -> Value:
    """super().name: what the classes behind `cls` give the instance."""
    match instance:
        case Ref(InstanceObj(cls=own, home=home)):
            pass
        case Known(value=type() as own, path=home):  # in a classmethod
            pass
        case _:
            raise CompileError(f"super() of {t.describe(instance)}", t.loc)
    order = own.__mro__
    for k in range(order.index(cls) + 1, len(order)):
        if name in vars(order[k]):
            found = None if home is None else home.attr("__mro__").item(k)
            return _of_class(t, instance, order[k], name, found, found)
    raise CompileError(f"the classes that {cls.__name__} inherits from have no '{name}'", t.loc)


def _of_class(
    t: Tracer, owner: Value, cls: type, name: str, home: Path | None = None,
    bound: Path | None = None,
) -> Value:  # fmt: skip
    """What a class gives its instances: methods, properties, constants. Another function may take
    the place of one between calls: where the class is found (at `home`), or the instance (at
    `bound`, or the class again), that is a guard."""
    raw = inspect.getattr_static(cls, name)

    def function(f: Any, path: Path | None, *steps: str) -> Known:
        f = plain(f)
        if path is None or not isinstance(f, types.FunctionType):
            return Known(f)
        return cast(Known, t.outside.value(t, f, functools.reduce(Path.attr, (name, *steps), path)))

    match raw:
        case property():
            return t.call(function(raw.fget, home, "fget"), owner)
        case staticmethod():
            return function(raw.__func__, bound)
        case classmethod():
            itself = owner if isinstance(owner, Known) else Known(cls, home)
            return Method(function(raw.__func__, bound, "__func__"), itself)
    if isinstance(plain(raw), types.FunctionType):
        step = () if bound is home else ("__func__",)
        return Method(function(raw, bound, *step), owner)
    if hasattr(raw, "__get__"):
        raise UnsupportedError(f"the attribute '{name}' of {cls.__name__} is not supported", t.loc)
    return t.outside.attribute(t, Known(cls, home), name)


def _compare_fields(t: Tracer, op: str, a: Value, b: Value) -> Value:
    """A comparison that `dataclass` made: of the fields, in order."""
    same = [x.obj.cls if isinstance(x, Ref) and isinstance(x.obj, InstanceObj) else None
            for x in (a, b)]  # fmt: skip
    if same[0] is not same[1] or same[0] is None:
        if op in ("Eq", "NotEq"):
            return Known(op == "NotEq")
        raise CompileError(f"{t.describe(a)} and {t.describe(b)} have no order", t.loc)
    names = [f.name for f in dataclasses.fields(same[0]) if f.compare]
    rows = [Tup(tuple(attribute(t, x, n) for n in names)) for x in (a, b)]
    return t.rules.compare(t, op, *rows)


def dunder(t: Tracer, op: str, *args: Value) -> Value | None:
    """An operator that a class defines."""
    name = BINARY_DUNDER.get(op)
    for k, arg in enumerate(args):
        method = f"__{'r' if k else ''}{name}__"
        if isinstance(arg, Tup) and isinstance(getattr(arg.cls, method, None), types.FunctionType):
            return t.call(attribute(t, arg, method), *args[:k], *args[k + 1 :])
        if not (isinstance(arg, Ref) and isinstance(arg.obj, InstanceObj)) or name is None:
            continue
        own = getattr(arg.obj.cls, method, None)
        if op == "NotEq" and not isinstance(own, types.FunctionType):
            same = dunder(t, "Eq", *args)
            return None if same is None else t.rules.negation(t, same)
        if isinstance(own, types.FunctionType) and dataclasses.is_dataclass(arg.obj.cls) and (
            own.__code__.co_filename == "<string>"
        ):  # fmt: skip
            return _compare_fields(t, op, *args)
        if isinstance(own, types.FunctionType):
            return t.call(attribute(t, arg, method), *args[:k], *args[k + 1 :])
        if op in ("Eq", "NotEq"):
            return None
        raise CompileError(f"{t.describe(arg)} does not define '{method}'", t.loc)
    return None
