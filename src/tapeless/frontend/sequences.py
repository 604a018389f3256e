"""Lists of run-time length: element trees, stored as one array per leaf."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tapeless.core.names import Atom, Var
from tapeless.errors import CompileError
from tapeless.frontend.arrays import materialise, pair, refuse_writes
from tapeless.frontend.join import (
    ArrayForm,
    Form,
    ListForm,
    Same,
    SeqForm,
    Tree,
    number_form,
    spelled,
)
from tapeless.frontend.places import Indices, new_array, reshape
from tapeless.frontend.scalars import scalar
from tapeless.frontend.values import (
    Arr,
    Cx,
    DictObj,
    InstanceObj,
    ListObj,
    Many,
    Ref,
    Seq,
    Tup,
    Value,
    is_number,
)  # fmt: skip
from tapeless.ir.build import ONE
from tapeless.ir.syntax import Append, Each
from tapeless.ir.types_of import atom_of

if TYPE_CHECKING:
    from collections.abc import Callable

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
        form = flatten(t, element(vars), leaves)
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
    obj = ListObj()
    t.state.heap[obj] = Seq(size, form, tuple(arrays))
    return Ref(obj)


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
    return Same(value)


def _refuse_ragged(t: Tracer, arr: Arr) -> None:
    if not all(t.is_outer(size) for size in arr.shape):
        raise CompileError("the rows have different lengths (a ragged array)", t.loc,
                           "make them equally long, or keep one flat array")  # fmt: skip


def append(t: Tracer, obj: ListObj, value: Value) -> None:
    """list.append"""
    content = t.state.heap[obj]
    leaves: list[tuple[Atom, bool]] = []
    if not isinstance(content, Seq):
        if content == () and obj not in t.list_elements and t.marks:
            form = flatten(t, value, leaves)
            t.list_elements[obj] = form, tuple(_leaf_form(a, cx) for a, cx in leaves)
        t.state.heap[obj] = (*content, value)
        return
    flatten(t, value, leaves)
    size = t.b.prim("add", content.size, ONE)
    t.nonnegative.add(size)
    grown = []
    for old, (atom, _) in zip(content.leaves, leaves, strict=True):
        atom = t.b.cast(atom, old.dtype) if not isinstance(atom, Var) or not atom.is_array else atom
        out = t.b.one(Append(materialise(t, old), atom, size), "items")
        grown.append(new_array(t, out, old.is_complex))
    t.state.heap[obj] = Seq(size, content.form, tuple(grown))


def _leaf_form(atom: Atom, is_complex: bool) -> ArrayForm:
    rest = tuple(map(atom_of, atom.shape)) if isinstance(atom, Var) else ()
    return ArrayForm(atom.dtype, is_complex, (None, *(rest[:-1] if is_complex else rest)))
