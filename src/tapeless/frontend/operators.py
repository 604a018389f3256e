"""Python's operators on values of every kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tapeless.core.names import Atom, Const
from tapeless.core.types import bool_, i64
from tapeless.errors import CompileError, UnsupportedError
from tapeless.frontend.arrays import assign, elementwise
from tapeless.frontend.attributes import dunder
from tapeless.frontend.construct import as_operand
from tapeless.frontend.indexing import (
    index_array,
    index_items,
    is_advanced,
    is_int,
    new_list,
    store,
    subscript,
    view,
    wrap,
)  # fmt: skip
from tapeless.frontend.iteration import Items, item_at, iterate
from tapeless.frontend.join import spelled
from tapeless.frontend.reductions import any_of
from tapeless.frontend.scalars import BINARY, COMPARE, UNARY, apply_ufunc, scalar, truth
from tapeless.frontend.sequences import seq_of
from tapeless.frontend.truth import negation, short_circuit
from tapeless.frontend.values import (
    Arr,
    Bracket,
    Cx,
    DictObj,
    Known,
    ListObj,
    Many,
    Num,
    Ref,
    Tup,
    Value,
    is_number,
    weak_int,
)  # fmt: skip
from tapeless.ir.build import FALSE, ZERO

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer

SIGN = {"Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "Pow": "**", "MatMult": "@", "Mod": "%",
        "FloorDiv": "//"}  # fmt: skip


def binary(t: Tracer, op: str, a: Value, b: Value) -> Value:
    """a op b"""
    if op == "MatMult":
        return dunder(t, op, a, b) or t.library(np.matmul, a, b)
    if isinstance(a, Bracket) or isinstance(b, Bracket):
        return _bracket_op(t, op, a, b)
    python, ufunc = BINARY[op]
    if isinstance(a, Known) and isinstance(b, Known) and not isinstance(a.value, type):
        return fold(t, python, a.value, b.value)
    if is_number(a) and is_number(b):
        return _number_op(t, op, ufunc, a, b)
    special = dunder(t, op, a, b) or _container_op(t, op, a, b)
    if special is not None:
        return special
    a, b = as_operand(t, a), as_operand(t, b)
    if op == "Pow" and isinstance(b, Known) and isinstance(a, Arr):
        return elementwise(t, lambda x: _number_op(t, op, ufunc, x, b), [a], "power")
    return elementwise(t, lambda x, y: apply_ufunc(t, ufunc, (x, y)), [a, b], "t")


def _bracket_op(t: Tracer, op: str, a: Value, b: Value) -> Value:
    """[p] * e is e where p holds and 0 elsewhere, even if e is nan; other uses read it as 0, 1."""
    if op != "Mult":
        return binary(t, op, *(_as_int(t, x) for x in (a, b)))
    if isinstance(a, Bracket) and isinstance(b, Bracket):
        both = elementwise(
            t, lambda x, y: apply_ufunc(t, np.logical_and, (x, y)), [a.holds, b.holds]
        )
        return Bracket(both)
    bracket, e = (a, b) if isinstance(a, Bracket) else (b, a)
    assert isinstance(bracket, Bracket)
    return elementwise(t, lambda p, x: _kept(t, p, x), [bracket.holds, as_operand(t, e)])


def _kept(t: Tracer, p: Value, x: Value) -> Value:
    test = truth(t, p)
    s = scalar(t, x)
    zero = Const(0, s.dtype)
    if isinstance(test, Known):
        nothing = Cx(zero, zero, s.weak) if isinstance(s, Cx) else Num(zero, s.weak)
        return x if test.value else nothing
    if isinstance(s, Cx):
        return Cx(
            t.b.prim("select", test.atom, s.re, zero),
            t.b.prim("select", test.atom, s.im, zero),
            s.weak,
        )
    return Num(t.b.prim("select", test.atom, s.atom, zero), s.weak)


def _as_int(t: Tracer, x: Value) -> Value:
    if not isinstance(x, Bracket):
        return x
    return elementwise(t, lambda p: Num(t.b.cast(_bool_atom(t, p), i64), True), [x.holds])


def _bool_atom(t: Tracer, p: Value) -> Atom:
    test = truth(t, p)
    return Const(bool(test.value), bool_) if isinstance(test, Known) else test.atom


def _number_op(t: Tracer, op: str, ufunc: np.ufunc, a: Value, b: Value) -> Value:
    if op == "Pow":
        return power(t, a, b)
    return apply_ufunc(t, ufunc, (a, b))


def power(t: Tracer, a: Value, b: Value) -> Value:
    """x ** y; small whole powers known at compile time become products."""
    k = b.value if isinstance(b, Known) and type(b.value) in (int, float) else 0
    whole = isinstance(k, int)
    if k in (1, 2) and (whole or not isinstance(a, Num) or a.dtype.is_float):
        return _product(t, a, int(k))
    if whole and isinstance(a, Cx) and 3 <= k <= 8:
        return _product(t, a, int(k))
    return apply_ufunc(t, np.power, (a, b))


def _product(t: Tracer, a: Value, n: int) -> Value:
    out = a
    for _ in range(n - 1):
        out = apply_ufunc(t, np.multiply, (out, a))
    return apply_ufunc(t, np.positive, (a,)) if n == 1 else out


def fold(t: Tracer, python: Callable[..., Any], *args: Any) -> Value:
    """An operator on values of compile time."""
    try:
        with np.errstate(all="ignore"):
            return wrap(t, python(*args))
    except ZeroDivisionError:
        if any(isinstance(a, float) for a in args):
            return _float_division(python.__name__, *args)
        t.b.check(FALSE, "ZeroDivisionError", "integer division or modulo by zero")
        return Known(0)
    except OverflowError:
        return Known(float("inf"))
    except (TypeError, ValueError) as error:
        raise CompileError(str(error), t.loc) from None


def _float_division(name: str, a: float, b: float) -> Value:
    with np.errstate(all="ignore"):
        f = {"truediv": np.divide, "floordiv": np.floor_divide, "mod": np.remainder}.get(
            name, np.power
        )
        return Known(float(f(np.float64(a), np.float64(b))))


def _container_op(t: Tracer, op: str, a: Value, b: Value) -> Value | None:
    """+ and * of tuples and lists."""
    if op == "Add":
        left, right = _tuple_items(a), _tuple_items(b)
        if left is not None and right is not None:
            return Tup((*left, *right))
    if op == "Mult":
        for x, y in ((a, b), (b, a)):
            items = _tuple_items(x)
            if items is not None and isinstance(y, Known) and isinstance(y.value, int):
                return Tup(items * y.value)
    for x, y in ((a, b), (b, a)):
        if isinstance(x, Ref) and isinstance(x.obj, ListObj) and not isinstance(y, Arr):
            return _list_op(t, op, x, y, a, b)
    return None


def _tuple_items(value: Value) -> tuple[Value, ...] | None:
    value = spelled(value)
    return value.items if isinstance(value, Tup) else None


def _list_op(t: Tracer, op: str, x: Ref, y: Value, a: Value, b: Value) -> Value:
    content = t.state.heap[x.obj]
    remedy = "write np.array([...]) to calculate with it"
    if op == "Mult" and isinstance(content, tuple):
        if isinstance(y, Known) and isinstance(y.value, int):
            return new_list(t, content * y.value)
        if isinstance(y, Num) and y.dtype.is_int and content:
            return _repeated(t, content, y)
    if op == "Add" and isinstance(a, Ref) and isinstance(b, Ref):
        left, right = t.state.heap[a.obj], t.state.heap[b.obj]
        if isinstance(left, tuple) and isinstance(right, tuple):
            return new_list(t, left + right)
    raise CompileError(
        f"'{SIGN.get(op, op)}' is not defined for {t.describe(a)} and {t.describe(b)}",
        t.loc,
        remedy,
    )


def _repeated(t: Tracer, content: tuple[Value, ...], n: Num) -> Value:
    """[x] * n with a run-time n: a list of run-time length."""
    if len(content) != 1:
        raise UnsupportedError(
            "only a list of one element can be repeated a run-time number of times",
            t.loc,
            "use np.tile(...)",
        )
    item = content[0]
    size = t.b.prim("max", t.b.cast(n.atom, i64), ZERO)
    t.nonnegative.add(size)
    return seq_of(t, Many(size, lambda i: item))


def augment(t: Tracer, op: str, now: Value, value: Value) -> Value:
    """now op= value: arrays and lists are written in place, everything else gets a new value."""
    if isinstance(now, Arr) and (now.rank > 0 or now.view is not None):
        assign_same_kind(t, now, binary(t, op, now, value))
        return now
    if isinstance(now, Ref) and isinstance(now.obj, ListObj) and op == "Add":
        content = t.state.heap[now.obj]
        items = iterate(t, value)
        if isinstance(content, tuple) and isinstance(items, list):
            t.outside.refuse_change(t, now.obj)
            t.state.heap[now.obj] = (*content, *items)
            return now
    return binary(t, op, now, value)


def assign_same_kind(t: Tracer, target: Arr, value: Value) -> None:
    """target op= …: NumPy refuses to lose a fraction or an imaginary part."""
    if isinstance(value, Arr | Num | Cx):
        is_cx = isinstance(value, Cx) or (isinstance(value, Arr) and value.is_complex)
        order = {"b": 0, "u": 1, "i": 2, "f": 3}
        have = 4 if is_cx else order[value.dtype.kind]
        want = 4 if target.is_complex else order[target.dtype.kind]
        if have > want and not (have == 2 and want == 1 and not isinstance(value, Arr)):
            kind = "complex" if is_cx else value.dtype.name
            raise CompileError(
                f"the result of type {kind} cannot be written into an array of {target.dtype.name}",
                t.loc, "convert with .astype(...), or write a = a op b",
            )  # fmt: skip
    assign(t, target, value)


def update(t: Tracer, place: Value, index: Value, op: str, value: Value) -> None:
    """place[index] op= value"""
    if isinstance(place, Arr):
        parts = index_items(t, index, place.rank)
        if any(is_advanced(p) for p in parts):
            now = index_array(t, place, index)
            store(t, place, index, binary(t, op, now, value))
            return
        if not all(is_int(p) for p in parts):
            target = view(t, place, parts)
            assign_same_kind(t, target, binary(t, op, target, value))
            return
    store(t, place, index, augment(t, op, subscript(t, place, index), value))


def unary(t: Tracer, op: str, value: Value) -> Value:
    python, ufunc = UNARY[op]
    if isinstance(value, Known):
        return fold(t, python, value.value)
    special = dunder(t, op, value)
    if special is not None:
        return special
    return elementwise(t, lambda x: apply_ufunc(t, ufunc, (x,)), [as_operand(t, value)])


def compare(t: Tracer, op: str, a: Value, b: Value) -> Value:
    if op in ("Is", "IsNot"):
        return Known(_identical(t, a, b) == (op == "Is"))
    if op in ("In", "NotIn"):
        found = _contains(t, a, b)
        return found if op == "In" else negation(t, found)
    python, ufunc = COMPARE[op]
    if isinstance(a, Known) and isinstance(b, Known):
        return fold(t, python, a.value, b.value)
    if is_number(a) and is_number(b):
        return apply_ufunc(t, ufunc, (a, b))
    special = dunder(t, op, a, b)
    if special is not None:
        return special
    left, right = _tuple_items(a), _tuple_items(b)
    if left is not None and right is not None and op in ("Eq", "NotEq"):
        same = _same_tuples(t, left, right)
        return same if op == "Eq" else negation(t, same)
    if left is not None and right is not None:
        return _in_order(t, op, left, right)
    if _is_list(a) and _is_list(b) and op in ("Eq", "NotEq"):
        same = _same_lists(t, iterate(t, a), iterate(t, b))
        return same if op == "Eq" else negation(t, same)
    if _is_list(a) and _is_list(b):
        parts = [iterate(t, x) for x in (a, b)]
        if not all(isinstance(p, list) for p in parts):
            raise UnsupportedError("the order of lists of run-time length", t.loc, "compare arrays")
        return _in_order(t, op, *(p for p in parts if isinstance(p, list)))
    for x in (a, b):
        if isinstance(x, Known) and not is_number(x) and op in ("Eq", "NotEq"):
            return Known(op == "NotEq")
    return elementwise(t, lambda x, y: apply_ufunc(t, ufunc, (x, y)),
                       [as_operand(t, a), as_operand(t, b)])  # fmt: skip


def _identical(t: Tracer, a: Value, b: Value) -> bool:
    if isinstance(a, Known) and isinstance(b, Known):
        return a.value is b.value
    for known in (a, b):
        if isinstance(known, Known) and (known.value is None or not is_number(known)):
            return False
    if isinstance(a, Arr) and isinstance(b, Arr):
        return a.obj is b.obj and a.view is b.view
    if isinstance(a, Ref) and isinstance(b, Ref):
        return a.obj is b.obj
    if type(a) is not type(b) and not (is_number(a) and is_number(b)):
        return False
    raise UnsupportedError("'is' between numbers is not supported", t.loc, "use ==")


def _contains(t: Tracer, a: Value, b: Value) -> Value:
    if isinstance(b, Known) and isinstance(a, Known):
        return Known(a.value in b.value)
    if isinstance(b, Ref) and isinstance(b.obj, DictObj) and isinstance(a, Known):
        return Known(a.value in t.state.heap[b.obj])
    items = iterate(t, b)
    if isinstance(items, Many):
        return any_of(t, Many(items.size, lambda i: compare(t, "Eq", items.item(i), a)))
    found: Value = Known(False)
    for item in items:
        equal = compare(t, "Eq", item, a)
        found = short_circuit(t, False, found, _given(equal))
    return found


def _given(value: Value) -> Callable[[], Value]:
    return lambda: value


def _is_list(x: Value) -> bool:
    return isinstance(x, Ref) and isinstance(x.obj, ListObj)


def _same_lists(t: Tracer, a: Items, b: Items) -> Value:
    """Lists of which at least one has a length of run time."""
    sizes = [Const(len(x), i64) if isinstance(x, list) else x.size for x in (a, b)]
    as_long = compare(t, "Eq", weak_int(sizes[0]), weak_int(sizes[1]))

    def differ(i: Atom) -> Value:
        return compare(t, "NotEq", item_at(t, a, i), item_at(t, b, i))

    return short_circuit(t, True, as_long,
                         lambda: negation(t, any_of(t, Many(sizes[0], differ))))  # fmt: skip


def _in_order(t: Tracer, op: str, a: Sequence[Value], b: Sequence[Value]) -> Value:
    """Tuples by the first items that differ; the shorter one first if there are none."""
    if not a or not b:
        return Known(COMPARE[op][0](len(a), len(b)))

    def rest() -> Value:
        return _in_order(t, op, a[1:], b[1:])

    strict = {"LtE": "Lt", "GtE": "Gt"}.get(op, op)
    here = compare(t, strict, a[0], b[0])
    same = compare(t, "Eq", a[0], b[0])
    return short_circuit(t, False, here, lambda: short_circuit(t, True, same, rest))


def _same_tuples(t: Tracer, a: Sequence[Value], b: Sequence[Value]) -> Value:
    out: Value = Known(len(a) == len(b))
    if len(a) == len(b):
        for x, y in zip(a, b, strict=True):
            part = compare(t, "Eq", x, y)
            out = short_circuit(t, True, out, _given(part))
    return out
