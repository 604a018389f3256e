"""Methods of arrays, numbers, lists, dicts and tuples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tapeless.core.names import Atom, Const
from tapeless.core.types import f64, i64
from tapeless.errors import CompileError, UnsupportedError
from tapeless.frontend.arrays import assign, cast, copy, rank0
from tapeless.frontend.builtin_rules import dtype_argument, to_list
from tapeless.frontend.indexing import subscript
from tapeless.frontend.iteration import Items, iterate
from tapeless.frontend.operators import compare
from tapeless.frontend.places import count, numpy_dtype, reshape, transpose
from tapeless.frontend.rule import Args, Kwargs, check_call, known
from tapeless.frontend.scalars import convert, index_atom, scalar
from tapeless.frontend.sequences import append, seq_of
from tapeless.frontend.values import (
    NONE,
    Arr,
    Cx,
    DictObj,
    Known,
    ListObj,
    Many,
    Num,
    Ref,
    Tup,
    Value,
    is_number,
)  # fmt: skip
from tapeless.ir.build import ONE

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer


def call_method(t: Tracer, name: str, owner: Value, args: Args, kwargs: Kwargs) -> Value:
    match owner:
        case Ref(ListObj() as obj):
            check_call(t, getattr(list, name), (owner, *args), kwargs)
            return _list_method(t, name, obj, args)
        case Ref(DictObj() as obj):
            check_call(t, getattr(dict, name), (owner, *args), kwargs)
            return _dict_method(t, name, obj, args, kwargs)
        case Tup():
            return _tuple_method(t, name, owner, args, kwargs)
    rule = ARRAY.get(name)
    if rule is not None and isinstance(owner, Arr):
        _known_arguments(t, name, args, kwargs)
        return rule(t, owner, args, kwargs)
    if is_number(owner):
        number = _number_method(t, name, owner, args, kwargs)
        if number is not None:
            return number
        owner = rank0(t, scalar(t, owner))
    if ("method", name) in t.rules.keys:
        return t.library(("method", name), owner, *args, **kwargs)
    raise UnsupportedError(f"the method '.{name}()' of arrays is not supported", t.loc,
                           f"write np.{name}(x, ...) or a loop")  # fmt: skip


# Arguments of the methods of arrays that have rules here: how many, and which by name.
TAKES: dict[str, tuple[int, tuple[str, ...]]] = {
    "copy": (1, ("order",)), "astype": (1, ("dtype", "copy")), "item": (99, ()),
    "fill": (1, ("value",)),
    "reshape": (99, ("shape", "order")), "flatten": (1, ("order",)), "ravel": (1, ("order",)),
    "transpose": (99, ("axes",)), "tolist": (0, ()), "conj": (0, ()), "conjugate": (0, ()),
}  # fmt: skip


def _known_arguments(t: Tracer, name: str, args: Args, kwargs: Kwargs) -> None:
    most, names = TAKES[name]
    for key in kwargs:
        if key not in names:
            raise UnsupportedError(f"the argument '{key}' of .{name}() is not supported", t.loc)
    if len(args) > most:
        raise CompileError(f".{name}() takes at most {most} arguments", t.loc)
    order = kwargs.get("order") or (args[0] if "order" in names and most == 1 and args else None)
    if order is not None and known(t, order, "the order") not in ("C", "K", "A"):
        raise UnsupportedError(
            f".{name}() in Fortran order is not supported", t.loc, "transpose first"
        )


# Numbers --------------------------------------------------------------------------------------


def _number_method(t: Tracer, name: str, x: Value, args: Args, kwargs: Kwargs) -> Value | None:
    match name:
        case "item":
            s = scalar(t, x)
            return Cx(s.re, s.im, True) if isinstance(s, Cx) else Num(s.atom, True)
        case "copy":
            return x
        case "astype":
            dtype = dtype_argument(t, args[0])
            assert dtype is not None
            return convert(t, x, dtype)
        case "conjugate" | "conj":
            return t.call(Known(np.conjugate), x)
        case "is_integer":
            return compare(t, "Eq", x, t.call(Known(np.floor), x))
        case "sum" | "mean" | "prod" | "max" | "min" if not args and not kwargs:
            return x
    return None


# Arrays ---------------------------------------------------------------------------------------


def _copy(t: Tracer, x: Arr, args: Args, kwargs: Kwargs) -> Value:
    return copy(t, x)


def _astype(t: Tracer, x: Arr, args: Args, kwargs: Kwargs) -> Value:
    dtype = dtype_argument(t, args[0] if args else kwargs["dtype"])
    assert dtype is not None
    kept = kwargs.get("copy", Known(True))
    if numpy_dtype(x) == dtype and isinstance(kept, Known) and not kept.value:
        return x
    if x.is_complex and dtype.kind != "c":
        raise CompileError(f"a complex array cannot become {dtype}", t.loc, "take .real or abs()")
    return cast(t, x, dtype)


def _item(t: Tracer, x: Arr, args: Args, kwargs: Kwargs) -> Value:
    index = args[0] if len(args) == 1 else Tup(tuple(args) or (Known(0),) * x.rank)
    value = subscript(t, x, index)
    assert isinstance(value, Num | Cx)
    return Cx(value.re, value.im, True) if isinstance(value, Cx) else Num(value.atom, True)


def _fill(t: Tracer, x: Arr, args: Args, kwargs: Kwargs) -> Value:
    assign(t, x, args[0] if args else kwargs["value"])
    return NONE


def reshape_to(t: Tracer, x: Arr, sizes: Sequence[Value]) -> Arr:
    """Sizes may hold one -1, which is what is left."""
    atoms = [index_atom(t, s, "a size") for s in sizes]
    missing = [k for k, a in enumerate(atoms) if isinstance(a, Const) and a.value == -1]
    if len(missing) > 1:
        raise CompileError("only one size of a shape can be -1", t.loc)
    if missing:
        rest: Atom = ONE
        for k, a in enumerate(atoms):
            if k not in missing:
                rest = t.b.prim("mul", rest, a)
        total = count(t, x.shape)
        size = _quotient(t, total, rest)
        atoms[missing[0]] = size
        whole = t.b.prim("mul", size, rest)
        if whole != total:
            t.b.check(
                t.b.prim("eq", whole, total),
                "ValueError",
                "cannot reshape an array of {0} elements into rows of {1}",
                total,
                rest,
            )
            t.same_sizes(whole, total)
    return reshape(t, x, tuple(atoms))


def _quotient(t: Tracer, total: Any, rest: Any) -> Any:
    """total / rest, where total is a product that has rest as a factor: the other factor."""
    if rest == ONE:
        return total
    size = t.b.prim("floordiv", total, rest)
    t.nonnegative.add(size)
    return size


def _reshape(t: Tracer, x: Arr, args: Args, kwargs: Kwargs) -> Value:
    sizes = kwargs.get("shape") or (args[0] if len(args) == 1 else Tup(tuple(args)))
    spelled = [sizes] if is_number(sizes) else iterate(t, sizes)
    if not isinstance(spelled, list):
        raise CompileError("the rank of a shape must be known at compile time", t.loc)
    return reshape_to(t, x, spelled)


def _flatten(t: Tracer, x: Arr, args: Args, kwargs: Kwargs) -> Value:
    return copy(t, reshape(t, x, (count(t, x.shape),)))


def _ravel(t: Tracer, x: Arr, args: Args, kwargs: Kwargs) -> Value:
    return reshape(t, x, (count(t, x.shape),))


def _transpose(t: Tracer, x: Arr, args: Args, kwargs: Kwargs) -> Value:
    axes = kwargs.get("axes") or (args[0] if len(args) == 1 else Tup(tuple(args)))
    order = known(t, axes, "the axes")
    if isinstance(order, int):
        order = (order,)
    if not order:
        order = range(x.rank)[::-1]
    return transpose(t, x, [int(a) % x.rank for a in order])


def _tolist(t: Tracer, x: Arr, args: Args, kwargs: Kwargs) -> Value:
    """Nested lists of Python's numbers."""
    if x.rank == 0:
        return _item(t, x, (), {})
    items = iterate(t, x)
    assert isinstance(items, Many)
    return seq_of(t, Many(items.size, lambda i: _as_python(t, items.item(i))))


