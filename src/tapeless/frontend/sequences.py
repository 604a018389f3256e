"""Lists of run-time length: element trees, stored as one array per leaf."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import DType, i64
from tapeless.errors import CompileError
from tapeless.frontend.arrays import assign, empty, materialise, pair, refuse_writes
from tapeless.frontend.branches import NeedsSeq
from tapeless.frontend.iteration import NeedsStatic
from tapeless.frontend.join import (
    ArrayForm,
    Form,
    ListForm,
    Number,
    Same,
    SeqForm,
    Tree,
    join_numbers,
    number_form,
    same_known,
    spelled,
)
from tapeless.frontend.places import Indices, compose, full_axes, meet, new_array, reshape
from tapeless.frontend.scalars import scalar
from tapeless.frontend.values import (
    Arr,
    ArrayObj,
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
    Tup,
    Value,
    is_number,
)  # fmt: skip
from tapeless.ir.build import ONE
from tapeless.ir.syntax import Append, Each

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tapeless.frontend.tracer import Tracer


def seq_of(t: Tracer, items: Many) -> Ref:
    """The list of what an iterable gives: an array per leaf."""
    return seq_over(t, (items.size,), lambda idx: items.item(idx[0]))


def seq_over(t: Tracer, box: Indices, element: Callable[[Indices], Value]) -> Ref:
    """The list of element(i, j…) over a box, in row-major order."""
    vars = tuple(t.index_var(h) for h in "ijklmn"[: len(box)])
    before = dict(t.state.heap)
    leaves: list[tuple[Atom, bool]] = []
    with t.construct(), t.b.scope():
        item = element(vars)
        form = flatten(t, item, leaves)
        shared = {obj for obj in arrays_in(t, item) if t.is_outer_object(obj)}
        refuse_writes(t, before)
        body = t.b.body(tuple(a for a, _ in leaves))
    t.state.heap = before
    outs = t.b.let(Each(vars, box, (), body), "items")
    arrays = [new_array(t, out, cx) for out, (_, cx) in zip(outs, leaves, strict=True)]
    size = box[0]
    if len(box) > 1:
        for s in box[1:]:
            size = t.b.prim("mul", size, s)
        arrays = [reshape(t, a, (size, *a.shape[len(box) :])) for a in arrays]
    t.nonnegative.add(size)
    for source in shared:
        t.dependents.setdefault(source, set()).update(a.obj for a in arrays)
    if shared:
        for a in arrays:
            a.obj.readonly = "the items of this list may be parts of other arrays"
    obj = ListObj()
    t.state.heap[obj] = Seq(size, form, tuple(arrays))
    return Ref(obj)


def arrays_in(t: Tracer, value: Value) -> Iterator[ArrayObj]:
    """The arrays that an item of a list is, or is a part of."""
    match spelled(value):
        case Tup(items):
            for item in items:
                yield from arrays_in(t, item)
        case Arr(obj):
            yield obj
        case Ref(ListObj() as held) if isinstance(t.state.heap[held], tuple):
            for item in t.state.heap[held]:
                yield from arrays_in(t, item)


def flatten(t: Tracer, value: Value, out: list[tuple[Atom, bool]]) -> Form:
    """Appends the leaves of an element (scalars and arrays); how it is built from them."""
    value = spelled(value)
    match value:
        case Tup(items, cls):
            return Tree(tuple(flatten(t, v, out) for v in items), cls)
        case Arr():
            _refuse_ragged(t, value)
            out.append((materialise(t, value), value.is_complex))
            return ArrayForm(value.dtype, value.is_complex, value.shape)
        case Ref(ListObj() as obj):
            content = t.state.heap[obj]
            if not isinstance(content, Seq):
                if t.countable:
                    raise NeedsStatic  # a list of lists, each of which may be changed
                return ListForm(tuple(flatten(t, v, out) for v in content))
            for leaf in content.leaves:
                _refuse_ragged(t, leaf)
                out.append((materialise(t, leaf), leaf.is_complex))
            forms = tuple(ArrayForm(a.dtype, a.is_complex, a.shape) for a in content.leaves)
            return SeqForm(content.form, forms)
        case Ref(DictObj() | InstanceObj()):
            raise CompileError("a list of run-time length cannot hold dicts or objects", t.loc,
                               "use tuples or NamedTuples")  # fmt: skip
    if is_number(value):
        x = scalar(t, value)
        out.append((pair(t, x), True) if isinstance(x, Cx) else (x.atom, False))
        return number_form(t, x)
    if isinstance(value, Known):
        return Same(value)
    if t.countable:
        raise NeedsStatic
    raise CompileError(f"a list of run-time length cannot hold {t.describe(value)}", t.loc,
                       "hold numbers, arrays or tuples")  # fmt: skip


def _refuse_ragged(t: Tracer, arr: Arr) -> None:
    if not all(t.is_outer(size) for size in arr.shape):
        if t.countable:
            raise NeedsStatic  # each item has a size of its own
        raise CompileError("the rows have different lengths (a ragged array)", t.loc,
                           "make them equally long, or keep one flat array")  # fmt: skip


def append(t: Tracer, obj: ListObj, value: Value) -> None:
    """list.append"""
    content = t.state.heap[obj]
    for source in arrays_in(t, value):
        t.appended.add(source)
        source.readonly = source.readonly or "an array in a list of arrays cannot be written"
    leaves: list[tuple[Atom, bool]] = []
    if not isinstance(content, Seq):
        if t.marks:
            form = flatten(t, value, leaves)
            t.list_elements[obj] = common_element(t, t.list_elements.get(obj, form), form)
        t.state.heap[obj] = (*content, value)
        return
    form = flatten(t, value, leaves)
    wide = common_element(t, content.form, form)
    if _dtypes(wide) != _dtypes(content.form):  # begin again with items of a wider type
        t.list_elements[obj] = wide
        raise NeedsSeq(obj)
    size = t.b.prim("add", content.size, ONE)
    t.nonnegative.add(size)
    grown = []
    for old, (atom, _) in zip(content.leaves, leaves, strict=True):
        atom = t.b.cast(atom, old.dtype) if not isinstance(atom, Var) or not atom.is_array else atom
        out = t.b.one(Append(materialise(t, old), atom, size), "items")
        grown.append(new_array(t, out, old.is_complex))
    t.state.heap[obj] = Seq(size, content.form, tuple(grown))


def common_element(t: Tracer, a: Form, b: Form) -> Form:
    """The form that two items of one list have."""
    match a, b:
        case Number(), Number():
            form = join_numbers(a, b)
            if form is not None:
                return form
        case Tree(xs, cls), Tree(ys, cls2) if len(xs) == len(ys) and cls is cls2:
            return Tree(_common_elements(t, xs, ys), cls)
        case ListForm(xs), ListForm(ys) if len(xs) == len(ys):
            return ListForm(_common_elements(t, xs, ys))
        case ArrayForm(dtype, cx, shape), ArrayForm(dtype2, cx2, shape2) if (
            dtype == dtype2 and cx == cx2 and len(shape) == len(shape2)
        ):
            for x, y in zip(shape, shape2, strict=True):
                if x is not None and y is not None and t.is_outer(x) and t.is_outer(y):
                    meet(t, x, y, "the items of a list differ in size")
            return a
        case SeqForm(), SeqForm():
            return a
        case Same(Known(value=x)), Same(Known(value=y)) if same_known(x, y):
            return a
    raise CompileError("the items of this list have different types", t.loc,
                       "convert them to one type, or use tuples of a fixed length")  # fmt: skip


def _common_elements(t: Tracer, a: tuple[Form, ...], b: tuple[Form, ...]) -> tuple[Form, ...]:
    return tuple(common_element(t, x, y) for x, y in zip(a, b, strict=True))


def _dtypes(form: Form) -> list[tuple[DType, bool]]:
    return [(leaf.dtype, leaf.is_complex) for leaf in leaf_forms(form)]


def leaf_forms(form: Form) -> tuple[ArrayForm, ...]:
    """The arrays that hold a list of items of this form."""
    match form:
        case Number(dtype, is_complex):
            return (ArrayForm(dtype, is_complex, (None,)),)
        case ArrayForm(dtype, is_complex, shape):
            return (ArrayForm(dtype, is_complex, (None, *shape)),)
        case Tree(items) | ListForm(items):
            return tuple(leaf for item in items for leaf in leaf_forms(item))
        case SeqForm(_, leaves):
            return tuple(ArrayForm(x.dtype, x.is_complex, (None, *x.shape)) for x in leaves)
        case _:
            return ()


def as_seq(t: Tracer, items: tuple[Value, ...], form: Form) -> Seq:
    """Items of static number as a list of run-time length."""
    size = Const(len(items), i64)
    arrays: list[Arr] = []
    for leaf in leaf_forms(form):
        rest = tuple(s for s in leaf.shape[1:] if s is not None)
        arrays.append(empty(t, (size, *rest), leaf.dtype, leaf.is_complex))
    for k, item in enumerate(items):
        leaves: list[tuple[Atom, bool]] = []
        common_element(t, form, flatten(t, item, leaves))
        for array, (atom, is_complex) in zip(arrays, leaves, strict=True):
            rest = array.shape[1:]
            row = compose(t, rest, [Axis(Const(k, i64)), *full_axes(rest)], array)
            is_array = isinstance(atom, Var) and atom.is_array
            assign(t, row, new_array(t, atom, is_complex) if is_array else Num(atom))  # type: ignore[arg-type]  # a Var
    return Seq(size, form, tuple(arrays))
