"""Where a parallel nest writes: the sites of its accumulators, as nests that visit only them.

A site is a Put in the nest itself, or in nests within of sizes known outside; so the values written
at it fill a box. What is read, cleared or restored at the sites costs no more than the nest did.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tapeless.ad.again import without_puts
from tapeless.core.names import Atom, Var
from tapeless.core.types import Type
from tapeless.ir.effects import is_pure_exp
from tapeless.ir.syntax import IGNORE, Acc, Body, Each, Exp, Let, Prim, Put
from tapeless.ir.types_of import lift
from tapeless.ir.walk import binders_of, map_bodies, statements, uses

# A Put and the counters around it -> what stands there instead, and its value, if it has one.
AtSite = Callable[[Put, tuple[Var, ...]], tuple[list[Let], Atom | None]]


def are_boxes(exp: Each, acc: Var) -> bool:
    """Whether all that is put to `acc` is put at sites."""
    every = [s.exp for s in statements(exp.body) if _puts(s, acc)]
    ignored = any(isinstance(put, Put) and IGNORE in put.modes for put in every)
    return bool(every) and not ignored and _count(exp.body, acc, set(exp.vars)) == len(every)


def is_undone(exp: Each, acc: Acc) -> bool:
    """Whether cells put back undo what the nest does to an array: none of them is met twice."""
    (var, *others) = acc.vars
    if acc.op not in ("=", "+") or others or not var.is_array or not are_boxes(exp, var):
        return False
    return acc.op == "=" or _meets_no_cell_twice(exp, var)


def _meets_no_cell_twice(exp: Each, acc: Var) -> bool:
    """Whether there is one site, and every counter around it steps along an axis of its own."""
    defs = {o: s.exp for s in statements(exp.body) for o in s.outs}
    found: list[tuple[Put, tuple[Var, ...]]] = []

    def note(put: Put, counters: tuple[Var, ...]) -> tuple[list[Let], None]:
        found.append((put, counters))
        return [], None

    at_sites(exp.body, acc, exp.vars, note)
    return len(found) == 1 and all(
        any(_steps_with(a, counter, set(counters), defs) for a in put.at)
        for put, counters in found for counter in counters
    )  # fmt: skip


def _steps_with(at: Atom, counter: Var, counters: set[Var], defs: dict[Var, Exp]) -> bool:
    """Whether an index is the counter, or that and what no counter changes."""
    if at is counter:
        return True
    match defs.get(at) if isinstance(at, Var) else None:
        case Prim("add" | "sub", (a, b)):
            pairs = ((a, b), (b, a))
            return any(x is counter and y not in counters and y not in defs for x, y in pairs)
        case _:
            return False


def _puts(stm: Let, acc: Var) -> bool:
    return isinstance(stm.exp, Put) and stm.exp.targets == (acc,)


def _count(body: Body, acc: Var, inside: set[Var]) -> int:
    inside = inside | {v for s in body.stms for v in (*s.outs, *binders_of(s.exp))}
    total = 0
    for stm in body.stms:
        if _puts(stm, acc):
            total += 1
        elif isinstance(stm.exp, Each) and inside.isdisjoint(stm.exp.sizes):
            total += _count(stm.exp.body, acc, inside)
    return total


def needed(body: Body) -> Body:
    """What the results and effects of `body` are computed from."""
    wanted = {r for r in body.results if isinstance(r, Var)}
    kept: list[Let] = []
    for stm in reversed(body.stms):
        if stm.outs and wanted.isdisjoint(stm.outs) and is_pure_exp(stm.exp):
            continue
        let = _narrowed(stm, stm.exp, wanted) if isinstance(stm.exp, Each) else stm
        let = replace(let, exp=map_bodies(let.exp, needed))
        kept.append(let)
        wanted.update(a for a in uses(Body((let,), ())) if isinstance(a, Var))
    return Body(tuple(reversed(kept)), body.results)


def _narrowed(stm: Let, exp: Each, wanted: set[Var]) -> Let:
    """A nest without the element results that nobody wants."""
    count = len(exp.body.results)
    pairs = [(o, r) for o, r in zip(stm.outs, exp.body.results, strict=False) if o in wanted]
    body = Body(exp.body.stms, tuple(r for _, r in pairs))
    outs = (*(o for o, _ in pairs), *stm.outs[count:])
    return replace(stm, outs=outs, exp=replace(exp, body=body))


def at_sites(
    body: Body, acc: Var, counters: tuple[Var, ...], make: AtSite,
    own: frozenset[Var] = frozenset(),
) -> Body:  # fmt: skip
    """`body` with `make` at the sites of `acc`, whose values are its results; no other Puts but to
    `own`, the accumulators of the nest that the body is of."""
    stms: list[Let] = []
    values: list[Atom] = []
    for stm in body.stms:
        exp = stm.exp
        if isinstance(exp, Put):
            if exp.targets == (acc,):
                new, value = make(exp, counters)
                stms += new
                values += [] if value is None else [value]
            elif not own.isdisjoint(exp.targets):
                stms.append(stm)
        elif isinstance(exp, Each) and any(_puts(s, acc) for s in statements(exp.body)):
            let, rows = _inner(stm, exp, acc, counters, make)
            stms.append(let)
            values += rows
        else:
            stms += without_puts(Body((stm,), ())).stms
    return Body(tuple(stms), tuple(values))


def _inner(
    stm: Let, exp: Each, acc: Var, counters: tuple[Var, ...], make: AtSite
) -> tuple[Let, list[Var]]:
    """A nest within: its sites' values become element results."""
    own = frozenset(v for a in exp.accs for v in a.vars)
    body = at_sites(exp.body, acc, (*counters, *exp.vars), make, own)
    count = len(exp.body.results)
    types: list[Type] = [lift(r.type, exp.sizes) for r in body.results]
    rows = [Var(t, "site") for t in types]
    outs = (*stm.outs[:count], *rows, *stm.outs[count:])
    whole = Body(body.stms, (*exp.body.results, *body.results))
    return Let(outs, Each(exp.vars, exp.sizes, exp.accs, whole), stm.loc), rows
