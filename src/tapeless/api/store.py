"""All programs made from one function: found by argument types, then by their guards."""

from __future__ import annotations

import contextlib
import functools
import gc
import threading
import time
import types
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from tapeless.api.disk import Disk
from tapeless.api.kernels import kernel, machine_code
from tapeless.api.paths import describe, reader
from tapeless.api.plan import Fixed, Plan, any_sizes, plan_of, tree_steps, with_sizes
from tapeless.api.program import Layouts, MakeKernel, Program
from tapeless.api.settings import LOG, Settings
from tapeless.api.show import show_signature
from tapeless.api.sizes import VARIANTS, Sizes, made_for, ones, small_axes
from tapeless.core.names import Loc
from tapeless.errors import CompileError
from tapeless.frontend.argtypes import arg_type
from tapeless.frontend.array_protocols import as_array
from tapeless.frontend.signature import (
    ArgType,
    Options,
    Path,
    Signature,
    StaticArg,
    Traced,
    TreeArg,
    without_instances,
)  # fmt: skip
from tapeless.frontend.trace import trace
from tapeless.ir.syntax import Fun
from tapeless.pipeline import optimise
from tapeless.runtime.kernel import Kernel
from tapeless.runtime.support import fetch

MAX_ATTEMPTS = 16
SEQUEL = ("sequel",)  # in place of memory layouts
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
        self.disk = Disk(settings)

    def find(self, f: types.FunctionType, a: dict[str, Any], signature: Signature) -> Program:
        """The program for a call; made if there is none."""
        for program in self.programs.get(signature, ()):
            if program.fits(f, a):
                return program
        with self.lock:
            known = self.programs.setdefault(types_only(signature), [])
            for program in known:
                if program.fits(f, a):
                    return program
            why, dynamic = self._reason(f, a, known)
            special = [p for p in known if made_for(p.plan)]
            small = small_axes(signature, f, a) if len(special) < VARIANTS else {}
            made = self._stored(f, a, signature, small, why)
            if made is None:
                made = self._compiled(f, a, signature, small, dynamic, why)
            # What fits a call goes on doing so: a program for any sizes takes none away.
            known.insert(0 if made_for(made.plan) else len(special), made)
            return made

    def _reason(
        self, f: types.FunctionType, a: dict[str, Any], known: list[Program]
    ) -> tuple[str, frozenset[Path]]:
        """Why no program fits, and which captured ints have changed too often to be static."""
        if not known:
            return ("new argument types" if len(self.programs) > 1 else "first call"), frozenset()
        ints: dict[Path, set[int]] = {}
        changed: dict[str, None] = {}
        for program in known:
            for source, value in program.broken_guards(f, a):
                changed[describe(source.path)] = None
                expected = source.expected
                if isinstance(expected, StaticArg) and _is_int(expected.value) and _is_int(value):
                    ints.setdefault(source.path, {value}).add(expected.value)
        dynamic = frozenset(p for p, values in ints.items() if len(values) > PATIENCE)
        before = frozenset[Path]().union(*(p.dynamic for p in known))
        if not changed:
            return "other small sizes", before
        return f"{', '.join(changed)} changed", dynamic | before

    # from the disk
    def _stored(
        self, f: types.FunctionType, a: dict[str, Any], signature: Signature, small: Sizes, why: str
    ) -> Program | None:
        """A program that an earlier process compiled, for the small axes if there are some."""
        start = time.perf_counter()
        key = self.disk.key(f, signature)
        if key is None:
            return None
        for plan, dynamic, text in self.disk.plans(key, f, a, signature):
            program = Program(plan, self._maker(key, text, plan, dynamic, signature), dynamic)
            if not program.fits(f, a) or (small and made_for(plan) != small):
                continue
            layouts = program.layouts(f, a)
            made = self.disk.load(key, text, layouts)
            if made is not None:
                program.kernels[layouts] = made
                if plan.sequel is not None:
                    later = self.disk.load(key, text, SEQUEL)
                    if later is None:
                        continue
                    program.sequel = functools.partial(_itself, later)
                self.record(signature, time.perf_counter() - start, True, why)
                return program
        return None

    def _maker(
        self, key: str, text: str, plan: Plan, dynamic: frozenset[Path], signature: Signature
    ) -> MakeKernel:
        """Kernels of a stored program for further memory layouts."""
        kept = types_only(signature)
        sizes: Sizes = {(x.path, x.axis): x.size for x in plan.fixed}

        def make(layouts: Layouts, f: types.FunctionType, a: dict[str, Any]) -> Kernel:
            with self.lock:
                start = time.perf_counter()
                made = self.disk.load(key, text, layouts)
                cached = made is not None
                if made is None:
                    typed = with_sizes(with_instances(kept, a), sizes)
                    fun = optimise(trace(f, typed, self._options(dynamic)).fun)
                    type, code = machine_code(fun, layouts, self.settings)
                    self.disk.save(key, text, layouts, type, code)
                    made = kernel(type, code)
                seconds = time.perf_counter() - start
                self.record(kept, seconds, cached, "another memory layout")
                return made

        return make

    # compiled here
    def core(
        self, f: types.FunctionType, a: dict[str, Any], signature: Signature,
        small: Sizes | None = None, dynamic: frozenset[Path] = frozenset(),
    ) -> tuple[Plan, Traced]:  # fmt: skip
        """The function as a Core program for this call, made for the small axes if it can be."""
        traced, fixed = self._traced(f, a, signature, small or {}, dynamic)
        loc = Loc(f.__code__.co_filename, f.__code__.co_firstlineno, function=f.__name__)
        return plan_of(traced, fixed, loc), traced

    def _compiled(
        self, f: types.FunctionType, a: dict[str, Any], signature: Signature, small: Sizes,
        dynamic: frozenset[Path], why: str,
    ) -> Program:  # fmt: skip
        start = time.perf_counter()
        fetch()
        with uncollected():
            plan, traced = self.core(f, a, signature, small, dynamic)
        key = self.disk.key(f, signature)
        text = None if key is None else self.disk.add_plan(key, plan, dynamic, traced.codes)
        tracing = time.perf_counter() - start
        fun, is_optimised, kept = traced.fun, False, types_only(signature)

        def make(layouts: Layouts, f: types.FunctionType, a: dict[str, Any]) -> Kernel:
            nonlocal fun, is_optimised, tracing, why
            with self.lock, uncollected():
                start = time.perf_counter() - tracing
                if not is_optimised:
                    fun, is_optimised = optimise(fun), True
                type, code = machine_code(fun, layouts, self.settings)
                if key is not None and text is not None:
                    self.disk.save(key, text, layouts, type, code)
                made = kernel(type, code)
                self.record(kept, time.perf_counter() - start, False, why)
                tracing, why = 0.0, "another memory layout"
                return made

        program = Program(plan, make, dynamic)
        if traced.sequel is not None:
            program.sequel = self._sequel(traced.sequel.fun, key, text)
        return program

    def _sequel(self, fun: Fun, key: str | None, text: str | None) -> Callable[[], Kernel]:
        """Its kernel, made when it is asked for; all its arrays are in C order."""

        @functools.cache
        def make() -> Kernel:
            with self.lock:
                layouts = ("C",) * sum(p.is_array for p in fun.params)
                type, code = machine_code(optimise(fun), layouts, self.settings)
                if key is not None and text is not None:
                    self.disk.save(key, text, SEQUEL, type, code)
                return kernel(type, code)

        return make

    def record(self, signature: Signature, seconds: float, cached: bool, why: str) -> None:
        entry = Compilation(show_signature(signature), seconds, cached, why)
        self.compilations.append(entry)
        source = "disk cache" if cached else "compiled"
        LOG.info("%s: %s in %.3f s (%s)", entry.signature, source, seconds, why)

    def _traced(
        self, f: types.FunctionType, a: dict[str, Any], signature: Signature, small: Sizes,
        dynamic: frozenset[Path],
    ) -> tuple[Traced, tuple[Fixed, ...]]:  # fmt: skip
        """The function as Core, with as few known sizes as this call allows beside the small axes;
        without these if it is no program for them."""
        if small:
            with contextlib.suppress(CompileError):
                return self._settled(f, a, signature, dict(small), dynamic)
        return self._settled(f, a, signature, {}, dynamic)

    def _settled(
        self, f: types.FunctionType, a: dict[str, Any], signature: Signature, sizes: Sizes,
        dynamic: frozenset[Path],
    ) -> tuple[Traced, tuple[Fixed, ...]]:  # fmt: skip
        for _ in range(MAX_ATTEMPTS):
            typed = with_sizes(signature, sizes)
            try:
                traced = trace(f, typed, self._options(dynamic))
            except CompileError:
                single = ones(signature, f, a).keys() - sizes.keys()
                if single:  # the function may be one of arrays with a single element only
                    sizes.update(dict.fromkeys(single, 1))
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
            tidy=optimise,
        )


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Cycles of garbage wait. A compilation makes many objects, among which the collector would
    look for them several times, and go through all others of the process each time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _itself(kernel: Kernel) -> Kernel:
    return kernel


def _is_int(value: Any) -> bool:
    return type(value) is int


def types_only(signature: Signature) -> Signature:
    """The signature without the objects that it was made from."""
    return tuple((name, without_instances(type)) for name, type in signature)


def with_instances(signature: Signature, a: dict[str, Any]) -> Signature:
    """The signature with the objects of a call."""

    def fill(type: ArgType, value: Any) -> ArgType:
        if not isinstance(type, TreeArg):
            return type
        now = arg_type(value, any_sizes)
        assert isinstance(now, TreeArg)
        values = [
            getattr(value, str(k)) if kind == "attr" else value[k] for kind, k in tree_steps(type)
        ]
        items = tuple(map(fill, type.items, values))
        return replace(type, items=items, instance=now.instance)

    return tuple((name, fill(type, a[name])) for name, type in signature)
