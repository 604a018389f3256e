"""Conditions: what `if` makes of a value, and what `and`, `or`, `not` make of conditions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tapeless.core.names import Const
from tapeless.core.types import i64
from tapeless.errors import CompileError
from tapeless.frontend.arrays import scalar_value
from tapeless.frontend.branches import branch
from tapeless.frontend.places import element
from tapeless.frontend.scalars import is_weak, truth
from tapeless.frontend.values import (
    Arr,
    Cx,
    DictObj,
    Known,
    ListObj,
    Many,
    Num,
    Ref,
    Rng,
    Tup,
    Value,
    is_number,
)  # fmt: skip
from tapeless.ir.build import FALSE, ONE, TRUE, ZERO
from tapeless.ir.effects import is_pure
from tapeless.ir.syntax import Body, If, Prim

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer

CHEAP = 6  # operators that are rather evaluated than branched around


def truth_of(t: Tracer, value: Value) -> Known | Num:
    """The condition that Python's `if` makes of a value."""
    value = scalar_value(t, value)
    match value:
        case Known() | Num() | Cx():
            return truth(t, value)
        case Arr():
            if all(s == ONE for s in value.shape):
                return truth(t, element(t, value, (ZERO,) * value.rank))
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
        case Rng(size=size) | Many(size=size):
            return Num(t.b.prim("ne", size, ZERO), weak=True)
    return Known(True)


def negation(t: Tracer, value: Value) -> Value:
    test = truth_of(t, value)
    return (
        Known(not test.value) if isinstance(test, Known) else Num(t.b.prim("not", test.atom), True)
    )


def short_circuit(t: Tracer, is_and: bool, left: Value, right: Callable[[], Value]) -> Value:
    """`left and right`, `left or right`: the right side is not evaluated if the left decides."""
    test = truth_of(t, left)
    if isinstance(test, Known):
        return right() if bool(test.value) == is_and else left
    before = t.snapshot()
    with t.b.scope() as stms:
        other = right()
        other_test = truth_of(t, other) if is_number(other) or isinstance(other, Arr) else None
        is_cheap = len(stms) <= CHEAP and all(isinstance(s.exp, Prim) for s in stms)
    changed = any(before.locals[-1].get(n) is not v for n, v in t.frame.locals.items())
    both_bool = isinstance(left, Num) and left.dtype.is_bool and _is_bool(other)
    if other_test is None or not both_bool or changed:
        before.restore(t.frames, t.state)
        arms = (right, lambda: left) if is_and else (lambda: left, right)
        out = branch(t, test, *arms)
        assert out is not None
        return out
    atom = (
        Const(bool(other_test.value), TRUE.dtype)
        if isinstance(other_test, Known)
        else other_test.atom
    )
    weak = is_weak(left) and is_weak(other)
    if is_cheap and is_pure(Body(tuple(stms), ())):
        t.b.scopes[-1].extend(stms)
        return Num(t.b.prim("and" if is_and else "or", test.atom, atom), weak)
    then, stop = Body(tuple(stms), (atom,)), Body((), (FALSE if is_and else TRUE,))
    arms2 = (then, stop) if is_and else (stop, then)
    return Num(t.b.one(If(test.atom, *arms2), "test"), weak)


def _is_bool(value: Any) -> bool:
    if isinstance(value, Known):
        return isinstance(value.value, bool)
    return isinstance(value, Num) and value.dtype.is_bool
