"""Targets of assignments: names, tuples, places, attributes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tapeless.core.names import Var
from tapeless.errors import CompileError, UnsupportedError
from tapeless.frontend.arrays import assign, elementwise
from tapeless.frontend.attributes import attribute
from tapeless.frontend.cells import write_name
from tapeless.frontend.construct import as_operand
from tapeless.frontend.indexing import new_list, store
from tapeless.frontend.iteration import iterate
from tapeless.frontend.scalars import convert
from tapeless.frontend.unpacking import static_items
from tapeless.frontend.values import Arr, Cx, InstanceObj, Num, Ref, Value

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer


def bind(t: Tracer, target: ast.expr, value: Value) -> None:
    """target = value, for every kind of target."""
    match target:
        case ast.Name(id=name):
            write_name(t, name, named(t, value, name))
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            _unpack(t, target, elts, value)
        case ast.Subscript(value=base, slice=index):
            with t.at(target):
                store(t, t.evaluate(base), t.evaluate(index), value)
        case ast.Attribute(value=owner, attr=attr):
            with t.at(target):
                set_attribute(t, t.evaluate(owner), attr, value)
        case _:
            raise UnsupportedError("this target of an assignment is not supported", t.loc)


UNNAMED = ("t", "a", "zeros", "items")  # hints of what nobody has named


def named(t: Tracer, value: Value, name: str) -> Value:
    """Gives new variables the user's name, for printing."""
    match value:
        case Num(atom=Var() as var) if var.hint == "t":
            var.hint = name
        case Arr(obj, None) if not obj.name:
            obj.name = name
            if t.state.array(obj).hint in UNNAMED:
                t.state.array(obj).hint = name
    return value


def _unpack(t: Tracer, target: ast.expr, elts: list[ast.expr], value: Value) -> None:
    items = iterate(t, value)
    star = next((k for k, e in enumerate(elts) if isinstance(e, ast.Starred)), None)
    values = static_items(t, items, None if star is not None else len(elts))
    if star is None:
        if len(values) != len(elts):
            raise CompileError(f"cannot unpack {len(values)} values into {len(elts)} names", t.loc)
        for elt, item in zip(elts, values, strict=True):
            bind(t, elt, item)
        return
    after = len(elts) - star - 1
    if len(values) < len(elts) - 1:
        raise CompileError(
            f"cannot unpack {len(values)} values into {len(elts) - 1} or more", t.loc
        )
    for elt, item in zip(elts[:star], values[:star], strict=True):
        bind(t, elt, item)
    starred = elts[star]
    assert isinstance(starred, ast.Starred)
    bind(t, starred.value, new_list(t, tuple(values[star : len(values) - after])))
    for elt, item in zip(elts[star + 1 :], values[len(values) - after :], strict=True):
        bind(t, elt, item)


def set_attribute(t: Tracer, owner: Value, attr: str, value: Value) -> None:
    match owner:
        case Ref(InstanceObj() as obj):
            params = getattr(obj.cls, "__dataclass_params__", None)
            if params is not None and params.frozen:
                raise CompileError(f"{obj.cls.__name__} is frozen: '{attr}' cannot be set", t.loc,
                                   "make a changed copy with dataclasses.replace(...)")  # fmt: skip
            if obj.readonly:
                raise CompileError(f"the field '{attr}' of an argument cannot be rebound", t.loc,
                                   "make a changed copy with dataclasses.replace(...)")  # fmt: skip
            t.outside.refuse_change(t, obj)
            t.state.heap[obj] = {**t.state.heap[obj], attr: value}
        case Arr() if attr == "shape":
            raise UnsupportedError("assigning .shape is not supported", t.loc, "use .reshape(...)")
        case Arr(is_complex=True) if attr in ("real", "imag"):
            _set_part(t, owner, attr, value)
        case Arr() if attr in ("real", "T", "flat"):
            part = attribute(t, owner, attr)
            assert isinstance(part, Arr)
            assign(t, part, value)
        case _:
            raise CompileError(f"cannot set '{attr}' of {t.describe(owner)}", t.loc)


def _set_part(t: Tracer, arr: Arr, attr: str, value: Value) -> None:
    """z.real = value: every element keeps its other part."""

    def joined(old: Value, new: Value) -> Value:
        assert isinstance(old, Cx)
        part = convert(t, new, arr.dtype.numpy)
        assert isinstance(part, Num)
        return Cx(part.atom, old.im) if attr == "real" else Cx(old.re, part.atom)

    assign(t, arr, elementwise(t, joined, [arr, as_operand(t, value)]))
