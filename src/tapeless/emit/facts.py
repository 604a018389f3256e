"""What the emitter must know of a whole program before it writes: which buffers may share memory,
which allocations outlive their loop pass, and how large a block is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from tapeless.core.names import Const
from tapeless.core.prims import MATH
from tapeless.loop.syntax import (
    Alloc,
    AnyLane,
    Block,
    Buf,
    Call,
    Check,
    Combine,
    Copy,
    For,
    If,
    Load,
    Name,
    Op,
    Proc,
    Row,
    Scope,
    Stm,
    Store,
    Team,
    Value,
    While,
)

SMALL_LOOP = 16
T = TypeVar("T")


def blocks_of(stm: Stm) -> tuple[Block, ...]:
    """The blocks inside a statement that run with it (a reduction's operator does not)."""
    match stm:
        case Scope(_, body) | For(body=body):
            return (body,)
        case While(cond=cond, body=body):
            return cond, body
        case If(then=then, orelse=orelse):
            return then, orelse
        case _:
            return ()


def statements(block: Block) -> Iterator[Stm]:
    """All statements of a block, inner ones after the one that holds them."""
    for stm in block.stms:
        yield stm
        for inner in blocks_of(stm):
            yield from statements(inner)


def constant_trips(loop: For) -> int | None:
    """How often a loop runs, if that is known."""
    if isinstance(loop.start, Const) and isinstance(loop.stop, Const):
        return max(int(loop.stop.value) - int(loop.start.value), 0)
    return None


def has_long_loops(block: Block) -> bool:
    """Whether a block holds a loop that may run for long (so that it looks at signals itself)."""
    for stm in statements(block):
        if isinstance(stm, While | Call):
            return True
        if isinstance(stm, For):
            trips = constant_trips(stm)
            if trips is None or trips > SMALL_LOOP:
                return True
        if isinstance(stm, Copy):
            return True
    return False


def weight(block: Block) -> int:
    """Roughly how many instructions a block becomes."""
    total = 0
    for stm in statements(block):
        match stm:
            case Op(op=op):
                total += 8 if op in MATH or op in ("pow", "floordiv", "mod") else 1
            case Load() | Store() | Check() | Row():
                total += 2
            case For() | While() | Alloc() | Copy() | Call():
                total += 8
            case _:
                total += 3
    return total


def is_straight(block: Block, most: int) -> bool:
    """Whether a block is a few cheap operations: as well done for nothing as branched around."""
    return len(block.stms) <= most and all(
        isinstance(s, Op) and s.op not in MATH and s.op not in ("pow", "fmod") for s in block.stms
    )


def depth(block: Block) -> int:
    """How many loops are around each other in a block."""
    return max(
        (isinstance(stm, For | While) + max(map(depth, blocks_of(stm)), default=0)
         for stm in block.stms), default=0,
    )  # fmt: skip


def follows_data(block: Block) -> bool:
    """Whether a block accesses places that its own data name: x[column[k]]."""
    data: set[Value] = set()
    return any(_follows(stm, data) for stm in statements(block))


def follows_what_loops_find(block: Block) -> bool:
    """Whether the innermost loops of a block access places that data name, the places that other
    loops of it have found too: row[nearest, k]."""
    data: set[Value] = set()
    before = -1
    while len(data) > before:
        before = len(data)
        found = _deepest_following(block, data, 0)
    return found == depth(block)


def _deepest_following(block: Block, data: set[Value], loops: int) -> int:
    """The most loops around an access of a place that `data` names; −1: there is none."""
    found = -1
    for stm in block.stms:
        if isinstance(stm, For | While):
            flows = zip(stm.outs, stm.params, stm.inits, stm.body.results, strict=True)
            for out, param, *ends in flows:
                if not data.isdisjoint(ends):
                    data.update((out, param))
        if _follows(stm, data):
            found = max(found, loops)
        inner = loops + isinstance(stm, For | While)
        found = max([found, *(_deepest_following(b, data, inner) for b in blocks_of(stm))])
    return found


def _follows(stm: Stm, data: set[Value]) -> bool:
    """Whether a statement accesses a place that `data` names; what it makes of data is data."""
    match stm:
        case Op(out=out, args=args):
            if any(a in data for a in args) or any(a.dtype.is_float for a in args):
                data.add(out)
        case Load(out=out, at=at):
            data.add(out)
            return any(a in data for a in at)
        case Store(at=at) | Combine(at=at):
            return any(a in data for a in at)
        case If(outs=outs, cond=cond) if cond in data:
            data.update(outs)
        case _:
            pass
    return False


def has(block: Block, *kinds: type[Stm]) -> bool:
    return any(isinstance(s, kinds) for s in statements(block))


def operands(stm: Stm) -> Iterator[Value]:
    """What a statement itself mentions without binding it, results of its blocks included."""
    match stm:
        case Op(args=args) | Call(args=args):
            yield from args
        case AnyLane(cond=cond):
            yield cond
        case Load(buf=buf, at=at):
            yield from (buf, *at)
        case Store(buf=buf, at=at, value=value) | Combine(buf=buf, at=at, value=value):
            yield from (buf, *at, value)
        case Alloc(buf=buf):
            yield from (*buf.shape, *buf.strides)
        case Row(buf=buf, at=at):
            yield from (buf, *at)
        case Copy(dst=dst, src=src):
            yield from (dst, src)
        case For(start=start, stop=stop, inits=inits, reduces=reduces, work=work):
            yield from (start, stop, *inits, *(() if work is None else (work,)))
            for reduce in reduces:
                yield from reduce.neutral
                yield from captured(reduce.body, {*reduce.left, *reduce.right})
        case While(inits=inits):
            yield from inits
        case If(cond=cond):
            yield cond
        case Check(cond=cond, args=args):
            yield from (cond, *args)
    for block in blocks_of(stm):
        yield from block.results


def binders(stm: Stm) -> tuple[Name, ...]:
    """The names that a statement binds, those seen only inside it included."""
    match stm:
        case (
            Op(out=out)
            | AnyLane(out=out)
            | Team(out=out)
            | Load(out=out)
            | Call(out=out)
            | Row(out=out)
        ):
            return (out,)
        case Alloc(buf=buf):
            return (buf,)
        case Scope(outs=outs) | If(outs=outs):
            return outs
        case For(outs=outs, var=var, params=params):
            return (*outs, var, *params)
        case While(outs=outs, params=params):
            return (*outs, *params)
        case _:
            return ()


def captured(block: Block, inside: set[Name]) -> list[Name]:
    """The names of a block that are bound outside it, each once, sizes and strides of its buffers
    included; `inside` are further names that count as its own."""
    bound: set[Name] = set(inside)
    for stm in statements(block):
        bound.update(binders(stm))
    found: dict[Name, None] = {}

    def mention(value: Value) -> None:
        if isinstance(value, Buf):
            for atom in (*value.shape, *value.strides):
                mention(atom)
        if not isinstance(value, Const) and value not in bound:
            found[value] = None

    for stm in statements(block):
        for value in operands(stm):
            mention(value)
        if isinstance(stm, Row):
            for atom in (*stm.out.shape, *stm.out.strides):
                mention(atom)
        for name in binders(stm):
            if isinstance(name, Buf):
                mention(name)
    for result in block.results:
        mention(result)
    return list(found)


class Memory:
    """Classes of buffers that may be the same memory, by joining what flows into what.

    `sizes`: sizes of parameters and of what is allocated, never negative. `kept`: classes with a
    buffer that a loop passes on to its next turn or to what follows it, so that every turn needs
    memory of its own for them.
    """

    def __init__(self, proc: Proc) -> None:
        self._parent: dict[Buf, Buf] = {}
        self._kept: set[Buf] = set()
        self._numbers: dict[Buf, int] = {}
        self.sizes: set[Value] = {s for p in proc.params if isinstance(p, Buf) for s in p.shape}
        for stm in statements(proc.body):
            self._statement(stm)
        self.kept = {self.find(b) for b in self._kept}

    def find(self, buf: Buf) -> Buf:
        while (up := self._parent.get(buf, buf)) is not buf:
            buf = up
        return buf

    def root(self, buf: Buf) -> int:
        """The number of the buffer's class."""
        return self._numbers.setdefault(self.find(buf), len(self._numbers))

    def join(self, names: Sequence[Name | Value]) -> None:
        bufs = [self.find(n) for n in names if isinstance(n, Buf)]
        for b in bufs[1:]:
            if b is not bufs[0]:
                self._parent[b] = bufs[0]

    def is_kept(self, buf: Buf) -> bool:
        return self.find(buf) in self.kept

    def _statement(self, stm: Stm) -> None:
        if isinstance(stm, Alloc):
            self.sizes.update(stm.buf.shape)
        match stm:
            case Row(out=out, buf=buf):
                self.join((out, buf))
            case If(outs=outs, then=then, orelse=orelse):
                for group in zip(outs, then.results, orelse.results, strict=True):
                    self.join(group)
            case For() | While():
                results = stm.body.results
                for flow in zip(stm.outs, stm.params, stm.inits, results, strict=True):
                    self.join(flow)
                self._kept.update(r for r in stm.body.results if isinstance(r, Buf))
            case _:
                pass
