"""Forms widen until they hold what a name is before a loop and after each pass of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tapeless.errors import CompileError
from tapeless.frontend.join import (
    ArrayForm,
    Form,
    ListForm,
    Number,
    ObjectForm,
    Same,
    SeqForm,
    Tree,
    join,
    join_numbers,
    number_form,
    spelled,
)  # fmt: skip
from tapeless.frontend.state import quoted
from tapeless.frontend.values import (
    Arr,
    DictObj,
    InstanceObj,
    Known,
    ListObj,
    Ref,
    Seq,
    Tup,
    Unbound,
    Value,
    is_number,
)  # fmt: skip

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer

GROWS = Same(Known("a list that grows"))


def widen(t: Tracer, form: Form, value: Value, name: str) -> Form:
    """The form, or a wider one if the value at the end of the pass does not fit it."""
    value = spelled(value)
    if isinstance(value, Unbound):
        raise CompileError(f"{quoted(name)} does not have a value at the end of every pass", t.loc,
                           f"give {quoted(name)} a value on every path")  # fmt: skip
    match form, value:
        case Number(), _:
            return _widen_number(t, form, value, name)
        case ArrayForm(), Arr():
            return _widen_array(t, form, value, name)
        case Tree(items, cls), Tup(values, cls2) if len(items) == len(values) and cls is cls2:
            parts = tuple(widen(t, f, v, name) for f, v in zip(items, values, strict=True))
            return form if all(map(_is, parts, items)) else Tree(parts, cls)
        case ListForm(items), Ref(ListObj() as obj):
            content = t.state.heap[obj]
            if isinstance(content, Seq) or len(content) != len(items):
                return GROWS
            parts = tuple(widen(t, f, v, name) for f, v in zip(items, content, strict=True))
            return form if all(map(_is, parts, items)) else ListForm(parts)
        case ObjectForm(items, keys, cls), Ref(DictObj() | InstanceObj() as obj) if cls is getattr(
            obj, "cls", None
        ) and set(keys) == set(t.state.heap[obj]):
            fields = t.state.heap[obj]
            t.ambiguous.add(obj)
            parts = tuple(
                widen(t, f, fields[k], f"{name}.{k}") for k, f in zip(keys, items, strict=True)
            )
            return form if all(map(_is, parts, items)) else replace(form, items=parts)
        case SeqForm(), Ref(ListObj()):
            return form
        case Same(old), _:
            return form if value is old else join(t, old, value, name)
    raise CompileError(
        f"{quoted(name)} is {t.describe(value)} after a pass of the loop, but not before",
        t.loc,
        "give it one type",
    )


def _widen_number(t: Tracer, form: Number, value: Value, name: str) -> Form:
    if not is_number(value):
        raise CompileError(
            f"{quoted(name)} is a number before the loop and {t.describe(value)} after a pass",
            t.loc,
            "give it one type",
        )
    wide = join_numbers(form, number_form(t, value))
    if wide is None:
        raise CompileError(
            f"{quoted(name)} changes its type in the loop from {form.dtype.name} to"
            f" {t.describe(value)}", t.loc, "convert it to one element type",
        )  # fmt: skip
    return form if wide == form else wide


def _widen_array(t: Tracer, form: ArrayForm, value: Arr, name: str) -> Form:
    if (value.dtype, value.is_complex, value.rank) != (
        form.dtype,
        form.is_complex,
        len(form.shape),
    ):
        raise CompileError(
            f"{quoted(name)} changes in the loop from rank {len(form.shape)} of {form.dtype.name}"
            f" to {t.describe(value)}", t.loc, "use another name, or .astype",
        )  # fmt: skip
    shape = tuple(
        old if old is None or old == new or t.is_same_size(old, new) else None
        for old, new in zip(form.shape, value.shape, strict=True)
    )
    return form if shape == form.shape else replace(form, shape=shape)


def _is(a: Any, b: Any) -> bool:
    return a is b
