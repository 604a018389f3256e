"""What a function becomes for given arguments: source, counted cost, a program to look at."""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tapeless.analysis.inplace import in_place
from tapeless.api.jit import Jitted, jit
from tapeless.api.kernels import choices
from tapeless.api.paths import describe, function_of, reader
from tapeless.api.plan import Plan
from tapeless.api.program import Layouts, Program
from tapeless.api.settings import Settings
from tapeless.api.sizes import small_axes
from tapeless.errors import TapelessError
from tapeless.frontend.array_protocols import as_array
from tapeless.frontend.signature import (
    ArgOut,
    ArrayOut,
    Input,
    NumberOut,
    Out,
    Path,
    StaticOut,
    TreeOut,
)  # fmt: skip
from tapeless.ir.cost import Cost
from tapeless.ir.cost import cost as counted
from tapeless.ir.syntax import Fun
from tapeless.lower.own import own
from tapeless.pipeline import memory, optimise
from tapeless.unparse.function import Header, unparse


@dataclass(frozen=True, slots=True)
class Look:
    """One program of a function: as traced and after all passes, with the call it was made for."""

    function: types.FunctionType
    arguments: dict[str, Any]
    plan: Plan
    traced: Fun
    optimised: Fun
    settings: Settings

    def read(self, path: Path) -> Any:
        return reader(path)(self.function, self.arguments)

    @property
    def program(self) -> Program:
        return Program(self.plan, no_kernel, frozenset())

    @property
    def values(self) -> list[Any]:
        """What this call passes for the program's parameters."""
        return [read(self.function, self.arguments) for read in self.program.inputs]

    @property
    def layouts(self) -> tuple[str, ...]:
        return self.program.layouts(self.function, self.arguments)


def no_kernel(layouts: Layouts, f: Any, a: dict[str, Any]) -> Any:
    raise AssertionError("a program to look at is not run")


