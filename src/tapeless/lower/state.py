"""What lowering knows while it walks a program: where arrays live, what accumulators hold."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import product
from math import prod

from tapeless.analysis.lastuse import Uses
from tapeless.analysis.storage import Storage
from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import INDEX, Scalar, Size
from tapeless.ir.syntax import Acc, Body, Exp, Let
from tapeless.ir.types_of import atom_of
from tapeless.loop.syntax import GLOBAL, LOCAL, SEQ, SIMD, Alloc, Buf, Copy, For, Load, Stm, Store
from tapeless.lower.builder import ZERO, Builder, block
from tapeless.lower.own import Owned
from tapeless.lower.plan import Plans

MOST_CELLS = 16  # of an array that is copied cell by cell in lanes


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """Where an array lives: behind a prefix of indices of a buffer.

    Arrays that grow know how many rows the buffer holds, and for how many more appends room is
    `reserved`.
    """

    buf: Buf
    prefix: tuple[Atom, ...] = ()
    capacity: Atom | None = None
    reserved: int = 0

    def row(self, at: tuple[Atom, ...]) -> Place:
        return Place(self.buf, self.prefix + at)

    def is_same(self, other: Place) -> bool:
        return self.buf is other.buf and self.prefix == other.prefix


@dataclass(frozen=True, slots=True, eq=False)
class Want:
    """Where a value should be made: at `place`, or as result number `result` of the procedure."""

    place: Place | None = None
    result: int | None = None


class State(Builder, ABC):
    """Environment of the walk. Scalars of Core keep their names unless `atoms` renames them."""

    def __init__(self, owned: Owned, plans: Plans, deterministic: bool) -> None:
        super().__init__()
        self.deterministic = deterministic
        self.reuse = owned.reuse
        self.plans = plans
        self.storage = Storage(owned.reuse)
        self.atoms: dict[Var, Atom] = {}
        self.places: dict[Var, Place] = {}
        self.wants: dict[Var, Want] = {}
        self.accs: dict[Var, Acc] = {}  # the group that an accumulator belongs to
        self.registers: dict[Var, Atom] = {}  # accumulators held in scalars, now
        self.cells: dict[tuple[Var, tuple[Atom, ...]], Var] = {}  # promoted cells: their register
        self.kinds: list[str] = []  # enclosing parallel loops
        self.defs: dict[Var, Exp] = {}  # definitions of scalars, for index simplification
        self.foreign: dict[str, None] = {}
        self.allocated: dict[Buf, list[Stm]] = {}  # from the arena: in which block
        self.uses = Uses()
        self.result_bufs: dict[int, Buf] = {}  # buffers allocated as results

    # atoms and sizes
    def atom(self, atom: Atom) -> Atom:
        while isinstance(atom, Var) and atom in self.atoms:
            atom = self.atoms[atom]
        return atom

    def all(self, atoms: tuple[Atom, ...]) -> tuple[Atom, ...]:
        return tuple(self.atom(a) for a in atoms)

    def size(self, size: Size) -> Atom:
        return self.atom(atom_of(size))

    def shape(self, var: Var) -> tuple[Atom, ...]:
        return tuple(self.size(s) for s in var.shape)

    @property
    def in_lanes(self) -> bool:
        return SIMD in self.kinds

    @property
    def space(self) -> str:
        return LOCAL if self.in_lanes else GLOBAL

    # memory
    def make(self, var: Var, *, zero: bool = False) -> Place:
        """Memory for the new array `var`: where it is wanted, else from the arena."""
        want = self.wants.get(var)
        if want is None:
            return self.allocate(var, zero=zero)
        if want.place is None:
            return self.allocate(var, zero=zero, result=want.result)
        if zero:
            self.clear(want.place, self.shape(var))
        return want.place

    def allocate(self, var: Var, *, zero: bool = False, result: int | None = None) -> Place:
        """Memory for the array `var`: that of a dead array of this block, or new."""
        shape = self.shape(var)
        dead = self.free[-1].get((var.dtype, shape)) if result is None else None
        if dead:
            place = Place(dead.pop())
            if zero:
                self.clear(place, shape)
            return place
        buf = self.buf(var.dtype, shape, var.hint, self.space)
        self.emit(Alloc(buf, zero, result))
        if result is None:
            self.allocated[buf] = self.blocks[-1]
        else:
            self.result_bufs[result] = buf
        return Place(buf)

    def release(self, place: Place) -> None:
        """The array at `place` is dead: arrays of its shape, in the block that made it, may be
        made there."""
        if self.allocated.get(place.buf) is self.blocks[-1] and not place.prefix:
            self.free[-1].setdefault((place.buf.dtype, place.buf.shape), []).append(place.buf)

    def saved(self, place: Place, var: Var) -> Place:
        """A copy of the array `var` at `place`."""
        new = self.allocate(var)
        self.copy(new, place, var)
        return new

    def view(self, place: Place, var: Var) -> Buf:
        """A buffer that is exactly the array `var` at `place`."""
        shape = self.shape(var)
        if not place.prefix and place.buf.shape == shape:
            return place.buf
        return self.row(place.buf, place.prefix, shape)

    def copy(self, to: Place, source: Place, var: Var) -> None:
        """Copy the array `var` between places that differ (in lanes each at its own)."""
        if to.is_same(source):
            return
        if not self.in_lanes:
            self.emit(Copy(self.view(to, var), self.view(source, var)))
            return
        if self.copy_cells(to, source, var):
            return
        index = tuple(self.counter() for _ in var.shape)
        value = Var(Scalar(var.dtype), var.hint)
        load = Load(value, source.buf, source.prefix + index)
        self.over(index, self.shape(var), [load, Store(to.buf, to.prefix + index, value)])

    def copy_cells(self, to: Place, source: Place, var: Var) -> bool:
        """Copy an array of few cells one by one: all are read first, so that each lane may store
        them at once. Whether there are so few."""
        sizes = [s if isinstance(s, int) else 0 for s in var.shape]
        if not 0 < prod(sizes) <= MOST_CELLS:
            return False
        cells = [tuple(Const(k, INDEX.dtype) for k in at) for at in product(*map(range, sizes))]
        values = [Var(Scalar(var.dtype), var.hint) for _ in cells]
        for at, value in zip(cells, values, strict=True):
            self.emit(Load(value, source.buf, source.prefix + at))
        for at, value in zip(cells, values, strict=True):
            self.emit(Store(to.buf, to.prefix + at, value))
        return True

    def move(self, moves: list[tuple[Place, Place, Var]], homes: list[Place]) -> None:
        """Copy arrays to their homes: (home, where it is now, the array). All are saved first if
        one may lie in another's home: what loops give back is in memory not known before."""

        def elsewhere(place: Place) -> bool:
            return place.buf in self.allocated and not any(place.buf is h.buf for h in homes)

        if len(moves) > 1 and not all(elsewhere(source) for _, source, _ in moves):
            moves = [(home, self.saved(source, array), array) for home, source, array in moves]
        for home, source, array in moves:
            self.copy(home, source, array)

    def clear(self, place: Place, shape: tuple[Atom, ...]) -> None:
        """Write zeros to every element."""
        index = tuple(self.counter() for _ in shape)
        store = Store(place.buf, place.prefix + index, Const(0, place.buf.dtype))
        self.over(index, shape, [store])

    def over(self, index: tuple[Var, ...], shape: tuple[Atom, ...], stms: list[Stm]) -> None:
        """Loops over a box around statements without results."""
        kind = SEQ if self.in_lanes else SIMD
        for var, size in zip(reversed(index), reversed(shape), strict=True):
            stms = [For((), var, ZERO, size, kind, (), (), block(stms))]
            kind = SEQ
        for stm in stms:
            self.emit(stm)

    def is_contiguous(self, place: Place, var: Var) -> bool:
        return place.buf.strides[len(place.prefix) :] == self.contiguous(self.shape(var))

    # walking
    @abstractmethod
    def body(self, body: Body, wants: tuple[Want | None, ...] = ()) -> tuple[Atom | Place, ...]:
        """Lower a body in the current block; its results as atoms and places."""

    @abstractmethod
    def let(self, stm: Let) -> None:
        """Lower one statement."""
