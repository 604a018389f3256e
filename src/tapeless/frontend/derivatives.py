"""Derivatives inside programs: a function is traced on leaves of its own, differentiated as Core,
and put in place of the call."""

from __future__ import annotations

import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tapeless.ad.jvp import forward
from tapeless.ad.vjp import reverse
from tapeless.core.names import Atom, Const, Loc, Var
from tapeless.core.types import bool_, i64
from tapeless.errors import CompileError
from tapeless.frontend.argtypes import plain
from tapeless.frontend.arrays import scalar_value
from tapeless.frontend.comprehensions import as_list
from tapeless.frontend.construct import array_of
from tapeless.frontend.join import Form, form_of, spelled
from tapeless.frontend.leaves import (
    Directions,
    Leaf,
    detached,
    float_leaves,
    independent,
    of_atoms,
)  # fmt: skip
from tapeless.frontend.packing import pack, unpack
from tapeless.frontend.rule import Args, Kwargs, known
from tapeless.frontend.scalars import scalar
from tapeless.frontend.values import (
    Cx,
    Fn,
    Gen,
    InstanceObj,
    Known,
    Many,
    Num,
    Ref,
    Rng,
    Seq,
    Staged,
    Tup,
    Value,
    is_number,
)  # fmt: skip
from tapeless.ir.syntax import Body, Fun, Let, Prim
from tapeless.ir.walk import atoms_of, free_vars, refresh, type_vars

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer

VALUE, FIRST = "value", "first"  # seeds: 1 for the result, or for the first one of two


@dataclass(frozen=True, slots=True, eq=False)
class Traced:
    """A call traced on leaves: its Core, what it gives, how that travels, what it is called."""

    body: Body
    out: Value
    form: Form
    leaves: list[Leaf]
    name: str
    f: Value

    def unpacked(self, t: Tracer, atoms: Sequence[Atom]) -> Value:
        """The result of the call, from the atoms that it travels as."""
        return unpack(t, self.form, list(atoms))  # type: ignore[arg-type]  # constants travel too


def traced(t: Tracer, f: Value, args: Args, kwargs: Kwargs, picks: Sequence[int]) -> Traced:
    """f(*args, **kwargs), independent of where it is called; its leaves are the floats of the
    arguments at `picks`. Arrays that it writes are its own."""
    name = named(t, f)
    t.b.loc = t.b.loc or place_of(f)
    leaves: list[Leaf] = []
    t.derivatives += 1
    with t.construct():
        inputs = [
            independent(t, a, leaves) if k in picks else detached(t, a) for k, a in enumerate(args)
        ]
        names = {k: detached(t, v) for k, v in kwargs.items()}
        with t.b.scope() as stms:
            out = returned(t, t.rules.call(t, f, inputs, names))
            form = form_of(t, out)
            atoms: list[Atom] = []
            pack(t, form, out, atoms)
            body = t.b.body(tuple(atoms))
    t.derivatives -= 1
    if not leaves:
        given = " and ".join(f"{argument(f, k)} is {t.describe(args[k])}" for k in sorted(picks))
        raise CompileError(
            f"{name} cannot be differentiated by this: {given or 'there is no argument'}", t.loc,
            "only floats have a derivative: pass floats, or choose other argnums",
        )  # fmt: skip
    if not float_leaves(t, out):
        raise CompileError(
            f"{name} gives {t.describe(out)}: without a float among its results it has no"
            " derivative", t.loc,
            f"return floats; tp.functional({name}) returns also what the function writes",
        )  # fmt: skip
    body = Body(tuple(stms), body.results)
    return Traced(optimised(t, body, [leaf.var for leaf in leaves]), out, form, leaves, name, f)


def named(t: Tracer, f: Value) -> str:
    name = t.describe(f)
    if isinstance(f, Ref) and isinstance(f.obj, InstanceObj):
        name = getattr(f.obj.value, "__name__", name)
    return "the lambda" if name == "<lambda>" else name


def argument(f: Value, k: int) -> str:
    """The k-th argument in the user's words."""
    function = plain(f.value) if isinstance(f, Known) else None
    names: Sequence[str] = ()
    if isinstance(function, types.FunctionType):
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
    elif isinstance(f, Fn):
        names = [a.arg for a in (*f.source.node.args.posonlyargs, *f.source.node.args.args)]
    return f"'{names[k]}'" if k < len(names) else f"argument {k}"


def place_of(f: Value) -> Loc | None:
    """Where a function stands: for errors of a call that stands nowhere in compiled code."""
    function = plain(f.value) if isinstance(f, Known) else None
    if isinstance(f, Ref) and isinstance(f.obj, InstanceObj):
        function = getattr(f.obj.value, "__wrapped__", None)
    if not isinstance(function, types.FunctionType) or _is_ours(function):
        return None
    code = function.__code__
    return Loc(code.co_filename, code.co_firstlineno, function=code.co_name)


