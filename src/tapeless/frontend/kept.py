"""A derivative at a point, for later: the program is cut where tangents or cotangents come in.

What comes before the cut runs at once and keeps what the rest reads; the rest is a program of its
own (`Sequel`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tapeless.ad.jvp import forward
from tapeless.ad.vjp import reverse
from tapeless.core.names import Var
from tapeless.frontend.custom import without_rules
from tapeless.frontend.derivatives import Traced, located, named, positions, traced
from tapeless.frontend.leaves import of_atoms
from tapeless.frontend.places import new_array
from tapeless.frontend.results import Results
from tapeless.frontend.rule import Args, Kwargs, known
from tapeless.frontend.signature import Sequel
from tapeless.frontend.values import Num, Tup, Value
from tapeless.ir.syntax import Alloc, Body, Fun, Let, Prim
from tapeless.ir.walk import atoms_of, free_vars, refresh, refresh_fun, type_vars

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer


def keep_rule(t: Tracer, args: Args, kwargs: Kwargs) -> Value:
    """(f(*args, **kwargs), what is kept). `mode` "pull": the sequel takes cotangents of the result
    to those of the arguments at `argnums`; "push": their tangents to those of the result."""
    f, mode, argnums, *primals = args
    picks = positions(t, argnums, primals, named(t, f))
    call = traced(t, f, primals, kwargs, picks)
    is_pull = known(t, mode, "the mode") == "pull"
    with located(t):
        early, late, seeds = _pull(call) if is_pull else _push(call)
    emit(t, early)
    out = call.unpacked(t, early.results)
    goal = Tup(tuple(primals[k] for k in picks)) if is_pull else out
    results = Results(t, t.outside)
    output = results.output(of_atoms(t, goal, iter(late.results)))
    late = without_rules(Body(late.stms, tuple(results.atoms)))
    fun = Fun("sequel", (*kept_by(late, seeds), *seeds), late)
    late = fun.body if t.outside.options.tidy is None else t.outside.options.tidy(fun).body
    kept = kept_by(late, seeds)  # by now it is known what is not needed
    t.outside.sequel = Sequel(refresh_fun(Fun("sequel", (*kept, *seeds), late)), output)
    values = [new_array(t, v) if v.is_array else Num(v, weak=True) for v in kept]
    return Tup((out, Tup(tuple(values))))


def _pull(call: Traced) -> tuple[Body, Body, list[Var]]:
    results = call.body.results
    bars = [Var(r.type, "y_bar") if r.dtype.is_float else None for r in results]
    seeds = [s for s in bars if s is not None]
    body = here(call, reverse(call.body, [leaf.var for leaf in call.leaves], bars))
    return (*cut(body, len(results), seeds), seeds)


def _push(call: Traced) -> tuple[Body, Body, list[Var]]:
    """Tangents travel beside their values, in the same nests: these are run again with them."""
    dots = {leaf.var: Var(leaf.var.type, f"{leaf.var.hint}_dot") for leaf in call.leaves}
    late = here(call, forward(call.body, dots))
    tangents = Body(late.stms, late.results[len(call.body.results) :])
    return here(call, call.body), tangents, list(dots.values())


def here(call: Traced, body: Body) -> Body:
    return refresh(body, {leaf.var: leaf.atom for leaf in call.leaves})


def emit(t: Tracer, body: Body) -> None:
    t.b.scopes[-1].extend(body.stms)
    for stm in body.stms:
        for out in stm.outs:
            t.b.level[out] = len(t.b.scopes) - 1


def cut(body: Body, count: int, seeds: Sequence[Var]) -> tuple[Body, Body]:
    """The part of `body` that does not depend on `seeds`, with the first `count` results, and the
    rest. What is as cheap to make as to keep is made where it is read."""
    fed = set(seeds)
    late: list[Let] = []
    early: list[Let] = []
    for stm in body.stms:
        if fed.isdisjoint(reads(stm)):
            early.append(stm)
        else:
            late.append(stm)
            fed.update(stm.outs)
    wanted = {a for s in early if not is_cheap(s) for a in reads(s)} | set(body.results[:count])
    asked = {a for s in late for a in reads(s)} | set(body.results[count:])
    moved: list[Let] = []
    stays: list[Let] = []
    for stm in reversed(early):
        if is_cheap(stm) and not asked.isdisjoint(stm.outs):
            moved.append(stm)
            asked.update(reads(stm))
        if not is_cheap(stm) or not wanted.isdisjoint(stm.outs):
            stays.append(stm)
            wanted.update(reads(stm))
    renamed = refresh(Body((*moved[::-1], *late), body.results[count:]))
    return Body(tuple(stays[::-1]), body.results[:count]), renamed


def is_cheap(stm: Let) -> bool:
    return isinstance(stm.exp, Alloc) or (
        isinstance(stm.exp, Prim) and not stm.outs[0].dtype.is_float
    )


def reads(stm: Let) -> set[Var]:
    """All that a statement mentions from outside."""
    inside = free_vars(Body((stm,), ()))
    sizes = (s for out in stm.outs for s in type_vars(out.type))
    return {*inside, *sizes, *(a for a in atoms_of(stm.exp) if isinstance(a, Var))}


def kept_by(late: Body, seeds: Sequence[Var]) -> tuple[Var, ...]:
    """What the late part finds outside, but for its seeds: sizes and other numbers first."""
    free = dict.fromkeys((*free_vars(late), *seeds))
    sizes = dict.fromkeys(s for v in free for s in type_vars(v.type))
    found = [v for v in {**sizes, **free} if v not in set(seeds)]
    return tuple(sorted(found, key=lambda v: v.is_array))
