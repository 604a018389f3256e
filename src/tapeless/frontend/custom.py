"""Functions with a rule of their own: where a derivative is being taken, their results pass through
a call that carries the rule (`Given`); everywhere else it is not there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import Array
from tapeless.errors import CompileError
from tapeless.frontend.arrays import materialise
from tapeless.frontend.derivatives import emit, named, returned
from tapeless.frontend.join import Form, form_of, spelled
from tapeless.frontend.leaves import (
    Directions,
    Leaf,
    detached,
    float_leaves,
    independent,
    of_atoms,
    on_leaves,
)  # fmt: skip
from tapeless.frontend.packing import pack, unpack
from tapeless.frontend.places import new_array
from tapeless.frontend.rule import Args, Kwargs, is_none
from tapeless.frontend.scalars import scalar
from tapeless.frontend.values import Arr, Cx, Num, Tup, Value
from tapeless.ir.syntax import Alloc, Body, Call, Given, Let
from tapeless.ir.types_of import atom_of
from tapeless.ir.walk import Rewriter, free_vars, map_bodies, type_vars

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer


def without_rules(body: Body) -> Body:
    """The program when nothing more is differentiated: results in place of calls with a rule."""
    same = Rewriter(fresh=False)

    def visit(body: Body) -> Body:
        stms: list[Let] = []
        for stm in body.stms:
            if isinstance(stm.exp, Call) and isinstance(stm.exp.callee, Given):
                for out, value in zip(stm.outs, stm.exp.args, strict=False):
                    assert isinstance(value, Var | Const)
                    same.map[out] = same.atom(value)
            else:
                stms.append(Let(stm.outs, map_bodies(stm.exp, visit), stm.loc))
        return Body(tuple(stms), body.results)

    plain = visit(body)
    return same.body(plain) if same.map else body


@contextmanager
def under_the_rule(t: Tracer) -> Iterator[None]:
    """What a rule is made of is differentiated once less than what calls it, so that it may call
    the function that it is the rule of."""
    t.derivatives -= 1
    try:
        yield
    finally:
        t.derivatives += 1


@dataclass(frozen=True, slots=True, eq=False)
class Ran:
    """A call of a function with a rule, already in the program: the atoms of its result, how they
    travel, floats of its arguments, and floats that it takes from elsewhere."""

    out: Value
    form: Form
    atoms: tuple[Atom, ...]
    leaves: list[Leaf]
    free: list[Var]


def run(t: Tracer, f: Value, args: Args) -> Ran:
    leaves: list[Leaf] = []
    with t.construct(), under_the_rule(t):
        inputs = [independent(t, a, leaves) for a in args]
        with t.b.scope() as stms:
            out = returned(t, t.rules.call(t, f, inputs, {}))
            form, atoms = _packed(t, out)
            body = t.b.body(atoms)
    body = Body(tuple(stms), body.results)
    own = {leaf.var for leaf in leaves}
    free = [v for v in free_vars(body) if v.dtype.is_float and v not in own]
    results = emit(t, body, leaves)
    return Ran(unpack(t, form, list(results)), form, results, leaves, free)  # type: ignore[arg-type]  # constants travel too


def with_vjp_rule(t: Tracer, args: Args, kwargs: Kwargs) -> Value:
    """y of (y, residuals) = fwd(x), with the rule x̄ = bwd(residuals, ȳ)."""
    f, fwd, bwd, *xs = args
    if not t.derivatives or not any(float_leaves(t, x) for x in xs):
        return t.rules.call(t, f, xs, kwargs)
    name = _ready(t, f, bwd, "defvjp(fwd, bwd)")
    ran = run(t, fwd, xs)
    if not (isinstance(ran.out, Tup) and len(ran.out.items) == 2):
        raise CompileError(
            f"fwd of {name} gives {t.describe(ran.out)}: it has to give (result, residuals)", t.loc
        )
    out, residuals = ran.out.items
    form, atoms = _packed(t, out)
    seeds = [Var(a.type, "y_bar", t.loc) for a in atoms if a.dtype.is_float]

    def rule() -> list[Atom | None]:
        bars = spelled(t.call(bwd, detached(t, residuals), of_atoms(t, out, iter(seeds))))
        if not (isinstance(bars, Tup) and len(bars.items) == len(xs)):
            raise CompileError(
                f"bwd of {name} gives {t.describe(bars)}: it has to give a tuple of {len(xs)}"
                " cotangents, one per argument", t.loc,
            )  # fmt: skip
        pairs = enumerate(zip(xs, bars.items, strict=True))
        directions = Directions(t, "cotangent")
        return [b for k, (x, d) in pairs for b in directions.atoms(x, d, f"argument {k} of {name}")]

    types = [leaf.atom for leaf in ran.leaves]
    return _ruled(t, name, "pull", ran, (form, atoms), seeds, body_of(t, rule, types))


def with_jvp_rule(t: Tracer, args: Args, kwargs: Kwargs) -> Value:
    """f(x), with the rule (y, ẏ) = rule(x, ẋ)."""
    f, rule, *xs = args
    if not t.derivatives or not any(float_leaves(t, x) for x in xs):
        return t.rules.call(t, f, xs, kwargs)
    name = _ready(t, f, rule, "defjvp(rule)")
    ran = run(t, f, xs)
    seeds = [Var(leaf.atom.type, f"{leaf.var.hint}_dot", t.loc) for leaf in ran.leaves]

    def tangent() -> list[Atom | None]:
        given = iter(seeds)
        dots = Tup(tuple(of_atoms(t, x, given) for x in xs))
        both = spelled(t.call(rule, Tup(tuple(detached(t, x) for x in xs)), dots))
        if not (isinstance(both, Tup) and len(both.items) == 2):
            raise CompileError(
                f"the rule of {name} gives {t.describe(both)}: it has to give (result, tangent)",
                t.loc,
            )
        return Directions(t, "tangent").atoms(ran.out, both.items[1], f"{name}(…)")

    types = [a for a in ran.atoms if a.dtype.is_float]
    return _ruled(t, name, "push", ran, (ran.form, ran.atoms), seeds, body_of(t, tangent, types))


def stop_rule(t: Tracer, tree: Value) -> Value:
    """A copy that nothing is differentiated through."""

    def stopped(atom: Atom) -> Atom:
        if not t.derivatives or not isinstance(atom, Var) or not atom.dtype.is_float:
            return atom
        rule = Given("stop_gradient", "push", 1, 0, 0, (), (), Body((), ()))
        return t.b.one(Call(rule, (atom,)), atom.hint)

    def number(value: Value) -> Value:
        x = scalar(t, value)
        if isinstance(x, Cx):
            return Cx(stopped(x.re), stopped(x.im), x.weak)
        return Num(stopped(x.atom), x.weak) if x.dtype.is_float else value

    def array(value: Arr) -> Value:
        content = stopped(materialise(t, value))
        assert isinstance(content, Var)
        return new_array(t, content, value.is_complex)

    return on_leaves(t, tree, number, array)


# The call that carries a rule -------------------------------------------------------------------


def _ready(t: Tracer, f: Value, rule: Value, missing: str) -> str:
    name = named(t, f)
    if is_none(rule):
        raise CompileError(f"{name} has no rule to differentiate it by", t.loc,
                           f"give it one: {name}.{missing}")  # fmt: skip
    return name


def _packed(t: Tracer, out: Value) -> tuple[Form, tuple[Atom, ...]]:
    atoms: list[Atom] = []
    form = form_of(t, out)
    pack(t, form, out, atoms)
    return form, tuple(atoms)


def body_of(t: Tracer, rule: object, like: Sequence[Atom]) -> Body:
    """The rule as a body; zeros of these types where it gives None."""
    assert callable(rule)
    with t.construct(), under_the_rule(t), t.b.scope() as stms:
        found = rule()
        results = [
            zeros(t, x) if given is None else given for given, x in zip(found, like, strict=True)
        ]
        body = t.b.body(tuple(results))
    return Body(tuple(stms), body.results)


def zeros(t: Tracer, like: Atom) -> Atom:
    if isinstance(like.type, Array):
        return t.b.one(Alloc("zeros", like.dtype, tuple(map(atom_of, like.type.shape))), "zeros")
    return Const(0.0, like.dtype)


def _ruled(
    t: Tracer, name: str, mode: str, ran: Ran, packed: tuple[Form, tuple[Atom, ...]],
    seeds: Sequence[Var], body: Body,
) -> Value:  # fmt: skip
    """The result, its floats passed through a call that carries the rule."""
    form, atoms = packed
    floats = [a for a in atoms if a.dtype.is_float]
    wrt = [leaf.atom for leaf in ran.leaves]
    formal = dict.fromkeys(v for v in free_vars(body) if v not in set(seeds))
    sizes = dict.fromkeys(s for v in (*formal, *seeds) for s in type_vars(v.type))
    names = tuple({**sizes, **formal})
    free = [v for v in ran.free if v not in set(wrt)]
    rule = Given(name, mode, len(floats), len(wrt), len(free), names, tuple(seeds), body)
    outs = iter(t.b.let(Call(rule, (*floats, *wrt, *free, *names)), "y"))
    return unpack(t, form, [next(outs) if a.dtype.is_float else a for a in atoms])  # type: ignore[misc]  # constants travel too
