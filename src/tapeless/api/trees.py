"""Trees of Python's containers: tuples, named tuples, lists, dicts and dataclasses; all else are
leaves."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np


def parts(tree: Any) -> list[tuple[str, Any]] | None:
    """The parts of a container, each with the step to it as Python spells it; None for a leaf."""
    match tree:
        case tuple() if hasattr(tree, "_fields"):
            return [(f".{name}", getattr(tree, name)) for name in tree._fields]
        case tuple() | list():
            return [(f"[{k}]", part) for k, part in enumerate(tree)]
        case dict():
            return [(f"[{key!r}]", part) for key, part in tree.items()]
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        return [(f".{f.name}", getattr(tree, f.name)) for f in dataclasses.fields(tree)]
    return None


def rebuilt(tree: Any, items: list[Any]) -> Any:
    """A container like `tree` of other items; its `__init__` is not run."""
    match tree:
        case tuple():
            return tuple.__new__(type(tree), items)
        case list():
            return items
        case dict():
            return dict(zip(tree, items, strict=True))
    made = object.__new__(type(tree))
    for field, item in zip(dataclasses.fields(tree), items, strict=True):
        object.__setattr__(made, field.name, item)
    return made


def tree_map(visit: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """The tree with `visit` applied to each leaf, and to what is in its place in `others`."""
    found = parts(tree)
    if found is None:
        return visit(tree, *others)
    columns = [[part for _, part in parts(other) or ()] for other in others]
    rows = zip((part for _, part in found), *columns, strict=True)
    return rebuilt(tree, [tree_map(visit, *row) for row in rows])


def leaves_of(tree: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every leaf in order, with the way to it from `name`."""
    found = parts(tree)
    if found is None:
        yield name, tree
        return
    for step, part in found:
        yield from leaves_of(part, name + step)


def with_leaves(tree: Any, leaves: Iterable[Any]) -> Any:
    """The tree with other leaves, in order."""
    rest = iter(leaves)
    return tree_map(lambda _: next(rest), tree)


def structure(tree: Any) -> Any:
    """What tells one tree from another, to look it up by: types of containers, and the leaves
    (floats as text: -0.0 is not 0.0)."""
    found = parts(tree)
    if found is None:
        return type(tree), repr(tree) if isinstance(tree, float | complex | np.generic) else tree
    return type(tree), tuple((step, structure(part)) for step, part in found)