def _is_ours(function: types.FunctionType) -> bool:
    """Whether it is part of an operator, and no place to point at."""
    module: str | None = function.__module__
    return module is not None and module.split(".")[0] == __name__.split(".")[0]


def returned(t: Tracer, value: Value) -> Value:
    """A result as the caller of a compiled function gets it: iterators and lists of run-time
    length are arrays."""
    value = spelled(value)
    match value:
        case Gen():
            return returned(t, as_list(t, value))
        case Rng() | Many():
            return array_of(t, value, None)
        case Ref(obj) if isinstance(t.state.heap[obj], Seq):
            return array_of(t, value, None)
        case Tup(items, cls):
            return Tup(tuple(returned(t, v) for v in items), cls)
    return scalar_value(t, value)


def optimised(t: Tracer, body: Body, own: Sequence[Var]) -> Body:
    """The body after the passes that shape it: rules for nests work on nests.

    `own`: its variables that are bound nowhere. Index arithmetic stands where its operands live,
    maybe outside; the passes are shown it."""
    tidy = t.outside.options.tidy
    if tidy is None:
        return body
    given = {s for v in (*free_vars(body), *own) for s in type_vars(v.type)}  # part of its types
    around = [stm for stm in arithmetic_for(t, body) if given.isdisjoint(stm.outs)]
    known = {out for stm in around for out in stm.outs}
    whole = Body((*around, *body.stms), body.results)
    free = dict.fromkeys((*free_vars(whole), *own))
    sizes = dict.fromkeys(s for v in free for s in v.shape if isinstance(s, Var))
    params = tuple(v for v in {**sizes, **free} if v not in known)
    shaped = tidy(Fun("f", params, whole)).body
    stms = tuple(s for s in shaped.stms if known.isdisjoint(s.outs))
    return Body(stms, shaped.results)


def arithmetic_for(t: Tracer, body: Body) -> list[Let]:
    """The index arithmetic in scopes around that a body leans on, in order."""
    defs = {
        out: stm for scope in t.b.scopes for stm in scope for out in stm.outs
        if isinstance(stm.exp, Prim) and out.dtype in (i64, bool_)
    }  # fmt: skip
    found: dict[Var, Let] = {}
    front = list(free_vars(body))
    while front:
        var = front.pop()
        front += (s for s in var.shape if isinstance(s, Var))
        if var in defs and var not in found:
            found[var] = defs[var]
            front += (a for a in atoms_of(defs[var].exp) if isinstance(a, Var))
    return [stm for var, stm in defs.items() if var in found]


def emit(t: Tracer, body: Body, leaves: list[Leaf]) -> tuple[Atom, ...]:
    """The statements of `body` here, its leaves replaced by what they stand for."""
    put = refresh(body, {leaf.var: leaf.atom for leaf in leaves})
    t.b.scopes[-1].extend(put.stms)
    for stm in put.stms:
        for out in stm.outs:
            t.b.level[out] = len(t.b.scopes) - 1
    return put.results


@contextmanager
def located(t: Tracer) -> Iterator[None]:
    """Errors that know no place are about the call."""
    try:
        yield
    except CompileError as error:
        error.loc = error.loc or t.loc
        raise


def positions(t: Tracer, argnums: Value, args: Args, name: str) -> tuple[int, ...]:
    """Which arguments to differentiate by."""
    given = known(t, argnums, "argnums")
    picks = given if isinstance(given, tuple | list) else (given,)
    count = len(args)
    for k in picks:
        if not isinstance(k, int) or not -count <= k < count:
            raise CompileError(
                f"argnums: {name} is called with {count} positional arguments, there is no"
                f" argument {k!r}", t.loc, "they are counted from 0",
            )  # fmt: skip
    places = tuple(k % count for k in picks)
    if len(set(places)) < len(places):
        raise CompileError(f"argnums: {given} names an argument twice", t.loc)
    return places


# Rules ------------------------------------------------------------------------------------------


def value_rule(t: Tracer, args: Args, kwargs: Kwargs) -> Value:
    """f(*args), which writes copies if it writes its arguments."""
    f, *primals = args
    names = {k: detached(t, v) for k, v in kwargs.items()}
    return t.rules.call(t, f, [detached(t, x) for x in primals], names)


def pull_rule(t: Tracer, args: Args, kwargs: Kwargs) -> Value:
    """(f(*args), cotangents of the arguments at `argnums`), for a cotangent of the result."""
    f, argnums, seed, *primals = args
    t.b.loc = t.b.loc or place_of(f)
    picks = positions(t, argnums, primals, named(t, f))
    call = traced(t, f, primals, kwargs, picks)
    out, bars = pulled(t, call, seeds_of(t, call, seed))
    rest = iter(bars)
    grads = {k: of_atoms(t, primals[k], rest) for k in sorted(picks)}
    if isinstance(known(t, argnums, "argnums"), tuple | list):
        return Tup((out, Tup(tuple(grads[k] for k in picks))))
    return Tup((out, grads[picks[0]]))


