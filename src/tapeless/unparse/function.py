"""A whole program as the text of a Python function."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tapeless.core.names import Atom, Var
from tapeless.core.types import DType
from tapeless.ir.syntax import Fun
from tapeless.unparse.scope import RESERVED
from tapeless.unparse.statements import Statements

IMPORTS = {
    "math": "import math", "np": "import numpy as np", "special": "from scipy import special",
    "tp": "import tapeless as tp",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Header:
    """How Python sees the program: its parameters, the names it finds outside, what each Core
    parameter is in terms of these, where final contents of written parameters go, which array
    results are complex, and the value that is returned."""

    arguments: ast.arguments
    outside: tuple[str, ...]
    bindings: tuple[str, ...]
    places: tuple[tuple[str, bool], ...]
    complex_results: tuple[int, ...]
    result: Callable[[list[ast.expr]], ast.expr | None]

    @property
    def params(self) -> tuple[str, ...]:
        a = self.arguments
        named = (*a.posonlyargs, *a.args, a.vararg, *a.kwonlyargs, a.kwarg)
        return tuple(arg.arg for arg in named if arg is not None)


def unparse(fun: Fun, header: Header) -> str:
    """Python source with its imports. Every array of `fun` owns its storage (`lower.own`)."""
    name = _function_name(fun.name, header)
    writer = Statements((*header.params, *header.outside, name))
    writer.count(fun.body)
    for param, binding in zip(fun.params, header.bindings, strict=True):
        if binding in header.params:
            writer.names[param] = binding
        else:
            writer.assign(writer.name(param), parsed(binding))
    writer.body(fun.body)
    count = len(fun.body.results) - len(fun.writes)
    results = [_own(writer.atom(r), r, fun.params) for r in fun.body.results[:count]]
    for k in header.complex_results:
        results[k] = _joined(writer, results[k], fun.body.results[k].dtype)
    writer.settle(reads_only=False)
    for (place, is_complex), result in zip(header.places, fun.body.results[count:], strict=True):
        _write_back(writer, place, writer.atom(result), is_complex)
    returned = header.result(results)
    if returned is not None:
        writer.emit(ast.Return(returned))
    lines = writer.lines[0] or [ast.Pass()]
    function = ast.FunctionDef(name, header.arguments, lines, [])
    function.type_params = []  # type: ignore[attr-defined]  # wanted since 3.12
    return _with_imports(ast.fix_missing_locations(function))


def _function_name(name: str, header: Header) -> str:
    """The function's own name, unless something else has it or it is none (a lambda's)."""
    name = re.sub(r"\W", "", name)
    taken = {*RESERVED, *header.params, *header.outside}
    return f"{name}_" if name in taken or not name.isidentifier() else name


def parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _own(value: ast.expr, result: Atom, params: Sequence[Var]) -> ast.expr:
    """A result that is a parameter is returned as a copy."""
    if isinstance(result, Var) and result.is_array and result in params:
        return ast.Call(ast.Attribute(value, "copy"), [], [])
    return value


def _joined(writer: Statements, parts: ast.expr, dtype: DType) -> ast.expr:
    """A complex array from reals with a last axis of real and imaginary parts."""
    made, reals = writer.fresh("z"), writer.fresh("parts")
    writer.assign(reals, parts)
    to = f"np.complex{dtype.bits * 2}"
    for line in (
        f"{made} = np.empty({reals}.shape[:-1], {to})",
        f"{made}.real = {reals}[..., 0]",
        f"{made}.imag = {reals}[..., 1]",
    ):
        writer.emit(ast.parse(line).body[0])
    return parsed(made)


def _write_back(writer: Statements, place: str, final: ast.expr, is_complex: bool) -> None:
    """Final contents to the place that the caller sees."""
    if is_complex:
        for part, k in (("real", 0), ("imag", 1)):
            line = f"{place}.{part} = {ast.unparse(final)}[..., {k}]"
            writer.emit(ast.parse(line).body[0])
    elif ast.unparse(final) != place:
        writer.emit(ast.Assign([parsed(f"{place}[...]")], final))


def _with_imports(function: ast.FunctionDef) -> str:
    used = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}
    imports = [line for key, line in IMPORTS.items() if key in used]
    text = ast.unparse(function) + "\n"
    return "\n".join(imports) + "\n\n\n" + text if imports else text
