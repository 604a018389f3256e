"""The roads that a function of the language can be run by, which must all give the same:
plain Python, the interpreter of Core after tracing and after every pass, and machine code.

Arguments are copied for every run; an outcome holds the result and what the arguments became.
"""

from __future__ import annotations

import copy
import functools
import inspect
import linecache
import sys
import warnings
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import tapeless as tp
from tapeless import pipeline
from tapeless.analysis.verify import verify
from tapeless.api import store
from tapeless.api.store import types_only
from tapeless.core.types import from_numpy
from tapeless.errors import CompileError
from tapeless.frontend.argtypes import arg_type, plain
from tapeless.frontend.signature import (
    ArgOut,
    ArrayOut,
    Input,
    NumberOut,
    Options,
    Out,
    Path,
    Signature,
    StaticOut,
    Traced,
    TreeOut,
)  # fmt: skip
from tapeless.frontend.trace import trace
from tapeless.ir.interp import interpret
from tapeless.ir.syntax import Fun


@dataclass(frozen=True)
class Outcome:
    """What a call did: `error` is the type of what it raised, or None."""

    result: Any
    arguments: tuple[Any, ...]
    error: type[BaseException] | None = None
    message: str = ""


# Plain Python and machine code ------------------------------------------------------------------


def call(function: Callable[..., Any], args: tuple[Any, ...]) -> Outcome:
    """A call on copies of the arguments."""
    copies = copy.deepcopy(args)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            result = function(*copies)
    except CompileError:
        raise
    except Exception as error:  # noqa: BLE001  # whatever the program raises is its outcome
        return Outcome(None, copies, type(error), str(error))
    return Outcome(copy.deepcopy(result), copies)


# The interpreter --------------------------------------------------------------------------------


def traced(
    function: Callable[..., Any], args: tuple[Any, ...], by: Callable[..., Traced] = trace
) -> Traced:
    """The program of a function for arguments of these types."""
    bound = inspect.signature(function).bind(*args)
    bound.apply_defaults()
    signature = tuple((name, arg_type(value)) for name, value in bound.arguments.items())
    return by(function, signature, Options())


def stages(program: Traced, *, every: bool = True) -> Iterator[tuple[str, Fun]]:
    """The program after tracing and after every pass (or all passes), verified."""
    fun = program.fun
    verify(fun)
    yield "trace", fun
    if not every:
        yield "passes", pipeline.optimise(fun, verify=True)
        return
    for step, new in pipeline.stages(fun):
        verify(new)
        yield step.__module__.removeprefix("tapeless."), new


class Shared:
    """What all roads of a function have in common: equal argument types are traced once, and a
    program goes through the passes once. Machine code is made of the very Core that was
    interpreted, unless functions in it were derived, which only the compiled road tidies first."""

    def __init__(self) -> None:
        self.traces: dict[Hashable, Traced] = {}
        self.passed: dict[int, list[tuple[str, Fun]]] = {}

    def trace(self, function: Any, signature: Signature, options: Options = Options()) -> Traced:
        key = (types_only(signature), replace(options, tidy=None))
        if key in self.traces:
            return self.traces[key]
        derived = []

        def tidy(fun: Fun) -> Fun:
            derived.append(fun)
            return fun if options.tidy is None else options.tidy(fun)

        program = trace(function, signature, replace(options, tidy=tidy))
        if not derived:
            self.traces[key] = program
        return program

    def stages(self, program: Traced, *, every: bool) -> list[tuple[str, Fun]]:
        key = id(program.fun)
        if key not in self.passed:
            self.passed[key] = list(stages(program, every=every))
        return self.passed[key]

    def optimise(self, fun: Fun) -> Fun:
        passed = self.passed.get(id(fun))
        return pipeline.optimise(fun) if passed is None else passed[-1][1]

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """Within, compiled functions take what is known already."""
        before = store.trace, store.optimise
        store.trace, store.optimise = self.trace, self.optimise  # type: ignore[assignment]
        try:
            yield
        finally:
            store.trace, store.optimise = before


