"""Statements of the language."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tapeless.core.exceptions import exception_named
from tapeless.errors import UnsupportedError
from tapeless.frontend.attributes import attribute
from tapeless.frontend.branches import branch
from tapeless.frontend.cells import write_name
from tapeless.frontend.expressions import closure, evaluate, formatted
from tapeless.frontend.inline import terminates
from tapeless.frontend.loop_statements import continue_if_normal, for_statement, while_statement
from tapeless.frontend.operators import augment, binary, update
from tapeless.frontend.outside import TRUSTED
from tapeless.frontend.state import BREAK, CONTINUE, DEAD, FLOW, NORMAL, RETURN, RETURNED
from tapeless.frontend.targets import bind, named, set_attribute
from tapeless.frontend.truth import truth_of
from tapeless.frontend.values import NONE, Arr, Known
from tapeless.ir.build import FALSE

if TYPE_CHECKING:
    from tapeless.core.names import Atom
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
            continue_if_normal(t, partial(block, t, rest))
            return
        else:
            return


REFUSED: dict[type, tuple[str, str]] = {
    ast.Try: ("'try' is not supported", "test for the condition with 'if', or let the error rise"),
    ast.With: ("this 'with' is not supported", "only np.errstate and the package's own blocks are"),
    ast.Delete: ("'del' is not supported", "leave the name: the compiler plans the memory"),
    ast.Match: ("'match' is not supported", "write it as 'if'/'elif'"),
    ast.Global: ("'global' is not supported", "pass the value as an argument and return it"),
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
    live = t.frame.liveness
    names = live.end.get(stmt) if rest else live.after.get(stmt)
    branch(t, test, lambda: block(t, then), lambda: block(t, orelse),
           None if names is None else names | live.always)  # fmt: skip
    return bool(rest)


def _is_plain_raise(stmts: Sequence[ast.stmt]) -> bool:
    """A lone raise whose message reads nothing that could fail."""
    if len(stmts) != 1 or not isinstance(stmts[0], ast.Raise) or stmts[0].exc is None:
        return False
    allowed = (
        ast.Raise,
        ast.Call,
        ast.Name,
        ast.Constant,
        ast.JoinedStr,
        ast.FormattedValue,
        ast.Load,
    )
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


def _aug_assign(t: Tracer, stmt: ast.AugAssign) -> None:
    value = evaluate(t, stmt.value)
    op = type(stmt.op).__name__
    match stmt.target:
        case ast.Name(id=name):
            load = ast.copy_location(ast.Name(name, ast.Load()), stmt.target)
            write_name(t, name, named(t, augment(t, op, evaluate(t, load), value), name))
        case ast.Subscript(value=base, slice=index):
            place, at = evaluate(t, base), evaluate(t, index)
            update(t, place, at, op, value)
        case ast.Attribute(value=owner, attr=attr):
            holder = evaluate(t, owner)
            now = attribute(t, holder, attr)
            is_part = isinstance(holder, Arr) and holder.is_complex and attr in ("real", "imag")
            after = binary(t, op, now, value) if is_part else augment(t, op, now, value)
            if after is not now:
                set_attribute(t, holder, attr, after)


def _return(t: Tracer, stmt: ast.Return) -> None:
    t.frame.locals[RETURNED] = NONE if stmt.value is None else evaluate(t, stmt.value)
    t.frame.locals[FLOW] = Known(RETURN)


def _assert(t: Tracer, stmt: ast.Assert) -> None:
    if not t.checks:
        return
    test = truth_of(t, evaluate(t, stmt.test))
    template, args = ("", ()) if stmt.msg is None else formatted(t, stmt.msg)
    if isinstance(test, Known):
        if not test.value:
            t.b.check(FALSE, "AssertionError", template, *args)
            t.frame.locals[FLOW] = Known(DEAD)
        return
    t.b.check(test.atom, "AssertionError", template, *args)


def _raise(t: Tracer, stmt: ast.Raise) -> None:
    _raise_unless(t, FALSE, stmt)
    t.frame.locals[FLOW] = Known(DEAD)


def _raise_unless(t: Tracer, cond: Atom, stmt: ast.stmt) -> None:
    """raise Builtin("message") unless `cond`."""
    assert isinstance(stmt, ast.Raise)
    exc = stmt.exc
    if exc is None:
        raise UnsupportedError("a bare 'raise' is not supported", t.loc, "raise ValueError(...)")
    call = exc if isinstance(exc, ast.Call) else None
    cls = evaluate(t, call.func if call else exc)
    name = getattr(cls.value, "__name__", "") if isinstance(cls, Known) else ""
    if not isinstance(cls, Known) or exception_named(name) is not cls.value:
        raise UnsupportedError(
            "only builtin exceptions can be raised", t.loc, "raise ValueError(...)"
        )
    template, args = formatted(t, call.args[0]) if call and call.args else ("", ())
    t.b.check(cond, name, template, *args)


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
    write_name(t, stmt.name, closure(t, stmt, stmt.name))


def _with(t: Tracer, stmt: ast.With) -> None:
    """np.errstate is ignored: native code never warns."""
    for item in stmt.items:
        context = item.context_expr
        cls = evaluate(t, context.func) if isinstance(context, ast.Call) else None
        if (
            not (isinstance(cls, Known) and cls.value is np.errstate)
            or item.optional_vars is not None
        ):
            _refuse(t, stmt)
    block(t, stmt.body)


def _import(t: Tracer, stmt: ast.Import | ast.ImportFrom) -> None:
    """Of the modules that the compiler knows: what others define could change unseen."""
    wanted = [a.name for a in stmt.names] if isinstance(stmt, ast.Import) else [stmt.module or ""]
    is_relative = isinstance(stmt, ast.ImportFrom) and stmt.level > 0
    if is_relative or any(w.partition(".")[0] not in TRUSTED for w in wanted):
        raise UnsupportedError(f"'import {wanted[0]}' inside a compiled function is not supported",
                               t.loc, "import it at the top of the file")  # fmt: skip
    for alias in stmt.names:
        if isinstance(stmt, ast.Import):
            module = importlib.import_module(alias.name)
            name = alias.asname or alias.name.split(".")[0]
            t.frame.locals[name] = Known(module if alias.asname else importlib.import_module(name))
        else:
            module = importlib.import_module(stmt.module or "")
            t.frame.locals[alias.asname or alias.name] = Known(getattr(module, alias.name))


STATEMENTS: dict[type, Callable[[Tracer, Any], None]] = {
    ast.Expr: _expression, ast.Assign: _assign, ast.AnnAssign: _annotated,
    ast.AugAssign: _aug_assign, ast.Return: _return, ast.Assert: _assert, ast.Raise: _raise,
    ast.Pass: _pass, ast.Break: _break, ast.Continue: _continue, ast.For: for_statement,
    ast.While: while_statement, ast.FunctionDef: _function, ast.With: _with, ast.Import: _import,
    ast.ImportFrom: _import, ast.Nonlocal: _pass,
}  # fmt: skip
