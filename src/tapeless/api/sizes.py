"""Sizes that a program may be made for: those of 1, and small axes behind a long one.

Points of three coordinates, matrices of 3×3: loops over such axes are unrolled if their lengths are
known, and what stays in them lies in registers. A program for any sizes takes the first small
arrays; one for the small axes is made where no program fits yet and an array is long in front of
them, which shows that they are not what varies.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

from tapeless.api.paths import reader
from tapeless.api.plan import Plan, tree_steps
from tapeless.frontend.array_protocols import as_array
from tapeless.frontend.signature import ArgType, ArrayArg, Path, Root, Signature, TreeArg

Sizes = dict[tuple[Path, int], int]
SMALL = 8  # the longest axis that a program is made for
VARIANTS = 3  # programs for small axes, beside the one for any


def ones(signature: Signature, f: Any, a: dict[str, Any]) -> Sizes:
    """Every dimension of an argument that is 1 in this call."""
    shapes = _shapes(signature, f, a)
    return {(path, k): 1 for path, shape in shapes for k, n in enumerate(shape) if n == 1}


def small_axes(signature: Signature, f: Any, a: dict[str, Any]) -> Sizes:
    """The last axes of arguments, behind another one, if they are short and some array is long."""
    out: Sizes = {}
    is_long = False
    for path, shape in _shapes(signature, f, a):
        first = len(shape)
        while first > 1 and 2 <= shape[first - 1] <= SMALL:
            first -= 1
        out.update({(path, k): shape[k] for k in range(first, len(shape))})
        is_long |= first < len(shape) and prod(shape[:first]) > SMALL
    return out if is_long else {}


def made_for(plan: Plan) -> Sizes:
    """The small axes that a program is for."""
    return {(x.path, x.axis): x.size for x in plan.fixed if x.size > 1}


def _shapes(
    signature: Signature, f: Any, a: dict[str, Any]
) -> Iterator[tuple[Path, tuple[int, ...]]]:
    """The arrays among the arguments."""

    def visit(type: ArgType, path: Path) -> Iterator[tuple[Path, tuple[int, ...]]]:
        if isinstance(type, ArrayArg):
            yield path, as_array(reader(path)(f, a)).shape
        elif isinstance(type, TreeArg):
            for item, step in zip(type.items, tree_steps(type), strict=True):
                yield from visit(item, Path(path.root, (*path.steps, step)))

    for name, type in signature:
        yield from visit(type, Path(Root("arg", name)))
