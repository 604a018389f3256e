"""Variables, constants and source locations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from tapeless.core.types import Array, DType, Scalar, Type


@dataclass(frozen=True, slots=True)
class Loc:
    """A range of the user's source: `file:line`, columns counted from 0."""

    file: str
    line: int
    col: int = 0
    end_line: int = 0
    end_col: int = 0
    function: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Var:
    """A variable: bound exactly once, equal only to itself. `hint` is the name it prints with."""

    __slots__ = ("hint", "loc", "type")

    def __init__(self, type: Type, hint: str = "t", loc: Loc | None = None) -> None:
        self.type = type
        self.hint = hint
        self.loc = loc

    def __repr__(self) -> str:
        return f"{self.hint}.{id(self) >> 4 & 0xFFFF:x}"

    @property
    def dtype(self) -> DType:
        return self.type.dtype

    @property
    def shape(self) -> tuple[int | Var, ...]:
        return self.type.shape if isinstance(self.type, Array) else ()

    @property
    def is_array(self) -> bool:
        return isinstance(self.type, Array)

    def fresh(self, type: Type | None = None) -> Var:
        """A new variable with the same hint and location."""
        return Var(self.type if type is None else type, self.hint, self.loc)


class Const:
    """A literal scalar. `value` is an int, float or bool in range of its element type.

    Equality is by bits, so that 0.0 differs from -0.0 and NaN equals itself.
    """

    __slots__ = ("dtype", "value")

    def __init__(self, value: bool | int | float, dtype: DType) -> None:
        self.dtype = dtype
        if dtype.is_float:
            with np.errstate(over="ignore"):
                self.value: bool | int | float = float(dtype.numpy.type(value))
        elif dtype.is_bool:
            self.value = bool(value)
        else:
            wrapped = int(value) & ((1 << dtype.bits) - 1)
            if dtype.kind == "i" and wrapped >> (dtype.bits - 1):
                wrapped -= 1 << dtype.bits
            self.value = wrapped

    @property
    def type(self) -> Scalar:
        return Scalar(self.dtype)

    def _key(self) -> tuple[str, str]:
        return (self.dtype.name, repr(self.value))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Const) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"{self.value}:{self.dtype.name}"


Atom: TypeAlias = Var | Const
