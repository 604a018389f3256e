"""Derivatives inside programs: a function is traced on leaves of its own, differentiated as Core,
and put in place of the call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tapeless.ad.jvp import forward
from tapeless.ad.vjp import reverse
from tapeless.core.names import Atom, Const, Var
from tapeless.errors import CompileError
from tapeless.frontend.arrays import materialise
from tapeless.frontend.join import Form, form_of, spelled
from tapeless.frontend.packing import pack, unpack
from tapeless.frontend.places import meet, new_array
from tapeless.frontend.rule import Args, Kwargs, known
from tapeless.frontend.scalars import scalar
from tapeless.frontend.values import (
    NONE,
    Arr,
    Cx,
    DictObj,
    InstanceObj,
    Known,
    ListObj,
    Num,
    Ref,
    Seq,
    Tup,
    Value,
    is_number,
)  # fmt: skip
from tapeless.ir.syntax import Body, Fun
from tapeless.ir.walk import Rewriter, free_vars

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """A float that a function is differentiated by: its own variable, and what it stands for."""

    var: Var
    atom: Atom


# Trees of values --------------------------------------------------------------------------------


def on_leaves(t: Tracer, value: Value, number: Callable[[Value], Value],
              array: Callable[[Arr], Value]) -> Value:  # fmt: skip
    """A tree of new containers, its numbers and arrays mapped."""
    value = spelled(value)
    if is_number(value):
        return number(value)
    match value:
        case Arr():
            return array(value)
        case Tup(items, cls):
            return Tup(tuple(on_leaves(t, v, number, array) for v in items), cls)
        case Ref(obj):
            content = t.state.heap[obj]
            new: Any = {ListObj: ListObj, DictObj: DictObj}.get(type(obj), lambda: None)()
            if isinstance(content, Seq):
                leaves = tuple(array(leaf) for leaf in content.leaves)
                content = Seq(content.size, content.form, leaves)  # type: ignore[arg-type]  # arrays map to arrays
            elif isinstance(content, dict):
                content = {k: on_leaves(t, v, number, array) for k, v in content.items()}
            else:
                content = tuple(on_leaves(t, v, number, array) for v in content)
            if isinstance(obj, InstanceObj):
                new = InstanceObj(obj.cls, "", obj.value, None, obj.home)
            t.state.heap[new] = content
            return Ref(new)
        case _:
            return value


def independent(t: Tracer, value: Value, leaves: list[Leaf]) -> Value:
    """A copy of an argument whose floats are leaves."""

    def leaf(atom: Atom) -> Var:
        var = t.fresh(atom.type, atom.hint if isinstance(atom, Var) else "x")
        t.b.level[var] = len(t.b.scopes) - 1
        leaves.append(Leaf(var, atom))
        return var

    def number(value: Value) -> Value:
        x = scalar(t, value)
        if isinstance(x, Cx):
            return Cx(leaf(x.re), leaf(x.im), x.weak)
        return Num(leaf(x.atom), x.weak) if x.dtype.is_float else value

    def array(value: Arr) -> Value:
        content = materialise(t, value)
        return new_array(t, leaf(content) if content.dtype.is_float else content, value.is_complex)

    return on_leaves(t, value, number, array)


def detached(t: Tracer, value: Value) -> Value:
    """A copy of an argument that the function may write without the caller's seeing it."""
    return on_leaves(t, value, lambda v: v, lambda a: new_array(t, materialise(t, a), a.is_complex))


def in_place_of(t: Tracer, value: Value, atoms: Iterator[Atom]) -> Value:
    """The tree of an argument with other numbers in place of its floats, None for the rest."""

    def number(value: Value) -> Value:
        x = scalar(t, value)
        if isinstance(x, Cx):
            return Cx(next(atoms), next(atoms))
        return Num(next(atoms)) if x.dtype.is_float else NONE

    def array(value: Arr) -> Value:
        if not value.dtype.is_float:
            return NONE
        content = next(atoms)
        assert isinstance(content, Var)
        return new_array(t, content, value.is_complex)

    return on_leaves(t, value, number, array)


