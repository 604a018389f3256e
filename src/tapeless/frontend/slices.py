"""Slices clip: first index, number of items, step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tapeless.core.names import Atom, Const
from tapeless.core.types import i64
from tapeless.errors import CompileError, UnsupportedError
from tapeless.frontend.scalars import index_atom
from tapeless.frontend.values import Known, Slice, Value
from tapeless.ir.build import ONE, ZERO

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer


def slice_parts(t: Tracer, s: Slice, n: Atom) -> tuple[Atom, Atom, int]:
    """First index, number of items, step: as Python clips them."""
    step = _static_step(t, s.step)
    if step < 0:
        return _slice_down(t, s, n, step)
    lo, hi = _bound(t, s.start), _bound(t, s.stop)
    p = t.b.prim
    if lo is None or (isinstance(lo, Const) and lo.value >= 0):
        start: Atom = ZERO if lo is None else lo
    elif isinstance(lo, Const):
        start = p("max", p("add", n, lo), ZERO)
    else:
        start = _clip(t, lo, n)
    if hi is None:
        stop = n
    elif isinstance(hi, Const):
        stop = p("add", n, hi) if hi.value < 0 else p("min", hi, n)
        if hi.value >= 0 and t.is_nonnegative(n):
            t.nonnegative.add(stop)
    else:
        stop = _clip(t, hi, n)
    span = p("sub", stop, start)
    if step > 1:
        span = p("floordiv", p("add", span, Const(step - 1, i64)), Const(step, i64))
    size = span if span == n or t.is_nonnegative(span) else p("max", span, ZERO)
    t.nonnegative.add(size)
    return start, size, step


def _slice_down(t: Tracer, s: Slice, n: Atom, step: int) -> tuple[Atom, Atom, int]:
    """A slice with a negative step counts down from its start (default: the last)."""
    p = t.b.prim
    last = p("sub", n, ONE)
    lo, hi = _bound(t, s.start), _bound(t, s.stop)
    start = last if lo is None else p("min", p("max", _wrapped(t, lo, n), Const(-1, i64)), last)
    stop: Atom = (
        Const(-1, i64) if hi is None else p("min", p("max", _wrapped(t, hi, n), Const(-1, i64)), last)
    )
    span = p("floordiv", p("add", p("sub", start, stop), Const(-step - 1, i64)), Const(-step, i64))
    size = n if (lo is None and hi is None and step == -1) else p("max", span, ZERO)
    t.nonnegative.add(size)
    return start, size, step


def _static_step(t: Tracer, value: Value) -> int:
    if isinstance(value, Known) and value.value is None:
        return 1
    if isinstance(value, Known) and isinstance(value.value, int):
        if value.value == 0:
            raise CompileError("a slice step cannot be zero", t.loc)
        return int(value.value)
    raise UnsupportedError("a slice step must be known at compile time", t.loc,
                           "loop with range(start, stop, step)")  # fmt: skip


def _bound(t: Tracer, value: Value) -> Atom | None:
    if isinstance(value, Known) and value.value is None:
        return None
    return index_atom(t, value, "a slice bound")


def _wrapped(t: Tracer, i: Atom, n: Atom) -> Atom:
    if t.is_nonnegative(i):
        return i
    return t.b.prim("select", t.b.prim("lt", i, ZERO), t.b.prim("add", i, n), i)


def _clip(t: Tracer, i: Atom, n: Atom) -> Atom:
    at = t.b.prim("min", _wrapped(t, i, n), n)
    if t.is_nonnegative(i):
        t.nonnegative.add(at)
        return at
    at = t.b.prim("max", at, ZERO)
    t.nonnegative.add(at)
    return at
