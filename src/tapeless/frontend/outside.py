"""Values from outside the program: arguments, captured variables, attributes of modules.

Floats and arrays become inputs that are read at every call; all else is known at compile time
under a guard.
"""

from __future__ import annotations

import builtins
import dataclasses
import sys
import types
from typing import TYPE_CHECKING, Any

import numpy as np

from tapeless.core.names import Atom, Var
from tapeless.core.types import INDEX, Array, Scalar, Size, from_numpy
from tapeless.errors import ArgumentError, CompileError, UnsupportedError
from tapeless.frontend.argtypes import captured_type, is_static_kind, plain
from tapeless.frontend.places import new_array
from tapeless.frontend.signature import (
    ArgType,
    ArrayArg,
    Guard,
    Input,
    NotOne,
    NumberArg,
    Options,
    Path,
    Root,
    Sequel,
    StaticArg,
    TreeArg,
    without_instances,
)  # fmt: skip
from tapeless.frontend.values import (
    Arr,
    Cx,
    DictObj,
    InstanceObj,
    Known,
    ListObj,
    Num,
    Ref,
    Tup,
    Unbound,
    Value,
)  # fmt: skip

if TYPE_CHECKING:
    from tapeless.frontend.state import Frame
    from tapeless.frontend.tracer import Tracer

TRUSTED = frozenset({
    "numpy", "math", "cmath", "scipy", "operator", "functools", "itertools", "builtins",
    "dataclasses", "tapeless", "typing", "collections", "enum", "abc",
})  # fmt: skip


