"""Entry: a Python function and the types of its arguments become a Core program."""

from __future__ import annotations

import ast
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path as File
from typing import Any

from tapeless.core.names import Var
from tapeless.errors import UnsupportedError
from tapeless.frontend.argtypes import plain
from tapeless.frontend.calls import call, call_library
from tapeless.frontend.capture import source_of
from tapeless.frontend.comprehensions import as_list
from tapeless.frontend.custom import without_rules
from tapeless.frontend.expressions import evaluate
from tapeless.frontend.inline import entered, run_body
from tapeless.frontend.library import LIBRARY
from tapeless.frontend.operators import compare
from tapeless.frontend.outside import Outside
from tapeless.frontend.results import Results
from tapeless.frontend.signature import Options, Path, Root, Signature, Traced
from tapeless.frontend.state import Frame
from tapeless.frontend.statements import block
from tapeless.frontend.targets import bind
from tapeless.frontend.tracer import Rules, Tracer
from tapeless.frontend.truth import negation
from tapeless.frontend.values import Arr, Value
from tapeless.ir.syntax import Fun

RULES = Rules(evaluate, block, bind, call, as_list, compare, negation, call_library, LIBRARY)
PACKAGE = str(File(__file__).parents[1])
RECURSION = 20_000  # frames of the tracer itself, which nest with the program's


@contextmanager
def _deep_recursion() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, RECURSION))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def trace(function: Any, signature: Signature, options: Options = Options()) -> Traced:
    """The program of `function` for arguments of these types."""
    with _deep_recursion():
        return _trace(plain(function), signature, options)


def _trace(function: Any, signature: Signature, options: Options) -> Traced:
    outside = Outside(options)
    t = Tracer(RULES, outside, options)
    target, frame = _entry(t, function, signature)
    value = _run(t, frame)
    results = Results(t, outside)
    output = results.output(value)
    written = results.written()
    atoms = (*results.atoms, *(content for _, content in written))
    writes = () if options.functional else tuple(_origin(arr) for arr, _ in written)
    fun = Fun(target.__name__, tuple(outside.params), without_rules(t.b.body(atoms)), writes)
    return Traced(
        fun, tuple(outside.inputs), output, tuple(_path(arr) for arr, _ in written),
        tuple(outside.guards.values()), outside.not_one(t.assumed_not_one), tuple(t.codes),
        outside.sequel,
    )  # fmt: skip


def _entry(t: Tracer, function: Any, signature: Signature) -> tuple[types.FunctionType, Frame]:
    """The Python function behind a callable, and its frame with the arguments."""
    target = function.__func__ if isinstance(function, types.MethodType) else function
    if not isinstance(target, types.FunctionType):
        raise UnsupportedError(
            f"{function!r} is not a Python function", remedy="wrap it in a lambda"
        )
    source = source_of(target)
    t.codes[target.__code__] = None
    cells = dict(zip(target.__code__.co_freevars, target.__closure__ or (), strict=True))
    frame = Frame(source, target.__globals__, cells)
    if not source.file.startswith(PACKAGE):
        t.b.loc = source.loc(source.node)
    for name, arg in signature:
        frame.locals[name] = t.outside.typed(t, arg, Path(Root("arg", name)))
    if isinstance(function, types.MethodType):
        name = source.node.args.args[0].arg
        if name not in frame.locals:
            frame.locals[name] = t.outside.bound_self(t, function, None)
    return target, frame


def _run(t: Tracer, frame: Frame) -> Value:
    with entered(t, frame):
        if isinstance(frame.source.node, ast.Lambda):
            return t.evaluate(frame.source.node.body)
        return run_body(t, frame)


def _origin(arr: Arr) -> Var:
    assert arr.obj.origin is not None
    return arr.obj.origin


def _path(arr: Arr) -> Path:
    assert arr.obj.path is not None
    return arr.obj.path