def look(g: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Look:
    """The program that g(*args, **kwargs) runs."""
    compiled, arguments = calling(g, args, kwargs)
    try:
        signature = compiled.signature(arguments)
        small = small_axes(signature, compiled.python, arguments)
        plan, traced = compiled.store.core(compiled.python, arguments, signature, small)
    except TapelessError as error:
        raise error.with_traceback(None) from None
    return Look(
        compiled.python, arguments, plan, traced.fun, optimise(traced.fun), compiled.settings
    )


def calling(g: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Jitted, dict[str, Any]]:
    """The compiled function that g(*args, **kwargs) calls, and its arguments by name."""
    compiled, owner = (g, ()) if isinstance(g, Jitted) else _compiled(g)
    return compiled, compiled.bind((*owner, *args), kwargs)


def _compiled(g: Any) -> tuple[Jitted, tuple[Any, ...]]:
    if isinstance(g, types.MethodType):
        return _compiled(g.__func__)[0], (g.__self__,)
    compiled = jit(g)
    if isinstance(compiled, types.MethodType):
        return compiled.__func__, (compiled.__self__,)  # type: ignore[return-value]  # of a Jitted
    if not isinstance(compiled, Jitted):
        return jit(function_of(g)), ()
    return compiled, ()


def cost(g: Any, *args: Any, **kwargs: Any) -> Cost:
    """What g(*args, **kwargs) costs, counted by running its program in the interpreter:
    `.flops`, `.reads`, `.writes` (elements of arrays) and `.peak_bytes`, on one thread."""
    seen = look(g, args, kwargs)
    owned, values = own(seen.optimised), seen.values
    found = counted(owned.fun, *values, in_place=in_place(owned.fun), reuse=owned.reuse)
    return replace(found, peak_bytes=found.peak_bytes + in_lanes(seen))


def in_lanes(seen: Look) -> int:
    """Bytes of arrays that every lane of a loop has for itself, where the interpreter has one."""
    params = zip(seen.optimised.params, seen.values, strict=True)
    scalars = {p: v for p, v in params if not p.is_array}
    fun, settings = seen.optimised, choices(seen.settings)
    with_lanes, without = memory(fun, seen.layouts, scalars, settings)
    return with_lanes - without


def source(g: Any, *args: Any, **kwargs: Any) -> str:
    """The program that g(*args, **kwargs) runs, as Python of the language.

    The text parses, runs, and compiles again to the same function; values that `g` captures are
    names that it finds outside."""
    seen = look(g, args, kwargs)
    return unparse(own(seen.optimised).fun, header(seen))


# The Python side of a program ------------------------------------------------------------------


def header(seen: Look) -> Header:
    plan = seen.plan
    shown = {i.path: expression(i.path) for i in plan.inputs}
    outside = {p.root.key for p in shown if p.root.kind != "arg"}
    complex_inputs = {
        i.path
        for i, rank in zip(plan.inputs, plan.ranks, strict=True)
        if rank is not None and as_array(seen.read(i.path)).dtype.kind == "c"
    }
    bindings = tuple(_binding(i, shown[i.path], i.path in complex_inputs) for i in plan.inputs)
    places = tuple((expression(p), p in complex_inputs) for p in plan.written)
    results = list(_flat(plan.output))
    return Header(
        _arguments(seen.function), tuple(sorted(outside)), bindings, places,
        tuple(k for k, r in enumerate(results) if isinstance(r, ArrayOut) and r.is_complex),
        lambda values: _returned(plan.output, iter(values)),
    )  # fmt: skip


def expression(path: Path) -> str:
    """A path as Python text."""
    return describe(path)


def _binding(source: Input, shown: str, complex_array: bool) -> str:
    match source.part:
        case "size":
            return f"{shown}.shape[{source.axis}]"
        case "re":
            return f"{shown}.real"
        case "im":
            return f"{shown}.imag"
    return f"np.stack(({shown}.real, {shown}.imag), axis=-1)" if complex_array else shown


def _arguments(function: types.FunctionType) -> ast.arguments:
    """The function's parameters, without annotations and defaults."""
    made = ast.arguments([], [], None, [], [], None, [])
    for p in inspect.signature(function, follow_wrapped=False).parameters.values():
        arg = ast.arg(p.name)
        match p.kind:
            case p.POSITIONAL_ONLY:
                made.posonlyargs.append(arg)
            case p.POSITIONAL_OR_KEYWORD:
                made.args.append(arg)
            case p.VAR_POSITIONAL:
                made.vararg = arg
            case p.KEYWORD_ONLY:
                made.kwonlyargs.append(arg)
                made.kw_defaults.append(None)
            case _:
                made.kwarg = arg
    return made


def _flat(out: Out) -> Iterator[Out]:
    """The results that the kernel gives, in order; a complex number twice."""
    match out:
        case TreeOut():
            for item in out.items:
                yield from _flat(item)
        case NumberOut(dtype):
            yield from (out,) * (2 if dtype.kind == "c" else 1)
        case ArrayOut():
            yield out


def _returned(out: Out, values: Iterator[ast.expr]) -> ast.expr | None:
    """The expression that is returned; None if that is None."""
    if isinstance(out, StaticOut) and out.value is None:
        return None
    return _shown(out, values)


def _shown(out: Out, values: Iterator[ast.expr]) -> ast.expr:
    match out:
        case ArrayOut():
            return next(values)
        case NumberOut(dtype, weak):
            return _number(dtype, weak, values)
        case StaticOut(value):
            plain = isinstance(value, type | types.FunctionType)
            return ast.parse(value.__name__ if plain else repr(value), mode="eval").body
        case ArgOut(path):
            return ast.parse(expression(path), mode="eval").body
        case TreeOut(kind, cls, keys, parts):
            items = [_shown(part, values) for part in parts]
    match kind:
        case "tuple":
            return ast.Tuple(items)
        case "list":
            return ast.List(items)
        case "dict":
            return ast.Dict([ast.parse(repr(k), mode="eval").body for k in keys], items)
    fields = [ast.keyword(str(k), v) for k, v in zip(keys, items, strict=True)]
    return ast.Call(ast.Name(cls.__name__), [], fields)


def _number(dtype: np.dtype[Any], weak: bool, values: Iterator[ast.expr]) -> ast.expr:
    value = next(values)
    if dtype.kind == "c":
        value = ast.Call(ast.Name("complex"), [value, next(values)], [])
        return value if weak else ast.Call(ast.parse(f"np.{dtype}", mode="eval").body, [value], [])
    if weak or dtype not in (np.dtype("i8"), np.dtype("?")):
        return value
    strong = "np.bool_" if dtype.kind == "b" else "np.int64"
    return ast.Call(ast.parse(strong, mode="eval").body, [value], [])