class Outside:
    """Inputs and guards of one compilation, as they are found."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.inputs: list[Input] = []
        self.params: list[Var] = []
        self.guards: dict[Path, Guard] = {}
        self.sizes: dict[Atom, tuple[Path, int]] = {}
        self.known: dict[Path, Value] = {}
        self.arrays: list[Arr] = []
        self.sequel: Sequel | None = None
        self.contents: dict[Any, Any] = {}  # what objects from outside hold at the start

    # captured values
    def captured(self, t: Tracer, frame: Frame, kind: str, name: str) -> Value:
        """A free variable of a function: a cell of its closure, a global or a builtin."""
        if kind == "cell":
            cell = frame.captured[name]
            try:
                value = cell.cell_contents if isinstance(cell, types.CellType) else cell
            except ValueError:
                return Unbound(f"'{name}' is used before it is given a value")
        else:
            value = frame.globals.get(name, vars(builtins).get(name))
        if frame.is_library or (frame.is_hidden and kind == "global"):
            return Known(value)
        return self.value(t, value, self._variable(t, frame, kind, name))

    def _variable(self, t: Tracer, frame: Frame, kind: str, name: str) -> Path:
        """Where a call finds a free variable: by the function, or by the module that it is in."""
        entry = t.frames[0]
        if frame.owner is not None or (frame.globals is entry.globals and (
            kind == "global" or frame.captured is entry.captured
        )):  # fmt: skip
            return Path(Root(kind, name, frame.owner))
        module = sys.modules.get(str(frame.globals.get("__name__")))
        if kind == "cell" or module is None or vars(module) is not frame.globals:
            raise UnsupportedError(f"'{name}' is captured by a function that no name leads to",
                                   t.loc, "pass it as an argument")  # fmt: skip
        home = module if name in frame.globals else builtins
        return Path(Root("module", home.__name__)).attr(name)

    def attribute(self, t: Tracer, owner: Known, name: str) -> Value:
        """An attribute of a module, class or other static object."""
        v = plain(owner.value)
        if name == "python" and v is not owner.value:
            return Known(v, owner.path)
        try:
            value = getattr(v, name)
        except AttributeError:
            raise CompileError(f"{t.describe(owner)} has no attribute '{name}'", t.loc) from None
        if self._is_fixed(v) or owner.path is None:
            return Known(value)
        return self.value(t, value, owner.path.attr(name))

    def _is_fixed(self, v: Any) -> bool:
        """Whether attributes of this object never change: those of well-known modules."""
        if isinstance(v, types.ModuleType):
            return v.__name__.partition(".")[0] in TRUSTED
        if isinstance(v, types.FunctionType):
            return False
        return not isinstance(v, type) or str(v.__module__).partition(".")[0] in TRUSTED

    def value(self, t: Tracer, value: Any, path: Path) -> Value:
        """A value found outside at `path`."""
        if path in self.known:
            for obj, content in self.contents.items():  # a branch may have found it first
                t.state.heap.setdefault(obj, content)
            return self.known[path]
        try:
            arg = captured_type(value, path, self.options.dynamic)
        except ArgumentError as error:
            raise CompileError(error.message, t.loc, error.remedy) from None
        self.guard(path, arg)
        out = self.typed(t, arg, path, value, f"'{_last(path)}' comes from outside the function")
        self.known[path] = out
        return out

    def guard(self, path: Path, arg: ArgType) -> None:
        """The program is right only while the value at `path` has this type."""
        self.guards.setdefault(path, Guard(path, without_instances(arg)))

    # by type
    def typed(
        self, t: Tracer, arg: ArgType, path: Path, value: Any = None, readonly: str = ""
    ) -> Value:
        """The value of an argument of a known type. `readonly`: why it may not be written."""
        match arg:
            case NumberArg():
                return self.number(arg, path)
            case ArrayArg():
                return self.array(t, arg, path, readonly)
            case StaticArg(value=static):
                return self.static(t, static, path)
            case TreeArg():
                return self.tree(t, arg, path, readonly)

    def static(self, t: Tracer, value: Any, path: Path) -> Value:
        if isinstance(value, list):
            items = tuple(self.static(t, v, path.item(k)) for k, v in enumerate(value))
            return self.object(t, ListObj(), items)
        if isinstance(value, dict):
            fields = {k: self.static(t, v, path.item(k)) for k, v in value.items()}
            return self.object(t, DictObj(), fields)
        return Known(value, path)

    def object(self, t: Tracer, obj: Any, content: Any) -> Ref:
        t.state.heap[obj] = self.contents[obj] = content
        return Ref(obj)

    def refuse_change(self, t: Tracer, obj: Any) -> None:
        """Lists and dicts of the caller keep what they hold (arrays in them may be written); of
        what may be one of several objects it is not known which changes."""
        if obj in t.ambiguous:
            raise CompileError(
                f"{t.describe(Ref(obj))} that may be one of several cannot be changed", t.loc,
                "make a new one instead of changing it",
            )  # fmt: skip
        if obj in self.contents:
            kind = "list" if isinstance(obj, ListObj) else "dict"
            raise CompileError(
                f"a {kind} from outside of the compiled function cannot be changed", t.loc,
                f"change a copy, {kind}(...), and return it",
            )  # fmt: skip

    def param(self, type: Any, hint: str, path: Path, part: str, axis: int = 0) -> Var:
        var = Var(type, hint)
        self.params.append(var)
        self.inputs.append(Input(path, part, axis))
        return var

    def number(self, arg: NumberArg, path: Path) -> Value:
        name = _hint(path)
        if arg.dtype.kind == "c":
            part = from_numpy(np.dtype("f4" if arg.dtype.itemsize == 8 else "f8"))
            assert part is not None
            re = self.param(Scalar(part), f"{name}_re", path, "re")
            return Cx(re, self.param(Scalar(part), f"{name}_im", path, "im"), arg.weak)
        dtype = from_numpy(arg.dtype)
        if dtype is None:
            raise UnsupportedError(f"element type {arg.dtype} is not supported")
        return Num(self.param(Scalar(dtype), name, path, "data"), arg.weak)

    def array(self, t: Tracer, arg: ArrayArg, path: Path, readonly: str) -> Arr:
        name = _hint(path)
        shape: list[Size] = []
        for axis, dim in enumerate(arg.dims):
            if dim is not None:
                shape.append(dim)
                continue
            size = self.param(INDEX, f"{name}_{axis}", path, "size", axis)
            t.nonnegative.add(size)
            self.sizes[size] = path, axis
            shape.append(size)
        is_complex = arg.dtype.kind == "c"
        element = np.dtype("f4" if arg.dtype.itemsize == 8 else "f8") if is_complex else arg.dtype
        dtype = from_numpy(element)
        if dtype is None:
            raise UnsupportedError(f"element type {arg.dtype} is not supported")
        var = self.param(Array(dtype, (*shape, *([2] if is_complex else []))), name, path, "data")
        arr = new_array(t, var, is_complex)
        arr.obj.name, arr.obj.origin, arr.obj.path = name, var, path
        self.contents[arr.obj] = var
        if readonly:
            arr.obj.readonly = f"{readonly}, so it cannot be written"
        self.arrays.append(arr)
        return arr

    def tree(self, t: Tracer, arg: TreeArg, path: Path, readonly: str) -> Value:
        if arg.kind == "object":
            return self.instance(t, arg, path)
        is_object = arg.kind in ("dataclass", "namedtuple")
        steps = arg.keys if arg.keys else range(len(arg.items))
        items = tuple(
            self.typed(
                t, item, path.attr(str(key)) if is_object else path.item(key), None, readonly
            )
            for key, item in zip(steps, arg.items, strict=True)
        )
        match arg.kind:
            case "list":
                return self.object(t, ListObj(), items)
            case "dict":
                return self.object(t, DictObj(), dict(zip(arg.keys, items, strict=True)))
            case "dataclass":
                obj = InstanceObj(arg.cls, "argument", arg.instance, path)
                return self.object(t, obj, dict(zip(arg.keys, items, strict=True)))
        return Tup(items, arg.cls if arg.kind == "namedtuple" else None)

    def instance(self, t: Tracer, arg: TreeArg, path: Path) -> Value:
        """Any other object: its attributes are read as they are asked for."""
        value = arg.instance
        if dataclasses.is_dataclass(value) or is_static_kind(value):
            return Known(value, path)
        self.guard(path, arg)
        return self.object(t, InstanceObj(arg.cls, "argument", value, path), {})

    def bound_self(self, t: Tracer, method: types.MethodType, path: Path | None) -> Value:
        """The instance that a method is bound to."""
        owner = method.__self__
        if path is None:
            path = Path(Root("arg", "__self__"))
        else:
            path = path.attr("__self__")
        return self.value(t, owner, path)

    # results
    def not_one(self, assumed: set[Atom]) -> tuple[NotOne, ...]:
        return tuple(NotOne(*self.sizes[a]) for a in self.sizes if a in assumed)


def _last(path: Path) -> str:
    return str(path.steps[-1][1]) if path.steps else path.root.key


def _hint(path: Path) -> str:
    """A name for printing."""
    words = [path.root.key, *(str(key) for _, key in path.steps)]
    name = "_".join("".join(c if c.isalnum() or c == "_" else "_" for c in w) for w in words)
    return name if name.isidentifier() else f"v_{name}"
