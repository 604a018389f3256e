"""Statements of the language."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tapeless.core.names import Const, Var
from tapeless.core.types import i64
from tapeless.errors import CompileError, UnsupportedError
from tapeless.frontend import arrays, indexing
from tapeless.frontend.control import branch, resume, trace_loop
from tapeless.frontend.expressions import augment, evaluate, formatted
from tapeless.frontend.iteration import Items, iterate
from tapeless.frontend.scalars import truth
from tapeless.frontend.state import BREAK, CONTINUE, DEAD, FLOW, NORMAL, RETURN, RETURNED
from tapeless.frontend.values import (
    NONE, Arr, DictObj, Fn, InstanceObj, Known, ListObj, Many, Num, Ref, Tup, Value,
)  # fmt: skip

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer


def block(t: Tracer, stmts: Sequence[ast.stmt]) -> None:
    """Statements in order, until one leaves the block."""
    for k, stmt in enumerate(stmts):
        rest = stmts[k + 1 :]
        with t.at(stmt):
            if isinstance(stmt, ast.If):
                if _if(t, stmt, rest):
                    return
            else:
                rule = STATEMENTS.get(type(stmt))
                if rule is None:
                    _refuse(t, stmt)
                else:
                    rule(t, stmt)
        flow = t.frame.locals[FLOW]
        if isinstance(flow, Known):
            if flow.value != NORMAL:
                return
        elif rest:
            _continue_if_normal(t, lambda rest=rest: block(t, rest))  # type: ignore[misc]
            return
        else:
            return


def _continue_if_normal(t: Tracer, act: Callable[[], None]) -> None:
    """The rest runs unless the block has been left."""
    flow = t.frame.locals[FLOW]
    assert isinstance(flow, Num)

    def go_on() -> None:
        t.frame.locals[FLOW] = Known(NORMAL)
        t.frame.locals.pop(RETURNED, None)
        act()

    branch(t, Num(t.b.prim("eq", flow.atom, Const(NORMAL, i64))), go_on, lambda: None)


REFUSED: dict[type, tuple[str, str]] = {
    ast.Try: ("'try' is not supported", "test for the condition with 'if', or let the error rise"),
    ast.With: ("this 'with' is not supported", "only np.errstate and the package's own blocks are"),
    ast.Delete: ("'del' is not supported", "leave the name alone; memory is planned by the compiler"),
    ast.Match: ("'match' is not supported", "write it as 'if'/'elif'"),
    ast.Global: ("'global' is not supported", "pass the value as an argument and return it"),
    ast.Nonlocal: ("'nonlocal' is not supported", "return the value from the inner function"),
    ast.ClassDef: ("a class inside compiled code is not supported", "define it outside"),
    ast.AsyncFunctionDef: ("'async' is not supported", "use an ordinary function"),
    ast.AsyncFor: ("'async' is not supported", "use an ordinary loop"),
    ast.AsyncWith: ("'async' is not supported", "use ordinary code"),
}  # fmt: skip


def _refuse(t: Tracer, stmt: ast.stmt) -> None:
    message, remedy = REFUSED.get(
        type(stmt), (f"this statement ({type(stmt).__name__}) is not supported", "rewrite it")
    )
    raise UnsupportedError(message, t.loc, remedy)


# Branches -----------------------------------------------------------------------------------


def terminates(stmts: Sequence[ast.stmt]) -> bool:
    """Whether every path through the block leaves it."""
    if not stmts:
        return False
    last = stmts[-1]
    if isinstance(last, ast.Return | ast.Break | ast.Continue | ast.Raise):
        return True
    return isinstance(last, ast.If) and terminates(last.body) and terminates(last.orelse)


def _if(t: Tracer, stmt: ast.If, rest: Sequence[ast.stmt]) -> bool:
    """Returns whether the statements after the If have been run with it."""
    test = truth_of(t, evaluate(t, stmt.test))
    if isinstance(test, Known):
        block(t, stmt.body if test.value else stmt.orelse)
        return False
    if not stmt.orelse and _is_plain_raise(stmt.body):
        _raise_unless(t, t.b.prim("not", test.atom), stmt.body[0])
        return False
    then, orelse = list(stmt.body), list(stmt.orelse)
    if terminates(then):
        orelse += rest
    elif terminates(orelse):
        then += rest
    else:
        rest = ()
    branch(t, test, lambda: block(t, then), lambda: block(t, orelse))
    return bool(rest)


def truth_of(t: Tracer, value: Value) -> Known | Num:
    """The condition that Python's `if` makes of a value."""
    value = arrays.scalar_value(t, value)
    match value:
        case Arr():
            if all(isinstance(s, Const) and s.value == 1 for s in value.shape):
                return truth(t, arrays.element(t, value, (Const(0, i64),) * value.rank))
            raise CompileError("the truth of an array with several elements is ambiguous", t.loc,
                               "use .any() or .all()")  # fmt: skip
        case Tup(items):
            return Known(bool(items))
        case Ref(ListObj() as obj):
            content = t.state.heap[obj]
            if isinstance(content, tuple):
                return Known(bool(content))
            return Num(t.b.prim("ne", content.size, Const(0, i64)), weak=True)
        case Ref(DictObj() as obj):
            return Known(bool(t.state.heap[obj]))
        case Known() | Num():
            return truth(t, value)
        case _ if hasattr(value, "re"):
            return truth(t, value)
    return Known(True)


