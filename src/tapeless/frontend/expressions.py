"""Expressions of the language."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tapeless.core.names import Atom
from tapeless.errors import CompileError, NameNotDefinedError, UnsupportedError
from tapeless.frontend.arrays import scalar_value
from tapeless.frontend.attributes import attribute
from tapeless.frontend.branches import branch
from tapeless.frontend.calls import call
from tapeless.frontend.capture import Source
from tapeless.frontend.cells import read_cell
from tapeless.frontend.comprehensions import as_list, dict_of
from tapeless.frontend.indexing import new_list, subscript
from tapeless.frontend.iteration import Items, iterate
from tapeless.frontend.operators import binary, compare, unary
from tapeless.frontend.state import Frame
from tapeless.frontend.truth import negation, short_circuit, truth_of
from tapeless.frontend.unpacking import pack_tuple, static_items
from tapeless.frontend.values import (
    DictObj,
    Fn,
    Gen,
    Known,
    Maybe,
    Num,
    Ref,
    Slice,
    Unbound,
    Value,
)

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer


def evaluate(t: Tracer, node: ast.expr) -> Value:
    """The value of an expression; statements are emitted as needed."""
    rule = EXPRESSIONS.get(type(node))
    before = t.b.loc
    frame = t.frames[-1]
    if not frame.is_hidden:
        t.b.loc = frame.source.loc(node)
    if rule is None:
        raise UnsupportedError(f"this expression ({type(node).__name__}) is not supported", t.loc,
                               "write it with a loop or a function")  # fmt: skip
    value = rule(t, node)
    t.b.loc = before
    return value


def _constant(t: Tracer, node: ast.Constant) -> Value:
    return Known(node.value)


# Names --------------------------------------------------------------------------------------


def _name(t: Tracer, node: ast.Name) -> Value:
    value = lookup(t, t.frame, node.id)
    if isinstance(value, Unbound):
        raise NameNotDefinedError(
            value.reason or f"'{node.id}' is not defined", t.loc,
            f"give '{node.id}' a value on every path before it is used",
        )  # fmt: skip
    if isinstance(value, Maybe):
        t.b.check(value.ran, "UnboundLocalError",
                  f"'{node.id}' has no value: the loop that sets it did not run")  # fmt: skip
        t.frame.locals[node.id] = value.value
        return value.value
    return value


def lookup(t: Tracer, frame: Frame, name: str) -> Value:
    """A name, from the frame outward to closures, globals and builtins."""
    scope: Frame | None = frame
    while scope is not None:
        if name in scope.cells:
            return read_cell(t, scope, name)
        if name in scope.locals:
            return scope.locals[name]
        if scope.parent is None:
            break
        scope = scope.parent
    assert scope is not None
    if name in scope.captured:
        return t.outside.captured(t, scope, "cell", name)
    if name in scope.globals or hasattr(builtins, name):
        return t.outside.captured(t, scope, "global", name)
    return Unbound(f"'{name}' is not defined")


def _named(t: Tracer, node: ast.NamedExpr) -> Value:
    value = evaluate(t, node.value)
    t.rules.bind(t, node.target, value)
    return value


# Operators ----------------------------------------------------------------------------------


def _binary(t: Tracer, node: ast.BinOp) -> Value:
    left = evaluate(t, node.left)
    return binary(t, type(node.op).__name__, left, evaluate(t, node.right))


def _unary(t: Tracer, node: ast.UnaryOp) -> Value:
    value = evaluate(t, node.operand)
    if isinstance(node.op, ast.Not):
        return negation(t, value)
    return unary(t, type(node.op).__name__, value)


def _compare(t: Tracer, node: ast.Compare) -> Value:
    left = evaluate(t, node.left)
    if len(node.ops) == 1:
        return compare(t, type(node.ops[0]).__name__, left, evaluate(t, node.comparators[0]))
    return _chain(t, left, node.ops, node.comparators)


def _chain(t: Tracer, left: Value, ops: Sequence[ast.cmpop], rest: Sequence[ast.expr]) -> Value:
    """a < b < c: the later operands are evaluated only while the earlier tests hold."""
    middle = evaluate(t, rest[0])
    first = compare(t, type(ops[0]).__name__, left, middle)
    if len(ops) == 1:
        return first
    return short_circuit(t, True, first, lambda: _chain(t, middle, ops[1:], rest[1:]))


def _boolean(t: Tracer, node: ast.BoolOp) -> Value:
    is_and = isinstance(node.op, ast.And)
    value = evaluate(t, node.values[0])
    for later in node.values[1:]:
        value = short_circuit(t, is_and, value, partial(evaluate, t, later))
    return value


def _ternary(t: Tracer, node: ast.IfExp) -> Value:
    test = truth_of(t, evaluate(t, node.test))
    if isinstance(test, Known):
        return evaluate(t, node.body if test.value else node.orelse)
    out = branch(t, test, lambda: evaluate(t, node.body), lambda: evaluate(t, node.orelse))
    assert out is not None
    return out


# Displays, calls, functions -----------------------------------------------------------------


def _tuple(t: Tracer, node: ast.Tuple) -> Value:
    return pack_tuple(tuple(spread(t, node.elts)))


def spread(t: Tracer, nodes: Sequence[ast.expr]) -> list[Value]:
    """Elements of a display or arguments of a call, with `*args` spelled out."""
    out: list[Value] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            out += static_items(t, _items(t, node.value), None)
        else:
            out.append(evaluate(t, node))
    return out


def _items(t: Tracer, node: ast.expr) -> Items:
    return iterate(t, evaluate(t, node))


def _list(t: Tracer, node: ast.List) -> Value:
    return new_list(t, tuple(spread(t, node.elts)))


def _dict(t: Tracer, node: ast.Dict) -> Value:
    fields: dict[Any, Value] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            other = evaluate(t, value)
            if not (isinstance(other, Ref) and isinstance(other.obj, DictObj)):
                raise CompileError("'**' needs a dict", t.loc)
            fields.update(t.state.heap[other.obj])
            continue
        name = evaluate(t, key)
        if not isinstance(name, Known):
            raise UnsupportedError("the keys of a dict must be known at compile time", t.loc)
        fields[name.value] = evaluate(t, value)
    obj = DictObj()
    t.state.heap[obj] = fields
    return Ref(obj)


def _call(t: Tracer, node: ast.Call) -> Value:
    function = evaluate(t, node.func)
    args = spread(t, node.args)
    kwargs: dict[str, Value] = {}
    for keyword in node.keywords:
        value = evaluate(t, keyword.value)
        if keyword.arg is not None:
            kwargs[keyword.arg] = value
        elif isinstance(value, Ref) and isinstance(value.obj, DictObj):
            kwargs.update(t.state.heap[value.obj])
        else:
            raise CompileError("'**' needs a dict with fixed keys", t.loc)
    with t.at(node):
        return call(t, function, args, kwargs)


def _attribute(t: Tracer, node: ast.Attribute) -> Value:
    return attribute(t, evaluate(t, node.value), node.attr)


def _subscript(t: Tracer, node: ast.Subscript) -> Value:
    value = evaluate(t, node.value)
    index = evaluate(t, node.slice)
    with t.at(node):
        return subscript(t, value, index)


def _slice(t: Tracer, node: ast.Slice) -> Value:
    none = Known(None)
    return Slice(*(none if part is None else evaluate(t, part)
                   for part in (node.lower, node.upper, node.step)))  # fmt: skip


def _lambda(t: Tracer, node: ast.Lambda) -> Value:
    return closure(t, node, "<lambda>")


def closure(t: Tracer, node: ast.FunctionDef | ast.Lambda, name: str) -> Fn:
    """A function defined here; its defaults are evaluated now."""
    defaults = tuple(evaluate(t, d) for d in node.args.defaults)
    kw = tuple(None if d is None else evaluate(t, d) for d in node.args.kw_defaults)
    return Fn(Source(node, t.frame.source.file, name), t.frame, defaults, kw)


def _comprehension(t: Tracer, node: ast.GeneratorExp | ast.ListComp) -> Value:
    gen = Gen(node, t.frame)
    return as_list(t, gen) if isinstance(node, ast.ListComp) else gen


def _dict_comprehension(t: Tracer, node: ast.DictComp) -> Value:
    return dict_of(t, node)


def _joined(t: Tracer, node: ast.JoinedStr) -> Value:
    template, args = formatted(t, node)
    if args:
        raise UnsupportedError(
            "a string with run-time values is only for messages of errors", t.loc
        )
    return Known(template.replace("{{", "{").replace("}}", "}"))


def formatted(t: Tracer, node: ast.expr) -> tuple[str, tuple[Atom, ...]]:
    """A message: a template for `str.format` and its run-time arguments."""
    if not isinstance(node, ast.JoinedStr):
        value = evaluate(t, node)
        if isinstance(value, Known):
            return str(value.value).replace("{", "{{").replace("}", "}}"), ()
        return "{0}", _message_atoms(t, value)
    text = ""
    args: list[Atom] = []
    for part in node.values:
        if isinstance(part, ast.Constant):
            text += str(part.value).replace("{", "{{").replace("}", "}}")
            continue
        assert isinstance(part, ast.FormattedValue)
        value = scalar_value(t, evaluate(t, part.value))
        spec = formatted(t, part.format_spec)[0] if part.format_spec is not None else ""
        if isinstance(value, Known):
            text += format(value.value, spec).replace("{", "{{").replace("}", "}}")
            continue
        atoms = _message_atoms(t, value)
        text += "{" + str(len(args)) + (":" + spec if spec else "") + "}"
        args += atoms
    return text, tuple(args)


def _message_atoms(t: Tracer, value: Value) -> tuple[Atom, ...]:
    if isinstance(value, Num):
        return (value.atom,)
    raise UnsupportedError(f"{t.describe(value)} cannot be shown in a message", t.loc,
                           "show numbers only")  # fmt: skip


def _await(t: Tracer, node: ast.expr) -> Value:
    raise UnsupportedError(
        "'yield' and 'await' are not supported", t.loc, "return an array or a tuple"
    )


EXPRESSIONS: dict[type, Callable[[Any, Any], Value]] = {
    ast.Constant: _constant, ast.Name: _name, ast.NamedExpr: _named, ast.BinOp: _binary,
    ast.UnaryOp: _unary, ast.Compare: _compare, ast.BoolOp: _boolean, ast.IfExp: _ternary,
    ast.Tuple: _tuple, ast.List: _list, ast.Dict: _dict, ast.Call: _call, ast.Attribute: _attribute,
    ast.Subscript: _subscript, ast.Slice: _slice, ast.Lambda: _lambda, ast.ListComp: _comprehension,
    ast.GeneratorExp: _comprehension, ast.DictComp: _dict_comprehension, ast.JoinedStr: _joined,
    ast.Yield: _await, ast.YieldFrom: _await, ast.Await: _await,
}  # fmt: skip
