"""Names that nested functions rebind (`nonlocal`): each lives on the heap, in a cell that the
frames of both functions share, so that branches and loops join it like the field of an object."""

from __future__ import annotations

import ast
import functools
from typing import TYPE_CHECKING

from tapeless.frontend.values import DictObj, Unbound, Value

if TYPE_CHECKING:
    from tapeless.frontend.state import Frame
    from tapeless.frontend.tracer import Tracer

Functions = ast.FunctionDef | ast.Lambda


@functools.lru_cache(maxsize=1024)
def _declared(node: ast.FunctionDef) -> tuple[frozenset[str], frozenset[str]]:
    """Names that the function declares nonlocal, and those that functions inside it do."""
    own: set[str] = set()
    inner: set[str] = set()
    todo: list[tuple[ast.AST, bool]] = [(stmt, True) for stmt in node.body]
    while todo:
        now, is_own = todo.pop()
        if isinstance(now, ast.Nonlocal):
            (own if is_own else inner).update(now.names)
        is_own = is_own and not isinstance(now, Functions)
        todo += [(child, is_own) for child in ast.iter_child_nodes(now)]
    return frozenset(own), frozenset(inner)


def open_cells(t: Tracer, frame: Frame) -> None:
    """Cells for the function's names that others rebind; those of others for the names that it
    rebinds."""
    assert isinstance(frame.source.node, ast.FunctionDef)
    own, inner = _declared(frame.source.node)
    for name in sorted(own):
        frame.cells[name] = _found(frame, name)
    for name in sorted(inner - own):
        obj = frame.cells[name] = DictObj()
        t.state.heap[obj] = {name: frame.locals.pop(name)} if name in frame.locals else {}


def _found(frame: Frame, name: str) -> DictObj:
    scope = frame.parent
    while scope is not None and name not in scope.cells:
        scope = scope.parent
    assert scope is not None  # or Python would not have compiled the function
    return scope.cells[name]


def read_cell(t: Tracer, frame: Frame, name: str) -> Value:
    content: dict[str, Value] = t.state.heap[frame.cells[name]]
    return content.get(name, Unbound(f"'{name}' is used before it is given a value"))


def write_name(t: Tracer, name: str, value: Value) -> None:
    """name = value in the running function."""
    cell = t.frame.cells.get(name)
    if cell is None:
        t.frame.locals[name] = value
    else:
        t.state.heap[cell] = {name: value}
