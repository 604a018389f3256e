"""a[i], a[1:-1], a[mask], a[idx] = v and a[i] += v, for arrays, tuples, lists and dicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapeless.core.names import Atom
from tapeless.errors import CompileError, UnsupportedError
from tapeless.frontend.arrays import assign, scalar_value
from tapeless.frontend.attributes import attribute
from tapeless.frontend.construct import array_of, as_array, as_operand
from tapeless.frontend.fancy import gather, is_mask, scatter_store
from tapeless.frontend.iteration import NeedsStatic, iterate, seq_item
from tapeless.frontend.places import compose, element, put_element, settle
from tapeless.frontend.scalars import index_atom
from tapeless.frontend.sequences import seq_of
from tapeless.frontend.slices import slice_parts
from tapeless.frontend.values import (
    Arr,
    Axis,
    Cx,
    DictObj,
    InstanceObj,
    Known,
    ListObj,
    Many,
    Num,
    Ref,
    Seq,
    Slice,
    Tup,
    Value,
)  # fmt: skip
from tapeless.ir.build import ONE, ZERO

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer

FULL = Slice(Known(None), Known(None), Known(None))


def wrap(t: Tracer, value: Any) -> Value:
    """The result of an operation of compile time."""
    if isinstance(value, list):
        return new_list(t, tuple(wrap(t, v) for v in value))
    return Known(value)


def new_list(t: Tracer, items: tuple[Value, ...]) -> Ref:
    obj = ListObj()
    t.state.heap[obj] = items
    return Ref(obj)


# Reading ------------------------------------------------------------------------------------


def subscript(t: Tracer, value: Value, index: Value) -> Value:
    """value[index]"""
    match value:
        case Arr():
            return index_array(t, value, index)
        case Ref(InstanceObj()):
            return t.call(attribute(t, value, "__getitem__"), index)
        case Tup(items):
            return _pick(t, items, index, Tup)
        case Ref(ListObj() as obj):
            content = t.state.heap[obj]
            if isinstance(content, Seq):
                return _seq_at(t, content, index)
            return _pick(t, content, index, lambda part: new_list(t, part))
        case Ref(DictObj() as obj):
            fields = t.state.heap[obj]
            key = _static_key(t, index)
            if key not in fields:
                raise CompileError(
                    f"the dict has no key {key!r}", t.loc, f"it has {list(fields)}"[:80]
                )
            found: Value = fields[key]
            return found
        case Known(value=v):
            key = _static_key(t, index)
            try:
                return wrap(t, v[key])
            except (IndexError, KeyError, TypeError) as error:
                raise CompileError(f"{type(error).__name__}: {error}", t.loc) from None
        case _ if hasattr(value, "size"):
            many = iterate(t, value)
            assert isinstance(many, Many)
            return many.item(_checked(t, index_atom(t, index), many.size, "range index"))
    if isinstance(value, Num | Cx) and isinstance(index, Tup) and not index.items:
        return value  # np.where(…)[()] of numbers is a number
    raise CompileError(f"{t.describe(value)} cannot be indexed", t.loc)


def _static_key(t: Tracer, index: Value) -> Any:
    match index:
        case Known(value=key):
            return key
        case Tup(items):
            return tuple(_static_key(t, i) for i in items)
        case Slice(a, b, c):
            return slice(_static_key(t, a), _static_key(t, b), _static_key(t, c))
    if t.countable:
        raise NeedsStatic
    raise CompileError("this index must be known at compile time", t.loc,
                       "use an array, or loop over the items themselves")  # fmt: skip


def _pick(t: Tracer, items: tuple[Value, ...], index: Value, make: Any) -> Value:
    index = scalar_value(t, index)
    if isinstance(index, Num):
        if t.countable:
            raise NeedsStatic
        return _select_item(t, items, index)
    key = _static_key(t, index)
    if isinstance(key, slice):
        out: Value = make(items[key])
        return out
    try:
        item: Value = items[key]
    except (IndexError, TypeError) as error:
        raise CompileError(f"{type(error).__name__}: {error}", t.loc) from None
    return item


def _select_item(t: Tracer, items: tuple[Value, ...], index: Num) -> Value:
    """items[i] with a run-time i: an array of the items, indexed."""
    return index_array(t, array_of(t, Tup(items), None), index)


def _seq_at(t: Tracer, seq: Seq, index: Value) -> Value:
    if isinstance(index, Slice):
        first, size, step = slice_parts(t, _numbers(t, index), seq.size)

        def item(k: Atom) -> Value:
            return seq_item(t, seq, t.b.prim("add", first, t.b.prim("mul", k, step)))

        return seq_of(t, Many(size, item))
    return seq_item(t, seq, _checked(t, index_atom(t, index), seq.size, "list index"))


def _checked(t: Tracer, i: Atom, size: Atom, what: str) -> Atom:
    wrapped = i if t.is_nonnegative(i) else t.b.prim(
        "select", t.b.prim("lt", i, ZERO), t.b.prim("add", i, size), i)  # fmt: skip
    inside = t.b.prim("and", t.b.prim("le", ZERO, wrapped), t.b.prim("lt", wrapped, size))
    t.b.check(inside, "IndexError", f"{what} {{0}} out of range", i)
    return wrapped


def index_items(t: Tracer, index: Value, rank: int) -> list[Value]:
    """The parts of an index with `...` spelled out and missing axes added."""
    parts: list[Value] = list(index.items) if isinstance(index, Tup) else [index]
    if isinstance(index, Known) and isinstance(index.value, tuple):
        parts = [Known(v) for v in index.value]
    parts = [scalar_value(t, p) for p in parts]
    parts = [as_array(t, p) if _is_listlike(p) else p for p in parts]
    used = sum(_axes_used(p) for p in parts)
    dots = [k for k, p in enumerate(parts) if isinstance(p, Known) and p.value is Ellipsis]
    if len(dots) > 1:
        raise CompileError("an index can have only one '...'", t.loc)
    if used > rank:
        raise CompileError(f"too many indices: the array has rank {rank}, {used} were given", t.loc)
    missing = [FULL] * (rank - used)
    if dots:
        return parts[: dots[0]] + missing + parts[dots[0] + 1 :]
    return parts + missing


def _is_listlike(p: Value) -> bool:
    return isinstance(p, Tup | Ref) or (isinstance(p, Known) and isinstance(p.value, list))


def _axes_used(p: Value) -> int:
    if isinstance(p, Known) and (p.value is None or p.value is Ellipsis):
        return 0
    return p.rank if isinstance(p, Arr) and is_mask(p) else 1


def is_advanced(p: Value) -> bool:
    return isinstance(p, Arr)


def is_int(p: Value) -> bool:
    return (
        isinstance(p, Num)
        or (isinstance(p, Known) and isinstance(p.value, int) and not isinstance(p.value, bool))
        or (
            isinstance(p, Known) and hasattr(p.value, "__index__") and not isinstance(p.value, bool)
        )
    )


def index_array(t: Tracer, arr: Arr, index: Value) -> Value:
    """arr[index]: an element, a view, or (masks, index arrays) a new array."""
    parts = index_items(t, index, arr.rank)
    if any(is_advanced(p) for p in parts):
        return gather(t, arr, parts)
    if len(parts) == arr.rank and all(is_int(p) for p in parts):
        idx = tuple(index_atom(t, p) for p in parts)
        return element(t, arr, idx, modes(t, idx))
    return view(t, arr, parts)


def modes(t: Tracer, idx: tuple[Atom, ...]) -> str:
    """How each index is honoured: those known not to be negative need no wrapping."""
    return "".join("c" if t.is_nonnegative(i) else "w" for i in idx)


def _numbers(t: Tracer, s: Slice) -> Slice:
    return Slice(*(scalar_value(t, v) for v in (s.start, s.stop, s.step)))


def view(t: Tracer, arr: Arr, parts: list[Value]) -> Arr:
    """The place that a basic index names."""
    outer: list[Axis] = []
    shape: list[Atom] = []
    axis = 0
    for part in parts:
        if isinstance(part, Known) and part.value is None:
            shape.append(ONE)
            continue
        size = arr.shape[axis]
        if isinstance(part, Slice):
            start, count, step = slice_parts(t, _numbers(t, part), size)
            outer.append(Axis(start, len(shape), step))
            shape.append(count)
        elif is_int(part):
            i = index_atom(t, part)
            outer.append(Axis(settle(t, i, size, "w", axis)))
        else:
            raise CompileError(f"{t.describe(part)} cannot be an index", t.loc)
        axis += 1
    return compose(t, tuple(shape), outer, arr)


# Writing ------------------------------------------------------------------------------------


def store(t: Tracer, place: Value, index: Value, value: Value) -> None:
    """place[index] = value"""
    match place:
        case Arr():
            store_array(t, place, index, value)
        case Ref(ListObj() as obj):
            t.outside.refuse_change(t, obj)
            content = t.state.heap[obj]
            if isinstance(content, Seq):
                raise UnsupportedError("assigning to a list of run-time length", t.loc,
                                       "use an array: np.array(...)")  # fmt: skip
            key = _static_key(t, index)
            items = list(content)
            try:
                items[key] = value
            except (IndexError, TypeError) as error:
                raise CompileError(f"{type(error).__name__}: {error}", t.loc) from None
            t.state.heap[obj] = tuple(items)
        case Ref(DictObj() as obj):
            t.outside.refuse_change(t, obj)
            t.state.heap[obj] = {**t.state.heap[obj], _static_key(t, index): value}
        case _:
            raise CompileError(f"cannot assign to items of {t.describe(place)}", t.loc)


def store_array(t: Tracer, place: Arr, index: Value, value: Value) -> None:
    value = as_operand(t, value)
    parts = index_items(t, index, place.rank)
    if any(is_advanced(p) for p in parts):
        scatter_store(t, place, parts, value)
        return
    if len(parts) == place.rank and all(is_int(p) for p in parts):
        idx = tuple(index_atom(t, p) for p in parts)
        scalar = scalar_value(t, value)
        if isinstance(scalar, Arr):
            if not all(s == ONE for s in scalar.shape):
                raise CompileError("an array cannot be put into one element", t.loc)
            scalar = element(t, scalar, (ZERO,) * scalar.rank)
        put_element(t, place, idx, scalar, modes(t, idx))
        return
    assign(t, view(t, place, parts), value)
