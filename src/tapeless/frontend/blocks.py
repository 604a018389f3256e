"""Jacobians by few numbers, or of few numbers: the function is traced once, on numbers in the place
of small arrays, and all directions go through it together. A value has a tangent only along the
directions that it depends on, so that zeros of the Jacobian cost nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, product
from math import prod
from typing import TYPE_CHECKING, TypeAlias

from tapeless.ad.jvp import forward_along
from tapeless.ad.vjp import reverse
from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import INDEX, Array, Scalar, Type
from tapeless.errors import CompileError
from tapeless.frontend.derivatives import (
    Traced,
    emit,
    located,
    named,
    optimised,
    positions,
    traced,
)  # fmt: skip
from tapeless.frontend.leaves import Leaf, float_leaves
from tapeless.frontend.places import new_array
from tapeless.frontend.rule import Args, Kwargs
from tapeless.frontend.scalars import scalar
from tapeless.frontend.values import NONE, Arr, Cx, Num, Tup, Value
from tapeless.ir.build import Builder
from tapeless.ir.syntax import Acc, Alloc, Each, If, Index, Update
from tapeless.ir.types_of import atom_of
from tapeless.ir.walk import bodies_of, refresh, statements

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer

MOST_NUMBERS = 16  # of an array that is taken apart; of directions
MOST_STATEMENTS = 2048  # of the function, times directions

Parts: TypeAlias = list[Atom]  # the cells of a small array in order; else the atom itself


def columns_rule(t: Tracer, args: Args, kwargs: Kwargs) -> Value:
    """(f(*args), for every float x of the arguments at `argnums` the blocks ∂y/∂x of every float y
    of the result); None if there are many numbers among the x."""
    f, argnums, *primals = args
    picks = positions(t, argnums, primals, named(t, f))
    xs = [primals[k] for k in picks]
    if is_complex(t, Tup(tuple(xs))):
        refuse_complex(t, traced(t, f, primals, kwargs, picks))
    count = numbers(t, xs)
    if not 1 < count <= MOST_NUMBERS:
        return NONE
    call = traced(t, f, primals, kwargs, picks)
    split = Split(t, call)
    if is_complex(t, call.out) or split.length * count > MOST_STATEMENTS:
        return NONE
    with located(t):
        body = forward_along(split.body, [{x.var: Const(1.0, x.var.dtype)} for x in split.leaves])
    atoms = iter(emit(t, body, split.leaves))
    out = split.value(atoms)
    columns = iter([list(map(split.parts(atoms), split.floats)) for _ in range(count)])
    blocks: list[Value] = []
    for leaf in call.leaves:
        mine = list(islice(columns, len(cells(leaf.var.type))))
        blocks.append(Tup(tuple(
            block(t, y, leaf.var.type, list(zip(*(c[k] for c in mine), strict=True)))
            for k, y in enumerate(split.floats)
        )))  # fmt: skip
    return Tup((out, Tup(tuple(in_order(t, picks, primals, blocks)))))


def rows_rule(t: Tracer, args: Args, kwargs: Kwargs) -> Value:
    """(f(*args), for every float y of the result the blocks ∂y/∂x of every float x of the arguments
    at `argnums`); None if there are many numbers among the y, or loops in the function."""
    f, argnums, *primals = args
    picks = positions(t, argnums, primals, named(t, f))
    call = traced(t, f, primals, kwargs, picks)
    if is_complex(t, Tup(tuple(primals[k] for k in picks))):
        refuse_complex(t, call)
        return NONE
    count = numbers(t, [call.out])
    split = Split(t, call)
    loops = any(bodies_of(s.exp) and not isinstance(s.exp, If) for s in statements(split.body))
    if not 1 < count <= MOST_NUMBERS or loops or split.length * count > MOST_STATEMENTS:
        return NONE
    results = split.body.results
    rows: list[list[Parts]] = []  # per number of the result, per leaf
    for k in (k for k, r in enumerate(results) if r.dtype.is_float):
        seeds = [Const(1.0, r.dtype) if j == k else None for j, r in enumerate(results)]
        with located(t):
            body = reverse(split.body, [x.var for x in split.leaves], seeds)
        atoms = iter(emit(t, body, split.leaves))
        out = split.value(atoms)
        rows.append(list(map(split.parts(atoms), (x.var.type for x in call.leaves))))
    blocks: list[Value] = []
    rest = iter(rows)
    for y in split.floats:
        mine = list(islice(rest, len(cells(y))))
        found = [
            block(t, y, x.var.type, [row[k] for row in mine]) for k, x in enumerate(call.leaves)
        ]
        blocks.append(Tup(tuple(in_order(t, picks, primals, found))))
    return Tup((out, Tup(tuple(blocks))))


def refuse_complex(t: Tracer, call: Traced) -> None:
    """∂/∂Re + i·∂/∂Im is the gradient of a real number; of z² it would be 0."""
    if is_complex(t, call.out):
        raise CompileError(
            f"{call.name} takes complex numbers and gives some: its Jacobian has no one meaning",
            t.loc, "use jvp or vjp, or take real and imaginary parts as arguments of their own",
        )  # fmt: skip


# Trees -------------------------------------------------------------------------------------------


def numbers(t: Tracer, values: Iterable[Value]) -> int:
    """How many numbers there are among the floats; 0 if that is not known, or they are complex."""
    count = 0
    for leaf in (leaf for value in values for leaf in float_leaves(t, value)):
        sizes = leaf.shape if isinstance(leaf, Arr) else ()
        if is_complex(t, leaf) or not all(isinstance(s, Const) for s in sizes):
            return 0
        count += prod(int(s.value) for s in sizes if isinstance(s, Const))
    return count


def is_complex(t: Tracer, tree: Value) -> bool:
    return any(
        leaf.is_complex if isinstance(leaf, Arr) else isinstance(scalar(t, leaf), Cx)
        for leaf in float_leaves(t, tree)
    )


def in_order(
    t: Tracer, picks: Sequence[int], primals: Args, blocks: Sequence[Value]
) -> Iterator[Value]:
    """Blocks of the floats of the arguments at `picks`, from those in the order of arguments."""
    rest = iter(blocks)
    found = {k: list(islice(rest, len(float_leaves(t, primals[k])))) for k in sorted(picks)}
    for k in picks:
        yield from found[k]


# Cells -------------------------------------------------------------------------------------------


def cells(type: Type) -> list[tuple[Const, ...]]:
    """The places of an array of known sizes; that of a number."""
    sizes = type.shape if isinstance(type, Array) else ()
    boxes = product(*(range(s) for s in sizes if isinstance(s, int)))
    return [tuple(Const(k, INDEX.dtype) for k in at) for at in boxes]


def is_apart(type: Type) -> bool:
    """Whether a value of this type travels as numbers."""
    if isinstance(type, Scalar):
        return True
    count = prod(s if isinstance(s, int) else 0 for s in type.shape)
    return type.dtype.is_float and 0 < count <= MOST_NUMBERS


def read(b: Builder, atom: Atom) -> Parts:
    """The numbers of a small array; any other value itself."""
    if not isinstance(atom, Var) or not atom.is_array or not is_apart(atom.type):
        return [atom]
    return [b.one(Index(atom, at, "p" * len(at)), atom.hint) for at in cells(atom.type)]


def gathered(b: Builder, type: Type, parts: Sequence[Atom], hint: str) -> Atom:
    """A value from its numbers."""
    if not isinstance(type, Array) or not is_apart(type):
        return parts[0]
    return array_of(b, type, parts, hint)


def array_of(b: Builder, type: Array, parts: Sequence[Atom], hint: str) -> Var:
    now = b.one(Alloc("empty", type.dtype, tuple(map(atom_of, type.shape))), hint)
    for at, part in zip(cells(type), parts, strict=True):
        now = b.one(Update(now, at, part, "p" * len(at)), hint)
    return now


def block(t: Tracer, y: Type, x: Type, entries: Sequence[Sequence[Atom]]) -> Value:
    """∂y/∂x, from its entries per number of y and per number of x; one for all numbers of a large
    array."""
    shape = (*(y.shape if isinstance(y, Array) else ()), *(x.shape if isinstance(x, Array) else ()))
    flat = [entry for row in entries for entry in row]
    if not shape:
        return Num(flat[0])
    type = Array(y.dtype, shape)
    if is_apart(y) and is_apart(x):
        return new_array(t, array_of(t.b, type, flat, "t"))
    above = cells(y) if is_apart(y) else [()]
    beside = cells(x) if is_apart(x) else [()]
    large = x if is_apart(y) else y
    assert isinstance(large, Array)
    box = tuple(map(atom_of, large.shape))
    vars = tuple(Var(INDEX, "i") for _ in box)
    home = t.b.one(Alloc("empty", y.dtype, tuple(map(atom_of, shape))), "t")
    acc = home.fresh()
    with t.b.scope():
        for (up, left), entry in zip(product(above, beside), flat, strict=True):
            assert isinstance(entry, Var)
            value = t.b.one(Index(entry, vars, "p" * len(vars)), entry.hint)
            t.b.put(acc, (*up, *vars, *left), value, "p" * len(shape))
        body = t.b.body(())
    return new_array(t, t.b.one(Each(vars, box, (Acc((acc,), (home,), "="),), body), "t"))


class Split:
    """A call whose small arrays of floats, leaves and results, are numbers. `floats`: the types of
    its float results."""

    def __init__(self, t: Tracer, call: Traced) -> None:
        self.t, self.call = t, call
        self.floats = [r.type for r in call.body.results if r.dtype.is_float]
        self.leaves: list[Leaf] = []
        b = Builder()
        names = {leaf.var: gathered(b, leaf.var.type, self.own(leaf), leaf.var.hint)
                 for leaf in call.leaves}  # fmt: skip
        inner = refresh(call.body, names)
        b.scopes[-1].extend(inner.stms)
        results = tuple(x for r in inner.results for x in read(b, r))
        self.body = optimised(t, b.body(results), [leaf.var for leaf in self.leaves])
        self.length = sum(1 for _ in statements(self.body))

    def own(self, leaf: Leaf) -> Parts:
        """The numbers that take the place of a leaf."""
        there = read(self.t.b, leaf.atom)
        found = [leaf.var.fresh(x.type) for x in there]
        self.leaves += (Leaf(v, x) for v, x in zip(found, there, strict=True))
        return list(found)

    def parts(self, atoms: Iterator[Atom]) -> Callable[[Type], Parts]:
        """What takes the parts of a value of some type from `atoms`."""
        return lambda type: list(islice(atoms, len(cells(type)) if is_apart(type) else 1))

    def value(self, atoms: Iterator[Atom]) -> Value:
        """The result of the call, from the first of `atoms`."""
        take = self.parts(atoms)
        whole = [gathered(self.t.b, r.type, take(r.type), "t") for r in self.call.body.results]
        return self.call.unpacked(self.t, whole)
