"""What a compilation depends on and what it makes: the contract between frontend, runtime and api.

Plain data, hashable where it is a key; nothing here knows how tracing works.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from tapeless.ir.syntax import Fun

# Arguments by type ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ArrayArg:
    """An array. A dimension is a number (static: 1, annotated, or specialised) or None (any size,
    taken not to be 1 where that matters)."""

    dtype: np.dtype[Any]
    dims: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class NumberArg:
    """A number of run time. Python's own are weak: int i64, float f64, complex c128, bool."""

    dtype: np.dtype[Any]
    weak: bool


@dataclass(frozen=True, slots=True)
class StaticArg:
    """A value that the code is specialised for: strings, None, functions, types, static arguments.

    `key` decides whether two values may share code; a function's key is its code object."""

    value: Any
    key: Hashable

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StaticArg) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@dataclass(frozen=True, slots=True)
class TreeArg:
    """A container: `kind` is tuple, list, dict, namedtuple, dataclass or object (any other
    instance, read-only, `items` empty: the attributes that are read become inputs and guards).
    `keys` are field names or dict keys, empty for tuples and lists. `instance` is the object
    itself, for the tracer to read attributes of; it is no part of the type."""

    kind: str
    cls: type
    keys: tuple[Hashable, ...]
    items: tuple[ArgType, ...]
    instance: Any = field(default=None, compare=False, repr=False)


ArgType: TypeAlias = ArrayArg | NumberArg | StaticArg | TreeArg


def without_instances(type: ArgType) -> ArgType:
    """The type alone: what outlives a call must not keep the caller's objects alive."""
    if isinstance(type, TreeArg):
        return replace(type, items=tuple(map(without_instances, type.items)), instance=None)
    return type


# Every parameter by name, in order, defaults filled in; `*args` is a tuple, `**kwargs` a dict.
Signature: TypeAlias = tuple[tuple[str, ArgType], ...]


@dataclass(frozen=True, slots=True)
class Options:
    """What the user asked for that changes the program itself."""

    overflow: bool = False  # jit(check="overflow")
    check: bool = True
    functional: bool = False  # written arguments become results
    static_argnames: tuple[str, ...] = ()
    dynamic: frozenset[Path] = frozenset()  # captured ints that keep changing: inputs, not static
    tidy: Callable[[Fun], Fun] | None = None  # the passes, for functions before they are derived


# Where values are found at a call ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Root:
    """The start of a path: `kind` "arg" (key: parameter name), "cell" or "global" (key: variable
    name, of the function found by `owner`; None: the compiled function itself), or "module" (key:
    its name)."""

    kind: str
    key: str
    owner: Path | None = None


@dataclass(frozen=True, slots=True)
class Path:
    """A value reachable from a call: a root, then steps ("attr", name) or ("item", key)."""

    root: Root
    steps: tuple[tuple[str, Hashable], ...] = ()

    def attr(self, name: str) -> Path:
        return Path(self.root, (*self.steps, ("attr", name)))

    def item(self, key: Hashable) -> Path:
        return Path(self.root, (*self.steps, ("item", key)))


@dataclass(frozen=True, slots=True)
class Input:
    """Where a Core parameter's value comes from. `part`: "data" (array or real number), "re", "im"
    (of a complex number), or "size" (of axis `axis`)."""

    path: Path
    part: str
    axis: int = 0


@dataclass(frozen=True, slots=True)
class Guard:
    """The code is right only while `argtypes.captured_type` gives `expected` at `path`."""

    path: Path
    expected: ArgType


@dataclass(frozen=True, slots=True)
class NotOne:
    """The code is right only while this dimension is not 1."""

    path: Path
    axis: int


# What comes out ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ArrayOut:
    """The next result of the program, an array (`is_complex`: its last axis is re, im)."""

    is_complex: bool = False


@dataclass(frozen=True, slots=True)
class NumberOut:
    """The next one or two (complex) scalar results. A weak one becomes int, float, complex or bool;
    a strong one a NumPy scalar of `dtype`."""

    dtype: np.dtype[Any]
    weak: bool


@dataclass(frozen=True, slots=True)
class StaticOut:
    """A value known at compile time."""

    value: Any


@dataclass(frozen=True, slots=True)
class ArgOut:
    """An argument (or a part of one) returned as it is: a written array, or an instance."""

    path: Path


@dataclass(frozen=True, slots=True)
class TreeOut:
    kind: str
    cls: type
    keys: tuple[Hashable, ...]
    items: tuple[Out, ...]


Out: TypeAlias = ArrayOut | NumberOut | StaticOut | ArgOut | TreeOut


@dataclass(frozen=True, slots=True, eq=False)
class Sequel:
    """A program that goes on where another ended: its first parameters are `kept` by that one, as
    its last results; the others are given later."""

    fun: Fun
    output: Out


@dataclass(frozen=True, slots=True, eq=False)
class Traced:
    """A Python function as a Core program, with all that a call needs to know."""

    fun: Fun
    inputs: tuple[Input, ...]
    output: Out
    written: tuple[Path, ...]  # arrays that the program writes, in the order of fun.writes
    guards: tuple[Guard, ...]
    not_one: tuple[NotOne, ...]
    codes: tuple[types.CodeType, ...]  # every function whose source went into the program
    sequel: Sequel | None = None
