"""Sort as a Core program: stable merge sort of indices, bottom up, NaN last.

Each pass merges neighbouring runs of `width` indices from one array into another; both are loop
state, so that lowering lets them take turns.
"""

from __future__ import annotations

from tapeless.core.names import Atom, Var
from tapeless.core.types import INDEX, Array
from tapeless.ir.build import ONE, Builder, const
from tapeless.ir.syntax import PROVED, Alloc, Body, Each, For, Index, Loop, Update, While
from tapeless.ir.types_of import atom_of

TWO = const(2)


def merge_sort(b: Builder, array: Var, at: tuple[Atom, ...]) -> None:
    """Emits the sort of `array[at]`; the first result of the last statement is the permutation."""
    n = atom_of(array.shape[-1])
    kind = Array(INDEX.dtype, array.shape[-1:])
    i = Var(INDEX, "i")
    start = b.one(Each((i,), (n,), (), Body((), (i,))), "perm")
    spare = b.one(Alloc("empty", INDEX.dtype, (n,)), "spare")
    perm, other, width = Var(kind, "perm"), Var(kind, "spare"), Var(INDEX, "width")
    with b.scope():
        cond = b.body((b.prim("lt", width, n),))
    with b.scope():
        merged = _pass(b, array, at, n, perm, other, width)
        body = b.body((merged, perm, b.prim("mul", width, TWO)))
    loop = Loop(While(cond), (perm, other, width), (start, spare, ONE), body)
    b.let(loop, "perm", "spare", "width")


def _pass(
    b: Builder, array: Var, at: tuple[Atom, ...], n: Atom, perm: Var, other: Var, width: Var
) -> Var:
    """All pairs of runs of `width`, merged from `perm` into `other`."""
    two = b.prim("mul", width, TWO)
    count = b.prim("floordiv", b.prim("add", n, b.prim("sub", two, ONE)), two)
    pair, into = Var(INDEX, "pair"), other.fresh()
    with b.scope():
        low = b.prim("mul", pair, two)
        middle = b.prim("min", b.prim("add", low, width), n)
        high = b.prim("min", b.prim("add", low, two), n)
        merged = _merge(b, array, at, perm, into, (low, middle, high))
        body = b.body((merged,))
    return b.let(Loop(For(pair, count), (into,), (other,), body), "spare")[0]


def _merge(
    b: Builder, array: Var, at: tuple[Atom, ...], perm: Var, other: Var,
    bounds: tuple[Atom, Atom, Atom],
) -> Var:  # fmt: skip
    """perm[low:middle] and perm[middle:high], merged into other[low:high]."""
    low, middle, high = bounds
    k, i, j, into = Var(INDEX, "k"), Var(INDEX, "i"), Var(INDEX, "j"), other.fresh()
    with b.scope():
        has_left, has_right = b.prim("lt", i, middle), b.prim("lt", j, high)
        left = b.one(Index(perm, (b.prim("min", i, b.prim("sub", middle, ONE)),), PROVED))
        right = b.one(Index(perm, (b.prim("min", j, b.prim("sub", high, ONE)),), PROVED))
        first = _less(b, _key(b, array, at, right), _key(b, array, at, left))
        takes_right = b.prim("and", has_right, b.prim("or", b.prim("not", has_left), first))
        value = b.prim("select", takes_right, right, left)
        step = b.prim("i64", takes_right)
        stored = b.one(Update(into, (b.prim("add", low, k),), value, PROVED), "spare")
        nexts = (b.prim("add", i, b.prim("sub", ONE, step)), b.prim("add", j, step), stored)
        body = b.body(nexts)
    loop = Loop(For(k, b.prim("sub", high, low)), (i, j, into), (low, middle, other), body)
    return b.let(loop, "i", "j", "spare")[2]


def _key(b: Builder, array: Var, at: tuple[Atom, ...], index: Atom) -> Atom:
    return b.one(Index(array, (*at, index), PROVED * (len(at) + 1)), "key")


def _less(b: Builder, x: Atom, y: Atom) -> Atom:
    """Whether x goes before y: NaN goes last."""
    less = b.prim("lt", x, y)
    if not x.dtype.is_float:
        return less
    number = b.prim("not", b.prim("isnan", x))
    return b.prim("or", less, b.prim("and", number, b.prim("isnan", y)))
