"""Folds and scans under an operator of the user.

An operator that may raise is run in order, one element after the other: only what has no effect may
be re-associated.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING

from tapeless.core.names import Atom, Var
from tapeless.core.types import Array
from tapeless.errors import CompileError, UnsupportedError
from tapeless.frontend.arrays import pair, refuse_writes, scalar_value
from tapeless.frontend.join import ArrayForm, Form, Number, Tree, form_of, join_numbers, spelled
from tapeless.frontend.packing import new_vars, pack, unpack
from tapeless.frontend.places import element, meet, new_array
from tapeless.frontend.values import Arr, Cx, Num, Tup, Value, weak_int
from tapeless.ir.effects import is_pure
from tapeless.ir.syntax import Alloc, Body, Each, Fold, For, Loop, Monoid, Scan, Update

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer


def common_form(t: Tracer, a: Form, b: Form) -> Form:
    """The form of two operands of one operator; sizes are checked to be equal."""
    if isinstance(a, Number) and isinstance(b, Number):
        form = join_numbers(a, b)
        if form is not None:
            return form
    elif isinstance(a, Tree) and isinstance(b, Tree) and len(a.items) == len(b.items):
        items = tuple(common_form(t, x, y) for x, y in zip(a.items, b.items, strict=True))
        return Tree(items, a.cls or b.cls)
    elif isinstance(a, ArrayForm) and isinstance(b, ArrayForm):
        kinds = [(x.dtype, x.is_complex, len(x.shape)) for x in (a, b)]
        if kinds[0] == kinds[1]:
            return replace(a, shape=tuple(map(functools.partial(_agreed, t), a.shape, b.shape)))
    raise CompileError(
        "the elements, the operator and its neutral element have different types", t.loc,
        "give all three one type",
    )  # fmt: skip


def _agreed(t: Tracer, a: Atom | None, b: Atom | None) -> Atom:
    if a is None or b is None:
        raise CompileError("the sizes of the values that are combined change on the way", t.loc,
                           "write a loop")  # fmt: skip
    return meet(t, a, b, "the elements and the neutral element differ in size")


def element_form(t: Tracer, f: Value, neutral: Value) -> Form:
    """The form of f(i) joined with the neutral element's; the trace is thrown away."""
    before, place = t.snapshot(), t.b.here()
    var = t.index_var("i")
    with t.construct(), t.b.scope():
        form = form_of(t, spelled(_plain(t, t.call(f, weak_int(var)))))
    before.restore(t.frames, t.state)
    t.b.rewind(place)
    return common_form(t, form, form_of(t, spelled(_plain(t, neutral))))


def _plain(t: Tracer, value: Value) -> Value:
    """0-dimensional arrays as numbers, lists as tuples."""
    value = spelled(scalar_value(t, value))
    if isinstance(value, Tup):
        return Tup(tuple(_plain(t, v) for v in value.items), value.cls)
    return value


def monoid_of(t: Tracer, op: Value, form: Form, neutral: Value) -> Monoid:
    """An operator of the user as a monoid over values of one form."""
    left: list[Var] = []
    right: list[Var] = []
    start: list[Atom] = []
    new_vars(form, "a", left, t.fresh)
    new_vars(form, "b", right, t.fresh)
    pack(t, form, _plain(t, neutral), start)
    before = dict(t.state.heap)
    with t.construct(), t.b.scope():
        out = _combined(t, op, form, list(left), unpack(t, form, list(right)))
        refuse_writes(t, before)
        body = t.b.body(tuple(out))
    t.state.heap = before
    return Monoid(tuple(left), tuple(right), body, tuple(start))


def _combined(t: Tracer, op: Value, form: Form, left: list[Var], right: Value) -> list[Atom]:
    """The atoms of op(left, right)."""
    out = _plain(t, t.call(op, unpack(t, form, left), right))
    common_form(t, form, form_of(t, out))
    atoms: list[Atom] = []
    pack(t, form, out, atoms)
    return atoms