def pulled(t: Tracer, call: Traced, seeds: Sequence[Atom | None]) -> tuple[Value, tuple[Atom, ...]]:
    """The result of the call, and the cotangents of its leaves."""
    with located(t):
        body = reverse(call.body, [leaf.var for leaf in call.leaves], seeds)
    atoms = emit(t, body, call.leaves)
    count = len(call.body.results)
    return call.unpacked(t, atoms[:count]), atoms[count:]


def seeds_of(t: Tracer, call: Traced, seed: Value) -> list[Atom | None]:
    """A cotangent per result atom."""
    results = call.body.results
    if isinstance(seed, Known) and seed.value in (VALUE, FIRST):
        number_of(t, call, has_aux=seed.value == FIRST)
        return [Const(1.0, results[0].dtype), *(None for _ in results[1:])]
    given = iter(Directions(t, "cotangent").atoms(call.out, seed, f"{call.name}(…)"))
    return [next(given) if r.dtype.is_float else None for r in results]


def number_of(t: Tracer, call: Traced, *, has_aux: bool) -> None:
    """An error unless the result is one real number (the first one of two, if there is more)."""
    value = call.out
    if has_aux:
        if not (isinstance(value, Tup) and len(value.items) == 2):
            raise CompileError(
                f"{call.name} gives {t.describe(value)}: with has_aux it has to give two values",
                t.loc, "return (value, whatever else)",
            )  # fmt: skip
        value = value.items[0]
    x = scalar(t, value) if is_number(value) else None
    if isinstance(x, Num) and x.dtype.is_float:
        return
    remedy = "use vjp with a cotangent, or jacobian"
    if isinstance(x, Cx):
        remedy = "return its real part or its absolute value, or use vjp"
    elif isinstance(value, Tup) and not has_aux:
        remedy = "return the number first and set has_aux=True, or use vjp or jacobian"
    raise CompileError(
        f"{call.name} gives {t.describe(value)}: a gradient needs one real number", t.loc, remedy
    )


def push_rule(t: Tracer, args: Args, kwargs: Kwargs) -> Value:
    """(f(*primals), its tangent) for tangents of the primals at `argnums`."""
    f, argnums, tangents, *primals = args
    t.b.loc = t.b.loc or place_of(f)
    picks = positions(t, argnums, primals, named(t, f))
    call = traced(t, f, primals, kwargs, picks)
    return Tup(pushed(t, call, dots_of(t, call, [primals[k] for k in picks], tangents, picks)))


def dots_of(
    t: Tracer, call: Traced, primals: Args, tangents: Value, picks: Sequence[int]
) -> dict[Var, Atom]:
    """The tangents of the leaves that have one."""
    tangents = spelled(tangents)
    if not (isinstance(tangents, Tup) and len(tangents.items) == len(primals)):
        raise CompileError(
            f"{call.name} takes {len(primals)} primals here: a tuple of as many tangents is needed,"
            f" not {t.describe(tangents)}", t.loc, "pass (tangent, …), with None for zero",
        )  # fmt: skip
    rows = sorted(zip(picks, primals, tangents.items, strict=True), key=lambda row: row[0])
    flat = [
        atom
        for k, x, d in rows
        for atom in Directions(t, "tangent").atoms(x, d, argument(call.f, k))
    ]
    pairs = zip(call.leaves, flat, strict=True)
    return {leaf.var: dot for leaf, dot in pairs if dot is not None}


def pushed(t: Tracer, call: Traced, dots: dict[Var, Atom]) -> tuple[Value, Value]:
    """The result of the call, and its tangent."""
    with located(t):
        body = forward(call.body, dots)
    atoms = emit(t, body, call.leaves)
    count = len(call.body.results)
    out = call.unpacked(t, atoms[:count])
    return out, of_atoms(t, out, iter(atoms[count:]))


# Linear maps at a point -------------------------------------------------------------------------


def vjp_rule(t: Tracer, args: Args, kwargs: Kwargs) -> Value:
    """(f(*primals), pullback): the function is traced here, once, whatever becomes of its
    arguments later."""
    f, *primals = args
    call = traced(t, f, primals, kwargs, range(len(primals)))

    def pullback(t: Tracer, args: Args, kwargs: Kwargs) -> Value:
        (seed,) = args
        bars = iter(pulled(t, call, seeds_of(t, call, seed))[1])
        return Tup(tuple(of_atoms(t, x, bars) for x in primals))

    return Tup((call.unpacked(t, emit(t, call.body, call.leaves)), Staged(pullback)))


def linearize_rule(t: Tracer, args: Args, kwargs: Kwargs) -> Value:
    """(f(*primals), its derivative there as a function of tangents)."""
    f, *primals = args
    picks = range(len(primals))
    call = traced(t, f, primals, kwargs, picks)

    def push(t: Tracer, args: Args, kwargs: Kwargs) -> Value:
        return pushed(t, call, dots_of(t, call, primals, Tup(tuple(args)), picks))[1]

    return Tup((call.unpacked(t, emit(t, call.body, call.leaves)), Staged(push)))
