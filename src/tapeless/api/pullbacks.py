"""`vjp` and `linearize`: a value, and the derivative there as a function to call later."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless.api.derived import derived
from tapeless.api.directions import Directions, skeleton
from tapeless.api.operations import keep
from tapeless.api.results import Rebuild, rebuilder
from tapeless.api.settings import disable_jit
from tapeless.core.names import Loc
from tapeless.runtime.abi import ArraySlot, Slot
from tapeless.runtime.fastcall import flat
from tapeless.runtime.kernel import Kernel

PYTHON: dict[str, type] = {"f8": float, "i8": int, "b1": bool}


class Linear:
    """A derivative at a point. It owns all that it reads; it may be called any number of times.

    `nbytes`: the memory that it holds."""

    noun = ""

    def __init__(
        self, name: str, like: Any, kept: Sequence[Any], kernel: Callable[[], Kernel],
        rebuild: Rebuild, loc: Loc | None,
    ) -> None:  # fmt: skip
        self.name = name
        self._like = like
        self._kept = tuple(map(_word, kept))
        self._make: Callable[[], Kernel] | None = kernel
        self._call: Callable[..., Sequence[Any]] | None = None
        self._rebuild = rebuild
        self._directions = Directions(self.noun, loc)

    @property
    def nbytes(self) -> int:
        return sum(k.nbytes for k in self._kept if isinstance(k, np.ndarray))

    def _run(self, given: Any, name: str) -> Any:
        seeds = map(_word, self._directions.values(self._like, given, name))
        if self._call is None:
            assert self._make is not None
            kernel = self._make()
            self._kept = tuple(map(_fitting, self._kept, kernel.type.params))
            self._call, self._make = flat(kernel), None
        return self._rebuild(iter(self._call(*self._kept, *seeds)), None, {})

    def __repr__(self) -> str:
        return f"<{type(self).__name__.lower()} of {self.name}, {self.nbytes} bytes>"


class Pullback(Linear):
    """ȳ ↦ f'(x)ᵀ·ȳ, a tuple with one entry per primal."""

    noun = "cotangent"

    def __call__(self, cotangent: Any) -> tuple[Any, ...]:
        made: tuple[Any, ...] = self._run(cotangent, f"{self.name}(…)")
        return made


class Pushforward(Linear):
    """ẋ ↦ f'(x)·ẋ, with one tangent per primal."""

    noun = "tangent"

    def __call__(self, *tangents: Any) -> Any:
        return self._run(tangents, "the arguments")


def vjp(f: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """(f(*primals), pullback): `pullback(ȳ)` gives the cotangents of the primals, a tuple, for a
    cotangent of the result. It may be called any number of times, owns what it reads (`.nbytes`),
    and what becomes of the primals later does not matter to it.

    >>> y, pullback = vjp(lambda x: x**2, np.array([1.0, 2.0]))
    >>> pullback(np.array([1.0, 10.0]))
    (array([ 2., 40.]),)
    """
    out, pullback = at_points(f, "pull", tuple(range(len(primals))))(*primals)
    return out, pullback


def linearize(f: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """(f(*primals), the derivative there as a function of tangents). It owns what it reads.

    >>> y, push = linearize(lambda x, y: x * y, 2.0, 3.0)
    >>> push(1.0, 0.0), push(0.0, 1.0)
    (np.float64(3.0), np.float64(2.0))
    """
    out, pushforward = at_points(f, "push", tuple(range(len(primals))))(*primals)
    return out, pushforward


def at_points(
    f: Callable[..., Any], mode: str, picks: tuple[int, ...]
) -> Callable[..., tuple[Any, Any]]:
    """A function of the arguments of `f` that gives its value, and its pullback (`mode` "pull") or
    pushforward ("push") there by the positional arguments `picks`, in their order."""

    def at_a_point(*args: Any, **kwargs: Any) -> Any:
        return keep(f, mode, picks, *args, **kwargs)

    name = getattr(f, "__name__", type(f).__name__)
    kind, cls = {"pull": ("vjp", Pullback), "push": ("linearize", Pushforward)}[mode]
    compiled: Any = derived(f, kind, at_a_point)

    def run(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        with disable_jit(False):
            program, arguments = compiled.program(args, kwargs)
            out, kept = program(compiled.python, arguments)
        like = skeleton(out if mode == "pull" else tuple(args[k] for k in picks))
        rebuild = rebuilder(program.plan.sequel)
        return out, cls(name, like, kept, program.sequel, rebuild, compiled.loc)

    return run


def _fitting(value: Any, slot: Slot) -> Any:
    """A kept value as its parameter has it: arrays without axes were returned as numbers."""
    return np.asarray(value) if isinstance(slot, ArraySlot) else value


def _word(value: Any) -> Any:
    """A value as a kernel takes it: numbers of 64 bits and bools are Python's."""
    if isinstance(value, np.generic):
        return PYTHON.get(value.dtype.str[1:], lambda v: v)(value)
    return value