def tangents_of(t: Tracer, value: Value, dot: Value, out: list[Atom | None]) -> None:
    """The floats of `dot`, which has the structure of `value`; None stands for zero."""
    value, dot = spelled(value), spelled(dot)
    count: list[Atom | None] = []
    if isinstance(dot, Known) and dot.value is None:
        on_leaves(t, value, lambda v: _zeros(t, v, count), lambda a: _zeros(t, a, count))
        out += count
        return
    match value, dot:
        case Tup(xs), Tup(ds) if len(xs) == len(ds):
            for x, d in zip(xs, ds, strict=True):
                tangents_of(t, x, d, out)
        case Ref(a), Ref(b) if isinstance(t.state.heap[a], dict) and isinstance(
            t.state.heap[b], dict
        ) and t.state.heap[a].keys() == t.state.heap[b].keys():  # fmt: skip
            for key, x in t.state.heap[a].items():
                tangents_of(t, x, t.state.heap[b][key], out)
        case Ref(a), Ref(b) if isinstance(t.state.heap[a], tuple) and isinstance(
            t.state.heap[b], tuple
        ) and len(t.state.heap[a]) == len(t.state.heap[b]):  # fmt: skip
            for x, d in zip(t.state.heap[a], t.state.heap[b], strict=True):
                tangents_of(t, x, d, out)
        case Arr(), Arr() if value.rank == dot.rank and value.is_complex == dot.is_complex:
            if value.dtype.is_float:
                for have, want in zip(dot.shape, value.shape, strict=True):
                    meet(t, have, want, "a tangent differs in shape from what it belongs to")
                out.append(_same_type(t, dot, value))
        case _ if is_number(value) and is_number(dot):
            _number_tangent(t, value, dot, out)
        case _:
            raise CompileError(
                f"a tangent is {t.describe(dot)}, where {t.describe(value)} has to be met", t.loc,
                "give it the structure and the shapes of what it belongs to",
            )  # fmt: skip


def _zeros(t: Tracer, value: Value, count: list[Atom | None]) -> Value:
    x = value if isinstance(value, Arr) else scalar(t, value)
    if x.dtype.is_float:
        count += [None] * (2 if isinstance(x, Cx) else 1)
    return value


def _same_type(t: Tracer, dot: Arr, value: Arr) -> Var:
    if dot.dtype != value.dtype:
        dot = t.library("astype", dot, Known(value.dtype.numpy.type))  # type: ignore[assignment]  # an array stays one
    return materialise(t, dot)


def _number_tangent(t: Tracer, value: Value, dot: Value, out: list[Atom | None]) -> None:
    x, d = scalar(t, value), scalar(t, dot)
    if isinstance(x, Cx):
        re, im = (d.re, d.im) if isinstance(d, Cx) else (d.atom, Const(0.0, x.dtype))
        out += [t.b.cast(re, x.dtype), t.b.cast(im, x.dtype)]
    elif x.dtype.is_float:
        assert isinstance(d, Num)
        out.append(t.b.cast(d.atom, x.dtype))


# Tracing apart ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Traced:
    """A call traced on leaves: its Core, what it gives, how that travels."""

    body: Body
    out: Value
    form: Form
    leaves: list[Leaf]


def traced(t: Tracer, f: Value, args: Args, kwargs: Kwargs, picks: Sequence[int]) -> Traced:
    leaves: list[Leaf] = []
    with t.construct(), t.b.scope() as stms:
        inputs = [
            independent(t, a, leaves) if k in picks else detached(t, a) for k, a in enumerate(args)
        ]
        names = {k: detached(t, v) for k, v in kwargs.items()}
        out = t.rules.call(t, f, inputs, names)
        form = form_of(t, out)
        atoms: list[Atom] = []
        pack(t, form, out, atoms)
        body = t.b.body(tuple(atoms))
    body = Body(tuple(stms), body.results)
    return Traced(optimised(t, body, leaves), out, form, leaves)


def optimised(t: Tracer, body: Body, leaves: list[Leaf]) -> Body:
    """The body after the passes that shape it: rules for nests work on nests."""
    tidy = t.outside.options.tidy
    if tidy is None:
        return body
    free = list(dict.fromkeys((*free_vars(body), *(leaf.var for leaf in leaves))))
    sizes = [s for v in free for s in v.shape if isinstance(s, Var)]
    params = dict.fromkeys((*sizes, *free))
    return tidy(Fun("f", tuple(params), body)).body


