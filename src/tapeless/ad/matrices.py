"""Matrices in Core, for rules that read like linear algebra."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import INDEX, DType
from tapeless.ir.build import ONE, ZERO, Builder
from tapeless.ir.syntax import PROVED, Call, Each, Index, View
from tapeless.ir.types_of import atom_of

Cell = Callable[[Atom, Atom], Atom]


@dataclass(frozen=True, slots=True, eq=False)
class Matrix:
    """A matrix, or a vector as a column; `flipped`: read as its transpose."""

    tools: Matrices
    array: Var
    flipped: bool = False

    @property
    def T(self) -> Matrix:
        return Matrix(self.tools, self.array, not self.flipped)

    @property
    def shape(self) -> tuple[Atom, Atom]:
        rows, *rest = map(atom_of, self.array.shape)
        columns = rest[0] if rest else ONE
        return (columns, rows) if self.flipped else (rows, columns)

    def at(self, i: Atom, j: Atom) -> Atom:
        if self.flipped:
            i, j = j, i
        where = (i, j)[: len(self.array.shape)]
        return self.tools.b.one(Index(self.array, where, PROVED * len(where)), "cell")

    def __matmul__(self, other: Matrix) -> Matrix:
        return self.tools.call("gemm", self, other)

    def __add__(self, other: Matrix) -> Matrix:
        return self.tools.zipped("add", self, other)

    def __sub__(self, other: Matrix) -> Matrix:
        return self.tools.zipped("sub", self, other)

    def __neg__(self) -> Matrix:
        return self.map(lambda i, j: self.tools.op("neg", self.at(i, j)))

    def map(self, cell: Cell) -> Matrix:
        """The matrix of this shape with these cells."""
        return self.tools.made(self.shape, cell)

    def where(self, cond: Cell, scale: float = 1.0, diagonal: float | None = None) -> Matrix:
        """The cells where `cond(i, j)` holds, times `scale`; zeros elsewhere. `diagonal` scales the
        diagonal instead."""
        k = self.tools

        def cell(i: Atom, j: Atom) -> Atom:
            x = self.at(i, j)
            kept = x if scale == 1.0 else k.op("mul", k.const(scale), x)
            out = k.op("select", cond(i, j), kept, k.const(0.0))
            if diagonal is None:
                return out
            on = k.op("mul", k.const(diagonal), x)
            return k.op("select", k.op("eq", i, j), on, out)

        return self.map(cell)

    def lower(self, strict: bool = False, diagonal: float | None = None) -> Matrix:
        """The lower triangle."""
        order = "lt" if strict else "le"
        return self.where(lambda i, j: self.tools.op(order, j, i), diagonal=diagonal)

    def upper(self, strict: bool = False, diagonal: float | None = None) -> Matrix:
        """The upper triangle."""
        order = "lt" if strict else "le"
        return self.where(lambda i, j: self.tools.op(order, i, j), diagonal=diagonal)

    def column(self) -> Var:
        """The diagonal as a vector."""
        size = self.shape[0]
        i = Var(INDEX, "i")
        with self.tools.b.scope():
            body = self.tools.b.body((self.at(i, i),))
        return self.tools.b.one(Each((i,), (size,), (), body), "diagonal")


class Matrices:
    """Writes matrices of one element type into a builder."""

    def __init__(self, b: Builder, dtype: DType) -> None:
        self.b = b
        self.dtype = dtype

    def op(self, name: str, *args: Atom) -> Atom:
        return self.b.prim(name, *args)

    def const(self, value: float) -> Atom:
        return Const(value, self.dtype)

    def of(self, atom: Atom) -> Matrix:
        assert isinstance(atom, Var)
        return Matrix(self, atom)

    def made(self, shape: tuple[Atom, Atom], cell: Cell) -> Matrix:
        i, j = Var(INDEX, "i"), Var(INDEX, "j")
        with self.b.scope():
            body = self.b.body((cell(i, j),))
        return Matrix(self, self.b.one(Each((i, j), shape, (), body), "m"))

    def zipped(self, op: str, x: Matrix, y: Matrix) -> Matrix:
        return x.map(lambda i, j: self.op(op, x.at(i, j), y.at(i, j)))

    def call(self, name: str, *args: Matrix) -> Matrix:
        """A foreign function; what is singular gives what the function gives."""
        prefix = "d" if self.dtype.bits == 64 else "s"
        outs = self.b.let(Call(prefix + name, tuple(map(self._operand, args))), "m")
        return Matrix(self, outs[0])

    def _operand(self, x: Matrix) -> View:
        zeros = (ZERO,) * len(x.array.shape)
        dims = [(axis, atom_of(size), 1) for axis, size in enumerate(x.array.shape)]
        if len(dims) == 1:
            return View(x.array, zeros, tuple(dims))
        return View(x.array, zeros, tuple(reversed(dims) if x.flipped else dims))

    def solve(self, a: Matrix, b: Matrix) -> Matrix:
        """a⁻¹·b."""
        return self.call("gesv", a, b)

    def solve_lower(self, a: Matrix, b: Matrix, unit: bool = False) -> Matrix:
        return self.call("trsm_lower_unit" if unit else "trsm_lower", a, b)

    def solve_upper(self, a: Matrix, b: Matrix, unit: bool = False) -> Matrix:
        return self.call("trsm_upper_unit" if unit else "trsm_upper", a, b)

    def scaled(self, x: Matrix, column: Atom, power: int = 1) -> Matrix:
        """x·diag(column)^power."""
        assert isinstance(column, Var)
        op = "mul" if power == 1 else "div"

        def cell(i: Atom, j: Atom) -> Atom:
            return self.op(op, x.at(i, j), self.b.one(Index(column, (j,), PROVED), "d"))

        return x.map(cell)

    def gaps(self, column: Atom, cell: Callable[[Atom], Atom]) -> Matrix:
        """F with Fᵢⱼ = 1/(g(dⱼ) − g(dᵢ)), 0 where they are equal."""
        assert isinstance(column, Var)
        size = atom_of(column.shape[0])

        def entry(i: Atom, j: Atom) -> Atom:
            x, y = (cell(self.b.one(Index(column, (k,), PROVED), "d")) for k in (i, j))
            gap = self.op("sub", y, x)
            inverse = self.op("div", self.const(1.0), gap)
            return self.op("select", self.op("eq", gap, self.const(0.0)), self.const(0.0), inverse)

        return self.made((size, size), entry)
