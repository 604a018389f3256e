"""Functions made from a function: they take its parameters, under their names."""

from __future__ import annotations

import ast
import functools
import inspect
import types
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from tapeless.api.annotations import declared_arrays, hints_of
from tapeless.api.custom import custom_jvp, custom_vjp
from tapeless.api.jit import Jitted, jitted
from tapeless.api.paths import function_of
from tapeless.api.settings import Settings
from tapeless.errors import SourceError
from tapeless.frontend.capture import Source, note_source, source_of

Parameters = tuple[inspect.Parameter, ...]
ANY = (  # of functions that Python knows no parameters of
    inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
    inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
)


def derived(f: Callable[..., Any], kind: str, run: Callable[..., Any]) -> Callable[..., Any]:
    """`run`, a function of the language over any arguments, compiled with the parameters of `f`:
    their names, defaults, declared types, and what `jit` was told about `f`."""
    if not callable(f):
        raise TypeError(f"{kind}: {f!r} is not a function")
    inner = _inner(f)
    parameters = ANY if inner is None else _parameters(f)
    name = getattr(inner, "__name__", type(f).__name__)
    name = f"{kind}_of_{name}" if name.isidentifier() else kind
    made = types.FunctionType(
        _code(_text(parameters, name), name, *_place(inner)),
        {"__name__": __name__}, name, tuple(
            p.default for p in parameters
            if p.kind is not p.KEYWORD_ONLY and p.default is not p.empty
        ), (types.CellType(run),),
    )  # fmt: skip
    made.__kwdefaults__ = {
        p.name: p.default for p in parameters
        if p.kind is p.KEYWORD_ONLY and p.default is not p.empty
    }  # fmt: skip
    made.__qualname__ = name
    names = {p.name for p in parameters}
    if inner is not None:
        hints = declared_arrays(hints_of(inner))
        made.__annotations__ = {k: hint for k, hint in hints.items() if k in names}
    made.__doc__ = f"{run.__doc__ or kind} ({name})"
    compiled: Callable[..., Any] = jitted(made, _settings(f, names))
    return compiled


def _inner(f: Any) -> types.FunctionType | None:
    """The Python function behind a callable."""
    try:
        return function_of(f.f if isinstance(f, custom_vjp | custom_jvp) else f)
    except (AttributeError, RecursionError):
        return None


def with_default(f: Any) -> tuple[int | str, ...]:
    """The positions, and for parameters without one the names, of what need not be given to `f`."""
    parameters = ANY if _inner(f) is None else _parameters(f)
    return tuple(
        p.name if p.kind is p.KEYWORD_ONLY else k
        for k, p in enumerate(parameters) if p.default is not p.empty
    )  # fmt: skip


def _parameters(f: Any) -> Parameters:
    is_plain = isinstance(f, types.FunctionType)
    return tuple(inspect.signature(f, follow_wrapped=not is_plain).parameters.values())


def _settings(f: Any, names: Iterable[str]) -> Settings:
    while isinstance(f, functools.partial | types.MethodType):
        f = f.func if isinstance(f, functools.partial) else f.__func__
    settings = f.settings if isinstance(f, Jitted) else Settings(static_argnames=switches(f))
    static = tuple(n for n in settings.static_argnames if n in names)
    return replace(settings, static_argnames=static)


def switches(f: Any) -> tuple[str, ...]:
    """Parameters that choose what a function of a library computes, like keepdims."""
    if str(getattr(f, "__module__", "")).partition(".")[0] not in ("numpy", "scipy"):
        return ()
    return tuple(p.name for p in _parameters(f) if isinstance(p.default, bool))


# Code -------------------------------------------------------------------------------------------


def _text(parameters: Parameters, name: str) -> str:
    """def name(a, /, b, *rest, c, **more): return run(a, b, *rest, c=c, **more)"""
    plain = [p.replace(annotation=p.empty, default=p.empty) for p in parameters]
    heads, passed = [], []
    for p, with_default in zip(plain, parameters, strict=True):
        default = "=None" if with_default.default is not p.empty else ""
        heads.append(f"{p}{default}")
        passed.append(f"{p.name}={p.name}" if p.kind is p.KEYWORD_ONLY else str(p))
    k = sum(p.kind is p.POSITIONAL_ONLY for p in plain)
    if k:
        heads.insert(k, "/")
    kinds = [p.kind for p in plain]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        heads.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY) + (k > 0), "*")
    run = "run"
    while run in {p.name for p in plain}:
        run += "_"
    return (
        f"def make({run}):\n    def {name}({', '.join(heads)}):\n"
        f"        return {run}({', '.join(passed)})"
    )


def _place(function: types.FunctionType | None) -> tuple[str, int, int, int, int]:
    """File and range of a function's source: where what is made of it stands."""
    if function is None:
        return "<a builtin function>", 1, 0, 1, 1
    code = function.__code__
    try:
        source = source_of(function)
    except SourceError:
        return code.co_filename, code.co_firstlineno, 0, code.co_firstlineno, 1
    loc = source.loc(source.node)
    return loc.file, loc.line, loc.col, loc.end_line, loc.end_col


@functools.lru_cache(maxsize=4096)
def _code(
    text: str, name: str, file: str, line: int, col: int, end_line: int, end_col: int
) -> types.CodeType:
    """Code of the function in `text`, as if it stood at this place."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt | ast.expr | ast.arg | ast.keyword):
            node.lineno, node.col_offset = line, col
            node.end_lineno, node.end_col_offset = end_line, end_col
    (maker,) = tree.body
    assert isinstance(maker, ast.FunctionDef)
    (node,) = maker.body
    assert isinstance(node, ast.FunctionDef)
    node.body.insert(0, ast.copy_location(ast.Expr(ast.Constant(file)), node))
    ast.fix_missing_locations(node)
    outer = next(c for c in compile(tree, file, "exec").co_consts if isinstance(c, types.CodeType))
    code = next(c for c in outer.co_consts if isinstance(c, types.CodeType))
    note_source(code, Source(node, file, name))
    return code
