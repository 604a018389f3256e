"""The grammar of Core (docs/ir.md shows it on one screen, a test keeps the two equal).

Administrative normal form: operands are atoms, every variable is bound once, expressions have
several results instead of tuples. Values are immutable: `Update`, `Append` and the initial value
of an array accumulator *consume* their array, and reuse its storage when it dies there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from tapeless.core.names import Atom, Loc, Var
from tapeless.core.types import DType

# How an index is honoured, one letter per axis.
PROVED = "p"  # known to be in range
CHECK = "c"  # out of range raises IndexError
WRAP = "w"  # negative counts from the end, then as CHECK (what Python's a[i] means)
IGNORE = "i"  # only for Put and Update: out of range does nothing


def all_proved(modes: str) -> bool:
    """Whether no axis can be out of range."""
    return set(modes) <= {PROVED}


@dataclass(frozen=True, slots=True, eq=False)
class Fun:
    """A program. Arrays in `writes` (a subset of the parameters) may be consumed."""

    name: str
    params: tuple[Var, ...]
    body: Body
    writes: tuple[Var, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    stms: tuple[Let, ...]
    results: tuple[Atom, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Let:
    outs: tuple[Var, ...]
    exp: Exp
    loc: Loc | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Prim:
    """One scalar operator of `core.prims`."""

    op: str
    args: tuple[Atom, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """One element of an array, at a full list of indices."""

    array: Var
    at: tuple[Atom, ...]
    modes: str


@dataclass(frozen=True, slots=True, eq=False)
class Update:
    """The array with one element replaced; consumes `array`."""

    array: Var
    at: tuple[Atom, ...]
    value: Atom
    modes: str


@dataclass(frozen=True, slots=True, eq=False)
class Alloc:
    """A new array. `kind` is "zeros", or "empty" when every cell is written before it is read."""

    kind: str
    dtype: DType
    shape: tuple[Atom, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Append:
    """The array with one more leading cell: a scalar, or a row. `size` is the new length."""

    array: Var
    value: Atom
    size: Atom


@dataclass(frozen=True, slots=True, eq=False)
class If:
    cond: Atom
    then: Body
    orelse: Body


@dataclass(frozen=True, slots=True, eq=False)
class Iverson:
    """[p]·e: the results of `body` if `cond`, else zeros; the body is not run then."""

    cond: Atom
    body: Body


@dataclass(frozen=True, slots=True, eq=False)
class For:
    """Counts `var` from 0 while it is below `size`."""

    var: Var
    size: Atom


@dataclass(frozen=True, slots=True, eq=False)
class While:
    """Runs while the one bool result of `cond`, a body over the loop's state, is true."""

    cond: Body


@dataclass(frozen=True, slots=True, eq=False)
class Reverse:
    """How a loop's past is had again in reverse mode, as the user asked for it."""

    kind: str = "auto"  # store, checkpoint, recompute, invert; each: iterations are independent
    levels: int | None = None
    slots: Atom | None = None
    memory: Atom | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A sequential loop: `params` start as `inits` and become the results of `body` each pass."""

    form: For | While
    params: tuple[Var, ...]
    inits: tuple[Atom, ...]
    body: Body
    reverse: Reverse = field(default_factory=Reverse)


@dataclass(frozen=True, slots=True, eq=False)
class Monoid:
    """An associative operator (left, right) -> results of body, with its neutral element."""

    left: tuple[Var, ...]
    right: tuple[Var, ...]
    body: Body
    neutral: tuple[Atom, ...]
    commutative: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Acc:
    """Accumulators of an Each: `vars` are named only as targets of Put inside its body.

    `op` is "=" (each cell at most once), "+", "*", "min", "max" or a monoid. Array `inits` are
    consumed. A scalar accumulator is put to at no index.
    """

    vars: tuple[Var, ...]
    inits: tuple[Atom, ...]
    op: str | Monoid


@dataclass(frozen=True, slots=True, eq=False)
class Each:
    """THE parallel nest over the box of `vars` below `sizes` (sizes are bound outside).

    Outputs: for each result of `body` an array with the box as leading shape, then the final
    value of every accumulator. Order of combination is that of the indices, up to associativity.
    """

    vars: tuple[Var, ...]
    sizes: tuple[Atom, ...]
    accs: tuple[Acc, ...]
    body: Body


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """Elements of `body` over var < size, combined by `monoid` from its neutral element."""

    var: Var
    size: Atom
    monoid: Monoid
    body: Body


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """Like Fold, but every prefix (inclusive): one array per result, of length `size`."""

    var: Var
    size: Atom
    monoid: Monoid
    body: Body


@dataclass(frozen=True, slots=True, eq=False)
class Put:
    """Effect: combine `values` into the cells of the accumulators `targets` at `at`."""

    targets: tuple[Var, ...]
    at: tuple[Atom, ...]
    values: tuple[Atom, ...]
    modes: str


@dataclass(frozen=True, slots=True, eq=False)
class Check:
    """Effect: raise `error` (a builtin's name) with `message.format(*args)` unless `cond`."""

    cond: Atom
    error: str
    message: str
    args: tuple[Atom, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Sort:
    """The permutation (i64) that stably sorts the last axis of `array[at]`, NaN last."""

    array: Var
    at: tuple[Atom, ...]


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """Operand of a Call: base axes at `at`, of which `dims` = (axis, size, step) run."""

    array: Var
    at: tuple[Atom, ...]
    dims: tuple[tuple[int, Atom, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """A callee that gives back its first `outs` operands; its derivative by the next `wrt` ones is
    given by the user: `body`, where `seeds` are tangents of these (`mode` "push") or cotangents of
    the results ("pull"). `free` operands more depend on what the rule says nothing about; the last
    ones are what `formal` stands for in the body."""

    name: str
    mode: str
    outs: int
    wrt: int
    free: int
    formal: tuple[Var, ...]
    seeds: tuple[Var, ...]
    body: Body


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A foreign function (`ir.callees`) on arrays and scalars, or a value with a given rule."""

    callee: str | Given
    args: tuple[Atom | View, ...]


Exp: TypeAlias = (
    Prim | Index | Update | Alloc | Append | If | Iverson | Loop | Each | Fold | Scan
    | Put | Check | Sort | Call
)  # fmt: skip

KNOWN_OPS = ("=", "+", "*", "min", "max")
