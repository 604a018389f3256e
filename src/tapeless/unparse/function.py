"""A whole program as the text of a Python function."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tapeless.core.names import Var
from tapeless.ir.syntax import Fun
from tapeless.unparse.statements import Statements

IMPORTS = {
    "math": "import math", "np": "import numpy as np", "special": "from scipy import special",
    "tp": "import tapeless as tp",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Header:
    """How Python sees the program: its parameters, what each Core parameter is in terms of them,
    the places that final contents of written parameters go to, and the value that is returned."""

    params: tuple[str, ...]
    bindings: tuple[str, ...]
    places: tuple[str, ...]
    result: Callable[[list[ast.expr]], ast.expr | None]


def unparse(fun: Fun, header: Header) -> str:
    """Python source with its imports. Every array of `fun` owns its storage (`lower.own`)."""
    writer = Statements(header.params)
    writer.count(fun.body)
    for param, binding in zip(fun.params, header.bindings, strict=True):
        if binding in header.params:
            writer.names[param] = binding
        else:
            writer.assign(writer.name(param), ast.parse(binding, mode="eval").body)
    writer.body(fun.body)
    count = len(fun.body.results) - len(fun.writes)
    results = writer.atoms(fun.body.results[:count])
    writer.settle(reads_only=False)
    finals = [writer.atom(r) for r in fun.body.results[count:]]
    for place, final in zip(header.places, finals, strict=True):
        if ast.unparse(final) != place:
            target = ast.parse(f"{place}[...]", mode="eval").body
            writer.emit(ast.Assign([target], final, lineno=0))
    kept = [_own(r, a, fun.params) for r, a in zip(results, fun.body.results, strict=False)]
    returned = header.result(kept)
    if returned is not None:
        writer.emit(ast.Return(returned))
    arguments = ast.arguments([], [ast.arg(p) for p in header.params], None, [], [], None, [])
    lines = writer.lines[0] or [ast.Pass()]
    function = ast.FunctionDef(
        writer.fresh(fun.name), arguments, lines, [], None, None, type_params=[]
    )
    return _with_imports(ast.fix_missing_locations(function))


def _own(value: ast.expr, result: object, params: Sequence[Var]) -> ast.expr:
    """A result that is a parameter is returned as a copy."""
    if isinstance(result, Var) and result.is_array and result in params:
        return ast.Call(ast.Attribute(value, "copy"), [], [])
    return value


def _with_imports(function: ast.FunctionDef) -> str:
    used = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}
    imports = [line for key, line in IMPORTS.items() if key in used]
    text = ast.unparse(function) + "\n"
    return "\n".join(imports) + "\n\n\n" + text if imports else text