def fold_over(t: Tracer, op: Value, size: Atom, f: Value, neutral: Value) -> Value:
    """f(0) op f(1) op …"""
    form = element_form(t, f, neutral)
    monoid = monoid_of(t, op, form, neutral)
    if is_pure(monoid.body):
        var, body = _elements(t, f, form)
        outs = list(t.b.let(Fold(var, size, monoid, body), "total"))
    else:
        outs = _in_order(t, op, size, f, form, monoid.neutral, ())
    return unpack(t, form, outs)


def scan_over(t: Tracer, op: Value, size: Atom, f: Value, neutral: Value) -> Value:
    """The prefixes f(0), f(0) op f(1), …"""
    form = element_form(t, f, neutral)
    monoid = monoid_of(t, op, form, neutral)
    if is_pure(monoid.body):
        var, body = _elements(t, f, form)
        outs = list(t.b.let(Scan(var, size, monoid, body), "prefix"))
    else:
        if any(isinstance(v.type, Array) for v in monoid.left):
            raise UnsupportedError("a scan of arrays under an operator that may raise", t.loc,
                                   "write a loop that fills an array")  # fmt: skip
        rows = tuple(t.b.one(Alloc("empty", v.dtype, (size,)), "prefix") for v in monoid.left)
        outs = _in_order(t, op, size, f, form, monoid.neutral, rows)[len(monoid.left) :]
    return _prefixes(t, form, outs)


def _elements(t: Tracer, f: Value, form: Form) -> tuple[Var, Body]:
    var = t.index_var("i")
    before = dict(t.state.heap)
    with t.construct(), t.b.scope():
        atoms: list[Atom] = []
        pack(t, form, _plain(t, t.call(f, weak_int(var))), atoms)
        refuse_writes(t, before)
        body = t.b.body(tuple(atoms))
    t.state.heap = before
    return var, body


def _in_order(
    t: Tracer, op: Value, size: Atom, f: Value, form: Form, start: tuple[Atom, ...],
    rows: tuple[Var, ...],
) -> list[Var]:  # fmt: skip
    """One element after the other; what has been combined so far goes to `rows`."""
    params: list[Var] = []
    new_vars(form, "total", params, t.fresh)
    filled = [t.fresh(r.type, r.hint) for r in rows]
    var = t.index_var("i")
    before = dict(t.state.heap)
    with t.construct(), t.b.scope():
        new = _plain(t, t.call(f, weak_int(var)))
        atoms = _combined(t, op, form, list(params), new)
        refuse_writes(t, before)
        now = [
            t.b.one(Update(r, (var,), a, "p"), r.hint) for r, a in zip(filled, atoms, strict=False)
        ]
        body = t.b.body((*atoms, *now))
    t.state.heap = before
    loop = Loop(For(var, size), (*params, *filled), (*start, *rows), body)
    return list(t.b.let(loop, *(p.hint for p in (*params, *filled))))


def _prefixes(t: Tracer, form: Form, outs: list[Var]) -> Value:
    match form:
        case Tree(items, cls):
            return Tup(tuple(_prefixes(t, f, outs) for f in items), cls)
        case Number(_, True):
            re, im = new_array(t, outs.pop(0)), new_array(t, outs.pop(0))
            return _interleaved(t, re, im)
    return new_array(t, outs.pop(0))


def _interleaved(t: Tracer, re: Arr, im: Arr) -> Value:
    """Two real arrays as a complex one."""
    var = t.index_var("i")
    with t.b.scope():
        x, y = element(t, re, (var,)), element(t, im, (var,))
        assert isinstance(x, Num) and isinstance(y, Num)
        body = t.b.body((pair(t, Cx(x.atom, y.atom)),))
    return new_array(t, t.b.one(Each((var,), re.shape, (), body), "z"), is_complex=True)