def _is_plain_raise(stmts: Sequence[ast.stmt]) -> bool:
    """A lone raise whose message reads nothing that could fail."""
    if len(stmts) != 1 or not isinstance(stmts[0], ast.Raise) or stmts[0].exc is None:
        return False
    allowed = (ast.Raise, ast.Call, ast.Name, ast.Constant, ast.JoinedStr, ast.FormattedValue, ast.Load)
    return all(isinstance(n, allowed) for n in ast.walk(stmts[0]))


# Simple statements --------------------------------------------------------------------------


def _expression(t: Tracer, stmt: ast.Expr) -> None:
    if isinstance(stmt.value, ast.Constant):
        return
    if isinstance(stmt.value, ast.Yield | ast.YieldFrom):
        raise UnsupportedError("'yield' is not supported", t.loc, "return an array or a tuple")
    evaluate(t, stmt.value)


def _assign(t: Tracer, stmt: ast.Assign) -> None:
    value = evaluate(t, stmt.value)
    for target in stmt.targets:
        bind(t, target, value)


def _annotated(t: Tracer, stmt: ast.AnnAssign) -> None:
    if stmt.value is not None:
        bind(t, stmt.target, evaluate(t, stmt.value))


def bind(t: Tracer, target: ast.expr, value: Value) -> None:
    """target = value, for every kind of target."""
    match target:
        case ast.Name(id=name):
            t.frame.locals[name] = named(value, name)
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            _unpack(t, target, elts, value)
        case ast.Subscript(value=base, slice=index):
            with t.at(target):
                indexing.store(t, evaluate(t, base), evaluate(t, index), value)
        case ast.Attribute(value=owner, attr=attr):
            with t.at(target):
                _set_attribute(t, evaluate(t, owner), attr, value)
        case _:
            raise UnsupportedError("this target of an assignment is not supported", t.loc)


def named(value: Value, name: str) -> Value:
    """Gives new variables the user's name, for printing."""
    match value:
        case Num(atom=Var() as var) if var.hint == "t":
            var.hint = name
        case Arr(obj, None) if not obj.name:
            obj.name = name
    return value


def _unpack(t: Tracer, target: ast.expr, elts: list[ast.expr], value: Value) -> None:
    items = iterate(t, value)
    star = next((k for k, e in enumerate(elts) if isinstance(e, ast.Starred)), None)
    values = static_items(t, items, None if star is not None else len(elts))
    if star is None:
        if len(values) != len(elts):
            raise CompileError(f"cannot unpack {len(values)} values into {len(elts)} names", t.loc)
        for elt, item in zip(elts, values, strict=True):
            bind(t, elt, item)
        return
    after = len(elts) - star - 1
    if len(values) < len(elts) - 1:
        raise CompileError(f"cannot unpack {len(values)} values into {len(elts) - 1} or more", t.loc)
    for elt, item in zip(elts[:star], values[:star], strict=True):
        bind(t, elt, item)
    starred = elts[star]
    assert isinstance(starred, ast.Starred)
    bind(t, starred.value, indexing.new_list(t, tuple(values[star : len(values) - after])))
    for elt, item in zip(elts[star + 1 :], values[len(values) - after :], strict=True):
        bind(t, elt, item)


