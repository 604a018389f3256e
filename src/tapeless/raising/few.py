"""Nests and loops of few passes, written out, so that their cells become scalars.

y = each (k < 2) with (s += s₀) { x = u[k]; put s <- x; return x·x }
⇒  x₀ = u[0]; s₀₁ = s₀ + x₀; y₀ = empty with [0] = x₀·x₀; x₁ = u[1]; …
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import prod

from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import INDEX, Scalar, Type
from tapeless.ir.syntax import (
    Acc,
    Alloc,
    Body,
    Check,
    Each,
    Exp,
    For,
    Fun,
    If,
    Index,
    Let,
    Loop,
    Monoid,
    Prim,
    Put,
    Update,
    all_proved,
)  # fmt: skip
from tapeless.ir.types_of import atom_of
from tapeless.ir.walk import Rewriter

MOST_CELLS = 16
MOST_STATEMENTS = 128  # what a nest may become
OPERATORS = {"+": "add", "*": "mul", "min": "min", "max": "max"}


def run(fun: Fun) -> Fun:
    walk = _WriteOut()
    body = walk.body(fun.body)
    return replace(fun, body=body) if walk.changed else fun


class _WriteOut(Rewriter):
    """`ops`: how the accumulators around combine."""

    def __init__(self) -> None:
        super().__init__(fresh=False)  # sums may be sizes in types: arrays change their names too
        self.ops: dict[Var, str | Monoid] = {}
        self.changed = False

    def body(self, body: Body) -> Body:
        stms: list[Let] = []
        for stm in body.stms:
            if isinstance(stm.exp, Each):
                self.ops.update((v, acc.op) for acc in stm.exp.accs for v in acc.vars)
            new = self.let(stm)
            if isinstance(new.exp, Each) and self.is_few(new):
                self.put_in_place(stm, nest(new, new.exp, stms))
            elif isinstance(new.exp, Loop) and is_few_passes(new.exp):
                self.put_in_place(stm, passes(new.exp, stms))
            else:
                stms.append(new)
        return Body(tuple(stms), self.atoms(body.results))

    def put_in_place(self, stm: Let, values: Sequence[Atom]) -> None:
        self.map.update(zip(stm.outs, values, strict=True))
        self.changed = True

    def is_few(self, stm: Let) -> bool:
        exp = stm.exp
        assert isinstance(exp, Each)
        cells = prod(int(s.value) if isinstance(s, Const) else 0 for s in exp.sizes)
        small = 0 < cells <= MOST_CELLS and all(is_small(o.type) for o in stm.outs)
        own = {v for acc in exp.accs for v in acc.vars}
        return (
            small
            and cells * size(exp.body) <= MOST_STATEMENTS
            and all(acc.op != "=" or acc.vars[0].is_array for acc in exp.accs)
            and all(is_plain(s.exp) or self.may_put(s.exp, own) for s in exp.body.stms)
        )

    def may_put(self, exp: Exp, own: set[Var]) -> bool:
        """Whether a Put may be written out: those that may stand only once are the nest's own."""
        if not isinstance(exp, Put) or not all_proved(exp.modes):
            return False
        is_own = exp.targets[0] in own
        known = self.ops[exp.targets[0]]
        return known in ("=", "+") or (is_own and not exp.targets[0].is_array)


def is_small(type: Type) -> bool:
    """A scalar, or an array of few cells whose number is known."""
    if isinstance(type, Scalar):
        return True
    return 0 < prod(s if isinstance(s, int) else 0 for s in type.shape) <= MOST_CELLS


def is_few_passes(exp: Loop) -> bool:
    form = exp.form
    if not isinstance(form, For) or not isinstance(form.size, Const) or exp.reverse.kind != "auto":
        return False
    return (
        int(form.size.value) <= MOST_CELLS
        and int(form.size.value) * size(exp.body) <= MOST_STATEMENTS
        and all(is_small(p.type) for p in exp.params)
        and all(is_plain(s.exp) for s in exp.body.stms)
    )


def is_plain(exp: Exp) -> bool:
    """Whether copies of a statement are all there is to writing it out."""
    match exp:
        case Prim() | Index() | Check() | Update() | Alloc():
            return True
        case If(_, then, orelse):
            return all(is_plain(s.exp) for b in (then, orelse) for s in b.stms)
        case _:
            return False


def size(body: Body) -> int:
    """How many statements there are in a body of plain ones."""
    return sum(
        1 + (size(s.exp.then) + size(s.exp.orelse) if isinstance(s.exp, If) else 0)
        for s in body.stms
    )


