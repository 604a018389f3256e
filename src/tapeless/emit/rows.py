"""Stores of neighbouring cells by every lane: a lane's cells are put side by side in a register and
stored at once.

    lane l:  y[3·l] = a;  y[3·l + 1] = b;  y[3·l + 2] = c
    ⇒  the matrix with the rows a, b, c is transposed; its row l is stored at y[3·l]

One store for each lane takes the place of one for each lane and cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import DType, bool_, i64
from tapeless.emit.asm import memory_type, wide
from tapeless.emit.casts import register_to_memory
from tapeless.emit.memory import Accesses
from tapeless.loop.syntax import Buf, Load, Op, Stm, Store

ZERO, ONE = Const(0, i64), Const(1, i64)
FEWEST = 3  # cells for which this pays
CHUNK = 8  # lanes that are transposed together; cells of a row

Key: TypeAlias = tuple[Buf, tuple[Atom, ...], Atom]


@dataclass(slots=True)
class Window:
    """Stores that are not emitted yet: per row the stores by their cell, per class of buffers that
    may share memory its one row. `offsets`: numbers known to be another one and a constant."""

    most: int
    offsets: dict[Atom, tuple[Atom, int]] = field(default_factory=dict)
    keys: dict[int, Key] = field(default_factory=dict)
    found: dict[Key, dict[int, Store]] = field(default_factory=dict)

    def takes(self, root: int, key: Key, offset: int) -> bool:
        """Whether a store can join without changing places with one that may mean its cell."""
        return self.keys.get(root, key) == key and offset not in self.found.get(key, ())

    def add(self, root: int, key: Key, offset: int, stm: Store) -> None:
        self.keys[root] = key
        self.found.setdefault(key, {})[offset] = stm

    def rows(self) -> Iterator[list[Store]]:
        """What has been found so far, neighbouring cells together; it is forgotten."""
        for cells in self.found.values():
            row: list[Store] = []
            for offset in sorted(cells):
                if row and offset - 1 not in cells:
                    yield from in_pieces(row, self.most)
                    row = []
                row.append(cells[offset])
            yield from in_pieces(row, self.most)
        self.keys.clear()
        self.found.clear()


def in_pieces(row: list[Store], most: int) -> Iterator[list[Store]]:
    """Pieces of `most` cells. The last one begins in the one before, if there is one, so that it is
    whole, too."""
    for first in range(0, len(row), most):
        start = max(min(first, len(row) - most), 0)
        yield row[start : start + most]


def together(
    stms: Sequence[Stm], lanes: int, root_of: Callable[[Buf], int]
) -> Iterator[Stm | list[Store]]:
    """The statements, stores of neighbouring cells in order of the cells; they wait while other
    memory is read, and numbers are computed."""
    window = Window(min(lanes, CHUNK))
    for stm in stms:
        match stm:
            case Store(buf=buf, at=(*above, last)) if buf.strides[-1] == ONE:
                base, offset = window.offsets.get(last, (last, 0))
                if isinstance(last, Const):
                    base, offset = ZERO, int(last.value)
                key, root = (buf, tuple(above), base), root_of(buf)
                if not window.takes(root, key, offset):
                    yield from window.rows()
                window.add(root, key, offset, stm)
                continue
            case Op(out=out, op="add", args=(Var() as a, Const(value=c))) if out.dtype == i64:
                base, before = window.offsets.get(a, (a, 0))
                window.offsets[out] = base, before + int(c)
            case Op():
                pass
            case Load(buf=buf) if root_of(buf) not in window.keys:
                pass
            case _:
                yield from window.rows()
        yield stm
    yield from window.rows()


class Rows(Accesses):
    """Stores of rows."""

    def store_row(self, stores: list[Store]) -> None:
        """Stores to neighbouring cells of one buffer."""
        places = [self.at(s.buf, s.at) for s in stores]
        start = places[0]
        few = len(stores) < FEWEST
        if few or self.is_shared(start) or start.vector or start.lanes > 1 or self.run_of(start):
            for place, store in zip(places, stores, strict=True):
                self.store_at(place, self.val(store.value))
            return
        dtype = stores[0].value.dtype
        type, lanes = memory_type(dtype), min(self.width, CHUNK)
        full = [register_to_memory(self.a, self.vec(self.val(s.value)), dtype, self.width)
                for s in stores]  # fmt: skip
        rows: list[tuple[str, str]] = []  # what each lane stores, and where
        for first in range(0, self.width, lanes):
            parts = [self.part(text, type, first, lanes) for text in full]
            for k, row in enumerate(self.transposed(parts, wide(type, lanes), lanes)):
                offset = self.of_lane(start.offset, str(first + k))
                rows.append((row, self.gep(start.base, offset.text, dtype)))
        alias = self.unit.aliasing.suffix(start.root)
        self.unless_all(lambda k: self.masked_row(rows, dtype, len(stores), alias, k))

    def unless_all(self, emit: Callable[[str | None], None]) -> None:
        """Emit for all lanes, and again under the mask: masked stores cost more."""
        if self.mask is None:
            emit(None)
            return
        a, w = self.a, self.width
        bits = a.let(f"bitcast {self.type(bool_)} {self.mask} to i{w}")
        whole, partly, after = a.label("whole"), a.label("partly"), a.label("stored")
        a.branch(a.let(f"icmp eq i{w} {bits}, -1"), whole, partly)
        for label, mask in ((whole, None), (partly, self.mask)):
            a.start(label)
            emit(mask)
            a.jump(after)
        a.start(after)

    def masked_row(
        self, rows: list[tuple[str, str]], dtype: DType, count: int, alias: str, mask: str | None
    ) -> None:
        """`count` cells for each lane of the mask."""
        a, lanes = self.a, min(self.width, CHUNK)
        vector = wide(memory_type(dtype), lanes)
        suffix = f"v{lanes}{'f' if dtype.is_float else 'i'}{8 * dtype.bytes}"
        cells = ", ".join(f"i1 {'true' if k < count else 'false'}" for k in range(lanes))
        for k, (row, where) in enumerate(rows):
            kept = f"<{cells}>"
            if mask is not None:
                active = a.let(f"extractelement {self.type(bool_)} {mask}, i64 {k}")
                none = f"<{lanes} x i1> zeroinitializer"
                kept = a.let(f"select i1 {active}, <{lanes} x i1> {kept}, {none}")
            a.do(
                f"call void @llvm.masked.store.{suffix}.p0({vector} {row}, "
                f"ptr align {dtype.bytes} {where}, <{lanes} x i1> {kept}){alias}"
            )

    def part(self, text: str, type: str, first: int, lanes: int) -> str:
        """Some lanes of a value."""
        if lanes == self.width:
            return text
        whole = wide(type, self.width)
        order = ", ".join(f"i32 {k}" for k in range(first, first + lanes))
        return self.a.let(
            f"shufflevector {whole} {text}, {whole} poison, <{lanes} x i32> <{order}>"
        )

    def transposed(self, rows: Sequence[str], type: str, lanes: int) -> list[str]:
        """The columns of a matrix of `lanes` columns and at most as many rows: at each step blocks
        beside the diagonal change places."""
        now = [*rows, *["poison"] * (lanes - len(rows))]
        step = 1
        while step < lanes:
            for i in range(lanes):
                if not i & step:
                    now[i], now[i | step] = (
                        self.mixed(now[i], now[i | step], type, order)
                        for order in (
                            [lanes + (k ^ step) if k & step else k for k in range(lanes)],
                            [lanes + k if k & step else k | step for k in range(lanes)],
                        )
                    )
            step *= 2
        return now

    def mixed(self, left: str, right: str, type: str, order: list[int]) -> str:
        if left == right == "poison":
            return left
        text = ", ".join(f"i32 {k}" for k in order)
        return self.a.let(
            f"shufflevector {type} {left}, {type} {right}, <{len(order)} x i32> <{text}>"
        )
