"""Tangents and cotangents given to a program: a tree beside the one that they belong to."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from tapeless.api.arrays import as_reals
from tapeless.core.names import Loc
from tapeless.errors import ArgumentError
from tapeless.frontend.array_protocols import as_array, is_array


class Shape:
    """An array or a number by its shape and type; a Python number takes its type from it. It is a
    leaf of trees, which a dataclass would not be."""

    __slots__ = ("dtype", "is_array", "shape")

    def __init__(
        self, shape: tuple[int, ...], dtype: np.dtype[Any], is_array: bool = False
    ) -> None:
        self.shape, self.dtype, self.is_array = shape, dtype, is_array

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shape) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[Any, ...]:
        return self.shape, self.dtype, self.is_array

    def __str__(self) -> str:
        return f"an array of {self.dtype} and shape {self.shape}" if self.shape else (
            f"a number of type {self.dtype}")  # fmt: skip


def skeleton(value: Any) -> Any:
    """The tree with a `Shape` for each number and array."""
    match value:
        case tuple():
            return tuple.__new__(type(value), map(skeleton, value))
        case list():
            return list(map(skeleton, value))
        case dict():
            return {k: skeleton(v) for k, v in value.items()}
        case bool() | int() | float() | complex() | np.generic():
            return Shape((), np.asarray(value).dtype)
    if is_array(value):
        array = as_array(value)
        return Shape(array.shape, array.dtype, is_array=True)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f".{f.name}": skeleton(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return None


class Directions:
    """A tree of tangents or cotangents (`noun`), as a kernel takes them."""

    def __init__(self, noun: str, loc: Loc | None) -> None:
        self.noun = noun
        self.loc = loc

    def values(self, like: Any, given: Any, name: str) -> Iterator[Any]:
        """The floats of `given`, which has the structure of the skeleton `like`."""
        match like:
            case Shape():
                yield from self.leaf(like, given, name)
                return
            case None if given is not None:
                raise self.mismatch("nothing that can be differentiated", given, name)
            case None:
                return
        for step, item, part in self.items(like, given, name):
            yield from self.values(item, part, f"{name}{step}")

    def items(self, like: Any, given: Any, name: str) -> Iterator[tuple[str, Any, Any]]:
        """Steps to the parts of a container, with what is given for each."""
        if isinstance(like, dict):
            is_object = any(str(k).startswith(".") for k in like)
            if given is not None and is_object and dataclasses.is_dataclass(given):
                given = {f".{f.name}": getattr(given, f.name) for f in dataclasses.fields(given)}
            if given is not None and not (isinstance(given, dict) and given.keys() == like.keys()):
                words = "an object" if is_object else f"a dict of {', '.join(map(repr, like))}"
                raise self.mismatch(words, given, name)
            for key, item in like.items():
                step = key if is_object else f"[{key!r}]"
                yield step, item, None if given is None else given[key]
            return
        if given is not None and (not isinstance(given, tuple | list) or len(given) != len(like)):
            raise self.mismatch(f"a {type(like).__name__} of {len(like)}", given, name)
        for k, item in enumerate(like):
            yield f"[{k}]", item, None if given is None else given[k]

    def leaf(self, like: Shape, given: Any, name: str) -> Iterator[Any]:
        if like.dtype.kind not in "fc":
            if given is not None:
                raise self.mismatch(f"{like}, which has none", given, name)
            return
        if given is None:
            given = np.zeros(like.shape, like.dtype)
        elif not self.fits(like, given):
            raise self.mismatch(str(like), given, name)
        if like.is_array:
            array = as_array(given) if is_array(given) else given
            yield as_reals(np.asarray(array, like.dtype, order="C"))
            return
        number = like.dtype.type(given)
        yield from (number.real, number.imag) if like.dtype.kind == "c" else (number,)

    @staticmethod
    def fits(like: Shape, given: Any) -> bool:
        if not like.shape and type(given) in (bool, int, float, complex):
            return type(given) is not complex or like.dtype.kind == "c"
        if not (isinstance(given, np.generic) or is_array(given)):
            return False
        array = as_array(given) if is_array(given) else np.asarray(given)
        return array.shape == like.shape and array.dtype == like.dtype

    def mismatch(self, like: str, given: Any, name: str) -> ArgumentError:
        found = skeleton(given)
        shown = str(found) if isinstance(found, Shape) else f"a {type(given).__name__}"
        if isinstance(given, tuple | list):
            shown += f" of {len(given)}"
        return ArgumentError(
            f"the {self.noun} of {name} is {shown}, but {name} is {like}", self.loc,
            f"a {self.noun} has the structure, shape and type of what it belongs to",
        )  # fmt: skip
