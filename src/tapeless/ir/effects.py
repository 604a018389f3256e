"""Effects: what may be dropped, run twice, or run earlier than written.

A *pure* body may be run again or not at all: it can neither raise nor combine into an accumulator
that somebody else sees. A *total* expression may moreover be run where it was not: it has a value
for all operands. Foreign calls are total, because they report failure in a result.
"""

from __future__ import annotations

from collections.abc import Iterator

from tapeless.core.names import Atom, Const, Var
from tapeless.ir.syntax import (
    CHECK,
    WRAP,
    Append,
    Body,
    Check,
    Each,
    Exp,
    Index,
    Loop,
    Prim,
    Put,
    Update,
    While,
)  # fmt: skip
from tapeless.ir.walk import bodies_of

CHECKING = (CHECK, WRAP)


def may_raise(exp: Exp) -> bool:
    """Whether the statement itself, not a body in it, can raise."""
    match exp:
        case Check():
            return True
        case Index(_, _, modes) | Update(_, _, _, modes) | Put(_, _, _, modes):
            return any(m in CHECKING for m in modes)
        case _:
            return False


def effects(exp: Exp, inner: frozenset[Var] = frozenset()) -> Iterator[Exp]:
    """Expressions at or below `exp` that may raise, or put to an acc that is not in `inner`."""
    if may_raise(exp) or (isinstance(exp, Put) and not inner.issuperset(exp.targets)):
        yield exp
    if isinstance(exp, Each):
        inner = inner.union(v for acc in exp.accs for v in acc.vars)
    for body in bodies_of(exp):
        yield from body_effects(body, inner)


def body_effects(body: Body, inner: frozenset[Var] = frozenset()) -> Iterator[Exp]:
    for stm in body.stms:
        yield from effects(stm.exp, inner)


def is_pure_exp(exp: Exp) -> bool:
    return next(effects(exp), None) is None


def is_pure(body: Body) -> bool:
    """No Check, no checking index, and no Put to an accumulator bound outside the body."""
    return next(body_effects(body), None) is None


def is_total(exp: Exp) -> bool:
    """Pure, ends, and means something whatever its operands: may be run speculatively.

    Reading or writing at an index proved *here* is not: elsewhere the proof may not hold.
    """
    return is_pure_exp(exp) and _is_total(exp)


def _is_total(exp: Exp) -> bool:
    match exp:
        case Index(_, at) | Update(_, at) | Put(_, at):
            return not at
        case Append() | Loop(While()):
            return False
        case Prim("shl" | "shr", (value, count)):
            return _is_count(count, value)
        case _:
            return all(_is_total(stm.exp) for body in bodies_of(exp) for stm in body.stms)


def _is_count(count: Atom, value: Atom) -> bool:
    return isinstance(count, Const) and 0 <= count.value < value.dtype.bits


def consumed(exp: Exp) -> set[Atom]:
    """Arrays whose storage `exp` or what is in it may overwrite."""
    out: set[Atom] = set()
    match exp:
        case Update(array) | Append(array):
            out.add(array)
        case Loop(_, _, inits):
            out.update(inits)
        case Each(_, _, accs):
            out.update(i for a in accs for i in a.inits)
        case _:
            pass
    for body in bodies_of(exp):
        for stm in body.stms:
            out |= consumed(stm.exp)
    return out
