"""What a `for` walks over: values of compile time, or a size and the item at an index."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, KeysView, ValuesView
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from tapeless.core.names import Atom, Const
from tapeless.core.types import i64
from tapeless.errors import CompileError
from tapeless.frontend.join import ArrayForm, ListForm, Number, Same, SeqForm, Tree
from tapeless.frontend.places import compose, element
from tapeless.frontend.scalars import index_atom, known_int, scalar
from tapeless.frontend.values import (
    Arr,
    Axis,
    DictObj,
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
    weak_int,
)  # fmt: skip
from tapeless.ir.build import ONE, ZERO

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer

Items: TypeAlias = "list[Value] | Many"


class NeedsStatic(Exception):
    """A run-time index was used where only a static one will do: the loop may be unrolled."""


def iterate(t: Tracer, value: Value) -> Items:
    """The items of an iterable."""
    match value:
        case Known(value=v):
            return _iterate_known(t, v)
        case Tup(items):
            return list(items)
        case Ref(ListObj() as obj):
            content = t.state.heap[obj]
            return seq_items(t, content) if isinstance(content, Seq) else list(content)
        case Ref(DictObj() as obj):
            return [Known(k) for k in t.state.heap[obj]]
        case Arr():
            if value.rank == 0:
                raise CompileError("iteration over a 0-dimensional array", t.loc)
            return Many(value.shape[0], lambda i: row(t, value, i))
        case Rng():
            return Many(value.size, lambda i: range_item(t, value, i))
        case Many():
            return value
        case Gen():
            return iterate(t, t.rules.as_list(t, value))
    raise CompileError(f"cannot iterate over {t.describe(value)}", t.loc)


def _iterate_known(t: Tracer, v: Any) -> Items:
    if isinstance(v, tuple | list | str | frozenset | dict):
        return [Known(x) for x in v]
    if isinstance(v, range):
        return Many(Const(len(v), i64), lambda i: range_item(
            t, Rng(Known(v.start), Known(v.step), Const(len(v), i64)), i))  # fmt: skip
    if isinstance(v, KeysView | ItemsView | ValuesView):
        return [Known(x) for x in v]
    raise CompileError(f"cannot iterate over {t.describe(Known(v))}", t.loc)


def row(t: Tracer, arr: Arr, i: Atom) -> Value:
    """Item i (in range) of an array: an element, or a view."""
    if arr.rank == 1:
        return element(t, arr, (i,))
    outer = [Axis(i), *(Axis(ZERO, d) for d in range(arr.rank - 1))]
    return compose(t, arr.shape[1:], outer, arr)


def range_item(t: Tracer, r: Rng, i: Atom) -> Value:
    start, step = index_atom(t, r.start), index_atom(t, r.step)
    if isinstance(i, Const) and isinstance(start, Const) and isinstance(step, Const):
        return Known(int(start.value) + int(step.value) * int(i.value))
    at = t.b.prim("add", start, t.b.prim("mul", step, i))
    if t.is_nonnegative(start) and t.is_nonnegative(step):
        t.nonnegative.add(at)
    return weak_int(at)


def make_range(t: Tracer, args: list[Value]) -> Value:
    """range(stop), range(start, stop), range(start, stop, step)."""
    bounds = [index_atom(t, v, "a bound of range") for v in args]
    if all(isinstance(v, Known) for v in args):
        return Known(range(*(int(a.value) for a in bounds if isinstance(a, Const))))
    a, z, s = (ZERO, *bounds, ONE) if len(bounds) == 1 else (*bounds, ONE)[:3]
    return Rng(weak_int(a), weak_int(s), range_size(t, a, z, s))


def range_size(t: Tracer, start: Atom, stop: Atom, step: Atom) -> Atom:
    """How many numbers range(start, stop, step) has."""
    p = t.b.prim
    k = known_int(step)
    if k == 0:
        raise CompileError("range() with step 0", t.loc, "use a step that is not zero")
    if k is None:
        t.b.check(p("ne", step, ZERO), "ValueError", "range() arg 3 must not be zero")
        up = p("lt", ZERO, step)
        span = p("select", up, p("sub", stop, start), p("sub", start, stop))
        width = p("select", up, step, p("neg", step))
        count = p("floordiv", p("add", span, p("sub", width, ONE)), width)
    elif k == 1:
        count = p("sub", stop, start)
    elif k > 0:
        count = p("floordiv", p("add", p("sub", stop, start), Const(k - 1, i64)), Const(k, i64))
    else:
        count = p("floordiv", p("add", p("sub", start, stop), Const(-k - 1, i64)), Const(-k, i64))
    if t.is_nonnegative(count):
        return count
    size = p("max", count, ZERO)
    t.nonnegative.add(size)
    return size


def seq_items(t: Tracer, seq: Seq) -> Many:
    return Many(seq.size, lambda i: seq_item(t, seq, i))


def seq_item(t: Tracer, seq: Seq, i: Atom) -> Value:
    """Element i (in range) of a list of run-time length."""
    return seq_rebuild(t, seq.form, [row(t, leaf, i) for leaf in seq.leaves])


def seq_rebuild(t: Tracer, form: Any, parts: list[Value]) -> Value:
    match form:
        case Same(value):
            return value
        case Number(weak=weak):
            x = scalar(t, parts.pop(0))
            return Num(x.atom, weak) if isinstance(x, Num) else x
        case Tree(items, cls):
            return Tup(tuple(seq_rebuild(t, f, parts) for f in items), cls)
        case ListForm(items):
            obj = ListObj()
            t.ambiguous.add(obj)
            t.state.heap[obj] = tuple(seq_rebuild(t, f, parts) for f in items)
            return Ref(obj)
        case ArrayForm():
            return parts.pop(0)
        case SeqForm(element, leaves):
            own = tuple(p for _ in leaves if isinstance(p := parts.pop(0), Arr))
            obj = ListObj()
            t.ambiguous.add(obj)
            t.state.heap[obj] = Seq(own[0].shape[0], element, own)
            return Ref(obj)
    raise CompileError("the elements of this list cannot be looped over", t.loc)


def zipped(t: Tracer, values: list[Value]) -> Items:
    """zip: as long as the shortest."""
    parts = [iterate(t, v) for v in values]
    if all(isinstance(p, list) for p in parts):
        return [Tup(tuple(items)) for items in zip(*parts, strict=False)]
    sizes = [Const(len(p), i64) if isinstance(p, list) else p.size for p in parts]
    size = sizes[0]
    for other in sizes[1:]:
        if other != size and not t.is_same_size(size, other):
            size = t.b.prim("min", size, other)
    t.nonnegative.add(size)
    return Many(size, lambda i: Tup(tuple(item_at(t, p, i) for p in parts)))


def item_at(t: Tracer, items: Items, i: Atom) -> Value:
    if isinstance(items, Many):
        return items.item(i)
    if isinstance(i, Const):
        return items[int(i.value)]
    if t.countable:
        raise NeedsStatic
    raise CompileError(
        "a tuple is walked together with something whose length is known only at run time", t.loc,
        "make it an array: np.array((...))",
    )  # fmt: skip


def enumerated(t: Tracer, value: Value, start: Value) -> Items:
    items = iterate(t, value)
    first = index_atom(t, start)
    if isinstance(items, list) and isinstance(first, Const):
        return [Tup((Known(int(first.value) + k), v)) for k, v in enumerate(items)]

    def item(i: Atom) -> Value:
        at = t.b.prim("add", first, i)
        number: Value = Known(int(at.value)) if isinstance(at, Const) else weak_int(at)
        return Tup((number, item_at(t, items, i)))

    size = Const(len(items), i64) if isinstance(items, list) else items.size
    return Many(size, item)


def reversed_items(t: Tracer, value: Value) -> Items:
    items = iterate(t, value)
    if isinstance(items, list):
        return items[::-1]
    last = t.b.prim("sub", items.size, ONE)
    return Many(items.size, lambda i: items.item(_nonneg(t, t.b.prim("sub", last, i))))


def _nonneg(t: Tracer, atom: Atom) -> Atom:
    t.nonnegative.add(atom)
    return atom


def length(t: Tracer, value: Value) -> Atom:
    """len(value)."""
    match value:
        case Arr():
            if value.rank == 0:
                raise CompileError("len() of a 0-dimensional array", t.loc)
            return value.shape[0]
        case Rng(size=size) | Many(size=size):
            return size
    items = iterate(t, value)
    return Const(len(items), i64) if isinstance(items, list) else items.size


MAX_UNROLL = 64
T = TypeVar("T")


def counted_or_unrolled(
    t: Tracer, items: Many, counted: Callable[[Many], T], unrolled: Callable[[list[Value]], T]
) -> T:
    """A short loop of static length is counted, unless its body needs to know the index."""
    if not (isinstance(items.size, Const) and items.size.value <= MAX_UNROLL):
        return counted(items)
    before, place = t.snapshot(), t.b.here()
    t.countable += 1
    try:
        return counted(items)
    except NeedsStatic:
        before.restore(t.frames, t.state)
        t.b.rewind(place)
    finally:
        t.countable -= 1
    return unrolled([items.item(Const(k, i64)) for k in range(int(items.size.value))])
