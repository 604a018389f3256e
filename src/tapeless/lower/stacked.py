"""Memory that nobody needs any more is given back before a kernel takes more.

    a = empty; … a …; b = empty   ⇒   scope {a = empty; … a …}; b = empty

The arena is a stack, so a scope must hold all that is taken between its ends. What is computed in
it and used behind it leaves it, but for memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tapeless.core.names import Var
from tapeless.loop.names import names_in
from tapeless.loop.syntax import Alloc, Block, Buf, Op, Proc, Row, Scope, Stm
from tapeless.lower.builder import takes_memory

Names = frozenset[Var | Buf]


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A statement of the kernel, what it mentions, whether it takes memory and whether it does for
    longer than it runs."""

    stm: Stm
    names: Names
    needs: bool
    takes: bool


def stacked(proc: Proc) -> Proc:
    """`proc` with scopes around what it takes for a while only."""
    needs = [_needs_memory(s) for s in proc.body.stms]
    if sum(needs) < 2:
        return proc
    steps = [
        Step(s, frozenset(names_in(s)), n, n and takes_memory((s,)))
        for s, n in zip(proc.body.stms, needs, strict=True)
    ]
    return replace(proc, body=Block(_narrowed(steps, frozenset(names_in(proc.results)))))


def _needs_memory(stm: Stm) -> bool:
    if isinstance(stm, Alloc):
        return True
    blocks = (getattr(stm, name, None) for name in ("body", "then", "orelse"))
    return any(_needs_memory(s) for b in blocks if b is not None for s in b.stms)


def _narrowed(steps: Sequence[Step], after: Names) -> tuple[Stm, ...]:
    """The statements, in front of what uses `after`."""
    ends = _ends(steps, after)
    last = max((k for k, step in enumerate(steps) if step.needs), default=0)
    out: list[Stm] = []
    at = 0
    while at < len(steps):
        end = _group(ends, at)
        ahead = None
        if at in ends and end < last:
            group = steps[at : end + 1]
            later = after.union(*(s.names for s in steps[end + 1 :]))
            ahead = _ahead(group, later)
        if ahead is None:
            out.append(steps[at].stm)
            at += 1
            continue
        out += (s.stm for s in ahead)
        out.append(_scope([s for s in group if s not in ahead], later))
        at = end + 1
    return tuple(out)


def _ends(steps: Sequence[Step], after: Names) -> dict[int, int]:
    """For each statement that takes memory the last one that uses it; a buffer that a statement
    gives may lie wherever one lies that it mentions."""
    owners: dict[Var | Buf, set[int]] = {}
    ends: dict[int, int] = {}
    for k, step in enumerate(steps):
        own = {k} if step.takes else set()
        own = own.union(*(owners.get(n, ()) for n in step.names))
        ends.update(dict.fromkeys(own, k))
        owners.update(dict.fromkeys(_buffers(step.stm), own))
    for name in after:
        ends.update(dict.fromkeys(owners.get(name, ()), len(steps)))
    return ends


def _buffers(stm: Stm) -> list[Buf]:
    """The buffers that a statement gives."""
    match stm:
        case Alloc(buf) | Row(buf):
            return [buf]
        case _:
            return [o for o in getattr(stm, "outs", ()) if isinstance(o, Buf)]


def _numbers(stm: Stm) -> list[Var]:
    """The numbers that a statement gives."""
    found = (*getattr(stm, "outs", ()), getattr(stm, "out", None))
    return [n for n in found if isinstance(n, Var)]


def _group(ends: dict[int, int], at: int) -> int:
    """Where all that is taken from `at` on has had its last use."""
    end = ends.get(at, at)
    while at <= end:
        end = max(end, ends.get(at, at))
        at += 1
    return end


def _ahead(steps: Sequence[Step], later: Names) -> list[Step] | None:
    """What has to stand in front of a scope: buffers that are used behind it, of results and
    arguments, and the sizes that they have. None if these are not known there."""
    given = {n: s for s in steps for n in (*_buffers(s.stm), *_numbers(s.stm))}
    front = [given[n] for n in given if isinstance(n, Buf) and n in later]
    moved = list(front)
    while front:
        step = front.pop()
        if step.takes or not isinstance(step.stm, Alloc | Row | Op):
            return None
        more = [given[n] for n in step.names if n in given and given[n] not in moved]
        moved += more
        front += more
    return [s for s in steps if s in moved]


def _scope(steps: Sequence[Step], later: Names) -> Scope:
    """A scope; numbers that are used behind it keep their names."""
    outs = tuple(dict.fromkeys(n for s in steps for n in _numbers(s.stm) if n in later))
    return Scope(outs, Block(_narrowed(steps, later), outs))
