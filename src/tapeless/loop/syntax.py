"""The grammar of Loop IR: structured, imperative over memory, SSA over scalars and pointers.

Scalars are `core.names.Var`; memory is reached through `Buf`, a pointer variable whose element
type, sizes and strides are explicit. Loops and branches pass values by parameters and results
(`Block.results`), so that scalar and lane-wise emission share one code path; memory effects are
statements. A loop's `kind` is data: "seq", "simd" (iterations become vector lanes) or "threads"
(iterations are divided among threads; its body may hold simd loops).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tapeless.core.names import Atom, Loc, Var
from tapeless.core.types import DType

SEQ, SIMD, THREADS = "seq", "simd", "threads"


class Buf:
    """A pointer to a regular array: equal only to itself.

    `shape` and `strides` (in elements) are atoms; a stride of Const 1 on the last axis is what
    makes lane loads contiguous. `space`: "global" (shared), "local" (belongs to one iteration of
    the innermost enclosing simd/threads loop: lanes have one each, interleaved by lane when the
    loop is vectorised, in registers when `shape` is small and constant).
    """

    __slots__ = ("dtype", "hint", "shape", "space", "strides")

    def __init__(
        self, dtype: DType, shape: tuple[Atom, ...], strides: tuple[Atom, ...],
        hint: str = "buf", space: str = "global",
    ) -> None:  # fmt: skip
        self.dtype = dtype
        self.shape = shape
        self.strides = strides
        self.hint = hint
        self.space = space


Value: TypeAlias = Atom | Buf
Name: TypeAlias = Var | Buf


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """Where and why a check fails: a builtin error's name, a template for its arguments."""

    error: str
    message: str
    loc: Loc | None


@dataclass(frozen=True, slots=True, eq=False)
class Proc:
    """A kernel. Results are scalars, or buffers made by `Alloc(result=k)`."""

    name: str
    params: tuple[Name, ...]
    body: Block
    sites: tuple[Site, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    stms: tuple[Stm, ...]
    results: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Op:
    """`out = op(args)`, an operator of core.prims. `loose`: part of a sum, so it may be
    re-associated and contracted with the multiplication that feeds it."""

    out: Var
    op: str
    args: tuple[Atom, ...]
    loose: bool = False


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
    """buf[at] = op(buf[at], value) with op one of + * min max; `atomic` if threads may collide.
    Lanes that meet in one cell combine in lane order."""

    op: str
    buf: Buf
    at: tuple[Atom, ...]
    value: Atom
    atomic: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Alloc:
    """Memory for `buf` (contiguous, row-major): from the arena, or as result number `result`."""

    buf: Buf
    zero: bool = False
    result: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """`out` points at buf[at, ...]: the sub-array behind a prefix of indices."""

    out: Buf
    buf: Buf
    at: tuple[Atom, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Copy:
    """All elements of `src` to `dst`; the shapes agree, the memory does not overlap."""

    dst: Buf
    src: Buf


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """A block whose arena allocations are given back at its end (unless it returns them)."""

    outs: tuple[Name, ...]
    body: Block


@dataclass(frozen=True, slots=True, eq=False)
class Reduce:
    """How partial values of loop parameters are combined in a simd/threads loop.

    `params` are positions among the loop's parameters. `op` is "+", "*", "min", "max" or a
    block over (left..., right...) with neutral elements.
    """

    params: tuple[int, ...]
    op: str
    left: tuple[Var, ...] = ()
    right: tuple[Var, ...] = ()
    body: Block | None = None
    neutral: tuple[Atom, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class For:
    """Counts `var` from 0 below `size`. In simd and threads loops every parameter is reduced."""

    outs: tuple[Name, ...]
    var: Var
    size: Atom
    kind: str
    params: tuple[Name, ...]
    inits: tuple[Value, ...]
    body: Block
    reduces: tuple[Reduce, ...] = ()


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
    """Unless `cond`: record `site` (its index in Proc.sites) with `args`, and leave the kernel
    as soon as no other lane or thread needs it; memory behind a failed check is not touched."""

    cond: Atom
    site: int
    args: tuple[Atom, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A foreign function of `runtime.foreign` on pointers, sizes and scalars."""

    callee: str
    args: tuple[Value, ...]
    outs: tuple[Var, ...] = ()


Stm: TypeAlias = (
    Op | Load | Store | Combine | Alloc | Row | Copy | Scope | For | While | If | Check | Call
)
