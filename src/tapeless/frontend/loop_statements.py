"""`for` and `while`: unrolled over values of compile time, else a loop of Core."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import i64
from tapeless.errors import CompileError
from tapeless.frontend.branches import branch
from tapeless.frontend.iteration import counted_or_unrolled, iterate
from tapeless.frontend.loops import LoopSpec, resume, trace_loop
from tapeless.frontend.state import BREAK, CONTINUE, FLOW, NORMAL, RETURNED
from tapeless.frontend.targets import bind
from tapeless.frontend.truth import truth_of
from tapeless.frontend.values import Arr, Known, Many, Num, Value
from tapeless.ir.build import ZERO
from tapeless.ir.syntax import Reverse

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer


class _Names(ast.NodeVisitor):
    """Names that a block binds, names of arrays that it writes, and whether it leaves the loop."""

    def __init__(self) -> None:
        self.names: dict[str, None] = {}
        self.places: dict[str, None] = {}
        self.breaks = self.returns = False
        self.depth = 0

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self.names[node.id] = None

    def visit_Subscript(self, node: ast.Subscript) -> None:
        base: ast.expr = node
        while isinstance(base, ast.Subscript | ast.Attribute):
            base = base.value
        if isinstance(node.ctx, ast.Store) and isinstance(base, ast.Name):
            self.places[base.id] = None
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self.places[node.target.id] = None
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.names[node.name] = None

    def visit_Lambda(self, node: ast.Lambda) -> None:
        return

    def _comprehension(self, node: ast.AST) -> None:
        for inner in ast.walk(node):
            if isinstance(inner, ast.NamedExpr) and isinstance(inner.target, ast.Name):
                self.names[inner.target.id] = None

    visit_ListComp = visit_GeneratorExp = visit_SetComp = visit_DictComp = _comprehension

    def visit_Return(self, node: ast.Return) -> None:
        self.returns = True
        self.generic_visit(node)

    def visit_Break(self, node: ast.Break) -> None:
        self.breaks |= self.depth == 0

    def _loop(self, node: ast.For | ast.While) -> None:
        for child in ast.iter_child_nodes(node):
            inner = child in node.body
            self.depth += inner
            self.visit(child)
            self.depth -= inner

    visit_For = visit_While = _loop


_FOUND: dict[ast.stmt, _Names] = {}


def names_of(stmt: ast.For | ast.While) -> _Names:
    if stmt not in _FOUND:
        found = _FOUND[stmt] = _Names()
        found.visit(stmt.target if isinstance(stmt, ast.For) else stmt.test)
        for inner in stmt.body:
            found.visit(inner)
    return _FOUND[stmt]


def _spec(t: Tracer, stmt: ast.For | ast.While, found: _Names) -> LoopSpec:
    live = t.frame.liveness
    everything = frozenset(found.names)
    written = []
    for name in found.places:
        value = t.frame.locals.get(name)
        is_array = isinstance(value, Arr) and (value.rank > 0 or name not in found.names)
        if isinstance(value, Arr) and is_array and not value.obj.readonly:
            written.append(value.obj)
    return LoopSpec(
        key=stmt, body=lambda: t.rules.block(t, stmt.body), assigned=tuple(found.names),
        head=live.head.get(stmt, everything) | live.always,
        after=live.after.get(stmt, everything) | live.always,
        exits=found.breaks or found.returns, written=tuple(dict.fromkeys(written)),
    )  # fmt: skip


def for_statement(t: Tracer, stmt: ast.For) -> None:
    items = iterate(t, t.evaluate(stmt.iter))
    found = names_of(stmt)
    if isinstance(items, list):
        _unrolled(t, stmt, items)
    else:
        counted_or_unrolled(
            t, items, lambda many: _counted(t, stmt, many, found), lambda xs: _unrolled(t, stmt, xs)
        )
    _after_loop(t, stmt.orelse, found)


def _counted(t: Tracer, stmt: ast.For, items: Many, found: _Names) -> None:
    spec = _spec(t, stmt, found)
    spec.hint = stmt.target.id if isinstance(stmt.target, ast.Name) else "i"
    spec.size = items.size
    spec.reverse = items.reverse or Reverse("each" if items.is_each else "auto")

    def bind_item(counter: Var) -> None:
        bind(t, stmt.target, items.item(counter))

    spec.bind = bind_item
    trace_loop(t, spec)


def _unrolled(t: Tracer, stmt: ast.For, items: Sequence[Value]) -> None:
    """A loop over values of compile time: its body once for each."""

    def run(k: int) -> None:
        for number in range(k, len(items)):
            bind(t, stmt.target, items[number])
            t.rules.block(t, stmt.body)
            flow = t.frame.locals[FLOW]
            if isinstance(flow, Num):
                t.frame.locals[FLOW] = Num(resume(t, flow.atom), weak=True)
                if number + 1 < len(items):
                    continue_if_normal(t, partial(run, number + 1))
                return
            assert isinstance(flow, Known)
            if flow.value == CONTINUE:
                t.frame.locals[FLOW] = Known(NORMAL)
            elif flow.value != NORMAL:
                return

    run(0)


def while_statement(t: Tracer, stmt: ast.While) -> None:
    found = names_of(stmt)
    if _static_passes(t, stmt):
        _after_loop(t, stmt.orelse, found)
        return
    spec = _spec(t, stmt, found)
    spec.test = lambda: truth_of(t, t.evaluate(stmt.test))
    trace_loop(t, spec)
    _after_loop(t, stmt.orelse, found)


MAX_STATIC = 1000


def _static_passes(t: Tracer, stmt: ast.While) -> bool:
    """A loop that is not entered; in the library, also one whose condition is static throughout."""
    for _ in range(MAX_STATIC):
        before, place = t.snapshot(), t.b.here()
        test = truth_of(t, t.evaluate(stmt.test))
        if isinstance(test, Known) and not test.value:
            return True
        if not (isinstance(test, Known) and t.frame.is_library):
            before.restore(t.frames, t.state)
            t.b.rewind(place)
            return False
        t.rules.block(t, stmt.body)
    raise CompileError("a loop of the library does not end", t.loc)


def continue_if_normal(t: Tracer, act: Any) -> None:
    """The rest runs unless the block has been left."""
    flow = t.frame.locals[FLOW]
    assert isinstance(flow, Num)

    def go_on() -> None:
        t.frame.locals[FLOW] = Known(NORMAL)
        t.frame.locals.pop(RETURNED, None)
        act()

    branch(t, Num(_is_flow(t, flow, NORMAL)), go_on, lambda: None)


def _is_flow(t: Tracer, flow: Num, code: int) -> Atom:
    return t.b.prim("eq", flow.atom, Const(code, i64))


def _after_loop(t: Tracer, orelse: list[ast.stmt], found: _Names) -> None:
    """The loop's `else`, and what its `break` and `return` mean outside it."""
    flow = t.frame.locals[FLOW]
    if orelse:
        if isinstance(flow, Num):
            continue_if_normal(t, lambda: t.rules.block(t, orelse))
        elif isinstance(flow, Known) and flow.value == NORMAL:
            t.rules.block(t, orelse)
        flow = t.frame.locals[FLOW]
    if isinstance(flow, Known):
        if flow.value == BREAK:
            t.frame.locals[FLOW] = Known(NORMAL)
        return
    assert isinstance(flow, Num)
    if not found.returns and not orelse:
        t.frame.locals[FLOW] = Known(NORMAL)
        return
    now = t.b.prim("select", _is_flow(t, flow, BREAK), ZERO, flow.atom)
    t.frame.locals[FLOW] = Num(now, weak=True)
