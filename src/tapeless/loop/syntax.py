"""The grammar of Loop IR: structured, imperative over memory, SSA over scalars and pointers.

Scalars are `core.names.Var`; memory is reached through `Buf`, a pointer whose element type, sizes
and strides are explicit. Loops and branches pass values by parameters and results
(`Block.results`), so that scalar and lane-wise emission share one code path; memory effects are
statements. A loop's `kind` is data: "seq", "simd" (iterations become vector lanes) or "threads"
(iterations are given to threads; its body may hold simd loops).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tapeless.core.names import Atom, Loc, Var
from tapeless.core.types import DType

SEQ, SIMD, THREADS = "seq", "simd", "threads"
GLOBAL, LOCAL = "global", "local"
LEAST_WORK = 160_000  # operations of a threads loop (about 2 µs) that are worth waking threads for


class Buf:
    """A pointer to a regular array: equal only to itself.

    `shape` and `strides` (in elements) are atoms. `space`: "global", or "local" (belongs to one
    iteration of the enclosing simd loop: every lane has its own, element e of lane k at
    e * lanes + k, so that lanes read their elements side by side).
    """

    __slots__ = ("dtype", "hint", "shape", "space", "strides")

    def __init__(
        self,
        dtype: DType,
        shape: tuple[Atom, ...],
        strides: tuple[Atom, ...],
        hint: str = "buf",
        space: str = GLOBAL,
    ) -> None:
        self.dtype = dtype
        self.shape = shape
        self.strides = strides
        self.hint = hint
        self.space = space

    def __repr__(self) -> str:
        return f"{self.hint}.{id(self) >> 4 & 0xFFFF:x}"


Value: TypeAlias = Atom | Buf
Name: TypeAlias = Var | Buf


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """Where and why a check fails: a builtin error's name, a template for its arguments."""

    error: str
    message: str
    dtypes: tuple[DType, ...]
    loc: Loc | None


@dataclass(frozen=True, slots=True, eq=False)
class Proc:
    """A kernel. `params` take one slot each, in order: scalars, the pointers of arrays, and behind
    the pointer of an array of layout "S" its strides. `results` are scalars, or the buffers of
    `Alloc(result=k)` where k is the position in `results`.

    `foreign` names the functions that its Calls reach through the context's table."""

    name: str
    params: tuple[Name, ...]
    body: Block
    results: tuple[Value, ...]
    sites: tuple[Site, ...]
    foreign: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    stms: tuple[Stm, ...]
    results: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Op:
    """`out = op(args)`, an operator of core.prims. `loose`: part of a sum, so it may be contracted
    with the multiplication that feeds it."""

    out: Var
    op: str
    args: tuple[Atom, ...]
    loose: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class AnyLane:
    """`out` (the same in all lanes): whether `cond` holds in some active lane."""

    out: Var
    cond: Atom


@dataclass(frozen=True, slots=True, eq=False)
class Team:
    """`out`: how many threads the next threads loop may have; 1 inside such a loop."""

    out: Var


@dataclass(frozen=True, slots=True, eq=False)
class Load:
    out: Var
    buf: Buf
    at: tuple[Atom, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Store:
    buf: Buf
    at: tuple[Atom, ...]
    value: Atom


@dataclass(frozen=True, slots=True, eq=False)
class Combine:
    """buf[at] = op(buf[at], value), op one of + * min max. Lanes that meet in one cell combine in
    lane order; threads never meet."""

    op: str
    buf: Buf
    at: tuple[Atom, ...]
    value: Atom


@dataclass(frozen=True, slots=True, eq=False)
class Alloc:
    """Memory for `buf` (contiguous, row-major): from the arena, or as result number `result`."""

    buf: Buf
    zero: bool = False
    result: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """`out` points at buf[at, ...], seen under sizes and strides of its own (mostly those of the
    remaining axes). Only the strides of `buf` that `at` needs are read."""

    out: Buf
    buf: Buf
    at: tuple[Atom, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Copy:
    """All elements of `src` to `dst`: the shapes agree; the memory is the same or apart."""

    dst: Buf
    src: Buf


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """A block whose arena allocations are given back at its end. A result may keep its name."""

    outs: tuple[Var, ...]
    body: Block


@dataclass(frozen=True, slots=True, eq=False)
class Reduce:
    """How partial values of loop parameters are combined in a simd or threads loop.

    `params` are positions among the loop's parameters. `op` is "+", "*", "min", "max", or "" for
    the block `body` over (left..., right...) with `neutral` elements. `ordered`: iterations may be
    grouped but not exchanged, so that only threads (by blocks) may share them. Partial values start
    neutral; the loop's result is its initial value combined with all of them.
    """

    params: tuple[int, ...]
    op: str
    left: tuple[Var, ...] = ()
    right: tuple[Var, ...] = ()
    body: Block = Block(())
    neutral: tuple[Atom, ...] = ()
    ordered: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class For:
    """Counts `var` from `start` while it is below `stop`. In simd and threads loops every
    parameter is reduced; threads loops take single iterations as units of work. `work` estimates
    the scalar operations of the whole loop: too few of them are not worth waking threads."""

    outs: tuple[Name, ...]
    var: Var
    start: Atom
    stop: Atom
    kind: str
    params: tuple[Name, ...]
    inits: tuple[Value, ...]
    body: Block
    reduces: tuple[Reduce, ...] = ()
    work: Atom | None = None


@dataclass(frozen=True, slots=True, eq=False)
class While:
    outs: tuple[Name, ...]
    params: tuple[Name, ...]
    inits: tuple[Value, ...]
    cond: Block
    body: Block


@dataclass(frozen=True, slots=True, eq=False)
class If:
    outs: tuple[Name, ...]
    cond: Atom
    then: Block
    orelse: Block


@dataclass(frozen=True, slots=True, eq=False)
class Check:
    """Unless `cond`: record `site` (its index in Proc.sites) with `args` and leave the kernel."""

    cond: Atom
    site: int
    args: tuple[Atom, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A foreign function `i64 f(ptr slots)`; `out` receives its status (0: well done).

    `args` fill 8-byte slots in order: a Buf its address, a scalar as the kernel ABI passes it."""

    callee: str
    args: tuple[Value, ...]
    out: Var


Stm: TypeAlias = (
    Op
    | AnyLane
    | Team
    | Load
    | Store
    | Combine
    | Alloc
    | Row
    | Copy
    | Scope
    | For
    | While
    | If
    | Check
    | Call
)
