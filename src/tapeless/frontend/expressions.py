"""Expressions of the language."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tapeless.core.names import Atom, Const
from tapeless.core.types import bool_
from tapeless.errors import CompileError, NameNotDefinedError, UnsupportedError
from tapeless.frontend import arrays
from tapeless.frontend.attributes import attribute
from tapeless.frontend.capture import Source
from tapeless.frontend.control import branch
from tapeless.frontend.indexing import new_list, subscript
from tapeless.frontend.iteration import Items, iterate
from tapeless.frontend.scalars import BINARY, COMPARE, UNARY, apply_ufunc, is_weak, truth
from tapeless.frontend.state import Frame
from tapeless.frontend.values import (
    Arr, Cx, DictObj, Fn, Gen, Known, ListObj, Many, Maybe, Num, Ref, Seq, Slice, Tup, Unbound, Value,
    is_number,
)  # fmt: skip
from tapeless.ir.build import FALSE, TRUE
from tapeless.ir.syntax import Body, If, Prim

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer


def evaluate(t: Tracer, node: ast.expr) -> Value:
    """The value of an expression; statements are emitted as needed."""
    rule = EXPRESSIONS.get(type(node))
    with t.at(node):
        if rule is None:
            raise UnsupportedError(f"this expression ({type(node).__name__}) is not supported", t.loc)
        return rule(t, node)


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
        if name in scope.locals:
            return scope.locals[name]
        if name in scope.locals_declared:
            return Unbound(f"'{name}' is used before it is given a value")
        if scope.parent is None:
            break
        scope = scope.parent
    assert scope is not None
    if name in scope.captured:
        return t.captured_value(scope, "cell", name)
    if name in scope.globals:
        return t.captured_value(scope, "global", name)
    if hasattr(builtins, name):
        return Known(getattr(builtins, name))
    return Unbound(f"'{name}' is not defined")


def _named(t: Tracer, node: ast.NamedExpr) -> Value:
    from tapeless.frontend.statements import bind  # noqa: PLC0415

    value = evaluate(t, node.value)
    bind(t, node.target, value)
    return value


# Operators ----------------------------------------------------------------------------------


def _binary(t: Tracer, node: ast.BinOp) -> Value:
    left = evaluate(t, node.left)
    return binary(t, type(node.op).__name__, left, evaluate(t, node.right))


def binary(t: Tracer, op: str, a: Value, b: Value) -> Value:
    """a op b"""
    if op == "MatMult":
        from tapeless.frontend.calls import call  # noqa: PLC0415

        return call(t, Known(np.matmul), [a, b], {})
    python, ufunc = BINARY[op]
    if isinstance(a, Known) and isinstance(b, Known):
        return _fold(t, python, a.value, b.value)
    if is_number(a) and is_number(b):
        return _number_op(t, op, ufunc, a, b)
    special = _container_op(t, op, a, b)
    if special is not None:
        return special
    a, b = t.as_operand(a), t.as_operand(b)
    if op == "Pow" and isinstance(b, Known) and isinstance(a, Arr):
        return arrays.elementwise(t, lambda x: _number_op(t, op, ufunc, x, b), [a], "power")
    return arrays.elementwise(t, lambda x, y: apply_ufunc(t, ufunc, (x, y)), [a, b], op.lower())


def _number_op(t: Tracer, op: str, ufunc: np.ufunc, a: Value, b: Value) -> Value:
    if op == "Pow":
        return _power(t, a, b)
    return apply_ufunc(t, ufunc, (a, b))


def _power(t: Tracer, a: Value, b: Value) -> Value:
    """x ** y; whole powers known at compile time become products, for complex numbers too."""
    if isinstance(b, Known) and isinstance(b.value, int) and 0 <= b.value <= 4:
        if isinstance(a, Cx) or b.value in (1, 2):
            return _product(t, a, int(b.value))
    return apply_ufunc(t, np.power, (a, b))


def _product(t: Tracer, a: Value, n: int) -> Value:
    if n == 0:
        return Known(1.0)
    out = a
    for _ in range(n - 1):
        out = apply_ufunc(t, np.multiply, (out, a))
    return apply_ufunc(t, np.positive, (a,)) if n == 1 else out


def _fold(t: Tracer, python: Callable[..., Any], *args: Any) -> Value:
    try:
        with np.errstate(all="ignore"):
            return t.wrap_known(python(*args))
    except ZeroDivisionError:
        if any(isinstance(a, float) for a in args):
            return _float_division(python.__name__, *args)
        raise CompileError("division by zero", t.loc) from None
    except OverflowError:
        return Known(float("inf"))
    except (TypeError, ValueError) as error:
        raise CompileError(str(error), t.loc) from None


def _float_division(name: str, a: float, b: float) -> Value:
    with np.errstate(all="ignore"):
        f = {"truediv": np.divide, "floordiv": np.floor_divide, "mod": np.remainder}.get(name, np.power)
        return Known(float(f(np.float64(a), np.float64(b))))


def _container_op(t: Tracer, op: str, a: Value, b: Value) -> Value | None:
    """+ and * of tuples and lists."""
    if op == "Add" and isinstance(a, Tup | Known) and isinstance(b, Tup | Known):
        left, right = _tuple_items(a), _tuple_items(b)
        if left is not None and right is not None:
            return Tup((*left, *right))
    if op == "Mult" and isinstance(a, Tup) and isinstance(b, Known) and isinstance(b.value, int):
        return Tup(a.items * b.value)
    for x, y in ((a, b), (b, a)):
        if isinstance(x, Ref) and isinstance(x.obj, ListObj) and not isinstance(y, Arr):
            return _list_op(t, op, x, y, a, b)
    return None


def _tuple_items(value: Value) -> tuple[Value, ...] | None:
    if isinstance(value, Tup):
        return value.items
    if isinstance(value, Known) and isinstance(value.value, tuple):
        return tuple(Known(v) for v in value.value)
    return None


def _list_op(t: Tracer, op: str, x: Ref, y: Value, a: Value, b: Value) -> Value:
    content = t.state.heap[x.obj]
    remedy = "write np.array([...]) to calculate with it"
    if isinstance(content, Seq):
        raise CompileError(f"'{_SIGN.get(op, op)}' of a list of run-time length", t.loc, remedy)
    if op == "Mult":
        if isinstance(y, Known) and isinstance(y.value, int):
            return new_list(t, content * y.value)
        if isinstance(y, Num) and len(content) == 1:
            from tapeless.frontend.comprehensions import repeated  # noqa: PLC0415

            return repeated(t, content[0], y)
    if op == "Add" and isinstance(a, Ref) and isinstance(b, Ref):
        left, right = t.state.heap[a.obj], t.state.heap[b.obj]
        if isinstance(left, tuple) and isinstance(right, tuple):
            return new_list(t, left + right)
    raise CompileError(f"'{_SIGN.get(op, op)}' is not defined for {t.describe(a)} and {t.describe(b)}",
                       t.loc, remedy)  # fmt: skip


_SIGN = {"Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "Pow": "**", "MatMult": "@"}


def augment(t: Tracer, op: str, now: Value, value: Value) -> Value:
    """now op= value: arrays are written in place, everything else gets a new value."""
    if isinstance(now, Arr) and now.rank > 0:
        arrays.assign(t, now, binary(t, op, now, value))
        return now
    if isinstance(now, Ref) and isinstance(now.obj, ListObj) and op == "Add":
        content = t.state.heap[now.obj]
        items = iterate(t, value)
        if isinstance(content, tuple) and isinstance(items, list):
            t.state.heap[now.obj] = (*content, *items)
            return now
    return binary(t, op, now, value)


def _unary(t: Tracer, node: ast.UnaryOp) -> Value:
    value = evaluate(t, node.operand)
    if isinstance(node.op, ast.Not):
        from tapeless.frontend.statements import truth_of  # noqa: PLC0415

        test = truth_of(t, value)
        if isinstance(test, Known):
            return Known(not test.value)
        return Num(t.b.prim("not", test.atom), weak=True)
    python, ufunc = UNARY[type(node.op).__name__]
    if isinstance(value, Known):
        return _fold(t, python, value.value)
    value = t.as_operand(value)
    return arrays.elementwise(t, lambda x: apply_ufunc(t, ufunc, (x,)), [value])


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


def compare(t: Tracer, op: str, a: Value, b: Value) -> Value:
    if op in ("Is", "IsNot"):
        return Known(_identical(t, a, b) == (op == "Is"))
    if op in ("In", "NotIn"):
        return _contains(t, a, b, op == "In")
    python, ufunc = COMPARE[op]
    if isinstance(a, Known) and isinstance(b, Known):
        return _fold(t, python, a.value, b.value)
    if is_number(a) and is_number(b):
        return apply_ufunc(t, ufunc, (a, b))
    left, right = _tuple_items(a), _tuple_items(b)
    if left is not None and right is not None and op in ("Eq", "NotEq"):
        return _same_tuples(t, left, right, op == "Eq")
    if (isinstance(a, Known) and not is_number(a)) or (isinstance(b, Known) and not is_number(b)):
        if op in ("Eq", "NotEq"):
            return Known(op == "NotEq")
    a, b = t.as_operand(a), t.as_operand(b)
    return arrays.elementwise(t, lambda x, y: apply_ufunc(t, ufunc, (x, y)), [a, b], op.lower())


def _identical(t: Tracer, a: Value, b: Value) -> bool:
    if isinstance(a, Known) and isinstance(b, Known):
        return a.value is b.value
    if isinstance(a, Known) or isinstance(b, Known):
        known = a if isinstance(a, Known) else b
        assert isinstance(known, Known)
        if known.value is None or not is_number(known):
            return False
    if isinstance(a, Arr) and isinstance(b, Arr):
        return a.obj is b.obj and a.view is b.view
    if isinstance(a, Ref) and isinstance(b, Ref):
        return a.obj is b.obj
    raise UnsupportedError("'is' between numbers is not supported", t.loc, "use ==")


def _contains(t: Tracer, a: Value, b: Value, wanted: bool) -> Value:
    if isinstance(b, Known) and isinstance(a, Known) and not isinstance(b.value, np.ndarray):
        return Known((a.value in b.value) == wanted)
    if isinstance(b, Ref) and isinstance(b.obj, DictObj) and isinstance(a, Known):
        return Known((a.value in t.state.heap[b.obj]) == wanted)
    items = iterate(t, b)
    if isinstance(items, Many):
        from tapeless.frontend.reductions import reduce_items  # noqa: PLC0415

        found = reduce_items(t, "any", items, lambda x: compare(t, "Eq", x, a))
    else:
        found = Known(False)
        for item in items:
            equal = compare(t, "Eq", item, a)
            found = short_circuit(t, False, found, lambda equal=equal: equal)  # type: ignore[misc]
    return found if wanted else _not(t, found)


def _not(t: Tracer, value: Value) -> Value:
    test = truth(t, value)
    return Known(not test.value) if isinstance(test, Known) else Num(t.b.prim("not", test.atom), True)


def _same_tuples(t: Tracer, a: Sequence[Value], b: Sequence[Value], equal: bool) -> Value:
    out: Value = Known(len(a) == len(b))
    if len(a) == len(b):
        for x, y in zip(a, b, strict=True):
            part = compare(t, "Eq", x, y)
            out = short_circuit(t, True, out, lambda part=part: part)  # type: ignore[misc]
    return out if equal else _not(t, out)


def _boolean(t: Tracer, node: ast.BoolOp) -> Value:
    is_and = isinstance(node.op, ast.And)
    value = evaluate(t, node.values[0])
    for later in node.values[1:]:
        value = short_circuit(t, is_and, value, lambda later=later: evaluate(t, later))  # type: ignore[misc]
    return value


CHEAP = 6


def short_circuit(t: Tracer, is_and: bool, left: Value, right: Callable[[], Value]) -> Value:
    """`left and right`, `left or right`: the right side is not evaluated if the left decides."""
    from tapeless.frontend.statements import truth_of  # noqa: PLC0415

    test = truth_of(t, left)
    if isinstance(test, Known):
        return right() if bool(test.value) == is_and else left
    with t.b.scope() as stms:
        other = right()
        other_test = truth_of(t, other) if is_number(other) or isinstance(other, Arr) else None
        is_cheap = len(stms) <= CHEAP and all(isinstance(s.exp, Prim) for s in stms)
    both_bool = isinstance(left, Num) and left.dtype.is_bool and _is_bool(other)
    if other_test is None or not both_bool:
        return _choose(t, test, is_and, left, stms, other)
    atom = TRUE if isinstance(other_test, Known) and other_test.value else (
        FALSE if isinstance(other_test, Known) else other_test.atom)  # fmt: skip
    weak = is_weak(left) and is_weak(other)
    if is_cheap:
        t.b.scopes[-1].extend(stms)
        return Num(t.b.prim("and" if is_and else "or", test.atom, atom), weak)
    with t.b.reopen(stms):
        then = t.b.body((atom,))
    stop = Body((), (FALSE if is_and else TRUE,))
    arms = (then, stop) if is_and else (stop, then)
    return Num(t.b.one(If(test.atom, *arms), "test"), weak)


def _is_bool(value: Value) -> bool:
    if isinstance(value, Known):
        return isinstance(value.value, bool | np.bool_)
    return isinstance(value, Num) and value.dtype.is_bool


def _choose(t: Tracer, test: Num, is_and: bool, left: Value, stms: Any, other: Value) -> Value:
    """`a or b` of numbers: one of the two values."""
    def spliced() -> Value:
        t.b.scopes[-1].extend(stms)
        return other

    arms = (spliced, lambda: left) if is_and else (lambda: left, spliced)
    out = branch(t, test, *arms)
    assert out is not None
    return out


def _ternary(t: Tracer, node: ast.IfExp) -> Value:
    from tapeless.frontend.statements import truth_of  # noqa: PLC0415

    test = truth_of(t, evaluate(t, node.test))
    if isinstance(test, Known):
        return evaluate(t, node.body if test.value else node.orelse)
    out = branch(t, test, lambda: evaluate(t, node.body), lambda: evaluate(t, node.orelse))
    assert out is not None
    return out


# Displays, calls, functions -----------------------------------------------------------------


def _tuple(t: Tracer, node: ast.Tuple) -> Value:
    return pack_tuple(tuple(spread(t, node.elts)))


def pack_tuple(items: tuple[Value, ...]) -> Value:
    if items and all(isinstance(i, Known) for i in items):
        return Known(tuple(i.value for i in items if isinstance(i, Known)))
    return Tup(items)


def spread(t: Tracer, nodes: Sequence[ast.expr]) -> list[Value]:
    """Elements of a display or arguments of a call, with `*args` spelled out."""
    from tapeless.frontend.statements import static_items  # noqa: PLC0415

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
    from tapeless.frontend.calls import call  # noqa: PLC0415

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
    from tapeless.frontend.comprehensions import as_list  # noqa: PLC0415

    gen = Gen(node, t.frame)
    return as_list(t, gen) if isinstance(node, ast.ListComp) else gen


def _dict_comprehension(t: Tracer, node: ast.DictComp) -> Value:
    from tapeless.frontend.comprehensions import dict_of  # noqa: PLC0415

    return dict_of(t, node)


def _joined(t: Tracer, node: ast.JoinedStr) -> Value:
    template, args = formatted(t, node)
    if args:
        raise UnsupportedError("a string with run-time values is only for messages of errors", t.loc)
    return Known(template.replace("{{", "{").replace("}}", "}"))


def formatted(t: Tracer, node: ast.expr) -> tuple[str, tuple[Atom, ...]]:
    """A message: a template for `str.format` and its run-time arguments."""
    if not isinstance(node, ast.JoinedStr):
        value = evaluate(t, node)
        if isinstance(value, Known):
            return str(value.value).replace("{", "{{").replace("}", "}}"), ()
        return "{0}", _message_atoms(t, value)
    text, args = "", []
    for part in node.values:
        if isinstance(part, ast.Constant):
            text += str(part.value).replace("{", "{{").replace("}", "}}")
            continue
        assert isinstance(part, ast.FormattedValue)
        value = arrays.scalar_value(t, evaluate(t, part.value))
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
    raise UnsupportedError("'yield' and 'await' are not supported", t.loc, "return an array or a tuple")


EXPRESSIONS: dict[type, Callable[[Any, Any], Value]] = {
    ast.Constant: _constant, ast.Name: _name, ast.NamedExpr: _named, ast.BinOp: _binary,
    ast.UnaryOp: _unary, ast.Compare: _compare, ast.BoolOp: _boolean, ast.IfExp: _ternary,
    ast.Tuple: _tuple, ast.List: _list, ast.Dict: _dict, ast.Call: _call, ast.Attribute: _attribute,
    ast.Subscript: _subscript, ast.Slice: _slice, ast.Lambda: _lambda, ast.ListComp: _comprehension,
    ast.GeneratorExp: _comprehension, ast.DictComp: _dict_comprehension, ast.JoinedStr: _joined,
    ast.Yield: _await, ast.YieldFrom: _await, ast.Await: _await,
}  # fmt: skip

__all__ = ["Const", "augment", "binary", "bool_", "closure", "compare", "evaluate", "formatted",
           "lookup", "pack_tuple", "short_circuit", "spread"]  # fmt: skip
