"""What Python's functions of classes and attributes mean: isinstance, getattr, partial, replace."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from tapeless.errors import CompileError
from tapeless.frontend.attributes import attribute
from tapeless.frontend.rule import Args, Kwargs, Rule, known, no_keywords
from tapeless.frontend.scalars import type_key
from tapeless.frontend.values import (
    Arr,
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
    Tup,
    Value,
)  # fmt: skip

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer


def class_of(t: Tracer, value: Value) -> type:
    """The class that a value has in Python."""
    match value:
        case Known(value=v):
            return type(v)
        case Arr():
            return np.ndarray
        case Tup(_, cls):
            return cls or tuple
        case Ref(InstanceObj(cls=cls)):
            return cls
        case Ref(obj):
            return list if isinstance(obj, ListObj) else dict
        case Num() | Cx():
            key = type_key(value)
            return key if isinstance(key, type) else (bool if value.weak else key.type)
        case Rng():
            return range
        case Fn() | Method() | Partial():
            return type(class_of)
    return object


def _isinstance(t: Tracer, value: Value, classes: Value) -> Value:
    return Known(issubclass(class_of(t, value), known(t, classes, "the classes of isinstance")))


def _getattr(t: Tracer, owner: Value, name: Value, default: Value | None = None) -> Value:
    try:
        return attribute(t, owner, known(t, name, "the name of an attribute"))
    except CompileError:
        if default is None:
            raise
        return default


def _hasattr(t: Tracer, owner: Value, name: Value) -> Value:
    try:
        attribute(t, owner, known(t, name, "the name of an attribute"))
    except CompileError:
        return Known(False)
    return Known(True)


def _callable(t: Tracer, value: Value) -> Value:
    if isinstance(value, Known):
        return Known(callable(value.value))
    return Known(isinstance(value, Fn | Method | Partial))


def _partial(t: Tracer, args: Args, kwargs: Kwargs) -> Value:
    return Partial(args[0], tuple(args[1:]), kwargs)


def _replace(t: Tracer, args: Args, kwargs: Kwargs) -> Value:
    """dataclasses.replace: a new object with some fields changed."""
    owner = args[0]
    if not (isinstance(owner, Ref) and isinstance(owner.obj, InstanceObj)):
        raise CompileError("dataclasses.replace() takes a dataclass", t.loc)
    fields = t.state.heap[owner.obj]
    if not set(kwargs) <= set(fields):
        raise CompileError(f"{owner.obj.cls.__name__} has the fields {', '.join(fields)}", t.loc)
    obj = InstanceObj(owner.obj.cls, home=owner.obj.home)
    t.state.heap[obj] = {**fields, **kwargs}
    return Ref(obj)


def _as_dict(t: Tracer, owner: Value) -> Value:
    assert isinstance(owner, Ref)
    obj = DictObj()
    t.state.heap[obj] = dict(t.state.heap[owner.obj])
    return Ref(obj)


CLASSES: dict[Any, Rule] = {
    isinstance: no_keywords(_isinstance), type: no_keywords(lambda t, x: Known(class_of(t, x))),
    getattr: no_keywords(_getattr), hasattr: no_keywords(_hasattr),
    callable: no_keywords(_callable), functools.partial: _partial, dataclasses.replace: _replace,
    dataclasses.asdict: no_keywords(_as_dict),
}  # fmt: skip
