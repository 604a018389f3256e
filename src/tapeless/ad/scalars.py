"""What rules of scalar operators are written with, and the table that they enter themselves in."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tapeless.core.names import Atom, Const
from tapeless.ir.build import Builder

Linear: TypeAlias = Callable[[Atom], Atom]
Row: TypeAlias = tuple[Linear | None, ...]


class Scalars:
    """Arithmetic on atoms of one element type, emitted into a builder. `value` says what stands for
    a variable of the program where that is written."""

    def __init__(self, b: Builder, like: Atom, value: Callable[[Atom], Atom]) -> None:
        self.b = b
        self.like = like
        self.value = value

    def __call__(self, op: str, *args: Atom | float) -> Atom:
        return self.b.prim(op, *(self.atom(a) for a in args))

    def atom(self, value: Atom | float) -> Atom:
        if isinstance(value, int | float):
            return Const(value, self.like.dtype)
        return self.value(value)


Rule: TypeAlias = Callable[..., Row]


class Table(dict[str, Rule]):
    """Rules by the name of their operator."""

    def of(self, name: str) -> Callable[[Rule], Rule]:
        def enter(rule: Rule) -> Rule:
            self[name] = rule
            return rule

        return enter
