"""sum, prod, min, max, any, all of generators, lists, ranges, arrays: accumulators of an Each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import DType, Scalar, f64, i64
from tapeless.errors import CompileError
from tapeless.frontend import overflow
from tapeless.frontend.arrays import scalar_value
from tapeless.frontend.branches import branch
from tapeless.frontend.iteration import Items, counted_or_unrolled
from tapeless.frontend.join import join_numbers, number_form
from tapeless.frontend.scalars import apply_ufunc, as_type, scalar
from tapeless.frontend.truth import truth_of
from tapeless.frontend.values import Arr, Cx, Known, Many, Num, Value, is_number
from tapeless.frontend.values import Scalar as Number
from tapeless.ir.build import FALSE, ONE, TRUE, ZERO
from tapeless.ir.syntax import Acc, Each, Put

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer

SIGNS = {"sum": "+", "prod": "*", "min": "min", "max": "max", "any": "max", "all": "min"}


class ArrayElements(Exception):
    """The elements are arrays: the reduction is one of NumPy's along the first axis."""


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """One `for` of a generator: what it walks over, how an item is named, its `if` clauses."""

    items: Callable[[], Items]
    bind: Callable[[Value], None]
    tests: tuple[Callable[[], Value], ...] = ()


def reduce_levels(
    t: Tracer,
    kind: str,
    levels: tuple[Level, ...],
    element: Callable[[], Value],
    default: Value | None = None,
) -> Value:
    """The elements combined; `kind` is a key of SIGNS; `default`: what min and max of nothing is,
    if it is no error."""
    out = _Reduction(t, kind, element, default).over(levels)
    if out is None:
        return _of_nothing(t, kind) if default is None else default
    return out


def reduce_items(t: Tracer, kind: str, items: Items) -> Value:
    """What an iterable gives, combined."""
    holder: list[Value] = []

    def bind(value: Value) -> None:
        holder[:] = [value]

    return reduce_levels(t, kind, (Level(lambda: items, bind),), lambda: holder[0])


def any_of(t: Tracer, items: Many) -> Value:
    return reduce_items(t, "any", items)


def _of_nothing(t: Tracer, kind: str) -> Value:
    if kind in ("min", "max"):
        raise CompileError(
            f"{kind}() of an empty sequence", t.loc, "make sure that there is an element"
        )
    return Known({"sum": 0, "prod": 1, "any": False, "all": True}[kind])


class _Reduction:
    def __init__(
        self, t: Tracer, kind: str, element: Callable[[], Value], default: Value | None
    ) -> None:
        self.t, self.kind, self.element, self.default = t, kind, element, default

    def over(self, levels: tuple[Level, ...]) -> Value | None:
        """The elements of these levels combined; None if there is statically none."""
        if not levels:
            return self.operand(self.element())
        items = levels[0].items()
        if isinstance(items, list):
            return self.unrolled(items, levels)
        return counted_or_unrolled(
            self.t,
            items,
            lambda many: self.counted(many, levels),
            lambda xs: self.unrolled(xs, levels),
        )

    def operand(self, value: Value) -> Value:
        t = self.t
        value = scalar_value(t, value)
        if self.kind in ("any", "all"):
            return truth_of(t, value)
        if isinstance(value, Arr):
            return value
        if not is_number(value):
            raise CompileError(f"{self.kind}() of {t.describe(value)}", t.loc, "combine numbers")
        return value

    # static items
    def unrolled(self, items: list[Value], levels: tuple[Level, ...]) -> Value | None:
        total: Value | None = None
        for item in items:
            levels[0].bind(item)
            if not all(self.holds(test()) for test in levels[0].tests):
                continue
            value = self.over(levels[1:])
            if value is not None:
                total = value if total is None else self.combine(total, value)
        return total

    def holds(self, value: Value) -> bool:
        test = truth_of(self.t, value)
        if isinstance(test, Known):
            return bool(test.value)
        raise CompileError(
            "the 'if' of this generator is decided at run time, its items at compile time",
            self.t.loc,
            "loop over range(...), or write a ternary",
        )

    def combine(self, a: Value, b: Value) -> Value:
        t = self.t
        if isinstance(a, Known) and isinstance(b, Known):
            python: dict[str, Callable[[Any, Any], Any]] = {
                "sum": lambda x, y: x + y, "prod": lambda x, y: x * y, "min": min, "max": max,
                "any": lambda x, y: x or y, "all": lambda x, y: x and y,
            }  # fmt: skip
            return Known(python[self.kind](a.value, b.value))
        if isinstance(a, Arr) or isinstance(b, Arr):
            raise ArrayElements
        ufunc = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum,
                 "any": np.logical_or, "all": np.logical_and}[self.kind]  # fmt: skip
        return apply_ufunc(t, ufunc, (a, b))

    # a box of run-time size
    def counted(self, items: Many, levels: tuple[Level, ...]) -> Value:
        t = self.t
        total = _Total(t, self.kind, self.default)
        certain = t.b.prim("lt", ZERO, items.size)
        with t.construct():
            exp = self.nest(items, levels, total)
        if total.value is None:
            return _of_nothing(t, self.kind) if self.default is None else self.default
        return total.finish(exp, certain, any(lv.tests for lv in levels) or len(levels) > 1)

    def nest(self, items: Many, levels: tuple[Level, ...], total: _Total) -> Each:
        t = self.t
        var = t.index_var("i")
        with t.b.scope():
            levels[0].bind(items.item(var))
            self.tested(list(levels[0].tests), levels, total)
            return Each((var,), (items.size,), (), t.b.body(()))

    def tested(
        self, tests: list[Callable[[], Value]], levels: tuple[Level, ...], total: _Total
    ) -> None:
        t = self.t
        if not tests:
            self.inner(levels[1:], total)
            return
        test = truth_of(t, tests[0]())
        if isinstance(test, Known):
            if test.value:
                self.tested(tests[1:], levels, total)
            return
        with t.b.scope():
            self.tested(tests[1:], levels, total)
            then = t.b.body(())
        t.emit_if(test.atom, then)

    def inner(self, levels: tuple[Level, ...], total: _Total) -> None:
        t = self.t
        if levels:
            items = levels[0].items()
            if isinstance(items, Many) and not isinstance(items.size, Const):
                t.b.run(self.nest(items, levels, total))
                return
            value = (
                self.over(levels) if isinstance(items, Many) else self.unrolled(items, levels)
            )  # fmt: skip
        else:
            value = self.operand(self.element())
        if value is not None:
            total.put(value)


