"""Derivatives of foreign functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tapeless.core.names import Atom, Var
from tapeless.errors import UnsupportedError
from tapeless.ir.build import Builder
from tapeless.ir.syntax import View


def call_tangents(
    b: Builder, callee: str, args: Sequence[Atom | View], outs: Sequence[Var],
    tangent: Callable[[Atom], Atom], varies: Callable[[Atom], bool],
) -> Sequence[Atom]:  # fmt: skip
    raise UnsupportedError(f"'{callee}' has no derivative")