def static_items(t: Tracer, items: Items, want: int | None) -> list[Value]:
    """The items of something whose length is known, or is checked to be `want`."""
    if isinstance(items, list):
        return items
    size = items.size
    if isinstance(size, Const):
        return [items.item(Const(k, i64)) for k in range(int(size.value))]
    if want is None:
        raise CompileError("cannot unpack something of run-time length", t.loc)
    t.b.check(t.b.prim("eq", size, Const(want, i64)), "ValueError",
              f"expected {want} values to unpack, got {{0}}", size)  # fmt: skip
    return [items.item(Const(k, i64)) for k in range(want)]


def _set_attribute(t: Tracer, owner: Value, attr: str, value: Value) -> None:
    match owner:
        case Ref(InstanceObj() as obj):
            if obj.readonly:
                raise CompileError(f"the field '{attr}' of an argument cannot be rebound", t.loc,
                                   "make a changed copy with dataclasses.replace(...)")  # fmt: skip
            t.state.heap[obj] = {**t.state.heap[obj], attr: value}
        case Arr() if attr == "shape":
            raise UnsupportedError("assigning .shape is not supported", t.loc, "use .reshape(...)")
        case Arr() if attr in ("real", "imag", "T", "flat"):
            from tapeless.frontend.attributes import attribute  # noqa: PLC0415

            part = attribute(t, owner, attr)
            assert isinstance(part, Arr)
            arrays.assign(t, part, value)
        case _:
            raise CompileError(f"cannot set '{attr}' of {t.describe(owner)}", t.loc)


def _aug_assign(t: Tracer, stmt: ast.AugAssign) -> None:
    value = evaluate(t, stmt.value)
    op = type(stmt.op).__name__
    match stmt.target:
        case ast.Name(id=name):
            load = ast.copy_location(ast.Name(name, ast.Load()), stmt.target)
            t.frame.locals[name] = named(augment(t, op, evaluate(t, load), value), name)
        case ast.Subscript(value=base, slice=index):
            place, at = evaluate(t, base), evaluate(t, index)
            indexing.update(t, place, at, op, value)
        case ast.Attribute(value=owner, attr=attr) as target:
            load = ast.copy_location(ast.Attribute(owner, attr, ast.Load()), target)
            now = evaluate(t, load)
            after = augment(t, op, now, value)
            if after is not now:
                _set_attribute(t, evaluate(t, owner), attr, after)


def _return(t: Tracer, stmt: ast.Return) -> None:
    t.frame.locals[RETURNED] = NONE if stmt.value is None else evaluate(t, stmt.value)
    t.frame.locals[FLOW] = Known(RETURN)


def _assert(t: Tracer, stmt: ast.Assert) -> None:
    test = truth_of(t, evaluate(t, stmt.test))
    template, args = ("", ()) if stmt.msg is None else formatted(t, stmt.msg)
    if isinstance(test, Known):
        if not test.value:
            t.b.check(Const(False, _bool()), "AssertionError", template, *args)
            t.frame.locals[FLOW] = Known(DEAD)
        return
    t.b.check(test.atom, "AssertionError", template, *args)


def _bool() -> Any:
    from tapeless.core.types import bool_  # noqa: PLC0415

    return bool_


def _raise(t: Tracer, stmt: ast.Raise) -> None:
    _raise_unless(t, Const(False, _bool()), stmt)
    t.frame.locals[FLOW] = Known(DEAD)