def interpreted(
    function: Callable[..., Any], program: Traced, fun: Fun, args: tuple[Any, ...]
) -> Outcome:
    """A run of a stage of `program` on copies of the arguments."""
    copies = copy.deepcopy(args)
    bound = inspect.signature(function).bind(*copies)
    bound.apply_defaults()
    read = functools.partial(value_at, function, bound.arguments)
    try:
        values = interpret(fun, *[part(read(i.path), i) for i in program.inputs])
    except Exception as error:  # noqa: BLE001  # whatever the program raises is its outcome
        return Outcome(None, copies, type(error), str(error))
    fresh = len(values) - len(program.written)
    for path, after in zip(program.written, values[fresh:], strict=True):
        read(path)[...] = as_complex(after) if read(path).dtype.kind == "c" else after
    return Outcome(rebuilt(program.output, iter(values[:fresh]), read), copies)


def value_at(function: Callable[..., Any], arguments: dict[str, Any], path: Path) -> Any:
    """The value that a path of the compiler names, at a call."""
    root = path.root
    if root.kind == "arg":
        value = arguments[root.key]
    elif root.kind == "module":
        value = sys.modules[root.key]
    else:
        owner = plain(function if root.owner is None else value_at(function, arguments, root.owner))
        owner = getattr(owner, "__func__", owner)
        outside = inspect.getclosurevars(owner)
        value = {**outside.builtins, **outside.globals, **outside.nonlocals}[root.key]
    for kind, key in path.steps:
        value = value[key] if kind == "item" else getattr(value, str(key))
    return value


def part(value: Any, what: Input) -> Any:
    """The Core parameter that stands for (a part of) a value."""
    if what.part == "size":
        return np.shape(value)[what.axis]
    if what.part in ("re", "im"):
        return value.real if what.part == "re" else value.imag
    array = np.asarray(value)
    if array.dtype.kind == "c":
        return np.stack([array.real, array.imag], axis=-1)
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    assert from_numpy(native.dtype) is not None
    return native


def as_complex(pairs: np.ndarray) -> np.ndarray:
    return pairs[..., 0] + 1j * pairs[..., 1]


def rebuilt(out: Out, flat: Iterator[Any], read: Callable[[Path], Any]) -> Any:
    """Flat results as the value that the function returns."""
    match out:
        case ArrayOut(is_complex):
            return as_complex(next(flat)) if is_complex else next(flat)
        case NumberOut(dtype, weak):
            value = complex(next(flat), next(flat)) if dtype.kind == "c" else next(flat)
            return value.item() if weak and dtype.kind in "iub" else dtype.type(value)
        case StaticOut(value):
            return value
        case ArgOut(path):
            return read(path)
        case TreeOut(kind, cls, keys, items):
            parts = [rebuilt(item, flat, read) for item in items]
            if kind == "list":
                return parts
            if kind in ("dict", "dataclass", "object"):
                fields = dict(zip(keys, parts, strict=True))
                return fields if kind == "dict" else cls(**{str(k): v for k, v in fields.items()})
            return cls(*parts) if kind == "namedtuple" else tuple(parts)


# Comparison -------------------------------------------------------------------------------------


def difference(got: Outcome, expected: Outcome, tol: float) -> str | None:
    """How an outcome differs from the expected one; None if it does not."""
    if expected.error is not None or got.error is not None:
        if expected.error is None:
            return f"raised {got.error.__name__}: {got.message}"  # type: ignore[union-attr]
        if {got.error, expected.error} == {ZeroDivisionError, IndexError}:
            return None  # an index of an empty array is often computed by a division by its size
        if got.error is None or not issubclass(got.error, expected.error):
            name = got.error.__name__ if got.error else "nothing"
            return (
                f"raised {name} ({got.message}), not {expected.error.__name__}: {expected.message}"
            )
        return None
    return differ(got.result, expected.result, tol, "result") or differ(
        got.arguments, expected.arguments, tol, "arguments"
    )