def _as_python(t: Tracer, value: Value) -> Value:
    if isinstance(value, Arr):
        return _tolist(t, value, (), {})
    x = scalar(t, value)
    if isinstance(x, Cx):
        return Cx(t.b.cast(x.re, f64), t.b.cast(x.im, f64), True)
    if x.dtype.is_bool:
        return x
    return Num(t.b.cast(x.atom, f64 if x.dtype.is_float else i64), True)


def _conj(t: Tracer, x: Arr, args: Args, kwargs: Kwargs) -> Value:
    return t.call(Known(np.conjugate), x)


ARRAY: dict[str, Callable[[Any, Arr, Args, Kwargs], Value]] = {
    "copy": _copy, "astype": _astype, "item": _item, "fill": _fill, "reshape": _reshape,
    "flatten": _flatten, "ravel": _ravel, "transpose": _transpose, "tolist": _tolist, "conj": _conj,
    "conjugate": _conj,
}  # fmt: skip


# Lists, dicts, tuples -------------------------------------------------------------------------


def _static_content(t: Tracer, obj: ListObj, name: str) -> tuple[Value, ...]:
    content = t.state.heap[obj]
    if isinstance(content, tuple):
        return content
    raise UnsupportedError(f"'.{name}()' of a list of run-time length is not supported", t.loc,
                           "use an array and a counter")  # fmt: skip


