"""Forms: what two paths of a program agree on, and how values travel as Core variables.

Where paths meet (branches, loop passes, the elements of a list) each value is flattened to atoms
of agreed types and rebuilt on the other side. A form says how.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from tapeless.core.names import Atom
from tapeless.core.types import DType, bool_, f64
from tapeless.errors import CompileError
from tapeless.frontend.scalars import scalar
from tapeless.frontend.state import quoted
from tapeless.frontend.values import (
    Arr,
    ArrayObj,
    Cx,
    DictObj,
    InstanceObj,
    Known,
    ListObj,
    Maybe,
    Num,
    Ref,
    Seq,
    Tup,
    Unbound,
    Value,
    is_number,
)  # fmt: skip

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer


@dataclass(frozen=True, slots=True, eq=False)
class Same:
    """Both paths hold this very value: nothing travels."""

    value: Value


@dataclass(frozen=True, slots=True)
class Number:
    dtype: DType
    is_complex: bool
    weak: bool


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    items: tuple[Form, ...]
    cls: type | None


@dataclass(frozen=True, slots=True, eq=False)
class ArrayForm:
    """An array; sizes that are None travel as atoms before it."""

    dtype: DType
    is_complex: bool
    shape: tuple[Atom | None, ...]
    cousins: frozenset[ArrayObj] = frozenset()
    name: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class ListForm:
    """A list of static length that is a new object on each path."""

    items: tuple[Form, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ObjectForm:
    """An instance (or a dict, if `cls` is None) that may be another one on each path: a new object
    stands for it, and none of them can be changed from here on."""

    items: tuple[Form, ...]
    keys: tuple[Any, ...]
    cls: type | None
    home: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class SeqForm:
    """A list of run-time length."""

    element: Form
    leaves: tuple[ArrayForm, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Absent:
    """No value on some path: using the name is an error that says why."""

    value: Unbound


Form: TypeAlias = Same | Number | Tree | ArrayForm | ListForm | ObjectForm | SeqForm | Absent


def number_form(t: Tracer, value: Value) -> Number:
    x = scalar(t, value)
    return Number(x.dtype, isinstance(x, Cx), x.weak)


def join_numbers(a: Number, b: Number) -> Number | None:
    """The type that holds both, by NumPy's promotion if one is weak; None if they are different
    strong types."""
    if a == b:
        return a
    if (a.dtype, a.is_complex) == (b.dtype, b.is_complex):
        return Number(a.dtype, a.is_complex, a.weak and b.weak)
    if not (a.weak or b.weak):
        return None
    rank = {"b": 0, "i": 1, "u": 1, "f": 2}
    if a.weak and b.weak:
        wide = a.is_complex or b.is_complex
        top = max((a, b), key=lambda x: rank[x.dtype.kind])
        return Number(f64 if wide else top.dtype, wide, weak=True)
    weak, strong = (a, b) if a.weak else (b, a)
    if weak.is_complex and not strong.is_complex:
        return None
    if not strong.is_complex and rank[weak.dtype.kind] > rank[strong.dtype.kind]:
        return None
    return Number(strong.dtype, strong.is_complex, weak=False)


def same_known(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    try:
        return bool(a == b) and repr(a) == repr(b)
    except Exception:  # noqa: BLE001  (user-defined equality may do anything)
        return False


def join(t: Tracer, a: Value, b: Value, name: str) -> Form:
    """The form of a name that is `a` on one path and `b` on the other."""
    if a is b:
        return Same(a)
    if isinstance(a, Unbound | Maybe) or isinstance(b, Unbound | Maybe):
        return _join_absent(t, a, b, name)
    if isinstance(a, Known) and isinstance(b, Known) and same_known(a.value, b.value):
        return Same(a)
    if is_number(a) and is_number(b):
        return _join_scalars(t, a, b, name)
    a, b = spelled(a), spelled(b)
    match a, b:
        case Tup(xs, cls), Tup(ys, cls2) if len(xs) == len(ys) and cls is cls2:
            return Tree(tuple(join(t, x, y, name) for x, y in zip(xs, ys, strict=True)), cls)
        case Arr(), Arr():
            return _join_arrays(t, a, b, name)
        case Ref(ListObj() as p), Ref(ListObj() as q):
            if p is q:
                return Same(a)
            return _join_lists(t, t.state.heap[p], t.state.heap[q], name)
        case Ref(p), Ref(q) if p is q:
            return Same(a)
        case Ref(DictObj() | InstanceObj() as p), Ref(DictObj() | InstanceObj() as q) if _alike(
            t, p, q
        ):
            return _join_objects(t, p, q, name)
        case (Arr(), _) | (_, Arr()):
            other = b if isinstance(a, Arr) else a
            raise CompileError(
                f"{quoted(name)} is an array on one path and {t.describe(other)} on the other",
                t.loc, "give it one type and rank on every path",
            )  # fmt: skip
    if type(a) is type(b) and a == b:
        return Same(a)
    raise CompileError(
        f"{quoted(name)} is {t.describe(a)} on one path and {t.describe(b)} on the other", t.loc,
        "give it one type on every path",
    )  # fmt: skip


def spelled(value: Value) -> Value:
    """A tuple of compile time as a tuple of values."""
    if isinstance(value, Known) and isinstance(value.value, tuple):
        fields = hasattr(type(value.value), "_fields")
        return Tup(tuple(map(Known, value.value)), type(value.value) if fields else None)
    return value


def _join_absent(t: Tracer, a: Value, b: Value, name: str) -> Form:
    if isinstance(a, Maybe) and isinstance(b, Maybe) and a.ran == b.ran:
        same = a.value is b.value
        return Same(a) if same else Absent(Unbound(f"{quoted(name)} may not be set here"))
    for maybe, other in ((a, b), (b, a)):
        if isinstance(maybe, Maybe) and not isinstance(other, Unbound | Maybe):
            return join(t, maybe.value, other, name)  # packing checks that there is one
    loc = next((v.loc for v in (a, b) if isinstance(v, Unbound) and v.loc), None)
    return Absent(Unbound(f"{quoted(name)} is not defined on every path that leads here", loc))


def _join_scalars(t: Tracer, a: Value, b: Value, name: str) -> Form:
    form = join_numbers(number_form(t, a), number_form(t, b))
    if form is None:
        raise CompileError(
            f"{quoted(name)} changes its type from {t.describe(a)} to {t.describe(b)}", t.loc,
            "convert to one element type before the paths meet",
        )  # fmt: skip
    return form


def _join_arrays(t: Tracer, a: Arr, b: Arr, name: str) -> Form:
    if a.obj is b.obj and a.view is b.view:
        return Same(a)
    if a.rank != b.rank:
        raise CompileError(
            f"{quoted(name)} changes its rank from {a.rank} to {b.rank}", t.loc,
            "use a second name for the array of another rank",
        )  # fmt: skip
    if (a.dtype, a.is_complex) != (b.dtype, b.is_complex):
        raise CompileError(
            f"{quoted(name)} changes its element type from {t.describe(a)} to {t.describe(b)}",
            t.loc,
            "convert with .astype before the paths meet",
        )  # fmt: skip
    shape = tuple(_common_size(t, x, y) for x, y in zip(a.shape, b.shape, strict=True))
    old = frozenset(v.obj for v in (a, b) if t.is_outer_object(v.obj))
    return ArrayForm(a.dtype, a.is_complex, shape, old, name)


def _common_size(t: Tracer, a: Atom, b: Atom) -> Atom | None:
    """The size that both have, under a name that is known outside; None if they may differ."""
    if not t.is_same_size(a, b):
        return None
    return next((s for s in (a, b, t.root(a)) if t.is_outer(s)), None)


def _join_lists(t: Tracer, a: Any, b: Any, name: str) -> Form:
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        return ListForm(tuple(join(t, x, y, name) for x, y in zip(a, b, strict=True)))
    raise CompileError(
        f"the list {quoted(name)} has different lengths on the paths that meet here", t.loc,
        "append in every branch, or fill an array",
    )  # fmt: skip


def _alike(t: Tracer, p: DictObj | InstanceObj, q: DictObj | InstanceObj) -> bool:
    """Whether two objects are of one class, and have the same fields."""
    own = [x.cls if isinstance(x, InstanceObj) else None for x in (p, q)]
    return own[0] is own[1] and set(t.state.heap[p]) == set(t.state.heap[q])


def _join_objects(
    t: Tracer, p: DictObj | InstanceObj, q: DictObj | InstanceObj, name: str
) -> ObjectForm:
    fields, others = t.state.heap[p], t.state.heap[q]
    t.ambiguous |= {p, q}
    items = tuple(join(t, v, others[k], f"{name}.{k}") for k, v in fields.items())
    return _object_form(p, tuple(fields), items)


def _object_form(
    obj: DictObj | InstanceObj, keys: tuple[Any, ...], items: tuple[Form, ...]
) -> ObjectForm:
    if isinstance(obj, InstanceObj):
        return ObjectForm(items, keys, obj.cls, obj.home)
    return ObjectForm(items, keys, None)


def form_of(t: Tracer, value: Value, name: str = "") -> Form:
    """The form of a value on its own: everything of run time travels."""
    match value:
        case Tup(items, cls):
            return Tree(tuple(form_of(t, v, name) for v in items), cls)
        case Arr():
            roots = map(t.root, value.shape)
            keep = tuple(s if t.is_outer(s) else None for s in roots)
            return ArrayForm(value.dtype, value.is_complex, keep, name=name)
        case Ref(ListObj() as obj):
            content = t.state.heap[obj]
            if isinstance(content, Seq):
                return seq_form(t, content)
            return ListForm(tuple(form_of(t, v, name) for v in content))
        case Ref(DictObj() | InstanceObj() as obj) if not t.is_outer_object(obj):
            fields = t.state.heap[obj]
            parts = tuple(form_of(t, v, name) for v in fields.values())
            return _object_form(obj, tuple(fields), parts)
        case _ if is_number(value):
            return number_form(t, value)
        case _:
            return Same(value)


def maybe_form(t: Tracer, value: Value, name: str) -> Form:
    """The form of a value together with whether there is one."""
    inner = value.value if isinstance(value, Maybe) else value
    return Tree((form_of(t, inner, name), Number(bool_, False, True)), None)


def maybe_pair(value: Value) -> Value:
    """A value under `maybe_form`."""
    if isinstance(value, Unbound):
        return value
    if isinstance(value, Maybe):
        return Tup((value.value, Num(value.ran, True)))
    return Tup((value, Known(True)))


def as_maybe(value: Value, name: str) -> Maybe:
    assert isinstance(value, Tup)
    inner, there = value.items
    assert isinstance(there, Num)
    return Maybe(inner, there.atom, name)


def seq_form(t: Tracer, seq: Seq) -> SeqForm:
    leaves = tuple(ArrayForm(o.dtype, o.is_complex, (None, *o.shape[1:])) for o in seq.leaves)
    return SeqForm(seq.form, leaves)
