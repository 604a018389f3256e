"""Trees of values: their numbers and arrays, mapped, gathered and put back."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tapeless.core.names import Atom, Const, Var
from tapeless.errors import CompileError
from tapeless.frontend.arrays import materialise, rank0, scalar_value
from tapeless.frontend.join import spelled
from tapeless.frontend.places import meet, new_array, numpy_dtype
from tapeless.frontend.scalars import convert, scalar, type_key
from tapeless.frontend.values import (
    NONE,
    Arr,
    Cx,
    DictObj,
    InstanceObj,
    Known,
    ListObj,
    Num,
    Ref,
    Seq,
    Tup,
    Value,
    is_number,
)  # fmt: skip

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """A float that a function is differentiated by: its own variable, and what it stands for."""

    var: Var
    atom: Atom


def on_leaves(
    t: Tracer, value: Value, number: Callable[[Value], Value], array: Callable[[Arr], Value],
    other: Callable[[Value], Value] = lambda value: value,
) -> Value:  # fmt: skip
    """A tree of new containers, its numbers, arrays and other leaves mapped."""
    value = spelled(value)
    if is_number(value):
        return number(value)
    match value:
        case Arr():
            return array(value)
        case Tup(items, cls):
            return Tup(tuple(on_leaves(t, v, number, array, other) for v in items), cls)
        case Ref(InstanceObj() as obj) if obj.path and not dataclasses.is_dataclass(obj.cls):
            return value  # read-only, field by field
        case Ref(obj):
            content = t.state.heap[obj]
            new: Any = {ListObj: ListObj, DictObj: DictObj}.get(type(obj), lambda: None)()
            if isinstance(content, Seq):
                leaves = tuple(array(leaf) for leaf in content.leaves)
                content = Seq(content.size, content.form, leaves)  # type: ignore[arg-type]  # arrays map to arrays
            elif isinstance(content, dict):
                content = {k: on_leaves(t, v, number, array, other) for k, v in content.items()}
            else:
                content = tuple(on_leaves(t, v, number, array, other) for v in content)
            if isinstance(obj, InstanceObj):
                new = InstanceObj(obj.cls, "", obj.value, None, obj.home)
            t.state.heap[new] = content
            return Ref(new)
        case _:
            return other(value)


def every_leaf(t: Tracer, value: Value, visit: Callable[[Value], None]) -> None:
    """Calls `visit` with each number and array of a tree, in order."""
    value = spelled(value)
    match value:
        case Tup(items):
            for item in items:
                every_leaf(t, item, visit)
        case Ref(obj):
            content = t.state.heap[obj]
            items = content.leaves if isinstance(content, Seq) else content
            for item in items.values() if isinstance(items, dict) else items:
                every_leaf(t, item, visit)
        case _ if is_number(value) or isinstance(value, Arr):
            visit(value)


def is_float(t: Tracer, leaf: Value) -> bool:
    return (leaf if isinstance(leaf, Arr) else scalar(t, leaf)).dtype.is_float


def float_leaves(t: Tracer, value: Value) -> list[Value]:
    found: list[Value] = []
    every_leaf(t, value, lambda leaf: found.append(leaf) if is_float(t, leaf) else None)
    return found


def rebuilt(t: Tracer, value: Value, leaves: Iterator[Value]) -> Value:
    """The tree with other values in place of its floats, None in place of the rest."""

    def leaf(value: Value) -> Value:
        return next(leaves) if is_float(t, value) else NONE

    return on_leaves(t, value, leaf, leaf, lambda value: NONE)


# As arguments of a function ---------------------------------------------------------------------


def independent(t: Tracer, value: Value, leaves: list[Leaf]) -> Value:
    """A copy of an argument whose floats are leaves."""

    def leaf(atom: Atom) -> Var:
        var = t.fresh(atom.type, atom.hint if isinstance(atom, Var) else "x")
        leaves.append(Leaf(var, atom))
        return var

    def number(value: Value) -> Value:
        x = scalar(t, value)
        if isinstance(x, Cx):
            return Cx(leaf(x.re), leaf(x.im), x.weak)
        return Num(leaf(x.atom), x.weak) if x.dtype.is_float else value

    def array(value: Arr) -> Value:
        content = materialise(t, value)
        own = leaf(content) if content.dtype.is_float else content
        return named(new_array(t, own, value.is_complex), value, content)

    return on_leaves(t, value, number, array)


def named(arr: Arr, like: Arr, content: Var) -> Arr:
    """An array under the user's name for another one."""
    arr.obj.name = like.obj.name or content.hint
    return arr


def detached(t: Tracer, value: Value) -> Value:
    """A copy of an argument that the function may write without the caller's seeing it."""

    def array(value: Arr) -> Value:
        content = materialise(t, value)
        return named(new_array(t, content, value.is_complex), value, content)

    return on_leaves(t, value, lambda v: v, array)


# From atoms and to atoms ------------------------------------------------------------------------


