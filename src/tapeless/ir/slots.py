"""Environments of the interpreter: a list of values with one slot per variable and constant."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from tapeless.core.names import Atom, Const, Var
from tapeless.ir.syntax import IGNORE, PROVED, WRAP
from tapeless.ir.types_of import atom_of

Env: TypeAlias = list[Any]
Values: TypeAlias = Sequence[Any]


class Undefined(Exception):
    """The program did what a correct one never does, so that it has no meaning."""


def poison(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """What "empty" memory holds: values that do not go unnoticed when read."""
    if dtype.kind == "f":
        return np.full(shape, np.nan, dtype)
    if dtype.kind == "b":
        return np.full(shape, True)
    return np.full(shape, np.frombuffer(b"\x5a" * dtype.itemsize, dtype)[0], dtype)


class Slots:
    """Gives variables and constants their slots while a program is compiled."""

    def __init__(self) -> None:
        self.slots: dict[Atom, int] = {}
        self.extra = 0

    def env(self) -> Env:
        """A new environment that holds the constants."""
        env: Env = [None] * (len(self.slots) + self.extra)
        for atom, slot in self.slots.items():
            if isinstance(atom, Const):
                env[slot] = atom.dtype.numpy.type(atom.value)
        return env

    def new_slot(self) -> int:
        """A slot without a name."""
        self.extra += 1
        return len(self.slots) + self.extra - 1

    def slot(self, atom: Atom) -> int:
        known = self.slots.get(atom)
        if known is None:
            known = self.slots[atom] = len(self.slots) + self.extra
        return known

    def slots_of(self, atoms: Iterable[Atom]) -> list[int]:
        return [self.slot(a) for a in atoms]

    def sizes(self, atoms: Iterable[Atom], what: str) -> Callable[[Env], tuple[int, ...]]:
        """The values of size atoms in the current environment."""
        slots = self.slots_of(atoms)

        def sizes(env: Env) -> tuple[int, ...]:
            values = tuple([int(env[s]) for s in slots])
            if values and min(values) < 0:
                raise Undefined(f"{what} has a negative size: {values}")
            return values

        return sizes

    def shape(self, var: Var) -> Callable[[Env], tuple[int, ...]]:
        """The declared shape of an array in the current environment."""
        return self.sizes(map(atom_of, var.shape), var.hint)

    def setter(self, vars: Sequence[Var]) -> Callable[[Env, Values], None]:
        """Binds values to `vars`; arrays must be of the declared shape."""
        slots = self.slots_of(vars)
        arrays = [(v, self.slot(v), self.shape(v), v.dtype.numpy) for v in vars if v.is_array]

        def set(env: Env, values: Values) -> None:
            for slot, value in zip(slots, values, strict=True):
                env[slot] = value
            for var, slot, shape, dtype in arrays:
                value = env[slot]
                if value.shape != shape(env) or value.dtype != dtype:
                    raise Undefined(f"{var.hint}: {var.type} is {value.dtype}{value.shape}")

        def set_one(env: Env, values: Values) -> None:
            (env[slots[0]],) = values

        return set if arrays or len(slots) != 1 else set_one

    def clear(self, vars: Iterable[Var]) -> Callable[[Env], None]:
        """Forgets the values of `vars`."""
        slots = self.slots_of(vars)

        def clear(env: Env) -> None:
            for slot in slots:
                env[slot] = None

        return clear

    def locator(
        self, at: Sequence[Atom], modes: str
    ) -> Callable[[Env, tuple[int, ...]], tuple[int, ...] | None]:
        """The cell at `at` of an array of a given shape; None where it is to be ignored."""
        slots = self.slots_of(at)

        def locate(env: Env, shape: tuple[int, ...]) -> tuple[int, ...] | None:
            cell = tuple([int(env[s]) for s in slots])
            for i, n in zip(cell, shape, strict=True):
                if not 0 <= i < n:
                    return _outside(cell, shape, modes)
            return cell

        return locate


def _outside(cell: tuple[int, ...], shape: tuple[int, ...], modes: str) -> tuple[int, ...] | None:
    """What `modes` make of a cell that is out of range."""
    resolved: list[int] = []
    ignored = False
    for axis, (i, n, mode) in enumerate(zip(cell, shape, modes, strict=True)):
        if mode == WRAP and -n <= i < 0:
            resolved.append(i + n)
            continue
        if not 0 <= i < n:
            if mode == PROVED:
                raise Undefined(f"index {i} of axis {axis} with size {n} was proved in range")
            if mode != IGNORE:
                raise IndexError(f"index {i} is out of bounds for axis {axis} with size {n}")
            ignored = True
        resolved.append(i)
    return None if ignored else tuple(resolved)
