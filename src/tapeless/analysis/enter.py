"""What holds inside the bodies of a statement, told to `Facts` once for every pass."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tapeless.analysis import poly
from tapeless.analysis.facts import LARGEST, Facts
from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import INDEX, Size
from tapeless.ir.syntax import (
    CHECK,
    PROVED,
    WRAP,
    Body,
    Check,
    Each,
    Exp,
    Fold,
    For,
    If,
    Index,
    Iverson,
    Let,
    Loop,
    Monoid,
    Prim,
    Put,
    Scan,
    Update,
)  # fmt: skip
from tapeless.ir.walk import atoms_of, bodies_of


def inside(facts: Facts, exp: Exp, body: Body) -> None:
    """Learn what holds at the start of `body`, one of the bodies of `exp` (in a scope of facts)."""
    match exp:
        case If(cond, then):
            facts.learn(cond, body is then)
        case Iverson(cond):
            facts.learn(cond)
        case Loop(form, params, inits):
            starts = [i.type == INDEX and facts.nonnegative(i) for i in inits]
            facts.params(params)
            if isinstance(form, For) and body is exp.body:
                facts.counter(form.var, form.size)
                growing(facts, exp, form.size, starts)
        case Each(vars, sizes, accs):
            for acc in accs:
                facts.params(acc.vars)
                if isinstance(acc.op, Monoid):
                    facts.params((*acc.op.left, *acc.op.right))
            if body is exp.body:
                for var, size in zip(vars, sizes, strict=True):
                    facts.counter(var, size)
        case Fold(var, size, monoid) | Scan(var, size, monoid):
            facts.params((*monoid.left, *monoid.right))
            if body is exp.body:
                facts.counter(var, size)
        case _:
            pass


def growing(facts: Facts, exp: Loop, size: Atom, starts: list[bool]) -> None:
    """State that starts at 0 or above, and grows in each pass by no more than there are passes,
    is never negative; nor is it more than a product of sizes."""
    made = {o: s for s in exp.body.stms for o in s.outs if isinstance(s.exp, Prim)}
    for param, result, is_positive in zip(exp.params, exp.body.results, starts, strict=True):
        last = made.get(result) if is_positive and isinstance(result, Var) else None
        match last.exp if last is not None else None:
            case Prim("add", (a, step)) | Prim("add", (step, a)) if a is param:
                pass
            case _:
                continue
        with facts.scope():
            for stm in _leading_to(step, exp.body, made):
                after(facts, stm)
            room = poly.sub(facts.value(size), facts.value(step))
            grows = facts.nonnegative(step) and facts.prove(room)
        if grows:
            now = facts.value(param)
            facts.require(now)
            facts.require(poly.shift(poly.scale(now, -1), LARGEST))


def _leading_to(atom: Atom, body: Body, made: dict[Var, Let]) -> list[Let]:
    """The operators of `body` that make `atom`, in order."""
    found: set[int] = set()
    front = [atom]
    while front:
        stm = made.get(v) if isinstance(v := front.pop(), Var) else None
        if stm is not None and id(stm) not in found:
            found.add(id(stm))
            front += atoms_of(stm.exp)
    return [s for s in body.stms if id(s) in found]


@contextmanager
def entered(facts: Facts, exp: Exp, body: Body) -> Iterator[None]:
    with facts.scope():
        inside(facts, exp, body)
        yield


def after(facts: Facts, stm: Let) -> None:
    """Learn what holds once `stm` has run."""
    exp = stm.exp
    match exp:
        case Check(cond):
            facts.learn(cond)
        case Index(array, at, modes) | Update(array, at, _, modes):
            passed(facts, at, array.shape, modes)
        case Put(targets, at, _, modes):
            passed(facts, at, targets[0].shape, modes)
        case _:
            pass
    if len(stm.outs) == 1:
        facts.bind(stm.outs[0], exp)
    else:
        facts.params(stm.outs)


def passed(facts: Facts, at: tuple[Atom, ...], shape: tuple[Size, ...], modes: str) -> None:
    """An access that did not raise had its indices in range."""
    for i, size, mode in zip(at, shape, modes, strict=True):
        if isinstance(i, Const) and i.value < 0:
            continue
        if mode == CHECK or (mode in PROVED and isinstance(i, Const)):
            facts.in_range(i, size)


def all_in_range(facts: Facts, body: Body) -> bool:
    """Whether every access in and below `body` is in range by what is known here, so that the
    body may be run here although it stands elsewhere."""
    with facts.scope():
        return all(_accesses_hold(facts, stm) for stm in body.stms)


def _accesses_hold(facts: Facts, stm: Let) -> bool:
    exp = stm.exp
    match exp:
        case Index(array, at) | Update(array, at):
            if not in_range(facts, at, array.shape):
                return False
        case Put(targets, at):
            if not in_range(facts, at, targets[0].shape):
                return False
        case _:
            pass
    for body in bodies_of(exp):
        with entered(facts, exp, body):
            if not all_in_range(facts, body):
                return False
    after(facts, stm)
    return True


def in_range(facts: Facts, at: tuple[Atom, ...], shape: tuple[Size, ...]) -> bool:
    return all(
        facts.nonnegative(i) and facts.below(i, size) for i, size in zip(at, shape, strict=True)
    )


def prove_modes(
    facts: Facts, at: tuple[Atom, ...], shape: tuple[Size, ...], modes: str
) -> tuple[tuple[Atom, ...], str]:
    """The strongest modes that can be proved; a negative constant in a known size is resolved."""
    indices, out = list(at), ""
    for k, (i, size, mode) in enumerate(zip(at, shape, modes, strict=True)):
        if mode == WRAP and isinstance(i, Const) and isinstance(size, int) and -size <= i.value < 0:
            indices[k] = i = Const(i.value + size, i.dtype)
        if mode != PROVED and facts.nonnegative(i):
            mode = PROVED if facts.below(i, size) else CHECK if mode == WRAP else mode
        out += mode
    return tuple(indices), out
