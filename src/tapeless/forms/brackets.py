"""Iverson's bracket [p]: 1 where p holds, and a zero that wins against nan where it does not."""

from __future__ import annotations

from typing import Any

import numpy as np


class Bracket:
    """[p] of one truth value: counts as 1 or 0, and its products are exactly 0 where p is false."""

    __slots__ = ("holds",)
    __array_ufunc__ = None  # NumPy's operands hand the product over to this class

    def __init__(self, holds: bool) -> None:
        self.holds = holds

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Bracket):
            return Bracket(self.holds and other.holds)
        if isinstance(other, Brackets):
            return other * self
        if self.holds:
            return int(other) if isinstance(other, bool) else other
        if isinstance(other, np.ndarray):
            return np.zeros_like(other)
        return other.dtype.type(0) if isinstance(other, np.generic) else type(other * 0)(0)

    __rmul__ = __mul__

    def __index__(self) -> int:
        return int(self.holds)

    def __add__(self, other: Any) -> Any:
        return int(self.holds) + (int(other) if isinstance(other, Bracket) else other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return int(self.holds) - (int(other) if isinstance(other, Bracket) else other)

    def __rsub__(self, other: Any) -> Any:
        return other - int(self.holds)

    def __bool__(self) -> bool:
        return self.holds

    def __repr__(self) -> str:
        return f"[{self.holds}]"


class Brackets:
    """[p] of an array of truth values."""

    __slots__ = ("where",)
    __array_ufunc__ = None

    def __init__(self, where: Any) -> None:
        self.where = where

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Bracket):
            return Brackets(self.where & other.holds)
        if isinstance(other, Brackets):
            return Brackets(self.where & other.where)
        values = np.asarray(other)
        zero = np.zeros((), values.dtype if isinstance(other, np.ndarray | np.generic) else None)
        return np.where(self.where, other, zero.astype(values.dtype))

    __rmul__ = __mul__


def iverson(p: Any) -> Any:
    """[p], to be multiplied with: `iverson(p) * e` is e where p holds, else exactly 0.

    >>> iverson(2 > 1) * 3.0, iverson(2 < 1) * float("nan")
    (3.0, 0.0)
    >>> x = np.array([0.0, 4.0])
    >>> with np.errstate(all="ignore"):
    ...     iverson(x > 0) * (1 / x)
    array([0.  , 0.25])
    """
    if isinstance(p, bool | np.bool_):
        return Bracket(bool(p))
    if isinstance(p, np.ndarray) and p.dtype == np.bool_:
        return Brackets(p)
    raise TypeError(f"iverson takes a condition (a bool), not {type(p).__name__}")
