"""What a call does around its kernel: where values come from, what must hold, what comes out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tapeless.core.names import Atom, Const, Loc
from tapeless.frontend.argtypes import captured_type, plain
from tapeless.frontend.signature import (
    ArgType,
    ArrayArg,
    Guard,
    Input,
    NotOne,
    Out,
    Path,
    Root,
    Signature,
    Traced,
    TreeArg,
)  # fmt: skip
from tapeless.ir.syntax import Body, Call, Each, Fold, For, Fun, Loop, Scan, Sort
from tapeless.ir.walk import bodies_of


@dataclass(frozen=True, slots=True)
class Fixed:
    """The code is right only while this dimension has this size."""

    path: Path
    axis: int
    size: int


@dataclass(frozen=True, slots=True)
class Plan:
    """`ranks`: per input the rank of its Core array, or None for a scalar. `long`: a call may take
    long even if all arrays are small."""

    name: str
    loc: Loc
    inputs: tuple[Input, ...]
    ranks: tuple[int | None, ...]
    output: Out
    written: tuple[Path, ...]
    guards: tuple[Guard, ...]
    not_one: tuple[NotOne, ...]
    fixed: tuple[Fixed, ...]
    long: bool
    sequel: Out | None = None  # what the program's sequel gives


def plan_of(traced: Traced, fixed: tuple[Fixed, ...], loc: Loc) -> Plan:
    ranks = tuple(len(p.shape) if p.is_array else None for p in traced.fun.params)
    return Plan(
        traced.fun.name, loc, traced.inputs, ranks, traced.output, traced.written, traced.guards,
        traced.not_one, fixed, may_take_long(traced.fun),
        traced.sequel.output if traced.sequel else None,
    )  # fmt: skip


SHORT_LOOP = 1000
DEEP = 3  # loops over small arrays, nested so deep, may take long together


def may_take_long(fun: Fun) -> bool:
    """Whether a loop's passes are bounded by anything but sizes of arrays and small numbers."""
    sizes = {s for p in fun.params for s in p.shape}

    def visit(body: Body, depth: int) -> bool:
        for stm in body.stms:
            match stm.exp:
                case Loop(For(_, size)) | Fold(_, size) | Scan(_, size):
                    counts: tuple[Atom, ...] = (size,)
                case Each(_, counts):
                    pass
                case Loop():
                    return True
                case Call() | Sort():
                    return True
                case _:
                    counts = ()
            if not all(
                c in sizes or (isinstance(c, Const) and c.value < SHORT_LOOP) for c in counts
            ):
                return True
            inside = depth + len(counts)
            if inside >= DEEP or any(visit(b, inside) for b in bodies_of(stm.exp)):
                return True
        return False

    return visit(fun.body, 0)


# Sizes as a part of types -----------------------------------------------------------------------


def any_sizes(shape: tuple[int, ...]) -> tuple[None, ...]:
    """Dimensions that say nothing about sizes."""
    return (None,) * len(shape)


def with_sizes(signature: Signature, sizes: dict[tuple[Path, int], int]) -> Signature:
    """The signature with some dimensions of run time made known."""
    return tuple((name, _sized(type, Path(Root("arg", name)), sizes)) for name, type in signature)


def _sized(type: ArgType, path: Path, sizes: dict[tuple[Path, int], int]) -> ArgType:
    match type:
        case ArrayArg(dtype, dims):
            known = (sizes.get((path, k), d) for k, d in enumerate(dims))
            return ArrayArg(dtype, tuple(known))
        case TreeArg(kind, cls, keys, items, instance):
            steps = tree_steps(type)
            items = tuple(
                _sized(i, Path(path.root, (*path.steps, s)), sizes)
                for i, s in zip(items, steps, strict=True)
            )
            return TreeArg(kind, cls, keys, items, instance)
        case _:
            return type


def tree_steps(tree: TreeArg) -> list[tuple[str, Any]]:
    """The step from a container to each of its items."""
    match tree.kind:
        case "dict":
            return [("item", k) for k in tree.keys]
        case "dataclass":
            return [("attr", k) for k in tree.keys]
        case _:
            return [("item", k) for k in range(len(tree.items))]


# Whether a value still has a type ---------------------------------------------------------------

# A value of these types that is the same object has the same meaning as before.
UNCHANGING = (str, int, bool, type(None), type, type(np), type(len), type(tree_steps), np.ufunc)


def is_unchanging(value: Any) -> bool:
    """Whether this object will mean the same as long as it is the same object."""
    if isinstance(value, tuple):
        return all(map(is_unchanging, value))
    return isinstance(plain(value), UNCHANGING)


class Expectation:
    """A guard as a quick test: an object seen before needs no second look."""

    __slots__ = ("dynamic", "guard", "seen")

    def __init__(self, guard: Guard, dynamic: frozenset[Path]) -> None:
        self.guard = guard
        self.dynamic = dynamic
        self.seen: Any = Expectation

    def holds(self, value: Any) -> bool:
        if value is self.seen:
            return True
        guard = self.guard
        fits = captured_type(value, guard.path, self.dynamic) == guard.expected
        if fits and is_unchanging(value):
            self.seen = value
        return fits
