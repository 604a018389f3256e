"""Results of a kernel, a flat list, as the values that the Python function returns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np

from tapeless.api.arrays import as_complex
from tapeless.api.paths import reader
from tapeless.frontend.signature import ArgOut, ArrayOut, NumberOut, Out, StaticOut, TreeOut

Rebuild: TypeAlias = Callable[[Iterator[Any], Any, dict[str, Any]], Any]


def rebuilder(out: Out) -> Rebuild:
    """(flat results, function, arguments) -> the value described by `out`."""
    match out:
        case ArrayOut(is_complex=True):
            return lambda flat, f, a: as_complex(next(flat))
        case ArrayOut():
            return lambda flat, f, a: next(flat)
        case NumberOut():
            return _number(out)
        case StaticOut(value):
            return lambda flat, f, a: value
        case ArgOut(path):
            read = reader(path)
            return lambda flat, f, a: read(f, a)
        case TreeOut():
            return _tree(out)


def _number(out: NumberOut) -> Rebuild:
    """Weak ints and bools stay Python's, all else becomes a NumPy scalar."""
    if out.dtype.kind == "c":
        number = out.dtype.type
        return lambda flat, f, a: number(complex(next(flat), next(flat)))
    kind = out.dtype.kind
    make: Callable[[Any], Any] = out.dtype.type
    if out.weak and kind in "iub":
        make = bool if kind == "b" else int
    return lambda flat, f, a: make(next(flat))


def _tree(out: TreeOut) -> Rebuild:
    parts = [rebuilder(item) for item in out.items]
    build = container(out.kind, out.cls, out.keys)
    return lambda flat, f, a: build([part(flat, f, a) for part in parts])


def container(kind: str, cls: type, keys: tuple[Any, ...]) -> Callable[[list[Any]], Any]:
    """Rebuilds a container from its items, without running its `__init__`."""
    match kind:
        case "tuple" | "namedtuple":
            return lambda items: tuple.__new__(cls, items)
        case "list":
            return lambda items: items
        case "dict":
            return lambda items: dict(zip(keys, items, strict=True))

    def instance(items: list[Any]) -> Any:
        made: Any = object.__new__(cls)
        for key, item in zip(keys, items, strict=True):
            object.__setattr__(made, str(key), item)
        return made

    return instance


def into(out: Any, result: Any, name: str) -> Any:
    """`out`, holding `result`, which must be an array of its shape and type."""
    if not isinstance(out, np.ndarray) or not isinstance(result, np.ndarray):
        what = out if isinstance(result, np.ndarray) else result
        raise TypeError(f"{name}: out= is for one array as result, not for {type(what).__name__}")
    if out.shape != result.shape:
        raise ValueError(f"{name}: out has shape {out.shape}, the result {result.shape}")
    if out.dtype != result.dtype:
        raise TypeError(f"{name}: out holds {out.dtype}, the result is {result.dtype}")
    out[...] = result
    return out
