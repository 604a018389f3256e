"""All programs made from one function: found by argument types, then by their guards."""

from __future__ import annotations

import threading
import time
import types
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tapeless.api.paths import describe, reader
from tapeless.api.kernels import compile, load, optimise
from tapeless.api.plan import Fixed, plan_of, tree_steps, with_sizes
from tapeless.api.program import Kernel, Layouts, Program
from tapeless.api.settings import LOG, Settings
from tapeless.core.names import Loc
from tapeless.core.types import from_numpy
from tapeless.errors import CompileError
from tapeless.frontend.array_protocols import as_array
from tapeless.frontend.signature import (
    ArgType, ArrayArg, NumberArg, Options, Path, Root, Signature, StaticArg, Traced, TreeArg,
)  # fmt: skip
from tapeless.frontend.trace import trace
from tapeless.ir.syntax import Fun

Sizes = dict[tuple[Path, int], int]
MAX_ATTEMPTS = 16
PATIENCE = 2  # values of a captured int before it becomes an input


@dataclass(frozen=True, slots=True)
class Compilation:
    """One entry of `f.compilations`."""

    signature: str
    seconds: float
    cached: bool
    why: str


class Store:
    """Programs of the functions with one code object, under one set of settings."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.programs: dict[Hashable, list[Program]] = {}
        self.compilations: list[Compilation] = []
        self.lock = threading.RLock()

    def find(self, f: types.FunctionType, a: dict[str, Any], signature: Signature) -> Program:
        """The program for a call; compiled if there is none."""
        for program in self.programs.get(signature, ()):
            if program.fits(f, a):
                return program
        with self.lock:
            known = self.programs.setdefault(signature, [])
            for program in known:
                if program.fits(f, a):
                    return program
            why, dynamic = self._reason(f, a, known)
            program = self._compile(f, a, signature, dynamic, why)
            known.insert(0, program)
            return program

    def _reason(
        self, f: types.FunctionType, a: dict[str, Any], known: list[Program]
    ) -> tuple[str, frozenset[Path]]:
        """Why no program fits, and which captured ints have changed too often to be static."""
        if not known:
            return ("new argument types" if len(self.programs) > 1 else "first call"), frozenset()
        ints: dict[Path, set[int]] = {}
        changed: dict[str, None] = {}
        for program in known:
            for (read, guard), source in zip(program.guards, program.plan.guards, strict=True):
                if guard.holds(value := read(f, a)):
                    continue
                changed[describe(source.path)] = None
                expected = source.expected
                if isinstance(expected, StaticArg) and _is_int(expected.value) and _is_int(value):
                    ints.setdefault(source.path, {value}).add(expected.value)
        dynamic = frozenset(p for p, values in ints.items() if len(values) > PATIENCE)
        before = frozenset[Path]().union(*(p.dynamic for p in known))
        if not changed:
            return "a size of 1", before
        return f"{', '.join(changed)} changed", dynamic | before

    def _compile(
        self, f: types.FunctionType, a: dict[str, Any], signature: Signature,
        dynamic: frozenset[Path], why: str,
    ) -> Program:  # fmt: skip
        start = time.perf_counter()
        traced, fixed = self._traced(f, a, signature, dynamic)
        loc = Loc(f.__code__.co_filename, f.__code__.co_firstlineno, function=f.__name__)
        plan = plan_of(traced, fixed, loc)
        fun: Fun | None = None
        tracing = time.perf_counter() - start

        def make(layouts: Layouts) -> Kernel:
            nonlocal fun, tracing, why
            with self.lock:
                start = time.perf_counter() - tracing
                fun = fun or optimise(traced.fun)
                made = load(compile(fun, layouts, self.settings.target_options))
                self.record(signature, time.perf_counter() - start, False, why)
                tracing, why = 0.0, "another memory layout"
                return made

        return Program(plan, make, dynamic)

    def record(self, signature: Signature, seconds: float, cached: bool, why: str) -> None:
        entry = Compilation(show_signature(signature), seconds, cached, why)
        self.compilations.append(entry)
        source = "disk cache" if cached else "compiled"
        LOG.info("%s: %s in %.3f s (%s)", entry.signature, source, seconds, why)

    def _traced(
        self, f: types.FunctionType, a: dict[str, Any], signature: Signature,
        dynamic: frozenset[Path],
    ) -> tuple[Traced, tuple[Fixed, ...]]:  # fmt: skip
        """The function as Core, with as few known sizes as this call allows."""
        sizes: Sizes = {}
        for _ in range(MAX_ATTEMPTS):
            typed = with_sizes(signature, sizes)
            try:
                traced = trace(f, typed, self._options(dynamic))
            except CompileError:
                ones = _ones(signature, f, a).keys() - sizes.keys()
                if ones:  # the function may be one of arrays with a single element only
                    sizes.update(dict.fromkeys(ones, 1))
                elif dynamic:
                    dynamic = frozenset()
                else:
                    raise
                continue
            broken = [
                (g.path, g.axis) for g in traced.not_one
                if as_array(reader(g.path)(f, a)).shape[g.axis] == 1
            ]  # fmt: skip
            if not broken:
                return traced, tuple(Fixed(p, axis, n) for (p, axis), n in sizes.items())
            sizes.update(dict.fromkeys(broken, 1))
        raise AssertionError(f"{f.__name__}: sizes of 1 do not settle")

    def _options(self, dynamic: frozenset[Path]) -> Options:
        return Options(
            overflow=self.settings.check == "overflow",
            check=self.settings.check is not False,
            static_argnames=self.settings.static_argnames,
            dynamic=dynamic,
        )


def _is_int(value: Any) -> bool:
    return type(value) is int


def _ones(signature: Signature, f: Any, a: dict[str, Any]) -> Sizes:
    """Every dimension of an argument that is 1 in this call."""
    out: Sizes = {}

    def visit(type: ArgType, path: Path) -> None:
        if isinstance(type, ArrayArg):
            shape = as_array(reader(path)(f, a)).shape
            out.update({(path, k): 1 for k, n in enumerate(shape) if n == 1})
        elif isinstance(type, TreeArg):
            for item, step in zip(type.items, tree_steps(type), strict=True):
                visit(item, Path(path.root, (*path.steps, step)))

    for name, type in signature:
        visit(type, Path(Root("arg", name)))
    return out


def show_signature(signature: Signature) -> str:
    """`x: f64[:, 3], n: int` """
    return ", ".join(f"{name}: {show_type(type)}" for name, type in signature)


def show_type(type: ArgType) -> str:
    match type:
        case ArrayArg(dtype, dims):
            sizes = ", ".join(":" if d is None else str(d) for d in dims)
            return f"{dtype_name(dtype)}[{sizes}]"
        case NumberArg(dtype, weak):
            return _WEAK.get(dtype.kind, str(dtype)) if weak else dtype_name(dtype)
        case StaticArg(value):
            return getattr(value, "__name__", None) or repr(value)
        case TreeArg(kind, cls, keys, items):
            inside = ", ".join(map(show_type, items))
            return f"({inside})" if kind == "tuple" else f"{cls.__name__}({inside})"


_WEAK = {"i": "int", "f": "float", "c": "complex", "b": "bool"}


def dtype_name(dtype: np.dtype[Any]) -> str:
    known = from_numpy(dtype)
    return known.name if known is not None else str(dtype)