def _raise_unless(t: Tracer, cond: Any, stmt: ast.stmt) -> None:
    """raise Builtin("message") unless `cond`."""
    assert isinstance(stmt, ast.Raise)
    exc = stmt.exc
    if exc is None:
        raise UnsupportedError("a bare 'raise' is not supported", t.loc, "raise ValueError(...)")
    call = exc if isinstance(exc, ast.Call) else None
    cls = evaluate(t, call.func if call else exc)
    if not (isinstance(cls, Known) and isinstance(cls.value, type)
            and issubclass(cls.value, BaseException) and cls.value.__module__ == "builtins"):  # fmt: skip
        raise UnsupportedError("only builtin exceptions can be raised", t.loc, "raise ValueError(...)")
    template, args = formatted(t, call.args[0]) if call and call.args else ("", ())
    t.b.check(cond, cls.value.__name__, template, *args)


def _pass(t: Tracer, stmt: ast.stmt) -> None:
    return


def _break(t: Tracer, stmt: ast.stmt) -> None:
    t.frame.locals[FLOW] = Known(BREAK)


def _continue(t: Tracer, stmt: ast.stmt) -> None:
    t.frame.locals[FLOW] = Known(CONTINUE)


def _function(t: Tracer, stmt: ast.FunctionDef) -> None:
    if stmt.decorator_list:
        raise UnsupportedError("decorators inside compiled code are not supported", t.loc,
                               "decorate the function outside")  # fmt: skip
    from tapeless.frontend.expressions import closure  # noqa: PLC0415

    t.frame.locals[stmt.name] = closure(t, stmt, stmt.name)


def _with(t: Tracer, stmt: ast.With) -> None:
    """np.errstate is ignored: native code never warns."""
    import numpy as np  # noqa: PLC0415

    for item in stmt.items:
        context = item.context_expr
        cls = evaluate(t, context.func) if isinstance(context, ast.Call) else None
        if not (isinstance(cls, Known) and cls.value is np.errstate) or item.optional_vars is not None:
            _refuse(t, stmt)
    block(t, stmt.body)


def _import(t: Tracer, stmt: ast.Import | ast.ImportFrom) -> None:
    import importlib  # noqa: PLC0415

    for alias in stmt.names:
        if isinstance(stmt, ast.Import):
            module = importlib.import_module(alias.name)
            name = alias.asname or alias.name.split(".")[0]
            t.frame.locals[name] = Known(module if alias.asname else importlib.import_module(name))
        else:
            module = importlib.import_module(stmt.module or "")
            t.frame.locals[alias.asname or alias.name] = Known(getattr(module, alias.name))


# Loops --------------------------------------------------------------------------------------


class _Names(ast.NodeVisitor):
    """Names that a block binds, and whether it breaks out or returns."""

    def __init__(self) -> None:
        self.names: dict[str, None] = {}
        self.breaks = self.returns = False
        self.depth = 0

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self.names[node.id] = None

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.names[node.name] = None

    def visit_Lambda(self, node: ast.Lambda) -> None:
        return

    def _comprehension(self, node: ast.AST) -> None:
        for inner in ast.walk(node):
            if isinstance(inner, ast.NamedExpr) and isinstance(inner.target, ast.Name):
                self.names[inner.target.id] = None

    visit_ListComp = visit_GeneratorExp = visit_SetComp = visit_DictComp = _comprehension  # noqa: N815

    def visit_Return(self, node: ast.Return) -> None:
        self.returns = True
        self.generic_visit(node)

    def visit_Break(self, node: ast.Break) -> None:
        self.breaks |= self.depth == 0

    def _loop(self, node: ast.For | ast.While) -> None:
        for field in ast.iter_child_nodes(node):
            inner = field in node.body
            self.depth += inner
            self.visit(field)
            self.depth -= inner

    visit_For = visit_While = _loop


def names_of(stmts: Sequence[ast.stmt], target: ast.expr | None = None) -> _Names:
    found = _Names()
    if target is not None:
        found.visit(target)
    for stmt in stmts:
        found.visit(stmt)
    return found