def of_atoms(t: Tracer, value: Value, atoms: Iterator[Atom]) -> Value:
    """The tree of an argument with other numbers in place of its floats, None for the rest."""

    def leaf(value: Value) -> Value:
        if isinstance(value, Arr):
            content = next(atoms)
            assert isinstance(content, Var)
            return new_array(t, content, value.is_complex)
        return (
            Cx(next(atoms), next(atoms)) if isinstance(scalar(t, value), Cx) else Num(next(atoms))
        )

    return rebuilt(t, value, (leaf(v) for v in float_leaves(t, value)))


@dataclass(frozen=True, slots=True)
class Directions:
    """A tree of tangents or cotangents (`noun`) beside the one that it belongs to."""

    t: Tracer
    noun: str

    def atoms(self, value: Value, dot: Value, name: str) -> list[Atom | None]:
        """The floats of `dot`, which has the structure of `value`; None stands for zero."""
        t = self.t
        value, dot = spelled(value), spelled(dot)
        if isinstance(dot, Known) and dot.value is None:
            return self._zeros(value)
        if isinstance(value, Tup | Ref):
            pairs = self._pairs(value, dot, name)
            if pairs is None:
                raise self._mismatch(value, dot, name)
            return [a for x, d, n in pairs for a in self.atoms(x, d, n)]
        if not (isinstance(value, Arr) or is_number(value)):
            raise self._mismatch(value, dot, name)
        if not is_float(t, value):
            raise CompileError(
                f"{name} is {t.describe(value)}, which has no {self.noun}", t.loc, "give None there"
            )
        if isinstance(value, Arr) and value.rank:
            return self._array(value, dot, name)
        x, dot = scalar_value(t, value), scalar_value(t, dot)
        if not is_number(dot):
            raise self._mismatch(x, dot, name)
        atoms = self._number(x, dot, name)
        if isinstance(value, Arr):  # of no axes
            return [materialise(t, rank0(t, convert(t, dot, numpy_dtype(value))))]
        return atoms

    def _zeros(self, value: Value) -> list[Atom | None]:
        count = 0
        for leaf in float_leaves(self.t, value):
            count += 1 if isinstance(leaf, Arr) or isinstance(scalar(self.t, leaf), Num) else 2
        return [None] * count

    def _pairs(self, value: Value, dot: Value, name: str) -> list[tuple[Value, Value, str]] | None:
        """The items of both trees with their names; None if they differ in structure."""
        heap = self.t.state.heap
        if isinstance(value, Tup) and isinstance(dot, Tup) and value.cls is dot.cls:
            fields = getattr(value.cls, "_fields", None)
            keys = [f"[{k}]" for k in range(len(value.items))] if fields is None else [
                f".{k}" for k in fields]  # fmt: skip
            return _zipped(value.items, dot.items, [name + k for k in keys])
        if not (isinstance(value, Ref) and isinstance(dot, Ref)):
            return None
        a, b = heap[value.obj], heap[dot.obj]
        if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
            is_dict = isinstance(value.obj, DictObj)
            return [(a[k], b[k], f"{name}[{k!r}]" if is_dict else f"{name}.{k}") for k in a]
        if isinstance(a, tuple) and isinstance(b, tuple):
            return _zipped(a, b, [f"{name}[{k}]" for k in range(len(a))])
        return None

    def _mismatch(self, value: Value, dot: Value, name: str) -> CompileError:
        t = self.t
        return CompileError(
            f"the {self.noun} of {name} is {self._shown(dot)}, but {name} is {self._shown(value)}",
            t.loc, f"a {self.noun} has the structure, shape and type of what it belongs to",
        )  # fmt: skip

    def _shown(self, value: Value) -> str:
        if isinstance(value, Ref) and isinstance(value.obj, DictObj):
            return f"a dict of {', '.join(map(repr, self.t.state.heap[value.obj]))}"
        return self.t.describe(value)

    def _array(self, value: Arr, dot: Value, name: str) -> list[Atom | None]:
        if not isinstance(dot, Arr) or dot.rank != value.rank or (
            numpy_dtype(dot) != numpy_dtype(value)
        ):  # fmt: skip
            raise self._mismatch(value, dot, name)
        for have, want in zip(dot.shape, value.shape, strict=True):
            meet(self.t, have, want, f"the {self.noun} of {name} differs from it in shape")
        return [materialise(self.t, dot)]

    def _number(self, value: Value, dot: Value, name: str) -> list[Atom | None]:
        t = self.t
        x, d = scalar(t, value), scalar(t, dot)
        fits = isinstance(type_key(d), type) or type_key(d) == _strong(type_key(x))
        if not fits or (isinstance(d, Cx) and isinstance(x, Num)):
            raise self._mismatch(value, dot, name)
        if isinstance(x, Cx):
            re, im = (d.re, d.im) if isinstance(d, Cx) else (d.atom, Const(0.0, x.dtype))
            return [t.b.cast(re, x.dtype), t.b.cast(im, x.dtype)]
        assert isinstance(d, Num)
        return [t.b.cast(d.atom, x.dtype)]


def _strong(key: Any) -> Any:
    """The NumPy type of a number."""
    return {float: "f8", complex: "c16", int: "i8"}.get(key, key)


def _zipped(
    a: Sequence[Value], b: Sequence[Value], names: Sequence[str]
) -> list[tuple[Value, Value, str]] | None:
    return list(zip(a, b, names, strict=True)) if len(a) == len(b) else None
