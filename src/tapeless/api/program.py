"""One program for one signature: its guards, its kernels by memory layout, and a call of it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from tapeless.api.arrays import (
    ArrayLike,
    as_reals,
    check_aliases,
    check_written,
    is_ready,
    layout_of,
    ready,
)  # fmt: skip
from tapeless.api.paths import describe, reader
from tapeless.api.plan import Expectation, Plan
from tapeless.api.results import rebuilder
from tapeless.frontend.array_protocols import as_array
from tapeless.frontend.signature import Guard, Input, Path
from tapeless.runtime.fastcall import flat
from tapeless.runtime.kernel import Kernel

Layouts: TypeAlias = tuple[str, ...]
MakeKernel: TypeAlias = Callable[[Layouts, Any, dict[str, Any]], Kernel]
MAX_LAYOUTS = 4  # kernels by layout before one that takes any strides


class Program:
    """`make` gives the kernel for the layouts of the array parameters; `dynamic`: captured ints
    that are inputs."""

    def __init__(self, plan: Plan, make: MakeKernel, dynamic: frozenset[Path]) -> None:
        self.plan = plan
        self.dynamic = dynamic
        self.make = make
        self.lock = threading.RLock()
        self.kernels: dict[Layouts, Kernel] = {}
        self.calls: dict[Layouts, Callable[..., Sequence[Any]]] = {}
        self.guards = [(reader(g.path), Expectation(g, dynamic)) for g in plan.guards]
        self.not_one = [(reader(g.path), g.axis) for g in plan.not_one]
        self.fixed = [(reader(g.path), g.axis, g.size) for g in plan.fixed]
        self.inputs = [self._reader(i, r) for i, r in zip(plan.inputs, plan.ranks, strict=True)]
        arrays = [i for i, r in zip(plan.inputs, plan.ranks, strict=True) if r is not None]
        self.arrays = [reader(i.path) for i in arrays]
        self.written = [(describe(p), reader(p)) for p in plan.written]
        self.read_only = [
            (describe(i.path), reader(i.path)) for i in arrays if i.path not in plan.written
        ]
        self.rebuild = rebuilder(plan.output)
        self.sequel: Callable[[], Kernel] | None = None

    @staticmethod
    def _reader(source: Input, rank: int | None) -> Callable[[Any, dict[str, Any]], Any]:
        read, axis = reader(source.path), source.axis
        if source.part == "size":
            return lambda f, a: as_array(read(f, a)).shape[axis]
        if source.part == "re":
            return lambda f, a: read(f, a).real
        if source.part == "im":
            return lambda f, a: read(f, a).imag
        if rank is None:
            return read
        return lambda f, a: as_reals(ready(as_array(read(f, a))))

    def fits(self, f: Any, a: dict[str, Any]) -> bool:
        """Whether this program is right for a call whose arguments have its types."""
        try:
            return (
                all(guard.holds(read(f, a)) for read, guard in self.guards)
                and all(as_array(read(f, a)).shape[k] == n for read, k, n in self.fixed)
                and all(as_array(read(f, a)).shape[k] != 1 for read, k in self.not_one)
            )
        except (AttributeError, LookupError, NameError, ValueError):
            return False  # a path that leads nowhere any more

    def __call__(self, f: Any, a: dict[str, Any]) -> Any:
        if self.written:
            return self._writing(f, a)
        return self.run(f, a, [read(f, a) for read in self.inputs])

    def run(self, f: Any, a: dict[str, Any], values: list[Any]) -> Any:
        layouts = self.layouts(f, a)
        call = self.calls.get(layouts)
        if call is None:
            call = self.calls[layouts] = flat(self.kernel(layouts, f, a))
        return self.rebuild(iter(call(*values)), f, a)

    def layouts(self, f: Any, a: dict[str, Any]) -> Layouts:
        return tuple([layout_of(read(f, a)) for read in self.arrays])

    def broken_guards(self, f: Any, a: dict[str, Any]) -> Iterator[tuple[Guard, Any]]:
        """Guards that do not hold, with what was found; paths that lead nowhere are left out."""
        for (read, test), guard in zip(self.guards, self.plan.guards, strict=True):
            with contextlib.suppress(AttributeError, LookupError, NameError, ValueError):
                if not test.holds(value := read(f, a)):
                    yield guard, value

    def _writing(self, f: Any, a: dict[str, Any]) -> Any:
        """A call that updates arguments: they must be writable and share no memory."""
        loc = self.plan.loc
        written = [(name, read(f, a)) for name, read in self.written]
        for name, value in written:
            check_written(name, value, loc)
        check_aliases(written, [(name, read(f, a)) for name, read in self.read_only], loc)
        values = [read(f, a) for read in self.inputs]
        copies = self._copies(written, values)
        result = self.run(f, a, values)
        for array, copy in copies:
            array[...] = copy
        return result

    def _copies(
        self, written: list[tuple[str, Any]], values: list[Any]
    ) -> list[tuple[ArrayLike, ArrayLike]]:
        """Written arrays that the kernel works on as copies, which are to be copied back."""
        out = []
        for (_, value), path in zip(written, self.plan.written, strict=True):
            array = as_array(value)
            if not is_ready(array):
                k = next(
                    k for k, i in enumerate(self.plan.inputs) if i.path == path and i.part == "data"
                )
                copy: ArrayLike = np.array(array, order="C")
                values[k] = as_reals(copy)
                out.append((array, copy))
        return out

    def kernel(self, layouts: Layouts, f: Any, a: dict[str, Any]) -> Kernel:
        """The kernel for arrays of these layouts, or one that takes any strides."""
        with self.lock:  # threads that call at once compile once
            return self._kernel(layouts, f, a)

    def _kernel(self, layouts: Layouts, f: Any, a: dict[str, Any]) -> Kernel:
        found = self.kernels.get(layouts)
        if found is None:
            if len(self.kernels) >= MAX_LAYOUTS:
                layouts = ("S",) * len(layouts)
                if layouts in self.kernels:
                    return self.kernels[layouts]
            found = self.kernels[layouts] = self.make(layouts, f, a)
        return found