CHANGES = frozenset({"append", "extend", "clear", "pop", "insert", "reverse", "update"})


def _list_method(t: Tracer, name: str, obj: ListObj, args: Args) -> Value:
    if name in CHANGES:
        t.outside.refuse_change(t, obj)
    match name:
        case "append":
            append(t, obj, args[0])
            return NONE
        case "extend":
            items: Items = iterate(t, args[0])
            if isinstance(items, Many):
                raise UnsupportedError(
                    "'.extend()' by a run-time number of items", t.loc, "append in a loop"
                )
            for item in items:
                append(t, obj, item)
            return NONE
        case "copy":
            return to_list(t, Ref(obj))
        case "clear":
            t.state.heap[obj] = ()
            return NONE
    content = _static_content(t, obj, name)
    match name:
        case "pop":
            at = known(t, args[0], "the index of pop()") if args else -1
            if not content:
                raise CompileError("pop from an empty list", t.loc)
            rest = list(content)
            out = rest.pop(at)
            t.state.heap[obj] = tuple(rest)
            return out
        case "insert":
            at = known(t, args[0], "the index of insert()")
            t.state.heap[obj] = (*content[:at], args[1], *content[at:])
            return NONE
        case "reverse":
            t.state.heap[obj] = content[::-1]
            return NONE
    return _tuple_method(t, name, Tup(content), args, {})


def _dict_method(t: Tracer, name: str, obj: DictObj, args: Args, kwargs: Kwargs) -> Value:
    fields = t.state.heap[obj]
    if name in CHANGES:
        t.outside.refuse_change(t, obj)
    match name:
        case "keys":
            return Known(tuple(fields))
        case "values":
            return Tup(tuple(fields.values()))
        case "items":
            return Tup(tuple(Tup((Known(k), v)) for k, v in fields.items()))
        case "get":
            default = args[1] if len(args) > 1 else NONE
            found: Value = fields.get(known(t, args[0], "a key"), default)
            return found
        case "update":
            other = t.state.heap[args[0].obj] if args and isinstance(args[0], Ref) else {}
            t.state.heap[obj] = {**fields, **other, **kwargs}
            return NONE
    made = DictObj()
    t.state.heap[made] = dict(fields)
    return Ref(made)


def _tuple_method(t: Tracer, name: str, owner: Tup, args: Args, kwargs: Kwargs) -> Value:
    if name == "_replace":
        fields: tuple[str, ...] = getattr(owner.cls, "_fields", ())
        return Tup(
            tuple(kwargs.get(f, v) for f, v in zip(fields, owner.items, strict=True)), owner.cls
        )
    if name == "_asdict":
        obj = DictObj()
        t.state.heap[obj] = dict(zip(getattr(owner.cls, "_fields", ()), owner.items, strict=True))
        return Ref(obj)
    same = [compare(t, "Eq", item, args[0]) for item in owner.items]
    if all(isinstance(s, Known) for s in same):
        found = [k for k, s in enumerate(same) if isinstance(s, Known) and s.value]
        if name == "count":
            return Known(len(found))
        if name == "index" and found:
            return Known(found[0])
    raise CompileError(f"'.{name}()' is decided at run time here", t.loc, "use an array")
