"""Which arrays of a loop's state are only overwritten, so that each pass can be undone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tapeless.ad.sites import is_undone
from tapeless.core.names import Atom, Var
from tapeless.ir.syntax import (
    CHECK,
    PROVED,
    WRAP,
    Body,
    Call,
    Each,
    If,
    Index,
    Let,
    Loop,
    Update,
    View,
)  # fmt: skip
from tapeless.ir.walk import bodies_of


@dataclass(slots=True)
class Chain:
    """The versions of an array from the end of a pass back to its start; whether one is made by
    adding."""

    versions: set[Var] = field(default_factory=set)
    is_added_to: bool = False


def restorable(loop: Loop, *, inner: bool = False) -> list[int]:
    """State that is overwritten in place, element by element, from one pass to the next: the arrays
    at the end of a pass are those at its start, in some order, with known cells changed.

    What is only added to, and not read by nests, is left out (but in an `inner` loop of one that
    has it): single elements that are read cost less than all that are written."""
    places = {p: k for k, p in enumerate(loop.params)}
    defs = {o: s for s in loop.body.stms for o in s.outs}
    read = set() if inner else set(_read_by_nests(loop.body))
    kept = [k for k, p in enumerate(loop.params) if p.is_array and isinstance(loop.inits[k], Var)]
    starts: dict[int, int | None] = {}
    for k in kept:
        chain = Chain()
        root = _root(loop.body.results[k], defs, chain)
        worth = inner or not chain.is_added_to or not read.isdisjoint(chain.versions)
        starts[k] = places.get(root) if worth and root is not None else None
    while True:
        roots = [starts[k] for k in kept]
        good = [k for k in kept if starts[k] in kept and k in roots and roots.count(starts[k]) == 1]
        if good == kept:
            return kept
        kept = good


def _read_by_nests(body: Body, inside: bool = False) -> Iterator[Var]:
    """Arrays that are read where many passes read."""
    for stm in body.stms:
        if isinstance(stm.exp, Index) and inside:
            yield stm.exp.array
        elif isinstance(stm.exp, Call):
            yield from (v.array for v in stm.exp.args if isinstance(v, View))
        for within in bodies_of(stm.exp):
            yield from _read_by_nests(within, inside or isinstance(stm.exp, Each))


def _root(atom: Atom, defs: Mapping[Var, Let], chain: Chain) -> Var | None:
    """The array that `atom` is a changed version of."""
    if not isinstance(atom, Var):
        return None
    chain.versions.add(atom)
    stm = defs.get(atom)
    if stm is None:
        return atom
    match stm.exp:
        case Update(array, _, _, modes) if not set(modes) - {PROVED, CHECK, WRAP}:
            return _root(array, defs, chain)
        case Each(_, _, accs, body):
            finals = stm.outs[len(body.results) :]
            for acc, out in zip((a for a in accs for _ in a.vars), finals, strict=True):
                if out is atom and is_undone(stm.exp, acc):
                    chain.is_added_to |= acc.op == "+"
                    return _root(acc.inits[0], defs, chain)
            return None
        case Loop(_, params, inits, body):
            k = stm.outs.index(atom)
            if k not in restorable(stm.exp, inner=True):
                return None
            _root(body.results[k], {o: s for s in body.stms for o in s.outs}, chain)
            chain.versions.add(params[k])
            return _root(inits[k], defs, chain)
        case If(_, then, orelse):
            k = stm.outs.index(atom)
            roots = [
                _root(arm.results[k], {o: s for s in arm.stms for o in s.outs}, chain)
                for arm in (then, orelse)
            ]
            return _root(roots[0], defs, chain) if roots[0] is roots[1] and roots[0] else None
        case _:
            return None
