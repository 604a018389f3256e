"""Parameters annotated with an array type: `x: tp.f64["n", 3]`."""

from __future__ import annotations

import builtins
import types
import typing
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from tapeless.core.names import Loc
from tapeless.errors import ArgumentError, ShapeError
from tapeless.forms.elements import ALL, ArrayOf, ElementType
from tapeless.frontend.array_protocols import as_array
from tapeless.frontend.signature import ArgType, ArrayArg

Apply: TypeAlias = Callable[[dict[str, ArgType], dict[str, Any], Loc], dict[str, ArgType]]


def hints_of(function: types.FunctionType) -> dict[str, Any]:
    """The annotations of the parameters, as values."""
    hints = function.__annotations__.items()
    return {name: _evaluated(hint, function) for name, hint in hints if name != "return"}


def declared_arrays(hints: dict[str, Any]) -> dict[str, ArrayOf]:
    """Parameters that are declared as arrays."""
    arrays = {name: array_hint(hint) for name, hint in hints.items()}
    return {name: array for name, array in arrays.items() if array is not None}


def declared(hints: dict[str, Any]) -> Apply | None:
    """What the annotations ask of the arguments; None if they ask for nothing."""
    found = declared_arrays(hints)
    if not found:
        return None

    def apply(types: dict[str, ArgType], values: dict[str, Any], loc: Loc) -> dict[str, ArgType]:
        sizes: dict[str, tuple[int, str]] = {}
        return {
            name: _apply(found[name], type, name, values[name], sizes, loc)
            if name in found else type
            for name, type in types.items()
        }  # fmt: skip

    return apply


class _Names(dict[str, Any]):
    """Names of a deferred annotation: one that is defined nowhere is a size, with or without
    quotes, which linters take away."""

    def __missing__(self, name: str) -> str:
        return name


def _evaluated(hint: Any, function: types.FunctionType) -> Any:
    """The annotation as a value; hints that cannot be had are of no concern to us."""
    if not isinstance(hint, str):
        return hint
    cells = function.__closure__ or ()
    try:
        local = {
            n: c.cell_contents for n, c in zip(function.__code__.co_freevars, cells, strict=True)
        }
        return eval(hint, {}, _Names(vars(builtins) | function.__globals__ | local))
    except Exception:  # noqa: BLE001  # whatever somebody else's annotation raises
        return None


def array_hint(hint: Any) -> ArrayOf | None:
    """The array type that an annotation declares, ours or jaxtyping's."""
    if isinstance(hint, ArrayOf):
        return hint
    if typing.get_origin(hint) is typing.Annotated:
        return next(filter(None, map(array_hint, hint.__metadata__)), None)
    dims, dtypes = getattr(hint, "dims", None), getattr(hint, "dtypes", None)
    if isinstance(dims, tuple) and isinstance(dtypes, tuple | list):
        return _jaxtyped(dims, tuple(dtypes))
    return None


def _jaxtyped(dims: tuple[Any, ...], dtypes: tuple[str, ...]) -> ArrayOf | None:
    """jaxtyping's Float64[Array, "n 3"]: only what has our meaning."""
    sizes: list[int | str | None] = []
    for dim in dims:
        size, name = getattr(dim, "size", None), getattr(dim, "name", None)
        if isinstance(size, int):
            sizes.append(size)
        elif isinstance(name, str) and name.isidentifier():
            sizes.append(name)
        else:
            return None
    elements = [t for t in ALL if t.dtype.name in dtypes]
    return ArrayOf(elements[0] if len(dtypes) == 1 and elements else ANY, tuple(sizes))


ANY = ElementType("any", np.dtype("V"))


def _apply(
    want: ArrayOf, type: ArgType, name: str, value: Any, sizes: dict[str, tuple[int, str]], loc: Loc
) -> ArgType:
    """The argument's type with the declared sizes, if it is what was declared."""
    if not isinstance(type, ArrayArg):
        raise ArgumentError(f"'{name}' is declared as {want}, but a {_kind(value)} was given", loc,
                            "pass an array, for instance np.asarray(...)")  # fmt: skip
    shape = as_array(value).shape
    if want.element is not ANY and type.dtype != want.element.dtype:
        raise ArgumentError(
            f"'{name}' is declared as {want}, but an array of {type.dtype} was given", loc,
            f"convert it: {name}.astype(np.{want.element.dtype})",
        )  # fmt: skip
    if len(shape) != len(want.sizes):
        raise ShapeError(
            f"'{name}' is declared as {want}, but an array of shape {shape} was given", loc,
            f"pass an array of rank {len(want.sizes)}, or declare another",
        )  # fmt: skip
    for axis, (size, declared) in enumerate(zip(shape, want.sizes, strict=True)):
        if isinstance(declared, int) and size != declared:
            raise ShapeError(
                f"axis {axis} of '{name}' has size {size}, declared {declared}", loc,
                f"pass {declared} of them, or declare the size by a name",
            )  # fmt: skip
        if isinstance(declared, str):
            known, where = sizes.setdefault(declared, (size, f"axis {axis} of '{name}'"))
            if known != size:
                raise ShapeError(
                    f"'{declared}' is {known} by {where}, but axis {axis} of '{name}' has size"
                    f" {size}", loc, "make them agree, or declare another name for one of them",
                )  # fmt: skip
    dims = tuple(d if isinstance(d, int) else None for d in want.sizes)
    return ArrayArg(type.dtype, dims)


def _kind(value: Any) -> str:
    return type(value).__name__
