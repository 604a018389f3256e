"""What the rules of Core are checked against: names in scope, equal sizes, complaints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn

from tapeless.core.names import Atom, Var
from tapeless.core.types import INDEX, Array, Type
from tapeless.ir.invalid import InvalidIR
from tapeless.ir.sizes import Doubt, Sizes
from tapeless.ir.syntax import Acc, Body, Exp, Fun, Let
from tapeless.ir.walk import type_vars


@dataclass(slots=True)
class AccInfo:
    """An accumulator in scope: how often it is put to, and under how many loops it was bound."""

    acc: Acc
    repeats: int
    sites: int = 0


class Scopes:
    """The state of a walk over a program, and what it demands of operands."""

    def __init__(self, fun: Fun) -> None:
        self.top = fun
        self.stm: Let | None = None
        self.visible: set[Var] = set()
        self.bound: set[Var] = set()
        self.scopes: list[list[Var]] = [[]]
        self.defs: dict[Var, Exp] = {}
        self.accs: dict[Var, AccInfo] = {}
        self.sizes = Sizes()
        self.doubts: list[Doubt] = []
        self.repeats = 0  # loops and folds around the current statement

    # complaints
    def fail(self, problem: str) -> NoReturn:
        raise InvalidIR(problem, self.stm, self.top)

    def need(self, holds: bool, problem: str) -> None:
        if not holds:
            self.fail(problem)

    def same(self, found: Type, wanted: Type, what: str, end: Body | None = None) -> None:
        if self.sizes.same_type(found, wanted):
            return
        problem = f"{what} has type {found}, but {wanted} is needed"
        apart = self.sizes.apart(found, wanted)
        if not apart or self.stm is None:
            self.fail(problem)
        self.doubts.append(Doubt(self.stm, end, apart, self.sizes.classes(), problem))

    # scopes
    @contextmanager
    def scope(self, *, repeated: bool = False) -> Iterator[None]:
        mark = self.sizes.mark()
        self.scopes.append([])
        self.repeats += repeated
        yield
        self.repeats -= repeated
        for var in self.scopes.pop():
            self.visible.discard(var)
            self.accs.pop(var, None)
        self.sizes.undo(mark)

    def bind(self, var: Var, acc: AccInfo | None = None) -> None:
        self.need(var not in self.bound, f"{var} is bound twice")
        for size in type_vars(var.type):
            self.need(size in self.visible, f"size {size} of {var} is not in scope")
            self.same(size.type, INDEX, f"size {size} of {var}")
        if isinstance(var.type, Array):
            negative = any(isinstance(s, int) and s < 0 for s in var.type.shape)
            self.need(not negative, f"{var} has a negative size")
        self.bound.add(var)
        self.scopes[-1].append(var)
        if acc is None:
            self.visible.add(var)
        else:
            self.accs[var] = acc

    def binds(self, vars: Sequence[Var]) -> None:
        for var in vars:
            self.bind(var)

    def counter(self, var: Var) -> None:
        self.same(var.type, INDEX, f"index {var}")
        self.bind(var)

    # operands
    def use(self, atom: Atom) -> None:
        if isinstance(atom, Var) and atom not in self.visible:
            self.need(atom not in self.accs, f"accumulator {atom} is used as a value")
            self.fail(f"{atom} is not in scope")

    def uses(
        self, atoms: Sequence[Atom], wanted: Sequence[Type], what: str, end: Body | None = None
    ) -> None:
        """Operands of the current statement, or what is had at the `end` of a body of it."""
        self.need(len(atoms) == len(wanted), f"{len(atoms)} {what}s, but {len(wanted)} are needed")
        for atom, type in zip(atoms, wanted, strict=True):
            self.use(atom)
            self.same(atom.type, type, f"{what} {atom}", end)

    def indices(self, atoms: Sequence[Atom], what: str = "index") -> None:
        self.uses(atoms, [INDEX] * len(atoms), what)

    def array(self, var: Var) -> Array:
        self.use(var)
        if not isinstance(var.type, Array):
            self.fail(f"{var} is not an array")
        return var.type

    def at(self, at: Sequence[Atom], modes: str, rank: int, legal: str) -> None:
        self.indices(at)
        self.need(len(at) == rank, f"{len(at)} indices, but the rank is {rank}")
        self.need(len(modes) == rank, f"{len(modes)} index modes, but the rank is {rank}")
        self.need(all(m in legal for m in modes), f"index modes {modes!r} are not among {legal!r}")
