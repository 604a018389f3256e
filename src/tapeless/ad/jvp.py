"""Forward mode: every value together with its tangent.

    jvp(f)(x, ẋ) = (f(x), f'(x)·ẋ)

Each statement is followed by the one that moves tangents through it; what does not vary has none.
Tangent variables have the type of their primal and its name with `_dot`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from tapeless.ad.given import given_tangents
from tapeless.ad.linear_algebra import call_tangents
from tapeless.ad.partials import row
from tapeless.ad.prepare import for_forward
from tapeless.ad.unused import after_choices, unless_unused
from tapeless.analysis.activity import Dependence
from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import Array, Type
from tapeless.ir.build import Builder
from tapeless.ir.syntax import (
    Acc,
    Alloc,
    Append,
    Body,
    Call,
    Each,
    Fold,
    Fun,
    Given,
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
from tapeless.ir.types_of import atom_of
from tapeless.ir.walk import refresh_fun


def jvp(fun: Fun, wrt: Sequence[int]) -> Fun:
    """The program of values and tangents: parameters of `fun`, then a tangent per parameter in
    `wrt`; results, then a tangent per float result."""
    fun = refresh_fun(fun)
    chosen = [fun.params[k] for k in wrt]
    dots = tuple(Var(p.type, f"{p.hint}_dot", p.loc) for p in chosen)
    body = forward(fun.body, dict(zip(chosen, dots, strict=True)))
    return Fun(f"{fun.name}_jvp", (*fun.params, *dots), body)


def forward(body: Body, dots: Mapping[Var, Atom]) -> Body:
    """`body` with the tangents of its float results behind its results; `dots`: of what is free."""
    return forward_along(body, (dots,))


def forward_along(body: Body, directions: Sequence[Mapping[Var, Atom]]) -> Body:
    """`body` with the tangents of its float results along each of several directions behind its
    results: every value is computed once, and has a tangent along those it depends on only."""
    body = for_forward(body)
    graph = Dependence(body)
    varied = [graph.varied(dots) for dots in directions]
    tangents = _Forward(varied, after_choices(body, set[Var]().union(*varied)))
    for dot, dots in zip(tangents.dot, directions, strict=True):
        dot.update(dots)
    floats = [j for j, r in enumerate(body.results) if r.dtype.is_float]
    return tangents.body(body, [(k, j) for k in range(len(directions)) for j in floats])


Marks: TypeAlias = list[tuple[int, int]]  # which directions which of some variables vary along


class _Forward:
    """`dot`: along each direction, the tangent of every variable seen so far that varies."""

    def __init__(self, varied: list[set[Var]], guarded: set[Var]) -> None:
        self.b = Builder()
        self.varied = varied
        self.guarded = guarded  # a zero tangent may meet a derivative that is not finite
        self.dot: list[dict[Var, Atom]] = [{} for _ in varied]
        self.apart: set[Var] = set()  # accumulators whose tangents accumulate on their own

    # tangents
    def new_dot(self, k: int, var: Var) -> Var:
        dot = Var(var.type, f"{var.hint}_dot", var.loc)
        self.dot[k][var] = dot
        return dot

    def along(self, *vars: Var) -> list[int]:
        """The directions that one of the variables varies along."""
        return [k for k, varied in enumerate(self.varied) if not varied.isdisjoint(vars)]

    def varies(self, k: int, atom: Atom) -> bool:
        return isinstance(atom, Var) and atom in self.varied[k]

    def tangent(self, k: int, atom: Atom) -> Atom:
        """The tangent of `atom`, made of zeros if it has none."""
        known = self.dot[k].get(atom) if isinstance(atom, Var) else None
        return self.zero(atom.type) if known is None else known

    def array(self, k: int, var: Var) -> Var:
        dot = self.tangent(k, var)
        assert isinstance(dot, Var)
        return dot

    def zero(self, type: Type) -> Atom:
        if isinstance(type, Array):
            return self.b.one(Alloc("zeros", type.dtype, tuple(map(atom_of, type.shape))), "zeros")
        return Const(0.0, type.dtype)

    # bodies
    def body(self, body: Body, marks: Marks, extra: Iterable[Atom] = ()) -> Body:
        """`body`, its results followed by the tangents that `marks` names."""
        with self.b.scope():
            for stm in body.stms:
                self.b.loc = stm.loc
                self.let(stm)
            return self.b.body((*body.results, *extra, *self.tangents(marks, body.results)))

    def tangents(self, marks: Marks, atoms: Sequence[Atom]) -> tuple[Atom, ...]:
        return tuple(self.tangent(k, atoms[j]) for k, j in marks)

    def emit(self, stm: Let) -> None:
        self.b.scopes[-1].append(stm)

    def marks(self, vars: Sequence[Var]) -> Marks:
        return [(k, j) for k in self.along(*vars) for j, v in enumerate(vars) if self.varies(k, v)]

    def new_dots(self, vars: Sequence[Var]) -> tuple[Var, ...]:
        """New tangents of the variables that vary, in the order of `marks`."""
        return tuple(self.new_dot(k, vars[j]) for k, j in self.marks(vars))

    # statements
    def let(self, stm: Let) -> None:
        outs, exp = stm.outs, stm.exp
        match exp:
            case If(cond, then, orelse):
                marks = self.marks(outs)
                new = If(cond, self.body(then, marks), self.body(orelse, marks))
                self.emit(Let((*outs, *self.new_dots(outs)), new, stm.loc))
            case Iverson(cond, body):
                new_bracket = Iverson(cond, self.body(body, self.marks(outs)))
                self.emit(Let((*outs, *self.new_dots(outs)), new_bracket, stm.loc))
            case Loop():
                self.loop(stm, exp)
            case Each():
                self.each(stm, exp)
            case Fold() | Scan():
                self.fold(stm, exp)
            case Put():
                self.put(exp)
            case _:
                self.emit(stm)
                for k in self.along(*outs):
                    self.plain(k, outs, exp)

    def plain(self, k: int, outs: tuple[Var, ...], exp: object) -> None:
        """Tangents of a statement without bodies, after it."""
        tangent, varies = partial(self.tangent, k), partial(self.varies, k)
        hint = f"{outs[0].hint}_dot"
        dot = self.dot[k]
        match exp:
            case Prim(op, args):
                dot[outs[0]] = self.prim(k, op, args, outs[0])
            case Index(array, at, modes):
                dot[outs[0]] = self.b.one(Index(self.array(k, array), at, modes), hint)
            case Update(array, at, value, modes):
                new = Update(self.array(k, array), at, tangent(value), modes)
                dot[outs[0]] = self.b.one(new, hint)
            case Append(array, value, size):
                longer = Append(self.array(k, array), tangent(value), size)
                dot[outs[0]] = self.b.one(longer, hint)
            case Call(Given() as rule, args):
                given = given_tangents(self.b, rule, args, tangent, varies)
                dot.update(zip(outs, given, strict=True))
            case Call(str() as callee, args):
                dots = call_tangents(self.b, callee, args, outs, tangent, varies)
                dot.update(zip(outs, dots, strict=False))

    def prim(self, k: int, op: str, args: tuple[Atom, ...], out: Var) -> Atom:
        """ẏ = Σ ∂y/∂xᵢ·ẋᵢ."""
        if op == "select":
            return self.b.prim(op, args[0], self.tangent(k, args[1]), self.tangent(k, args[2]))
        total: Atom | None = None
        for times, arg in zip(row(self.b, op, args, out), args, strict=True):
            if times is not None and self.varies(k, arg):
                dot = self.tangent(k, arg)
                part = times(dot)
                if out in self.guarded:
                    part = unless_unused(self.b, dot, part)
                total = part if total is None else self.b.prim("add", total, part)
        return self.zero(out.type) if total is None else total

    # nests
    def loop(self, stm: Let, exp: Loop) -> None:
        """The tangents of varying state are state too."""
        marks = self.marks(exp.params)
        inits = self.tangents(marks, exp.inits)
        params = self.new_dots(exp.params)
        body = self.body(exp.body, marks)
        new = Loop(exp.form, (*exp.params, *params), (*exp.inits, *inits), body, exp.reverse)
        dots = tuple(self.new_dot(k, stm.outs[j]) for k, j in marks)
        self.emit(Let((*stm.outs, *dots), new, stm.loc))

    def each(self, stm: Let, exp: Each) -> None:
        """Element results bring their tangents along; accumulators get a tangent of their own, or
        become pairs where combining needs the values."""
        count = len(exp.body.results)
        accs: list[Acc] = []
        finals: list[Var] = []  # of `accs`, in their order
        at = count
        for acc in exp.accs:
            outs = stm.outs[at : at + len(acc.vars)]
            at += len(acc.vars)
            accs += self.acc(acc, outs)
            finals += (*outs, *self.new_dots(outs))
        elements = stm.outs[:count]
        body = self.body(exp.body, self.marks(elements))
        outs = (*elements, *self.new_dots(elements), *finals)
        self.emit(Let(outs, Each(exp.vars, exp.sizes, tuple(accs), body), stm.loc))

    def acc(self, acc: Acc, outs: Sequence[Var]) -> list[Acc]:
        """`+` and `=` act on tangents as on values; a monoid acts on both at once, and may make a
        result vary that only constants are put to."""
        marks = self.marks(outs)
        for k, j in marks:
            self.varied[k].add(acc.vars[j])
        inits = self.tangents(marks, acc.inits)
        if not marks:
            return [acc]
        if not isinstance(acc.op, Monoid):
            self.apart.update(acc.vars)
            dots = self.new_dots(acc.vars)
            return [acc, *(Acc((d,), (i,), acc.op) for d, i in zip(dots, inits, strict=True))]
        monoid = self.monoid(acc.op, marks)
        return [Acc((*acc.vars, *self.new_dots(acc.vars)), (*acc.inits, *inits), monoid)]

    def put(self, exp: Put) -> None:
        marks = self.marks(exp.targets)
        targets = tuple(self.array(k, exp.targets[j]) for k, j in marks)
        values = self.tangents(marks, exp.values)
        if not self.apart.issuperset(exp.targets):
            both = (*exp.targets, *targets)
            self.b.run(Put(both, exp.at, (*exp.values, *values), exp.modes))
            return
        self.b.run(exp)
        for target, value in zip(targets, values, strict=True):
            self.b.run(Put((target,), exp.at, (value,), exp.modes))

    def fold(self, stm: Let, exp: Fold | Scan) -> None:
        marks = self.marks(stm.outs)
        monoid = self.monoid(exp.monoid, marks)
        body = self.body(exp.body, marks)
        new = type(exp)(exp.var, exp.size, monoid, body)
        self.emit(Let((*stm.outs, *self.new_dots(stm.outs)), new, stm.loc))

    def monoid(self, m: Monoid, marks: Marks) -> Monoid:
        """(l, l̇) ∘ (r, ṙ) = (l∘r, ∂(l∘r)·(l̇, ṙ)); the neutral element with its own tangent."""
        neutral = self.tangents(marks, m.neutral)
        left = tuple(self.new_dot(k, m.left[j]) for k, j in marks)
        right = tuple(self.new_dot(k, m.right[j]) for k, j in marks)
        body = self.body(m.body, marks)
        return Monoid(
            (*m.left, *left), (*m.right, *right), body, (*m.neutral, *neutral), m.commutative
        )
