"""Programs to differentiate, each with its truth: a closed form, or differences of plain Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

import tapeless as tp

F = TypeVar("F", bound=Callable[..., Any])
Truth = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Program:
    """A function, arguments to call it with, which of them to differentiate by, the gradient."""

    run: Callable[..., Any]
    args: tuple[Any, ...]
    wrt: tuple[int, ...]
    truth: Truth | None

    @property
    def name(self) -> str:
        return f"{self.run.__module__.rpartition('.')[2]}.{self.run.__name__}"

    def fresh(self) -> tuple[Any, ...]:
        """The arguments, those that are arrays as copies: a program may write to them."""
        return tuple(a.copy() if isinstance(a, np.ndarray) else a for a in self.args)

    def value(self, *args: Any) -> Any:
        """What plain Python gives."""
        with tp.disable_jit(), np.errstate(all="ignore"):
            return self.run(*args)

    @cached_property
    def gradient(self) -> tuple[np.ndarray, ...]:
        """The truth, an array for each argument in `wrt`."""
        if self.truth is not None:
            with np.errstate(all="ignore"):
                found = self.truth(*self.fresh())
            parts = found if isinstance(found, tuple) else (found,)
            return tuple(map(np.asarray, parts))
        return tuple(self._by_differences(k) for k in self.wrt)

    @property
    def tolerance(self) -> float:
        if self.truth is None:
            return 1e-7
        single = any(np.asarray(a).dtype == np.float32 for a in self.args)
        return 1e-6 if single else 1e-11

    def _by_differences(self, k: int) -> np.ndarray:
        x = np.asarray(self.args[k])
        slopes = np.zeros(x.shape)
        for at in np.ndindex(x.shape):

            def shifted(h: float, at: tuple[int, ...] = at) -> float:
                args = list(self.fresh())
                moved = np.array(x)
                moved[at] += h
                args[k] = moved if x.ndim else moved[()]
                return float(self.value(*args))

            slopes[at] = slope(shifted)
        return slopes


def slope(f: Callable[[float], Any], step: float = 1e-4) -> Any:
    """f'(0) by central differences of three steps, extrapolated to step 0:

    D(h) = f' + a·h² + b·h⁴ + O(h⁶)  ⇒  f' = (64·D(h) − 20·D(2h) + D(4h)) / 45 + O(h⁶)."""
    one, two, four = ((f(h) - f(-h)) / (2 * h) for h in (step, 2 * step, 4 * step))
    return (64 * one - 20 * two + four) / 45


PROGRAMS: list[Program] = []


def program(
    *args: Any, wrt: int | tuple[int, ...] = 0, truth: Truth | None = None
) -> Callable[[F], F]:
    """Enter a function that gives one number; `truth` gives its gradient by the arguments `wrt`."""

    def enter(run: F) -> F:
        picks = wrt if isinstance(wrt, tuple) else (wrt,)
        PROGRAMS.append(Program(run, args, picks, truth))
        return run

    return enter
