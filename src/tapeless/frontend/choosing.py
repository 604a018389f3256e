"""min and max with `key=` and `default=`, sorted: the items that compare best."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tapeless.core.names import Atom, Const
from tapeless.errors import CompileError
from tapeless.frontend.accumulate import best_over
from tapeless.frontend.branches import branch
from tapeless.frontend.comprehensions import as_list
from tapeless.frontend.construct import as_array
from tapeless.frontend.indexing import new_list, subscript
from tapeless.frontend.iteration import Items, iterate
from tapeless.frontend.operators import compare
from tapeless.frontend.places import element
from tapeless.frontend.rule import is_none, known
from tapeless.frontend.scalars import index_atom
from tapeless.frontend.sequences import seq_of
from tapeless.frontend.truth import truth_of
from tapeless.frontend.values import Arr, Gen, Known, Many, Num, Tup, Value
from tapeless.ir.build import ONE, ZERO

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer


def items_of(t: Tracer, value: Value) -> Items:
    """What an iterable gives; what a generator makes is kept."""
    return iterate(t, as_list(t, value) if isinstance(value, Gen) else value)


def best(t: Tracer, kind: str, items: Items, key: Value) -> Value:
    """The first item whose key is least or greatest; a NaN key wins, as in np.argmin."""
    if isinstance(items, list):
        return _best_of_few(t, kind, items, key)

    def measure(i: Value) -> Value:
        return _called(t, key, items.item(index_atom(t, i)))

    at = best_over(t, kind, items.size, measure, f"{kind}()")
    return items.item(index_atom(t, at.items[1]))


def _best_of_few(t: Tracer, kind: str, items: list[Value], key: Value) -> Value:
    if not items:
        raise CompileError(f"{kind}() of an empty sequence", t.loc, "give it a default=")
    chosen, measure = items[0], _called(t, key, items[0])
    for item in items[1:]:
        other = _called(t, key, item)
        test = truth_of(t, compare(t, "Lt" if kind == "min" else "Gt", other, measure))
        chosen, measure = (
            _either(t, test, lambda a=a: a, lambda b=b: b)  # type: ignore[misc]  # defaults hide it
            for a, b in ((item, chosen), (other, measure))
        )
    return chosen


def _called(t: Tracer, key: Value, item: Value) -> Value:
    return item if is_none(key) else t.call(key, item)


def _either(
    t: Tracer, test: Known | Num, then: Callable[[], Value], orelse: Callable[[], Value]
) -> Value:
    if isinstance(test, Known):
        return then() if test.value else orelse()
    out = branch(t, test, then, orelse)
    assert out is not None
    return out


def or_default(t: Tracer, items: Items, default: Value, reduced: Callable[[Items], Value]) -> Value:
    """What the items are reduced to, or the default if there are none."""
    if isinstance(items, list):
        return reduced(items) if items else default
    some = t.b.prim("lt", ZERO, items.size)
    test = Known(bool(some.value)) if isinstance(some, Const) else Num(some)
    return _either(t, test, lambda: reduced(items), lambda: default)


def in_order(t: Tracer, value: Value, key: Value, reverse: Value) -> Value:
    """sorted(): stable, also when it is turned around, for which it starts from the back."""
    turned = bool(known(t, truth_of(t, reverse), "'reverse'"))
    items = items_of(t, value)
    if isinstance(items, list):
        measured = items if is_none(key) else [t.call(key, x) for x in items]
        now = _in_order_now(t, items, measured, turned)
        if now is not None:
            return now
    if turned:
        items = items[::-1] if isinstance(items, list) else _backwards(t, items)
    values = _listed(t, items)
    measures = values
    if not is_none(key):
        found = iterate(t, values)
        measures = _listed(
            t,
            [t.call(key, x) for x in found] if isinstance(found, list)
            else Many(found.size, lambda i: t.call(key, found.item(i))),
        )  # fmt: skip
    order = t.library(np.argsort, as_array(t, measures))
    if turned:
        order = t.library(np.flip, order)
    assert isinstance(order, Arr)
    return seq_of(t, Many(order.shape[0], lambda i: subscript(t, values, element(t, order, (i,)))))


def _in_order_now(
    t: Tracer, items: list[Value], measures: list[Value], turned: bool
) -> Value | None:
    """The items in an order that is known at compile time, if it is."""
    marks = [_Mark(m) for m in measures]
    try:
        order = sorted(range(len(items)), key=marks.__getitem__, reverse=turned)
    except _NotYet:
        return None
    except TypeError as error:
        raise CompileError(f"sorted(): {error}", t.loc) from None
    return new_list(t, tuple(items[k] for k in order))


class _NotYet(Exception):
    """A comparison of what is known only at run time."""


class _Mark:
    """What sorted() compares: tuples part by part, as far as it takes to tell them apart."""

    def __init__(self, value: Value) -> None:
        self.value = value

    def __lt__(self, other: _Mark) -> bool:
        one, two = _parts(self.value), _parts(other.value)
        for a, b in zip(one, two, strict=False):
            if not (isinstance(a, Known) and isinstance(b, Known)):
                raise _NotYet
            if a.value != b.value:
                return bool(a.value < b.value)
        return len(one) < len(two)


def _parts(value: Value) -> tuple[Value, ...]:
    return value.items if isinstance(value, Tup) else (value,)


def _backwards(t: Tracer, items: Many) -> Many:
    last = t.b.prim("sub", items.size, ONE)

    def item(i: Atom) -> Value:
        at = t.b.prim("sub", last, i)
        t.nonnegative.add(at)
        return items.item(at)

    return Many(items.size, item)


def _listed(t: Tracer, items: Items) -> Value:
    return new_list(t, tuple(items)) if isinstance(items, list) else seq_of(t, items)
