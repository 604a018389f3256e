"""Tuples: packed from values, and the items of something whose length is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tapeless.core.names import Const
from tapeless.core.types import i64
from tapeless.errors import CompileError
from tapeless.frontend.iteration import Items
from tapeless.frontend.values import Known, Tup, Value

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer


def pack_tuple(items: tuple[Value, ...]) -> Value:
    if items and all(isinstance(i, Known) for i in items):
        return Known(tuple(i.value for i in items if isinstance(i, Known)))
    return Tup(items)


def static_items(t: Tracer, items: Items, want: int | None) -> list[Value]:
    """The items of something whose length is known, or is checked to be `want`."""
    if isinstance(items, list):
        return items
    size = items.size
    if isinstance(size, Const):
        return [items.item(Const(k, i64)) for k in range(int(size.value))]
    if want is None:
        raise CompileError("cannot unpack something of run-time length", t.loc)
    t.b.check(t.b.prim("eq", size, Const(want, i64)), "ValueError",
              f"expected {want} values to unpack, got {{0}}", size)  # fmt: skip
    return [items.item(Const(k, i64)) for k in range(want)]