def emit(t: Tracer, body: Body, leaves: list[Leaf]) -> tuple[Atom, ...]:
    """The statements of `body` here, its leaves replaced by what they stand for."""
    put = Rewriter({leaf.var: leaf.atom for leaf in leaves}, fresh=False).body(body)
    t.b.scopes[-1].extend(put.stms)
    for stm in put.stms:
        for out in stm.outs:
            t.b.level[out] = len(t.b.scopes) - 1
    return put.results


def positions(t: Tracer, argnums: Value, count: int) -> tuple[int, ...]:
    """Which arguments to differentiate by."""
    given = known(t, argnums, "argnums")
    picks = given if isinstance(given, tuple | list) else (given,)
    for k in picks:
        if not isinstance(k, int) or not -count <= k < count:
            raise CompileError(f"argnums: there is no positional argument {k!r}", t.loc)
    return tuple(k % count for k in picks)


# Rules ------------------------------------------------------------------------------------------


def pull_rule(t: Tracer, args: Args, kwargs: Kwargs) -> Value:
    """(f(*args), cotangents of the arguments at `argnums`), for a cotangent of the result."""
    f, argnums, seed, *primals = args
    picks = positions(t, argnums, len(primals))
    call = traced(t, f, primals, kwargs, picks)
    if not call.leaves:
        raise CompileError(f"{t.describe(f)} has no float argument to differentiate by", t.loc)
    seeds = seeds_of(t, call, seed, t.describe(f))
    body = reverse(call.body, [leaf.var for leaf in call.leaves], seeds)
    atoms = emit(t, body, call.leaves)
    count = len(call.body.results)
    out = unpack(t, call.form, list(atoms[:count]))  # type: ignore[arg-type]  # constants travel as well
    bars = iter(atoms[count:])
    grads = [in_place_of(t, primals[k], bars) for k in picks]
    single = not isinstance(known(t, argnums, "argnums"), tuple | list)
    return Tup((out, grads[0] if single else Tup(tuple(grads))))


def seeds_of(t: Tracer, call: Traced, seed: Value, name: str) -> list[Atom | None]:
    """A cotangent per result atom: 1 for the only float scalar if `seed` is None."""
    results = call.body.results
    if isinstance(seed, Known) and seed.value is None:
        first = spelled(call.out)
        value = first.items[0] if isinstance(first, Tup) and first.items else first
        if not (is_number(value) and isinstance(x := scalar(t, value), Num) and x.dtype.is_float):
            raise CompileError(
                f"{name} gives {t.describe(value)}: a gradient needs one real number", t.loc,
                "use vjp with a cotangent, or jacobian",
            )  # fmt: skip
        return [Const(1.0, results[0].dtype), *(None for _ in results[1:])]
    flat: list[Atom | None] = []
    tangents_of(t, call.out, seed, flat)
    given = iter(flat)
    return [next(given) if r.dtype.is_float else None for r in results]


def push_rule(t: Tracer, args: Args, kwargs: Kwargs) -> Value:
    """(f(*primals), its tangent) for tangents of the primals."""
    f, primals, tangents = args
    primals, tangents = spelled(primals), spelled(tangents)
    if not (isinstance(primals, Tup) and isinstance(tangents, Tup)
            and len(primals.items) == len(tangents.items)):  # fmt: skip
        raise CompileError("jvp takes a tuple of primals and one of tangents, equally long", t.loc)
    call = traced(t, f, primals.items, kwargs, range(len(primals.items)))
    flat: list[Atom | None] = []
    for x, d in zip(primals.items, tangents.items, strict=True):
        tangents_of(t, x, d, flat)
    dots = {leaf.var: dot for leaf, dot in zip(call.leaves, flat, strict=True) if dot is not None}
    body = forward(call.body, dots)
    atoms = emit(t, body, call.leaves)
    count = len(call.body.results)
    out = unpack(t, call.form, list(atoms[:count]))  # type: ignore[arg-type]
    return Tup((out, in_place_of(t, out, iter(atoms[count:]))))
