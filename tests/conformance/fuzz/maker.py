"""A program in the making: names in scope, what they hold in plain Python, trying statements."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import numpy as np

import tapeless as tp
from tests.conformance.fuzz.quality import LEAF, Exact, Quality

NAMES = {"np": np, "math": math, "tp": tp, "operator": operator}
SAFE_BUILTINS = {
    f.__name__: f
    for f in (abs, all, any, bool, enumerate, float, int, len, max, min, range, round, sum, zip,
              complex, tuple, list, divmod, pow, isinstance, ValueError, IndexError, AssertionError,
              ZeroDivisionError, RuntimeError)
}  # fmt: skip
SIZES = {"n": 5, "m": 3, "k": 7}
RETURN = "return RESULT"


@dataclass(frozen=True)
class Expr:
    """`kind`: i, f, b, c. `dims`: one tag per axis (equal tags: equal sizes in every call)."""

    text: str
    kind: str
    q: Quality
    dims: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Name:
    """A name in scope. `role`: scalar, array, view, list, function, index."""

    text: str
    role: str
    kind: str
    q: Quality
    dims: tuple[str, ...] = ()
    fixed: bool = False  # may not be assigned
    readonly: bool = False  # an array whose cells may not be written


@dataclass
class Function:
    """A helper function of the program: as many float arguments, and what it makes of qualities."""

    text: str
    arity: int
    quality: Callable[..., Quality]


class Left(Exception):
    """The program returns early on the values of now."""


class Rejected(Exception):
    """What was to be written cannot be, here."""


@dataclass
class Maker:
    """`space` holds the values that names have in plain Python when the program runs as written so
    far; statements of a body run on a copy of it."""

    rng: Random
    names: dict[str, Name] = field(default_factory=dict)
    space: dict[str, Any] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    sizes: dict[str, str] = field(default_factory=dict)  # tag -> text of its value
    functions: list[Function] = field(default_factory=list)
    indices: dict[str, str] = field(default_factory=dict)  # loop variable -> tag of its range
    counter: int = 0
    depth: int = 0
    loops: int = 0
    single: bool = False
    outside: list[str] = field(default_factory=list)  # names before the outermost statement
    result: tuple[str, ...] = ()  # what is returned, if that is settled

    @property
    def bits(self) -> int:
        return 22 if self.single else 50

    # choices
    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def pick(self, items: Sequence[Any]) -> Any:
        if not items:
            raise Rejected
        return self.rng.choice(items)

    def weighted(self, table: Sequence[tuple[float, Any]]) -> Any:
        return self.rng.choices([t[1] for t in table], [t[0] for t in table])[0]

    def fresh(self, stem: str) -> str:
        self.counter += 1
        return f"{stem}{self.counter}"

    # names
    def with_role(
        self, *roles: str, kind: str | None = None, rank: int | None = None
    ) -> list[Name]:
        return [
            n for n in self.names.values()
            if n.role in roles and (kind is None or n.kind in kind)
            and (rank is None or len(n.dims) == rank)
        ]  # fmt: skip

    def arrays(self, kind: str = "ifb", rank: int | None = None) -> list[Name]:
        return self.with_role("array", "view", kind=kind, rank=rank)

    def size(self, dims: str, of: Name, axis: int) -> str:
        """Text of a size: by its symbol or by asking the array."""
        if dims in self.sizes and self.chance(0.5):
            return self.sizes[dims]
        if axis == 0 and self.chance(0.5):
            return f"len({of.text})"
        return f"{of.text}.shape[{axis}]"

    # running
    def globals(self) -> dict[str, Any]:
        return {**NAMES, "__builtins__": SAFE_BUILTINS}

    def value(self, text: str) -> Any:
        """The value of an expression now; Rejected if it raises."""
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                return eval(text, {**self.globals(), **self.space})
        except Exception as error:  # whatever the program may raise
            raise Rejected(f"{text}: {error!r}") from error

    def run(self, lines: Sequence[str]) -> None:
        """Run statements on the values of now; Rejected if they raise."""
        before = snapshot(self.space)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                space = {**self.globals(), **self.space, "LEAVE": Left}
                with suppress(Left):
                    exec("\n".join(lines).replace(RETURN, "raise LEAVE"), space)
        except Exception as error:
            self.space = before
            raise Rejected(f"{lines}: {error!r}") from error
        keep = {**self.globals(), "LEAVE": Left}
        self.space = {k: v for k, v in space.items() if k not in keep}

    def emit(self, *lines: str) -> None:
        """Add statements to the current body and run them."""
        self.run(lines)
        self.lines += lines

    def bind(self, name: Name) -> None:
        self.names[name.text] = name

    def choose_result(self) -> tuple[str, ...]:
        """Names that an early return may give, as the end then must."""
        known = [t for t in self.outside if self.names[t].role in ("scalar", "array", "view")]
        return tuple(self.rng.sample(known, min(len(known), self.rng.randint(1, 3))))

    def widen(self, text: str, q: Quality) -> None:
        self.names[text] = replace(self.names[text], q=q)


def snapshot(space: dict[str, Any]) -> dict[str, Any]:
    """Values that later statements do not change."""
    return {
        k: v.copy() if isinstance(v, np.ndarray) else list(v) if isinstance(v, list) else v
        for k, v in space.items()
    }


def kind_of(value: Any) -> str:
    """i, f, b or c: what sort of number a value is."""
    kind = np.asarray(value).dtype.kind
    return "i" if kind in "iu" else str(kind)


def leaf(kind: str) -> Quality:
    return Exact(0, 4) if kind == "i" else Exact(0, 1) if kind == "b" else LEAF