class _Total:
    """The accumulators of one reduction; their type is that of the element."""

    def __init__(self, t: Tracer, kind: str, default: Value | None) -> None:
        self.t, self.kind, self.default = t, kind, default
        self.value: Number | None = None
        self.parts: list[Var] = []
        self.shadow: Var | None = None
        self.count = Var(Scalar(i64), "count", t.loc)

    def put(self, value: Value) -> None:
        t = self.t
        if isinstance(value, Arr):
            raise ArrayElements
        x = scalar(t, value)
        if self.kind in ("sum", "prod") and isinstance(x, Num) and x.dtype.is_bool:
            x = Num(t.b.cast(x.atom, i64), x.weak)
        if isinstance(x, Cx) and self.kind != "sum":
            raise CompileError(f"{self.kind}() of complex numbers is not supported", t.loc,
                               "use a loop, or np.prod")  # fmt: skip
        if self.value is not None:
            raise CompileError("this generator is too involved", t.loc, "write it as a loop")
        self.value = x
        atoms = [x.re, x.im] if isinstance(x, Cx) else [x.atom]
        for atom in atoms:
            var = Var(Scalar(atom.dtype), "total", t.loc)
            self.parts.append(var)
            t.b.run(Put((var,), (), (atom,), ""))
            self.shadow = overflow.shadow(t, self.kind, atom)
        if self.kind in ("min", "max"):
            t.b.run(Put((self.count,), (), (ONE,), ""))

    def finish(self, nest: Each, certain: Atom, is_conditional: bool) -> Value:
        t = self.t
        x = self.value
        assert x is not None
        sign = SIGNS[self.kind]
        accs = [Acc((v,), (neutral(self.kind, v.dtype),), sign) for v in self.parts]
        body = nest.body
        if self.kind in ("min", "max"):
            accs.append(Acc((self.count,), (ZERO,), "+"))
        if self.shadow is not None:
            accs.append(Acc((self.shadow,), (neutral(self.kind, f64),), sign))
        outs = t.b.let(Each(nest.vars, nest.sizes, tuple(accs), body), "total")
        if self.kind in ("min", "max"):
            filled = t.b.prim("lt", ZERO, outs[-1]) if is_conditional else certain
            if self.default is not None:
                return self.or_default(Num(outs[0], x.weak), filled)
            t.b.check(filled, "ValueError", f"{self.kind}() of an empty sequence")
        if self.shadow is not None:
            overflow.near(t, outs[-1], outs[0])
        weak = x.weak
        if isinstance(x, Cx):
            return Cx(outs[0], outs[1], weak)
        return Num(outs[0], weak)

    def or_default(self, total: Num, filled: Atom) -> Value:
        default = self.default
        assert default is not None
        if isinstance(filled, Const):
            return total if filled.value else default
        out = branch(self.t, Num(filled), lambda: total, lambda: default)
        assert out is not None
        return out


def neutral(kind: str, dtype: DType) -> Const:
    """Where a reduction starts."""
    if kind in ("sum", "prod"):
        return Const(0 if kind == "sum" else 1, dtype)
    if dtype.is_bool:
        return FALSE if kind in ("any", "max") else TRUE
    if dtype.is_float:
        return Const(float("-inf") if kind == "max" else float("inf"), dtype)
    info = np.iinfo(dtype.numpy)
    return Const(int(info.min if kind == "max" else info.max), dtype)


def extreme(t: Tracer, kind: str, a: Value, b: Value) -> Value:
    """Python's min(a, b), max(a, b): the first, unless the second is better."""
    form = join_numbers(number_form(t, a), number_form(t, b))
    if form is None or form.is_complex:
        raise CompileError(f"{kind}() of {t.describe(a)} and {t.describe(b)}", t.loc,
                           "convert them to one type")  # fmt: skip
    beyond = _beyond(kind, a, b)
    if beyond is not None:
        return beyond
    x, y = scalar(t, a), scalar(t, b)
    assert isinstance(x, Num) and isinstance(y, Num)
    by_value = form.dtype.is_int and form.dtype.bits < 64 and x.weak != y.weak
    p, q = (t.b.cast(n.atom, i64) if by_value else as_type(t, n, form.dtype) for n in (x, y))
    better = t.b.prim("lt", q, p) if kind == "min" else t.b.prim("lt", p, q)
    best = Num(t.b.prim("select", better, q, p), by_value)
    return Num(as_type(t, best, form.dtype), form.weak)


def _beyond(kind: str, a: Value, b: Value) -> Value | None:
    """Which of the two it always is, as a Python int lies beyond the type of the other."""
    for number, other in ((a, b), (b, a)):
        if not (isinstance(number, Known) and type(number.value) is int and isinstance(other, Num)):
            continue
        if other.weak or not other.dtype.is_int:
            continue
        info = np.iinfo(other.dtype.numpy)
        if number.value > info.max:
            return number if kind == "max" else other
        if number.value < info.min:
            return number if kind == "min" else other
    return None
