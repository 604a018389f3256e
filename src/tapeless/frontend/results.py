"""What a program gives back: results by structure, and the arrays that it wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tapeless.core.names import Atom, Var
from tapeless.errors import CompileError
from tapeless.frontend.arrays import materialise
from tapeless.frontend.comprehensions import as_list
from tapeless.frontend.construct import array_of
from tapeless.frontend.outside import Outside
from tapeless.frontend.places import read_object
from tapeless.frontend.scalars import type_key
from tapeless.frontend.signature import ArgOut, ArrayOut, NumberOut, Out, StaticOut, TreeOut
from tapeless.frontend.values import (
    Arr,
    Cx,
    DictObj,
    Gen,
    InstanceObj,
    Known,
    ListObj,
    Many,
    Num,
    Ref,
    Rng,
    Seq,
    Tup,
    Value,
)  # fmt: skip

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer

WEAK = {int: "i8", float: "f8", complex: "c16"}


class Results:
    """Collects the atoms of the results, in order."""

    def __init__(self, t: Tracer, outside: Outside) -> None:
        self.t, self.outside = t, outside
        self.atoms: list[Atom] = []

    def output(self, value: Value) -> Out:
        t = self.t
        match value:
            case Known(value=v):
                return StaticOut(v)
            case Num() | Cx():
                return self.number(value)
            case Arr(obj, view):
                if view is None and obj.origin is not None and obj.path is not None:
                    read_object(t, obj)
                    return ArgOut(obj.path)
                self.atoms.append(materialise(t, value))
                return ArrayOut(value.is_complex)
            case Tup(items, cls):
                keys = tuple(getattr(cls, "_fields", ()))
                kind = "tuple" if cls is None else "namedtuple"
                return TreeOut(kind, cls or tuple, keys, tuple(map(self.output, items)))
            case Ref(obj):
                return self.container(value, obj)
            case Gen():
                return self.output(as_list(t, value))
            case Rng() | Many():
                return self.output(array_of(t, value, None))
        raise CompileError(f"{t.describe(value)} cannot be returned from compiled code", t.loc,
                           "return numbers, arrays, or tuples of these")  # fmt: skip

    def number(self, value: Num | Cx) -> Out:
        key = type_key(value)
        dtype = np.dtype(WEAK[key]) if isinstance(key, type) else key
        if isinstance(value, Cx):
            self.atoms += [value.re, value.im]
        else:
            self.atoms.append(value.atom)
        return NumberOut(dtype, value.weak)

    def container(self, value: Ref, obj: ListObj | DictObj | InstanceObj) -> Out:
        content = self.t.state.heap[obj]
        if isinstance(obj, InstanceObj):
            if obj.path is not None:
                return ArgOut(obj.path)
            items = tuple(map(self.output, content.values()))
            return TreeOut("dataclass", obj.cls, tuple(content), items)
        if isinstance(obj, DictObj):
            return TreeOut("dict", dict, tuple(content), tuple(map(self.output, content.values())))
        if isinstance(content, Seq):
            return self.output(array_of(self.t, value, None))
        return TreeOut("list", list, (), tuple(map(self.output, content)))

    def written(self) -> list[tuple[Arr, Var]]:
        """Arguments whose contents changed, with what they hold at the end."""
        t = self.t
        out = []
        for arr in self.outside.arrays:
            obj = arr.obj
            if t.state.heap.get(obj, obj.origin) is not obj.origin:
                out.append((arr, read_object(t, obj)))
            elif obj in t.stale:
                read_object(t, obj)
        return out
