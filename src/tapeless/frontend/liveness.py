"""Which names may still be read: at the end of a branch, at the head of a loop and after it.

What is not live need not agree between paths, nor travel through a loop.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

Names = frozenset[str]
NOTHING: Names = frozenset()
Functions = ast.FunctionDef | ast.Lambda


@dataclass(slots=True)
class Liveness:
    """`after`: names live behind a statement. `head`: at the start of every pass of a loop.
    `always`: names that nested functions read, at any time."""

    always: Names = NOTHING
    after: dict[ast.stmt, Names] = field(default_factory=dict)
    end: dict[ast.stmt, Names] = field(default_factory=dict)
    head: dict[ast.stmt, Names] = field(default_factory=dict)


def liveness(function: Functions) -> Liveness:
    found = Liveness()
    if isinstance(function, ast.Lambda):
        return found
    inner = (n for s in function.body for n in ast.walk(s) if isinstance(n, Functions))
    found.always = frozenset(n.id for f in inner for n in ast.walk(f) if isinstance(n, ast.Name))
    _Flow(found).block(function.body, NOTHING)
    return found


def reads(nodes: Iterable[ast.AST | None]) -> set[str]:
    """Names read by expressions (names bound by comprehensions count too: no harm)."""
    out: set[str] = set()
    for node in nodes:
        if node is not None:
            out.update(n.id for n in ast.walk(node)
                       if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))  # fmt: skip
    return out


def written(targets: Iterable[ast.expr]) -> set[str]:
    """Names that an assignment binds."""
    out: set[str] = set()
    for target in targets:
        if isinstance(target, ast.Name):
            out.add(target.id)
        elif isinstance(target, ast.Tuple | ast.List):
            out |= written(target.elts)
        elif isinstance(target, ast.Starred):
            out |= written([target.value])
    return out


class _Flow:
    """Backwards through a function; `leave` and `again`: live at break and at continue."""

    def __init__(self, found: Liveness) -> None:
        self.found = found
        self.leave: Names = NOTHING
        self.again: Names = NOTHING

    def block(self, stmts: Sequence[ast.stmt], after: Names) -> Names:
        end = after
        for stmt in reversed(stmts):
            if isinstance(stmt, ast.If | ast.For | ast.While | ast.With):
                exits = self.exits(stmt)
                self.found.after[stmt] = after | exits
                self.found.end[stmt] = end | exits
            after = self.stmt(stmt, after)
        return after

    def exits(self, stmt: ast.stmt) -> Names:
        """Names live where a `break` or `continue` inside the statement goes."""
        out: Names = NOTHING
        for inner in ast.walk(stmt):
            if isinstance(inner, ast.Break):
                out |= self.leave
            elif isinstance(inner, ast.Continue):
                out |= self.again
        return out

    def stmt(self, stmt: ast.stmt, after: Names) -> Names:
        match stmt:
            case ast.Assign(targets=targets, value=value):
                kept = after - written(targets)
                return kept | reads([value, *(t for t in targets if not isinstance(t, ast.Name))])
            case ast.AnnAssign(target=target, value=value):
                kept = after - written([target]) if value is not None else after
                return kept | reads([value, *([] if isinstance(target, ast.Name) else [target])])
            case ast.AugAssign(target=target):
                names = {target.id} if isinstance(target, ast.Name) else reads([target])
                return after | names | reads([stmt.value])
            case ast.If(test=test, body=body, orelse=orelse):
                return self.block(body, after) | self.block(orelse, after) | reads([test])
            case ast.For() | ast.While():
                return self.loop(stmt, after)
            case ast.With(items=items, body=body):
                return self.block(body, after) | reads(i.context_expr for i in items)
            case ast.Return(value=value):
                return frozenset(reads([value]))
            case ast.Raise(exc=exc):
                return frozenset(reads([exc]))
            case ast.Break():
                return self.leave
            case ast.Continue():
                return self.again
            case ast.FunctionDef(name=name):
                return (after - {name}) | reads([stmt])
        return after | reads([stmt])

    def loop(self, stmt: ast.For | ast.While, after: Names) -> Names:
        outer = self.leave, self.again
        ended = self.block(stmt.orelse, after)
        bound = written([stmt.target]) if isinstance(stmt, ast.For) else set()
        own = reads([stmt.test]) if isinstance(stmt, ast.While) else set()
        head: Names = frozenset(ended | own)
        for _ in range(2):  # a second round sees what the first found live at the head
            self.leave, self.again = after, head
            head = head | (self.block(stmt.body, head) - bound)
        self.leave, self.again = outer
        self.found.head[stmt] = head
        return head | (reads([stmt.iter]) if isinstance(stmt, ast.For) else set())
