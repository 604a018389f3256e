"""The names that a statement mentions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from tapeless.core.names import Const, Var
from tapeless.core.types import DType
from tapeless.loop.syntax import Buf, Name


def names_in(node: object) -> Iterator[Name]:
    """Every occurrence of a name at or below `node`, where it is bound too; a buffer's sizes and
    strides are mentioned with it."""
    match node:
        case Var():
            yield node
        case Buf(shape=shape, strides=strides):
            yield node
            yield from names_in((*shape, *strides))
        case Const() | DType():
            return
        case tuple():
            for part in node:
                yield from names_in(part)
        case _ if is_dataclass(node):
            for field in fields(node):
                yield from names_in(getattr(node, field.name))
