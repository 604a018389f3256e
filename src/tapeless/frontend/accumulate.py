"""Reductions and accumulating writes over a box, as the library and forms use them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import bool_, f64, i64
from tapeless.errors import CompileError
from tapeless.frontend import overflow
from tapeless.frontend.arrays import (
    generate,
    index_hints,
    put_each,
    refuse_writes,
    scalar_value,
)
from tapeless.frontend.construct import as_array
from tapeless.frontend.iteration import iterate
from tapeless.frontend.join import spelled
from tapeless.frontend.places import Indices, element
from tapeless.frontend.reductions import neutral as start_of
from tapeless.frontend.scalars import index_atom, scalar, truth
from tapeless.frontend.truth import truth_of
from tapeless.frontend.values import Arr, Cx, Known, Num, Tup, Value, is_number, weak_int
from tapeless.ir.build import FALSE, TRUE, ZERO
from tapeless.ir.syntax import Acc, Each, Fold, Monoid, Put

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer

KINDS = {"+": "sum", "*": "prod", "min": "min", "max": "max", "and": "all", "or": "any"}
MODES = {"proved": "p", "check": "c", "wrap": "w", "ignore": "i"}


def reduce_over(t: Tracer, op: str, shape: Indices, f: Value) -> Value:
    """f(i, j, …) over a box, combined."""
    kind = KINDS[op]
    if not shape:
        return scalar_value(t, t.call(f))
    vars = tuple(map(t.index_var, index_hints(len(shape))))
    before = dict(t.state.heap)
    with t.construct(), t.b.scope():
        x = scalar(t, scalar_value(t, t.call(f, *map(weak_int, vars))))
        if kind in ("any", "all"):
            test = truth(t, x)
            x = Num(
                Const(bool(test.value), bool_) if isinstance(test, Known) else test.atom, x.weak
            )
        elif kind in ("sum", "prod") and x.dtype.is_bool:
            assert isinstance(x, Num)
            x = Num(t.b.cast(x.atom, i64), x.weak)
        if isinstance(x, Cx) and kind == "prod":
            return _complex_product(t, shape, f)
        refuse_writes(t, before)
        parts = [x.re, x.im] if isinstance(x, Cx) else [x.atom]
        accs = []
        for part in parts:
            acc = Var(part.type, "total", t.loc)
            t.b.run(Put((acc,), (), (part,), ""))
            accs.append(
                Acc(
                    (acc,),
                    (start_of(kind, part.dtype),),
                    {"any": "max", "all": "min"}.get(kind, op),
                )
            )
        real = overflow.shadow(t, kind, parts[0])
        if real is not None:
            accs.append(Acc((real,), (start_of(kind, f64),), op))
        body = t.b.body(())
    t.state.heap = before
    if kind in ("min", "max"):
        check_some(t, shape, kind)
    outs = t.b.let(Each(vars, shape, tuple(accs), body), "total")
    if real is not None:
        overflow.near(t, outs[-1], outs[0])
    return Cx(outs[0], outs[1]) if isinstance(x, Cx) else Num(outs[0], x.weak)


def check_some(t: Tracer, shape: Indices, kind: str) -> None:
    """min and max need an element."""
    some: Atom = TRUE
    for size in shape:
        some = t.b.prim("and", some, t.b.prim("lt", ZERO, size))
    if some == FALSE:
        raise CompileError(f"{kind} of an empty array", t.loc, "make sure that there is an element")
    message = (
        f"{kind} of an empty sequence" if kind.endswith("()")
        else f"zero-size array to reduction operation {kind} which has no identity"
    )  # fmt: skip
    t.b.check(some, "ValueError", message)


def _complex_product(t: Tracer, shape: Indices, f: Value) -> Value:
    raise CompileError("a product of complex numbers over several axes is not supported", t.loc,
                       "multiply in a loop")  # fmt: skip


def best_over(t: Tracer, op: str, size: Atom, f: Callable[[Value], Value], what: str = "") -> Tup:
    """The first best of f(i) and its index; NaN wins. `what`: the call, if it is not np.argmin."""
    check_some(t, (size,), what or f"arg{op}")

    def better(t: Tracer, new: list[Atom], old: list[Atom]) -> Atom:
        """Whether the right operand replaces the left: it is strictly better, or the first NaN."""
        p = t.b.prim
        (a, _), (b, _) = old, new
        wins = p("lt", b, a) if op == "min" else p("lt", a, b)
        if not a.dtype.is_float:
            return wins
        first_nan = p("and", p("isnan", b), p("not", p("isnan", a)))
        return p("or", first_nan, p("and", wins, p("not", p("isnan", a))))

    var = t.index_var("i")
    with t.construct(), t.b.scope():
        x = scalar(t, _number(t, f(weak_int(var)), what or f"arg{op}"))
        if isinstance(x, Cx):
            raise CompileError(
                f"{what or 'arg' + op} of complex numbers", t.loc, "compare their abs()"
            )
        body = t.b.body((x.atom, var))
    left = [t.fresh(x.atom.type, "a"), t.index_var("i")]
    right = [t.fresh(x.atom.type, "b"), t.index_var("j")]
    with t.b.scope():
        p = t.b.prim
        # an operand whose index is -1 is the neutral element
        nothing = p("lt", left[1], ZERO)
        some = p("le", ZERO, right[1])
        wins = p("and", some, p("or", nothing, better(t, list(right), list(left))))
        merged = t.b.body(
            (p("select", wins, right[0], left[0]), p("select", wins, right[1], left[1]))
        )
    start = (start_of(op, x.dtype), Const(-1, i64))
    monoid = Monoid(tuple(left), tuple(right), merged, start)
    outs = t.b.let(Fold(var, size, monoid, body), "best", "at")
    t.nonnegative.add(outs[1])
    return Tup((Num(outs[0], x.weak), weak_int(outs[1])))


def _number(t: Tracer, value: Value, what: str) -> Value:
    found = scalar_value(t, value)
    if not is_number(found):
        raise CompileError(f"{what} compares {t.describe(found)}", t.loc, "compare numbers")
    return found


# Accumulating writes ----------------------------------------------------------------------------


def put_over(
    t: Tracer,
    op: str,
    target: Arr,
    shape: Indices,
    where: Value,
    value: Value,
    mode: str,
    when: Value,
) -> None:
    """For every index: target[where(index)] op= value(index)."""

    def at(idx: Indices) -> Indices:
        place = spelled(t.call(where, *map(weak_int, idx)))
        items = [place] if is_number(place) or isinstance(place, Arr) else iterate(t, place)
        assert isinstance(items, list)
        return tuple(index_atom(t, scalar_value(t, i)) for i in items)

    def new(idx: Indices) -> Value:
        return scalar_value(t, t.call(value, *map(weak_int, idx)))

    def keep(idx: Indices) -> Atom:
        test = truth_of(t, t.call(when, *map(weak_int, idx)))
        return Const(bool(test.value), bool_) if isinstance(test, Known) else test.atom

    always = isinstance(when, Known) and when.value is None
    if not shape:
        raise CompileError("nothing to write over", t.loc)
    modes, when_kept = MODES[mode] * target.rank, None if always else keep
    if t.overflow and op in ("+", "*") and target.dtype.is_int:
        _put_exactly(t, target, lambda a: put_each(t, a, shape, at, new, op, modes, when_kept))
    else:
        put_each(t, target, shape, at, new, op, modes, when_kept)


def _put_exactly(t: Tracer, target: Arr, put: Callable[[Arr], None]) -> None:
    """The same into floats as well, which tell whether an integer left its range."""
    real = as_array(t, target, np.dtype("f8"))
    put(real)
    put(target)
    require_near(t, real, target)


def require_near(t: Tracer, real: Arr, target: Arr) -> None:
    """Each integer is what the same sum is in floats."""

    def compare(i: Indices) -> Value:
        a, b = element(t, real, i), element(t, target, i)
        assert isinstance(a, Num) and isinstance(b, Num)
        overflow.near(t, a.atom, b.atom)
        return b

    generate(t, target.shape, compare)