def _for(t: Tracer, stmt: ast.For) -> None:
    items = iterate(t, evaluate(t, stmt.iter))
    found = names_of(stmt.body, stmt.target)
    if isinstance(items, list):
        _unrolled(t, stmt, items)
        _after_loop(t, stmt.orelse, found)
        return
    if isinstance(items, Many) and isinstance(items.size, Const) and items.size.value <= MAX_UNROLL:
        from tapeless.frontend.iteration import NeedsStatic  # noqa: PLC0415

        before, count, memo = t.snapshot(), len(t.b.scopes[-1]), dict(t.b.memo[-1])
        try:
            _counted(t, stmt, items, found)
        except NeedsStatic:
            before.restore(t.frames, t.state)
            del t.b.scopes[-1][count:]
            t.b.memo[-1] = memo
            _unrolled(t, stmt, [items.item(Const(k, i64)) for k in range(int(items.size.value))])
    else:
        _counted(t, stmt, items, found)
    _after_loop(t, stmt.orelse, found)


MAX_UNROLL = 64


def _counted(t: Tracer, stmt: ast.For, items: Many, found: _Names) -> None:
    hint = stmt.target.id if isinstance(stmt.target, ast.Name) else "i"

    def bind_item(counter: Var) -> None:
        bind(t, stmt.target, items.item(counter))

    trace_loop(t, items.size, None, bind_item, lambda: block(t, stmt.body), list(found.names),
               found.breaks or found.returns, hint, items.reverse)  # fmt: skip


def _unrolled(t: Tracer, stmt: ast.For, items: list[Value]) -> None:
    """A loop over values of compile time: its body once for each."""

    def run(k: int) -> None:
        for item_number in range(k, len(items)):
            bind(t, stmt.target, items[item_number])
            block(t, stmt.body)
            flow = t.frame.locals[FLOW]
            if isinstance(flow, Num):
                now = resume(t, flow.atom)
                t.frame.locals[FLOW] = Num(now, weak=True)
                if item_number + 1 < len(items):
                    _continue_if_normal(t, lambda n=item_number + 1: run(n))  # type: ignore[misc]
                return
            if flow.value == CONTINUE:
                t.frame.locals[FLOW] = Known(NORMAL)
            elif flow.value != NORMAL:
                return

    run(0)


def _while(t: Tracer, stmt: ast.While) -> None:
    found = names_of(stmt.body)
    for node in ast.walk(stmt.test):
        if isinstance(node, ast.NamedExpr) and isinstance(node.target, ast.Name):
            found.names[node.target.id] = None
    trace_loop(t, None, lambda: truth_of(t, evaluate(t, stmt.test)), None,
               lambda: block(t, stmt.body), list(found.names), found.breaks or found.returns)  # fmt: skip
    _after_loop(t, stmt.orelse, found)


def _after_loop(t: Tracer, orelse: list[ast.stmt], found: _Names) -> None:
    """The loop's `else`, and what its `return` means outside it."""
    flow = t.frame.locals[FLOW]
    if orelse:
        if isinstance(flow, Known):
            if flow.value == NORMAL:
                block(t, orelse)
        else:
            def other() -> None:
                t.frame.locals[FLOW] = Known(NORMAL)
                block(t, orelse)

            branch(t, Num(t.b.prim("eq", flow.atom, Const(NORMAL, i64))), other, lambda: None)
        flow = t.frame.locals[FLOW]
    if isinstance(flow, Known):
        if flow.value == BREAK:
            t.frame.locals[FLOW] = Known(NORMAL)
    elif not found.returns and not orelse:
        t.frame.locals[FLOW] = Known(NORMAL)
    else:
        broke = t.b.prim("eq", flow.atom, Const(BREAK, i64))
        t.frame.locals[FLOW] = Num(t.b.prim("select", broke, Const(NORMAL, i64), flow.atom), True)


STATEMENTS: dict[type, Callable[[Tracer, Any], None]] = {
    ast.Expr: _expression, ast.Assign: _assign, ast.AnnAssign: _annotated, ast.AugAssign: _aug_assign,
    ast.Return: _return, ast.Assert: _assert, ast.Raise: _raise, ast.Pass: _pass, ast.Break: _break,
    ast.Continue: _continue, ast.For: _for, ast.While: _while, ast.FunctionDef: _function,
    ast.With: _with, ast.Import: _import, ast.ImportFrom: _import,
}  # fmt: skip

__all__ = ["Fn", "block", "bind", "names_of", "static_items", "terminates", "truth_of"]
