"""Which arrays of a loop's state are only overwritten, so that each pass can be undone."""

from __future__ import annotations

from tapeless.ad.sites import are_boxes
from tapeless.core.names import Atom, Var
from tapeless.ir.syntax import CHECK, PROVED, WRAP, Each, If, Let, Loop, Update


def restorable(loop: Loop) -> list[int]:
    """State that is overwritten in place, element by element, from one pass to the next: the arrays
    at the end of a pass are those at its start, in some order, with known cells changed."""
    places = {p: k for k, p in enumerate(loop.params)}
    defs = {o: s for s in loop.body.stms for o in s.outs}
    kept = [k for k, p in enumerate(loop.params) if p.is_array and isinstance(loop.inits[k], Var)]
    while True:
        roots = [places.get(_root(loop.body.results[k], defs)) for k in kept]  # type: ignore[arg-type]  # None is no key
        good = [k for k, r in zip(kept, roots, strict=True) if r in kept and k in roots and
                roots.count(r) == 1]  # fmt: skip
        if good == kept:
            return kept
        kept = good


def _root(atom: Atom, defs: dict[Var, Let]) -> Var | None:
    """The array that `atom` is a changed version of."""
    if not isinstance(atom, Var):
        return None
    stm = defs.get(atom)
    if stm is None:
        return atom
    match stm.exp:
        case Update(array, _, _, modes) if not set(modes) - {PROVED, CHECK, WRAP}:
            return _root(array, defs)
        case Each(_, _, accs, body):
            finals = stm.outs[len(body.results) :]
            for acc, out in zip((a for a in accs for _ in a.vars), finals, strict=True):
                if out is atom and acc.op == "=" and are_boxes(stm.exp, acc.vars[0]):
                    return _root(acc.inits[0], defs)
            return None
        case Loop(_, _, inits, _):
            k = stm.outs.index(atom)
            return _root(inits[k], defs) if k in restorable(stm.exp) else None
        case If(_, then, orelse):
            k = stm.outs.index(atom)
            roots = [
                _root(arm.results[k], {o: s for s in arm.stms for o in s.outs})
                for arm in (then, orelse)
            ]
            return _root(roots[0], defs) if roots[0] is roots[1] and roots[0] else None
        case _:
            return None