# Loops ------------------------------------------------------------------------------------------


def passes(exp: Loop, out: list[Let]) -> tuple[Atom, ...]:
    """The state after all passes, which go to `out`."""
    assert isinstance(exp.form, For) and isinstance(exp.form.size, Const)
    state = exp.inits
    for k in range(int(exp.form.size.value)):
        copier = Rewriter({exp.form.var: Const(k, INDEX.dtype)})
        copier.map.update(zip(exp.params, state, strict=True))
        body = copier.body(exp.body)
        out += body.stms
        state = body.results
    return state


# Nests ------------------------------------------------------------------------------------------


def nest(stm: Let, exp: Each, out: list[Let]) -> list[Atom]:
    return _Nest(stm, exp, out).run()


class _Nest:
    """`now`: the values of the accumulators; `arrays`: the results so far."""

    def __init__(self, stm: Let, exp: Each, out: list[Let]) -> None:
        self.stm, self.exp, self.out = stm, exp, out
        self.accs: dict[Var, Acc] = {acc.vars[0]: acc for acc in exp.accs}
        self.now: dict[Var, Atom] = {
            v: i for acc in exp.accs for v, i in zip(acc.vars, acc.inits, strict=True)
        }
        self.arrays: list[Var] = []

    def let(self, exp: Exp, like: Var, type: Type | None = None) -> Var:
        new = like.fresh(like.type if type is None else type)
        self.out.append(Let((new,), exp, self.stm.loc))
        return new

    def run(self) -> list[Atom]:
        """The values of the statement's results."""
        elements = self.stm.outs[: len(self.exp.body.results)]
        self.arrays = [
            self.let(Alloc("empty", o.dtype, tuple(map(atom_of, o.shape))), o) for o in elements
        ]
        sizes = [int(s.value) for s in self.exp.sizes if isinstance(s, Const)]
        for cell in product(*map(range, sizes)):
            self.cell(tuple(Const(k, INDEX.dtype) for k in cell))
        return [*self.arrays, *(self.now[v] for acc in self.exp.accs for v in acc.vars)]

    def cell(self, at: tuple[Atom, ...]) -> None:
        copier = Rewriter(dict(zip(self.exp.vars, at, strict=True)))
        for stm in self.exp.body.stms:
            if isinstance(stm.exp, Put) and stm.exp.targets[0] in self.accs:
                where, values = copier.atoms(stm.exp.at), copier.atoms(stm.exp.values)
                self.put(self.accs[stm.exp.targets[0]], where, values)
            else:
                self.out.append(copier.let(stm))
        for k, value in enumerate(copier.atoms(self.exp.body.results)):
            self.element(k, at, value)

    def element(self, k: int, at: tuple[Atom, ...], value: Atom) -> None:
        """A result of one cell, itself an array maybe, into the array of all."""
        shape = value.shape if isinstance(value, Var) else ()
        for inner in product(*(range(s) for s in shape if isinstance(s, int))):
            rest = tuple(Const(i, INDEX.dtype) for i in inner)
            item = value
            if isinstance(value, Var) and shape:
                item = self.let(Index(value, rest, "p" * len(rest)), value, Scalar(value.dtype))
            where = (*at, *rest)
            before = self.arrays[k]
            self.arrays[k] = self.let(Update(before, where, item, "p" * len(where)), before)

    def put(self, acc: Acc, at: tuple[Atom, ...], values: tuple[Atom, ...]) -> None:
        if isinstance(acc.op, Monoid):
            copier = Rewriter(dict(zip(acc.op.left, (self.now[v] for v in acc.vars), strict=True)))
            copier.map.update(zip(acc.op.right, values, strict=True))
            joined = copier.body(acc.op.body)
            self.out += joined.stms
            self.now.update(zip(acc.vars, joined.results, strict=True))
            return
        (var,), (value,) = acc.vars, values
        before = self.now[var]
        modes = "p" * len(at)
        cell = before
        if isinstance(before, Var) and before.is_array and acc.op != "=":
            cell = self.let(Index(before, at, modes), before, Scalar(before.dtype))
        if acc.op != "=":
            value = self.let(Prim(OPERATORS[acc.op], (cell, value)), var, Scalar(var.dtype))
        if isinstance(before, Var) and before.is_array:
            value = self.let(Update(before, at, value, modes), before)
        self.now[var] = value
