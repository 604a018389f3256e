"""The parallel forms of `tapeless.forms`, recognised by their qualified names."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import i64
from tapeless.errors import CompileError
from tapeless.frontend.accumulate import reduce_over, require_near
from tapeless.frontend.arrays import copy, generate, scalar_value
from tapeless.frontend.batches import batch_rule
from tapeless.frontend.blocks import columns_rule, rows_rule
from tapeless.frontend.construct import as_array
from tapeless.frontend.custom import stop_rule, with_jvp_rule, with_vjp_rule
from tapeless.frontend.derivatives import (
    linearize_rule,
    pull_rule,
    push_rule,
    value_rule,
    vjp_rule,
)  # fmt: skip
from tapeless.frontend.folds import fold_over, monoid_of, scan_over
from tapeless.frontend.iteration import iterate, make_range, row
from tapeless.frontend.join import form_of, spelled
from tapeless.frontend.kept import keep_rule
from tapeless.frontend.leaves import float_leaves, rebuilt
from tapeless.frontend.places import Indices, element, meet, new_array, numpy_dtype, read_object
from tapeless.frontend.pure import pure_rule, pure_version
from tapeless.frontend.rule import Args, Kwargs, Rule, known, simple
from tapeless.frontend.scalars import convert, index_atom
from tapeless.frontend.truth import truth_of
from tapeless.frontend.values import (
    NONE,
    Arr,
    Bracket,
    Cx,
    Known,
    Many,
    Num,
    Staged,
    Tup,
    Value,
    is_number,
    weak_int,
)  # fmt: skip
from tapeless.ir.build import ZERO
from tapeless.ir.syntax import IGNORE, Acc, Each, For, Loop, Put, Reverse, Update

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer


def _columns(
    t: Tracer, values: Sequence[Value], form: str
) -> tuple[Atom, Callable[[Atom], list[Value]]]:
    """Operands of one length: the length, and their items at an index."""
    parts = [iterate(t, v) if not isinstance(v, Arr) else v for v in values]
    arrays = [
        as_array(t, v) if isinstance(p, list) else p for v, p in zip(values, parts, strict=True)
    ]
    sizes = [a.shape[0] if isinstance(a, Arr) else a.size for a in arrays]
    size = sizes[0]
    for other in sizes[1:]:
        size = meet(t, size, other, f"{form}: the lengths of the arrays do not agree")

    def items(i: Atom) -> list[Value]:
        return [row(t, a, i) if isinstance(a, Arr) else a.item(i) for a in arrays]

    return size, items


def _map(t: Tracer, f: Value, *xs: Value) -> Value:
    if not xs:
        raise CompileError("map needs at least one array", t.loc)
    size, items = _columns(t, xs, "map")
    return generate(t, (size,), lambda idx: t.call(f, *items(idx[0])))


def _elements(
    t: Tracer, xs: Value, neutral: Value, form: str
) -> tuple[Atom, Callable[[Atom], Value]]:
    xs, neutral = spelled(xs), spelled(neutral)
    if isinstance(xs, Tup) and isinstance(neutral, Tup):
        if len(xs.items) != len(neutral.items):
            raise CompileError(
                f"{form}: {len(xs.items)} arrays but {len(neutral.items)} values of the"
                " neutral element",
                t.loc,
            )
        size, items = _columns(t, xs.items, form)
        return size, lambda i: Tup(tuple(items(i)))
    size, items = _columns(t, (xs,), form)
    return size, lambda i: items(i)[0]


KNOWN_OPERATORS = {operator.add: "+", operator.mul: "*", np.add: "+", np.multiply: "*",
                   np.minimum: "min", np.maximum: "max", min: "min", max: "max"}  # fmt: skip
NEUTRAL = {"+": 0, "*": 1}


def operator_sign(op: Value, neutral: Value | None) -> str | None:
    """The accumulation that an operator is, if it is a known one with its own neutral element."""
    sign = KNOWN_OPERATORS.get(op.value) if isinstance(op, Known) and callable(op.value) else None
    if sign in ("min", "max") or sign is None:
        return None if neutral is not None else sign
    if isinstance(neutral, Known) and neutral.value == NEUTRAL[sign]:
        return sign
    return None


def _item_function(item: Callable[[Atom], Value], t: Tracer) -> Value:
    """An item at an index as a function of the compiler."""
    return Staged(lambda t, args, kwargs: item(index_atom(t, args[0])))


def _reduce(t: Tracer, op: Value, xs: Value, neutral: Value) -> Value:
    size, item = _elements(t, xs, neutral, "reduce")
    sign = operator_sign(op, neutral)
    f = _item_function(item, t)
    if sign is not None and is_number(scalar_value(t, neutral)) and _are_scalars(xs):
        return reduce_over(t, sign, (size,), f)
    return fold_over(t, op, size, f, neutral)


def _are_scalars(xs: Value) -> bool:
    return isinstance(xs, Arr) and xs.rank == 1


def _scan(t: Tracer, op: Value, xs: Value, neutral: Value) -> Value:
    size, item = _elements(t, xs, neutral, "scan")
    return scan_over(t, op, size, _item_function(item, t), neutral)


# Writes by index --------------------------------------------------------------------------------


def _places(t: Tracer, dest: Arr, idx: Value, form: str) -> tuple[Atom, Callable[[Atom], Indices]]:
    """How many indices there are, and where the k-th points."""
    idx = spelled(idx)
    arrays = [as_array(t, i) for i in (idx.items if isinstance(idx, Tup) else (idx,))]
    if len(arrays) > dest.rank:
        raise CompileError(
            f"{form}: {len(arrays)} index arrays for an array of {dest.rank} axes", t.loc
        )
    for a in arrays:
        if a.dtype.is_float or a.is_complex or a.dtype.is_bool:
            raise CompileError(
                f"{form}: indices must be integers", t.loc, "convert with .astype(int)"
            )
    size = arrays[0].shape[0]
    for a in arrays[1:]:
        size = meet(t, size, a.shape[0], f"{form}: the lengths of the index arrays do not agree")
    return size, lambda k: tuple(index_atom(t, element(t, a, (k,))) for a in arrays)


def _value_at(t: Tracer, vals: Value, size: Atom, form: str) -> Callable[[Atom, Indices], Value]:
    vals = scalar_value(t, vals)
    if is_number(vals):
        return lambda k, rest: vals
    arr = as_array(t, vals)
    meet(t, arr.shape[0], size, f"{form}: the lengths of indices and values do not agree")
    return lambda k, rest: element(t, arr, (k, *rest))


def _lead(idx: Value) -> int:
    """How many axes an index covers."""
    parts = spelled(idx)
    return len(parts.items) if isinstance(parts, Tup) else 1


def _scatter(t: Tracer, dest: Value, idx: Value, vals: Value) -> Value:
    """Cells are written one after the other: the last of equal indices wins."""
    out = copy(t, as_array(t, dest))
    size, where = _places(t, out, idx, "scatter")
    value = _value_at(t, vals, size, "scatter")
    before = read_object(t, out.obj)
    lead = _lead(idx)
    rest = out.shape[lead:]
    box = (size, *rest)
    vars = [t.index_var(h) for h in "kijlmn"[: len(box)]]
    state = [t.fresh(before.type, before.hint) for _ in box]

    def level(d: int) -> Var:
        """The loop over box[d], inside those before it."""
        with t.b.scope():
            if d + 1 < len(box):
                result = level(d + 1)
            else:
                result = _updated(t, out, state[d], (*where(vars[0]), *vars[1:]), lead,
                                  value(vars[0], tuple(vars[1:])))  # fmt: skip
            body = t.b.body((result,))
        init = before if d == 0 else state[d - 1]
        return t.b.one(Loop(For(vars[d], box[d]), (state[d],), (init,), body), before.hint)

    with t.construct():
        after = level(0)
    return new_array(t, after, out.is_complex)


def _updated(t: Tracer, out: Arr, var: Var, at: Indices, lead: int, value: Value) -> Var:
    x = convert(t, value, numpy_dtype(out))
    modes = IGNORE * lead + "p" * (len(at) - lead)
    if isinstance(x, Cx):
        var = t.b.one(Update(var, (*at, ZERO), x.re, modes + "p"), var.hint)
        return t.b.one(Update(var, (*at, Const(1, i64)), x.im, modes + "p"), var.hint)
    return t.b.one(Update(var, at, x.atom, modes), var.hint)


def _reduce_by_index(
    t: Tracer, dest: Value, idx: Value, vals: Value, op: Value = Known(operator.add),
    neutral: Value = Known(0),
) -> Value:  # fmt: skip
    dest, vals = spelled(dest), spelled(vals)
    is_tree = isinstance(dest, Tup)
    dests = [copy(t, as_array(t, d)) for d in (dest.items if isinstance(dest, Tup) else (dest,))]
    values = list(vals.items) if is_tree and isinstance(vals, Tup) else [vals]
    if len(dests) != len(values):
        raise CompileError("reduce_by_index: dest and vals are tuples of different lengths", t.loc)
    size, where = _places(t, dests[0], idx, "reduce_by_index")
    columns = [_value_at(t, v, size, "reduce_by_index") for v in values]
    lead = _lead(idx)
    rest = dests[0].shape[lead:]
    sign = KNOWN_OPERATORS.get(op.value) if isinstance(op, Known) and not is_tree else None
    before = [read_object(t, d.obj) for d in dests]
    vars = [t.index_var(h) for h in "kijlmn"[: 1 + len(rest)]]
    accs = [t.fresh(b.type, b.hint) for b in before]
    with t.construct(), t.b.scope():
        at = (*where(vars[0]), *vars[1:])
        modes = IGNORE * lead + "p" * len(rest)
        new = [convert(t, c(vars[0], tuple(vars[1:])), numpy_dtype(d))
               for c, d in zip(columns, dests, strict=True)]  # fmt: skip
        atoms = [x.atom for x in new if isinstance(x, Num)]
        if len(atoms) != len(accs):
            if sign != "+":
                raise CompileError("reduce_by_index of complex numbers knows only sums", t.loc)
            assert isinstance(new[0], Cx)
            t.b.run(Put(tuple(accs), (*at, ZERO), (new[0].re,), modes + "p"))
            t.b.run(Put(tuple(accs), (*at, Const(1, i64)), (new[0].im,), modes + "p"))
        else:
            t.b.run(Put(tuple(accs), at, tuple(atoms), modes))
        body = t.b.body(())
    if sign is not None:
        combine: Any = sign
    else:
        example = Tup(tuple(new)) if is_tree else new[0]
        combine = monoid_of(t, op, form_of(t, example), neutral)
    acc = Acc(tuple(accs), tuple(before), combine)
    outs = t.b.let(Each(tuple(vars), (size, *rest), (acc,), body), *(b.hint for b in before))
    made = [new_array(t, o, d.is_complex) for o, d in zip(outs, dests, strict=True)]
    if t.overflow and sign in ("+", "*") and made[0].dtype.is_int:
        floats = as_array(t, spelled(dest), np.dtype("f8"))
        real = _reduce_by_index(t, floats, idx, vals, op, neutral)
        assert isinstance(real, Arr)
        require_near(t, real, made[0])
    return Tup(tuple(made)) if is_tree else made[0]


# Brackets and loops -----------------------------------------------------------------------------


def _iverson(t: Tracer, p: Value) -> Value:
    if isinstance(p, Arr) and p.rank and p.dtype.is_bool:
        return Bracket(p)
    if isinstance(p, Num | Known) and is_number(p):
        return Bracket(truth_of(t, p))
    raise CompileError(f"iverson takes a condition, not {t.describe(p)}", t.loc)


def _each(t: Tracer, *bounds: Value) -> Value:
    value = make_range(t, list(bounds))
    items = iterate(t, value)
    if isinstance(items, list):
        return value
    return Many(items.size, items.item, is_each=True)


def _loop(t: Tracer, it: Value, **options: Value) -> Value:
    kind = known(t, options.pop("reverse", Known("auto")), "'reverse'")
    levels = known(t, options.pop("levels", NONE), "'levels'")
    if kind not in ("auto", "store", "checkpoint", "recompute", "invert"):
        raise CompileError(f"loop: reverse is {kind!r}", t.loc,
                           "use auto, store, checkpoint, recompute or invert")  # fmt: skip
    if isinstance(levels, int) and levels < 1:
        raise CompileError(f"loop: levels must be at least 1, not {levels}", t.loc)
    slots, memory = (_option(t, n, options.pop(n, NONE)) for n in ("slots", "memory"))
    if options:
        raise CompileError(f"loop has no argument '{next(iter(options))}'", t.loc)
    if slots is not None and levels is not None:
        raise CompileError("loop: give slots or levels, not both", t.loc)
    if kind not in ("auto", "checkpoint") and (slots is not None or levels is not None):
        raise CompileError(
            f"loop: slots and levels are for reverse='checkpoint', not {kind!r}", t.loc
        )
    reverse = Reverse(kind, levels, slots, memory)
    it = scalar_value(t, it)
    items = iterate(t, make_range(t, [it]) if is_number(it) else it)
    if isinstance(items, list):
        return Tup(tuple(items))
    return Many(items.size, items.item, items.is_each, reverse)


def _option(t: Tracer, name: str, value: Value) -> Atom | None:
    """A number of states or bytes: at least 1."""
    if isinstance(value, Known) and value.value is None:
        return None
    atom = index_atom(t, value, f"loop: {name}")
    if not isinstance(atom, Const):
        t.b.check(t.b.prim("lt", ZERO, atom), "ValueError",
                  f"loop: {name} must be at least 1, not {{0}}", atom)  # fmt: skip
    elif atom.value < 1:
        raise CompileError(f"loop: {name} must be at least 1, not {atom.value}", t.loc)
    return atom


# Trees ------------------------------------------------------------------------------------------


def _leaves(t: Tracer, tree: Value) -> Value:
    return Tup(tuple(float_leaves(t, tree)))


def _like(t: Tracer, tree: Value, values: Value) -> Value:
    values = spelled(values)
    assert isinstance(values, Tup)
    return rebuilt(t, tree, iter(values.items))


def _tabulate(t: Tracer, size: Value, f: Value) -> Value:
    bound = index_atom(t, size, "the size of a table")
    return generate(t, (bound,), lambda idx: t.call(f, weak_int(idx[0])))


_MODULE, _API = "tapeless.forms", "tapeless.api"


def _itself(t: Tracer, args: Args, kwargs: Kwargs) -> Value:
    """Inside a program everything is compiled anyway."""
    return args[0]


FORMS: dict[str, Rule] = {
    f"{_MODULE}.parallel.map": simple(_map), f"{_MODULE}.parallel.reduce": simple(_reduce),
    f"{_MODULE}.parallel.scan": simple(_scan), f"{_MODULE}.parallel.scatter": simple(_scatter),
    f"{_MODULE}.parallel.reduce_by_index": simple(_reduce_by_index),
    f"{_MODULE}.brackets.iverson": simple(_iverson), f"{_MODULE}.loops.each": simple(_each),
    f"{_MODULE}.loops.loop": simple(_loop),
    f"{_API}.operations.value": value_rule,
    f"{_API}.operations.pull": pull_rule, f"{_API}.operations.push": push_rule,
    f"{_API}.operations.columns": columns_rule, f"{_API}.operations.rows": rows_rule,
    f"{_API}.operations.leaves": simple(_leaves), f"{_API}.operations.like": simple(_like),
    f"{_API}.operations.tabulate": simple(_tabulate),
    f"{_API}.operations.with_vjp": with_vjp_rule, f"{_API}.operations.with_jvp": with_jvp_rule,
    f"{_API}.custom.stop_gradient": simple(stop_rule),
    f"{_API}.operations.batch": simple(batch_rule),
    f"{_API}.functional.call_pure": simple(pure_rule),
    f"{_API}.functional.functional": lambda t, args, kwargs: pure_version(args[0]),
    f"{_API}.operations.keep": keep_rule, f"{_API}.pullbacks.vjp": vjp_rule,
    f"{_API}.pullbacks.linearize": linearize_rule,
    f"{_API}.jit.jit": _itself, f"{_API}.derived.derived": lambda t, args, kwargs: args[2],
    f"{_API}.derived.with_default": lambda t, args, kwargs: Known(()),  # none is filled in here
}  # fmt: skip