def differ(got: Any, expected: Any, tol: float, where: str) -> str | None:
    """How two values differ; lists of numbers count as the arrays that the language returns."""
    if isinstance(expected, dict):
        if not isinstance(got, dict) or got.keys() != expected.keys():
            return f"{where}: {got!r} and not {expected!r}"
        return _first(differ(got[k], v, tol, f"{where}[{k!r}]") for k, v in expected.items())
    if hasattr(expected, "__dataclass_fields__"):
        if type(got) is not type(expected):
            return f"{where}: {type(got)} and not {type(expected)}"
        return differ(vars(got), vars(expected), tol, where)
    if isinstance(expected, tuple) or (isinstance(expected, list) and isinstance(got, list)):
        if type(got) is not type(expected) or len(got) != len(expected):
            return f"{where}: {got!r} and not {expected!r}"
        pairs = enumerate(zip(got, expected, strict=True))
        return _first(differ(g, e, tol, f"{where}[{k}]") for k, (g, e) in pairs)
    if isinstance(expected, bool | int | float | complex | np.ndarray | np.generic | list):
        return _numbers(got, expected, tol, where)
    if type(got) is type(expected) and hasattr(expected, "__dict__") and not callable(expected):
        return differ(vars(got), vars(expected), tol, where)
    same = got is expected or got == expected
    return None if same else f"{where}: {got!r} and not {expected!r}"


def _numbers(got: Any, expected: Any, tol: float, where: str) -> str | None:
    if isinstance(expected, np.ndarray) and not isinstance(got, np.ndarray):
        return f"{where}: {got!r} is no array"
    if type(expected) is int:
        expected = (expected + 2**63) % 2**64 - 2**63  # ints of the language wrap
    g, e = np.asarray(got), np.asarray(expected)
    if g.shape != e.shape:
        return f"{where}: shape {g.shape} and not {e.shape}"
    single = tol > 1e-6 and {g.dtype.char, e.dtype.char} == {"f", "d"}  # Python's varies by value
    if (
        isinstance(expected, np.ndarray | np.generic)
        and g.dtype != e.dtype
        and e.size
        and not single
    ):
        return f"{where}: dtype {g.dtype} and not {e.dtype}"
    if e.dtype.kind not in "fc" and g.dtype.kind not in "fc":
        return None if np.array_equal(g, e) else f"{where}: {got!r} and not {expected!r}"
    if e.dtype.char in "fF":
        tol = max(tol, 1e-6)
    finite = np.abs(e[np.isfinite(e)])
    scale = max(1.0, float(finite.max())) if finite.size else 1.0
    with np.errstate(all="ignore"):
        if np.allclose(g, e, rtol=tol, atol=tol * scale, equal_nan=True):
            return None
    return f"{where}: {got!r} and not {expected!r}"


def _first(found: Iterator[str | None]) -> str | None:
    return next((d for d in found if d is not None), None)


# All roads --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Finding:
    """Where a road leaves plain Python, and how."""

    road: str
    problem: str

    def __str__(self) -> str:
        return f"{self.road}: {self.problem}"


def compare(
    function: Callable[..., Any], calls: list[tuple[Any, ...]], tol: float = 1e-12, *,
    core: bool = True, machine: bool = True, every: bool = True,
    options: dict[str, Any] | None = None,
) -> Finding | None:  # fmt: skip
    """The first road on which a call differs from plain Python. Compile errors are raised."""
    expected = [call(function, args) for args in calls]
    shared = Shared()
    if core:
        for args, want in zip(calls, expected, strict=True):
            program = traced(function, args, shared.trace)
            for name, fun in shared.stages(program, every=every):
                found = difference(interpreted(function, program, fun, args), want, tol)
                if found is not None:
                    return Finding(name, found)
    if machine:
        compiled = tp.jit(function, **(options or {}))
        for args, want in zip(calls, expected, strict=True):
            with shared.compiling():
                got = call(compiled, args)
            found = difference(got, want, tol)
            if found is not None:
                return Finding("compiled", found)
    return None


def define(source: str, name: str, names: dict[str, Any], file: str) -> Callable[..., Any]:
    """The function `name` that `source` defines, with its source where `inspect` finds it."""
    file = f"<{file}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space = dict(names)
    exec(compile(source, file, "exec"), space)
    return space[name]  # type: ignore[no-any-return]


__all__ = [
    "Finding",
    "Outcome",
    "call",
    "compare",
    "define",
    "difference",
    "interpreted",
    "stages",
    "traced",
]
