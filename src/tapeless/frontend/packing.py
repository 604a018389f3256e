"""Values as atoms and back, by their forms: how a join, a loop or a call hands them on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import INDEX, Array, Scalar, Size, Type, i64
from tapeless.frontend.arrays import copy, empty, materialise
from tapeless.frontend.places import meet, new_array, read_object
from tapeless.frontend.scalars import as_type, scalar
from tapeless.frontend.values import (
    Arr,
    Cx,
    DictObj,
    InstanceObj,
    ListObj,
    Maybe,
    Num,
    Ref,
    Seq,
    Tup,
    Unbound,
    Value,
)  # fmt: skip
from tapeless.ir.types_of import size_of

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer
from tapeless.frontend.join import (
    Absent,
    ArrayForm,
    Form,
    ListForm,
    Number,
    ObjectForm,
    Same,
    SeqForm,
    Tree,
    spelled,
)


def pack(t: Tracer, form: Form, value: Value, out: list[Atom]) -> None:
    """Appends the atoms of `value` under `form`, converting where the form is wider."""
    if isinstance(value, Maybe) and not isinstance(form, Same | Absent):
        t.b.check(value.ran, "UnboundLocalError", f"'{value.name}' has no value here")
        value = value.value
    match form:
        case Same() | Absent():
            return
        case Number():
            _pack_number(t, form, value, out)
        case Tree(items):
            value = spelled(value)
            parts = value.items if isinstance(value, Tup) else (None,) * len(items)
            for item, part in zip(items, parts, strict=True):
                pack(t, item, part if part is not None else Unbound(), out)
        case ArrayForm():
            _pack_array(t, form, value, out)
        case ListForm(items):
            content = (
                t.state.heap[value.obj] if isinstance(value, Ref) else (Unbound(),) * len(items)
            )
            for item, part in zip(items, content, strict=True):
                pack(t, item, part, out)
        case ObjectForm(items, keys):
            fields = t.state.heap[value.obj] if isinstance(value, Ref) else {}
            for item, key in zip(items, keys, strict=True):
                pack(t, item, fields.get(key, Unbound()), out)
        case SeqForm():
            _pack_seq(t, form, value, out)


def _pack_number(t: Tracer, form: Number, value: Value, out: list[Atom]) -> None:
    x = Num(Const(0, form.dtype)) if isinstance(value, Unbound) else scalar(t, value)
    if not form.is_complex:
        assert isinstance(x, Num)
        out.append(as_type(t, x, form.dtype))
        return
    re, im = (x.re, x.im) if isinstance(x, Cx) else (x.atom, Const(0.0, form.dtype))
    out += [t.b.cast(re, form.dtype), t.b.cast(im, form.dtype)]


def _pack_array(t: Tracer, form: ArrayForm, value: Value, out: list[Atom]) -> None:
    if isinstance(value, Arr):
        arr = value if value.view is None else copy(t, value)
        for have, want in zip(arr.shape, form.shape, strict=True):
            if want is not None:
                meet(t, have, want, "the shapes of values that meet here do not agree")
    else:  # no value on this path: it will not be read
        zero = Const(0, i64)
        arr = empty(t, tuple(zero if s is None else s for s in form.shape), form.dtype,
                    form.is_complex)  # fmt: skip
    out += [s for s, fixed in zip(arr.shape, form.shape, strict=True) if fixed is None]
    out.append(read_object(t, arr.obj))


def _pack_seq(t: Tracer, form: SeqForm, value: Value, out: list[Atom]) -> None:
    content = t.state.heap[value.obj] if isinstance(value, Ref) else None
    if not isinstance(content, Seq):
        content = Seq(Const(0, i64), form.element, tuple(
            empty(t, tuple(Const(0, i64) if s is None else s for s in leaf.shape), leaf.dtype,
                  leaf.is_complex) for leaf in form.leaves))  # fmt: skip
    out.append(content.size)
    out += [materialise(t, leaf) for leaf in content.leaves]


def unpack(t: Tracer, form: Form, atoms: list[Var]) -> Value:
    """The value that travelled; consumes its atoms from the front of the list."""
    match form:
        case Same(value):
            return value
        case Absent(value):
            return value
        case Number(_, is_complex, weak):
            if is_complex:
                re = atoms.pop(0)
                return Cx(re, atoms.pop(0), weak)
            return Num(atoms.pop(0), weak)
        case Tree(items, cls):
            return Tup(tuple(unpack(t, item, atoms) for item in items), cls)
        case ArrayForm():
            return _unpack_array(t, form, atoms)
        case ListForm(items):
            obj = ListObj()
            t.state.heap[obj] = tuple(unpack(t, item, atoms) for item in items)
            return Ref(obj)
        case ObjectForm(items, keys, cls, home):
            made = DictObj() if cls is None else InstanceObj(cls, home=home)
            fields = {k: unpack(t, item, atoms) for k, item in zip(keys, items, strict=True)}
            t.state.heap[made] = fields
            t.ambiguous.add(made)
            return Ref(made)
        case SeqForm(element, leaves):
            size = atoms.pop(0)
            t.nonnegative.add(size)
            arrs = tuple(new_array(t, atoms.pop(0), leaf.is_complex) for leaf in leaves)
            obj = ListObj()
            t.state.heap[obj] = Seq(size, element, arrs)
            return Ref(obj)


def _unpack_array(t: Tracer, form: ArrayForm, atoms: list[Var]) -> Arr:
    for fixed in form.shape:
        if fixed is None:
            t.nonnegative.add(atoms.pop(0))
    arr = new_array(t, atoms.pop(0), form.is_complex)
    arr.obj.cousins = form.cousins
    for cousin in form.cousins:
        t.dependents.setdefault(cousin, set()).add(arr.obj)
    arr.obj.name = form.name
    return arr


def new_vars(form: Form, name: str, out: list[Var], make: Callable[[Type, str], Var]) -> None:
    """Appends variables for the atoms that travel under a form."""
    hint = name if name.isidentifier() else "t"
    match form:
        case Number(dtype, is_complex):
            out.append(make(Scalar(dtype), hint))
            if is_complex:
                out.append(make(Scalar(dtype), hint))
        case Tree(items) | ListForm(items) | ObjectForm(items):
            for item in items:
                new_vars(item, name, out, make)
        case ArrayForm(dtype, is_complex, shape):
            sizes: list[Size] = []
            for size in shape:
                if size is None:
                    out.append(make(INDEX, "size"))
                sizes.append(out[-1] if size is None else size_of(size))
            tail = [2] if is_complex else []
            out.append(make(Array(dtype, (*sizes, *tail)), form.name or hint))
        case SeqForm(_, leaves):
            out.append(make(INDEX, "size"))
            length = out[-1]
            for leaf in leaves:
                rest = [size_of(s) for s in leaf.shape[1:] if s is not None]
                tail = [2] if leaf.is_complex else []
                out.append(make(Array(leaf.dtype, (length, *rest, *tail)), hint))
