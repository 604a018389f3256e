"""The body of a Python function, run where it is called with its parameters bound."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tapeless.core.names import Const
from tapeless.core.types import i64
from tapeless.errors import CompileError
from tapeless.frontend.capture import Source
from tapeless.frontend.cells import open_cells
from tapeless.frontend.liveness import Liveness, liveness
from tapeless.frontend.rule import Args, Kwargs
from tapeless.frontend.state import DEAD, FLOW, RETURN, RETURNED, Frame
from tapeless.frontend.values import (
    NONE,
    DictObj,
    Known,
    Num,
    Ref,
    Tup,
    Value,
)  # fmt: skip

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer


@contextmanager
def entered(t: Tracer, frame: Frame) -> Iterator[None]:
    """A call in progress."""
    if t.depth >= t.MAX_DEPTH:
        raise CompileError(
            f"'{frame.source.name}' calls itself without end: no argument known at compile time"
            " stops it",
            t.loc,
            "make the argument that ends the recursion static, or write a loop",
        )
    t.frames.append(frame)
    t.depth += 1
    try:
        yield
    finally:
        t.depth -= 1
        t.frames.pop()


def inline(
    t: Tracer, frame: Frame, args: Args, kwargs: Kwargs, defaults: tuple[Value, ...],
    kw_defaults: tuple[Value | None, ...],
) -> Value:  # fmt: skip
    """The function's body, run here with its parameters bound."""
    node = frame.source.node
    frame.locals.update(bind_arguments(t, frame.source, args, kwargs, defaults, kw_defaults))
    with entered(t, frame):
        if isinstance(node, ast.Lambda):
            return t.evaluate(node.body)
        return run_body(t, frame)


def run_body(t: Tracer, frame: Frame) -> Value:
    """The statements of a function, in the frame that was entered; what it returns."""
    node = frame.source.node
    assert isinstance(node, ast.FunctionDef)
    frame.liveness = _liveness_of(node)
    open_cells(t, frame)
    t.rules.block(t, node.body)
    flow = frame.locals[FLOW]
    if isinstance(flow, Num):
        if not terminates(node.body):
            done = t.b.prim("eq", flow.atom, Const(RETURN, i64))
            t.b.check(done, "TypeError", f"{frame.source.name}() ended without a 'return'")
        return frame.locals[RETURNED]
    assert isinstance(flow, Known)
    if flow.value == DEAD and len(t.frames) > 1:
        t.frames[-2].locals[FLOW] = Known(DEAD)
    return frame.locals[RETURNED] if flow.value == RETURN else NONE


_LIVENESS: dict[ast.FunctionDef, Liveness] = {}


def _liveness_of(node: ast.FunctionDef) -> Liveness:
    if node not in _LIVENESS:
        _LIVENESS[node] = liveness(node)
    return _LIVENESS[node]


def terminates(stmts: Sequence[ast.stmt]) -> bool:
    """Whether every path through the block leaves it."""
    if not stmts:
        return False
    last = stmts[-1]
    if isinstance(last, ast.Return | ast.Break | ast.Continue | ast.Raise):
        return True
    if isinstance(last, ast.With):
        return terminates(last.body)
    return isinstance(last, ast.If) and terminates(last.body) and terminates(last.orelse)


def bind_arguments(
    t: Tracer, source: Source, args: Args, kwargs: Kwargs, defaults: tuple[Value, ...],
    kw_defaults: tuple[Value | None, ...],
) -> dict[str, Value]:  # fmt: skip
    """Parameters by name, as Python binds them."""
    spec = source.node.args
    positional = [a.arg for a in (*spec.posonlyargs, *spec.args)]
    out: dict[str, Value] = dict(zip(positional, args, strict=False))
    rest = dict(kwargs)
    if spec.vararg is not None:
        out[spec.vararg.arg] = Tup(tuple(args[len(positional) :]))
    elif len(args) > len(positional):
        raise CompileError(
            f"{source.name}() takes {len(positional)} positional arguments, {len(args)} were given",
            t.loc,
        )
    only = {a.arg for a in spec.posonlyargs}
    keywords = [a.arg for a in spec.kwonlyargs]
    for name in [n for n in rest if n in (*positional, *keywords) and n not in only]:
        if name in out:
            raise CompileError(f"{source.name}() got two values for '{name}'", t.loc)
        out[name] = rest.pop(name)
    if spec.kwarg is not None:
        obj = DictObj()
        t.state.heap[obj] = rest
        out[spec.kwarg.arg] = Ref(obj)
    elif rest:
        raise CompileError(
            f"{source.name}() has no argument '{next(iter(rest))}' here", t.loc,
            f"it takes {', '.join((*positional, *keywords)) or 'none'}",
        )  # fmt: skip
    late = dict(zip(positional[len(positional) - len(defaults) :], defaults, strict=True))
    late.update({k: d for k, d in zip(keywords, kw_defaults, strict=True) if d is not None})
    for name in (*positional, *keywords):
        if name not in out:
            if name not in late:
                raise CompileError(f"{source.name}() needs the argument '{name}'", t.loc)
            out[name] = late[name]
    return out
