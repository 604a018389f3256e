"""What a Python expression can stand for while a function is being compiled.

Values are immutable. Mutable Python objects (arrays, lists, dicts, instances) are `Ref`erences to
heap objects, whose present contents the tracer keeps, so that branches can be traced and merged.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tapeless.core.names import Atom, Const, Loc, Var
from tapeless.core.types import DType, i64
from tapeless.frontend.signature import Path

if TYPE_CHECKING:
    from tapeless.frontend.capture import Source
    from tapeless.frontend.state import Frame


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """A Python object known at compile time; `path` says where a call finds it."""

    value: Any
    path: Path | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Num:
    """A real scalar of run time. `weak`: it came from a Python number (NEP 50)."""

    atom: Atom
    weak: bool = False

    @property
    def dtype(self) -> DType:
        return self.atom.dtype


@dataclass(frozen=True, slots=True, eq=False)
class Cx:
    """A complex scalar of run time, as two reals of one element type."""

    re: Atom
    im: Atom
    weak: bool = False

    @property
    def dtype(self) -> DType:
        return self.re.dtype


@dataclass(frozen=True, slots=True, eq=False)
class Tup:
    """A tuple, or a NamedTuple when `cls` is given."""

    items: tuple[Value, ...]
    cls: type | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """One axis of the array under a view: index = start + step * (index along `dim`)."""

    start: Atom
    dim: int | None = None
    step: Atom = Const(1, i64)


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """A shape over an array's axes, or over another view's dims (`inner`)."""

    shape: tuple[Atom, ...]
    axes: tuple[Axis, ...]
    inner: Reshape | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Reshape:
    """The elements of a view (`None`: of the whole array) in row-major order, in a new shape."""

    shape: tuple[Atom, ...]
    old: tuple[Atom, ...]
    inner: View | None


class ArrayObj:
    """An array on the heap: its contents are a Core variable, kept by the state.

    `is_complex`: the Core array has one more axis, of size 2. `origin`: the parameter it came
    from, found at `path`. `cousins`: arrays of which this is one, which Python decides only at run
    time. `rivals`: arrays whose contents are no longer known once this one is written.
    """

    __slots__ = (
        "cousins", "dtype", "is_complex", "name", "origin", "path", "readonly", "rivals", "shape",
    )  # fmt: skip

    def __init__(self, dtype: DType, shape: tuple[Atom, ...], is_complex: bool = False) -> None:
        self.dtype = dtype
        self.shape = shape
        self.is_complex = is_complex
        self.origin: Var | None = None
        self.readonly = ""
        self.name = ""
        self.cousins: frozenset[ArrayObj] = frozenset()
        self.rivals: frozenset[ArrayObj] = frozenset()
        self.path: Path | None = None


class ListObj:
    """A list: contents are a tuple of values, or a `Seq` when its length is of run time."""

    __slots__ = ("is_appended",)

    def __init__(self) -> None:
        self.is_appended = False


class DictObj:
    """A dict with fixed keys: contents are a dict of values."""

    __slots__ = ()


class InstanceObj:
    """An instance: contents are a dict of fields. One from outside has a `path`, and its other
    fields are read from `value` as they are asked for. `home`: where its class is found,
    if that is known."""

    __slots__ = ("cls", "home", "path", "readonly", "value")

    def __init__(
        self, cls: type, readonly: str = "", value: Any = None, path: Path | None = None,
        home: Path | None = None,
    ) -> None:  # fmt: skip
        self.cls = cls
        self.readonly = readonly
        self.value = value
        self.path = path
        self.home = path.attr("__class__") if path is not None else home


HeapObj: TypeAlias = ArrayObj | ListObj | DictObj | InstanceObj


@dataclass(frozen=True, slots=True, eq=False)
class Arr:
    """An array reference: the whole array, or a view of it."""

    obj: ArrayObj
    view: View | Reshape | None = None

    @property
    def shape(self) -> tuple[Atom, ...]:
        return self.obj.shape if self.view is None else self.view.shape

    @property
    def dtype(self) -> DType:
        return self.obj.dtype

    @property
    def is_complex(self) -> bool:
        return self.obj.is_complex

    @property
    def rank(self) -> int:
        return len(self.shape)


@dataclass(frozen=True, slots=True, eq=False)
class Ref:
    """A list, dict or instance."""

    obj: ListObj | DictObj | InstanceObj


@dataclass(frozen=True, slots=True, eq=False)
class Seq:
    """Contents of a list of run-time length: element trees, stored as arrays by leaf."""

    size: Atom
    form: Any  # Form of one element (frontend.join)
    leaves: tuple[Arr, ...]


@dataclass(frozen=True, slots=True)
class ArrayMethod:
    """The method of arrays with this name, as a value of compile time."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Fn:
    """A function defined inside compiled code: its source and the frame that it closes over."""

    source: Source
    frame: Frame
    defaults: tuple[Value, ...] = ()
    kw_defaults: tuple[Value | None, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """A function with its first argument bound."""

    function: Value
    owner: Value


@dataclass(frozen=True, slots=True, eq=False)
class Super:
    """super(): `owner` as the classes behind `cls` see it."""

    cls: type
    owner: Value


@dataclass(frozen=True, slots=True, eq=False)
class Partial:
    function: Value
    args: tuple[Value, ...]
    kwargs: dict[str, Value]


@dataclass(frozen=True, slots=True, eq=False)
class Staged:
    """A function of the compiler itself: called with the tracer, arguments and keywords."""

    rule: Callable[[Any, Any, Any], Any]


@dataclass(frozen=True, slots=True, eq=False)
class Bracket:
    """[p] of one condition, or of an array of them: products are 0 where it does not hold."""

    holds: Value


@dataclass(frozen=True, slots=True, eq=False)
class Rng:
    """range(start, stop, step)."""

    start: Value
    step: Value
    size: Atom


@dataclass(frozen=True, slots=True, eq=False)
class Many:
    """Something to iterate over: a size and the item at an index (zip, enumerate, reversed...)."""

    size: Atom
    item: Callable[[Atom], Value]
    is_each: bool = False
    reverse: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class Gen:
    """A generator expression, not yet run."""

    node: ast.GeneratorExp | ast.ListComp
    frame: Frame


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    start: Value
    stop: Value
    step: Value


@dataclass(frozen=True, slots=True, eq=False)
class Maybe:
    """A value that exists only if a loop ran at least once."""

    value: Value
    ran: Atom
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Unbound:
    """A name without a value here, and why."""

    reason: str = ""
    loc: Loc | None = None


Value: TypeAlias = (
    Known
    | Num
    | Cx
    | Tup
    | Arr
    | Ref
    | Fn
    | Method
    | Super
    | Partial
    | Staged
    | Bracket
    | Rng
    | Many
    | Gen
    | Slice
    | Maybe
    | Unbound
)

NONE = Known(None)


def weak_int(atom: Atom) -> Num:
    return Num(atom, weak=True)


def is_number(value: Value) -> bool:
    """A scalar of either time."""

    return isinstance(value, Num | Cx) or (
        isinstance(value, Known)
        and isinstance(value.value, bool | int | float | complex | np.number | np.bool_)
    )


Scalar = Num | Cx
