"""Slices clip: first index, number of items, step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tapeless.core.names import Atom, Const
from tapeless.core.types import i64
from tapeless.errors import CompileError
from tapeless.frontend.scalars import index_atom
from tapeless.frontend.values import Known, Slice, Value
from tapeless.ir.build import ONE, ZERO

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer

BEFORE = Const(-1, i64)  # the place before the first


def slice_parts(t: Tracer, s: Slice, n: Atom) -> tuple[Atom, Atom, Atom]:
    """First index, number of items, step of a slice of an axis of size n."""
    step = _step(t, s.step)
    lo, hi = _bound(t, s.start), _bound(t, s.stop)
    if isinstance(step, Const):
        if step.value > 0:
            return _upwards(t, lo, hi, n, step)
        return _downwards(t, lo, hi, n, step)
    if t.is_nonnegative(step):
        return _upwards(t, lo, hi, n, step)
    up, down = _upwards(t, lo, hi, n, step), _downwards(t, lo, hi, n, step)
    rises = t.b.prim("lt", ZERO, step)
    start, size = (t.b.prim("select", rises, a, b) for a, b in zip(up[:2], down[:2], strict=True))
    t.nonnegative.add(size)
    return start, size, step


def _step(t: Tracer, value: Value) -> Atom:
    if isinstance(value, Known) and value.value is None:
        return ONE
    step = index_atom(t, value, "a slice step")
    if step == ZERO:
        raise CompileError("a slice step cannot be zero", t.loc, "use a step that is not zero")
    if not isinstance(step, Const):
        t.b.check(t.b.prim("ne", step, ZERO), "ValueError", "slice step cannot be zero")
    return step


def _upwards(
    t: Tracer, lo: Atom | None, hi: Atom | None, n: Atom, step: Atom
) -> tuple[Atom, Atom, Atom]:
    p = t.b.prim
    if step == ONE and _is_one_item(t, lo, hi, n):
        assert lo is not None or hi is not None
        return _one_item(t, lo, n)
    start = ZERO if lo is None else _clipped(t, lo, n, at_end=False)
    stop = n if hi is None else _clipped(t, hi, n, at_end=True)
    span = p("sub", stop, start)
    if step != ONE:
        span = p("floordiv", p("add", span, p("sub", step, ONE)), step)
    size = span if span == n or t.is_nonnegative(span) else p("max", span, ZERO)
    t.nonnegative.add(size)
    return start, size, step


def _is_one_item(t: Tracer, lo: Atom | None, hi: Atom | None, n: Atom) -> bool:
    """x[i:i+1] and x[-1:]: a slice of one item, as broadcasting has to know."""
    if hi is None:
        return lo == BEFORE and n != ONE
    start = ZERO if lo is None else lo
    return t.b.prim("sub", hi, start) == ONE and start != BEFORE and n != ONE


def _one_item(t: Tracer, lo: Atom | None, n: Atom) -> tuple[Atom, Atom, Atom]:
    i = ZERO if lo is None else lo
    at = i if t.is_nonnegative(i) else _wrapped(t, i, n)
    inside = t.b.prim("and", t.b.prim("le", ZERO, at), t.b.prim("lt", at, n))
    if isinstance(inside, Const) and not inside.value:
        return ZERO, ZERO, ONE
    t.b.check(
        inside, "IndexError", "the slice of one item at {0} is outside an axis of size {1}", i, n
    )
    t.nonnegative.add(at)
    return at, ONE, ONE


def _clipped(t: Tracer, i: Atom, n: Atom, *, at_end: bool) -> Atom:
    """A bound brought between 0 and n; a start may lie behind n, and an end before 0."""
    p = t.b.prim
    if isinstance(i, Const):
        if i.value >= 0:
            if not at_end:
                return i
            stop = p("min", i, n)
            if t.is_nonnegative(n):
                t.nonnegative.add(stop)
            return stop
        shifted = p("add", n, i)
        return shifted if at_end else p("max", shifted, ZERO)
    at = p("min", _wrapped(t, i, n), n)
    if not t.is_nonnegative(i):
        at = p("max", at, ZERO)
    t.nonnegative.add(at)
    return at


def _downwards(
    t: Tracer, lo: Atom | None, hi: Atom | None, n: Atom, step: Atom
) -> tuple[Atom, Atom, Atom]:
    """A slice with a negative step counts down from its start (default: the last)."""
    p = t.b.prim
    last = p("sub", n, ONE)
    start = last if lo is None else p("min", p("max", _wrapped(t, lo, n), BEFORE), last)
    stop: Atom = BEFORE if hi is None else p("min", p("max", _wrapped(t, hi, n), BEFORE), last)
    width = p("neg", step)
    span = p("floordiv", p("add", p("sub", start, stop), p("sub", width, ONE)), width)
    size = n if (lo is None and hi is None and step == BEFORE) else p("max", span, ZERO)
    t.nonnegative.add(size)
    return start, size, step


def _bound(t: Tracer, value: Value) -> Atom | None:
    if isinstance(value, Known) and value.value is None:
        return None
    return index_atom(t, value, "a slice bound")


def _wrapped(t: Tracer, i: Atom, n: Atom) -> Atom:
    if t.is_nonnegative(i):
        return i
    return t.b.prim("select", t.b.prim("lt", i, ZERO), t.b.prim("add", i, n), i)
