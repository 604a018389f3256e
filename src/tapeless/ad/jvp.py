"""Forward mode: every value together with its tangent.

    jvp(f)(x, ẋ) = (f(x), f'(x)·ẋ)

Each statement is followed by the one that moves tangents through it; what does not vary has none.
Tangent variables have the type of their primal and its name with `_dot`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

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
    body = for_forward(body)
    tangents = _Forward(Dependence(body).varied(dots), after_choices(body))
    tangents.dot.update(dots)
    return tangents.body(body, [r.dtype.is_float for r in body.results])


class _Forward:
    """`dot`: the tangent of every variable seen so far that varies."""

    def __init__(self, varied: set[Var], guarded: set[Var]) -> None:
        self.b = Builder()
        self.varied = varied
        self.guarded = guarded  # a zero tangent may meet a derivative that is not finite
        self.dot: dict[Var, Atom] = {}
        self.apart: set[Var] = set()  # accumulators whose tangents accumulate on their own

    # tangents
    def new_dot(self, var: Var, type: Type | None = None) -> Var:
        dot = Var(var.type if type is None else type, f"{var.hint}_dot", var.loc)
        self.dot[var] = dot
        return dot

    def varies(self, atom: Atom) -> bool:
        return isinstance(atom, Var) and atom in self.varied

    def tangent(self, atom: Atom) -> Atom:
        """The tangent of `atom`, made of zeros if it has none."""
        known = self.dot.get(atom) if isinstance(atom, Var) else None
        return self.zero(atom.type) if known is None else known

    def zero(self, type: Type) -> Atom:
        if isinstance(type, Array):
            return self.b.one(Alloc("zeros", type.dtype, tuple(map(atom_of, type.shape))), "zeros")
        return Const(0.0, type.dtype)

    # bodies
    def body(self, body: Body, with_dot: Sequence[bool], extra: Iterable[Atom] = ()) -> Body:
        """`body`, its results followed by tangents of those marked in `with_dot`."""
        with self.b.scope():
            for stm in body.stms:
                self.b.loc = stm.loc
                self.let(stm)
            dots = [self.tangent(r) for r, w in zip(body.results, with_dot, strict=True) if w]
            return self.b.body((*body.results, *extra, *dots))

    def emit(self, stm: Let) -> None:
        self.b.scopes[-1].append(stm)

    def marks(self, outs: Sequence[Var]) -> list[bool]:
        return [o in self.varied for o in outs]

    def dots_of(self, vars: Sequence[Var]) -> tuple[Var, ...]:
        """New tangents of the variables that vary."""
        return tuple(self.new_dot(v) for v in vars if v in self.varied)

    # statements
    def let(self, stm: Let) -> None:
        outs, exp = stm.outs, stm.exp
        match exp:
            case If(cond, then, orelse):
                marks = self.marks(outs)
                new = If(cond, self.body(then, marks), self.body(orelse, marks))
                self.emit(Let((*outs, *self.dots_of(outs)), new, stm.loc))
            case Iverson(cond, body):
                marks = self.marks(outs)
                new_bracket = Iverson(cond, self.body(body, marks))
                self.emit(Let((*outs, *self.dots_of(outs)), new_bracket, stm.loc))
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
                self.plain(outs, exp)

    def plain(self, outs: tuple[Var, ...], exp: object) -> None:
        """Tangents of a statement without bodies, after it."""
        if not any(o in self.varied for o in outs):
            return
        match exp:
            case Prim(op, args):
                self.dot[outs[0]] = self.prim(op, args, outs[0])
            case Index(array, at, modes):
                dot = self.tangent(array)
                assert isinstance(dot, Var)
                self.dot[outs[0]] = self.b.one(Index(dot, at, modes), f"{outs[0].hint}_dot")
            case Update(array, at, value, modes):
                dot = self.tangent(array)
                assert isinstance(dot, Var)
                new = Update(dot, at, self.tangent(value), modes)
                self.dot[outs[0]] = self.b.one(new, f"{outs[0].hint}_dot")
            case Append(array, value, size):
                dot = self.tangent(array)
                assert isinstance(dot, Var)
                longer = Append(dot, self.tangent(value), size)
                self.dot[outs[0]] = self.b.one(longer, f"{outs[0].hint}_dot")
            case Call(Given() as rule, args):
                given = given_tangents(self.b, rule, args, self.tangent, self.varies)
                self.dot.update(zip(outs, given, strict=True))
            case Call(str() as callee, args):
                dots = call_tangents(self.b, callee, args, outs, self.tangent, self.varies)
                self.dot.update(zip(outs, dots, strict=False))

    def prim(self, op: str, args: tuple[Atom, ...], out: Var) -> Atom:
        """ẏ = Σ ∂y/∂xᵢ·ẋᵢ."""
        if op == "select":
            return self.b.prim(op, args[0], self.tangent(args[1]), self.tangent(args[2]))
        total: Atom | None = None
        for times, arg in zip(row(self.b, op, args, out), args, strict=True):
            if times is not None and self.varies(arg):
                dot = self.tangent(arg)
                part = times(dot)
                if out in self.guarded:
                    part = unless_unused(self.b, dot, part)
                total = part if total is None else self.b.prim("add", total, part)
        return self.zero(out.type) if total is None else total

    # nests
    def loop(self, stm: Let, exp: Loop) -> None:
        """The tangents of varying state are state too."""
        marks = self.marks(exp.params)
        inits = tuple(self.tangent(i) for i, m in zip(exp.inits, marks, strict=True) if m)
        params = self.dots_of(exp.params)
        body = self.body(exp.body, marks)
        new = Loop(exp.form, (*exp.params, *params), (*exp.inits, *inits), body, exp.reverse)
        dots = tuple(self.new_dot(o) for o, m in zip(stm.outs, marks, strict=True) if m)
        self.emit(Let((*stm.outs, *dots), new, stm.loc))

    def each(self, stm: Let, exp: Each) -> None:
        """Element results bring their tangents along; accumulators get a tangent of their own, or
        become pairs where combining needs the values."""
        count = len(exp.body.results)
        accs: list[Acc] = []
        places: list[tuple[Var, ...]] = []  # per accumulator: final values, then final tangents
        at = count
        for acc in exp.accs:
            finals = stm.outs[at : at + len(acc.vars)]
            at += len(acc.vars)
            new = self.acc(acc)
            accs += new
            dots = self.dots_of(finals)
            places += [finals, dots] if len(new) == 2 else [(*finals, *dots)]
        elements = stm.outs[:count]
        marks = self.marks(elements)
        body = self.body(exp.body, marks)
        outs = (*elements, *self.dots_of(elements), *(v for group in places for v in group))
        self.emit(Let(outs, Each(exp.vars, exp.sizes, tuple(accs), body), stm.loc))

    def acc(self, acc: Acc) -> list[Acc]:
        """`+` and `=` act on tangents as on values; a monoid acts on both at once."""
        marks = self.marks(acc.vars)
        inits = tuple(self.tangent(i) for i, m in zip(acc.inits, marks, strict=True) if m)
        if not any(marks):
            return [acc]
        if not isinstance(acc.op, Monoid):
            self.apart.update(acc.vars)
            return [acc, Acc(self.dots_of(acc.vars), inits, acc.op)]
        monoid = self.monoid(acc.op, marks)
        return [Acc((*acc.vars, *self.dots_of(acc.vars)), (*acc.inits, *inits), monoid)]

    def put(self, exp: Put) -> None:
        dots = [self.dot.get(t) for t in exp.targets]
        targets = tuple(d for d in dots if isinstance(d, Var))
        if not targets:
            self.b.run(exp)
            return
        values = tuple(
            self.tangent(v) for v, d in zip(exp.values, dots, strict=True) if d is not None
        )
        if self.apart.issuperset(exp.targets):
            self.b.run(exp)
            self.b.run(Put(targets, exp.at, values, exp.modes))
        else:
            both = (*exp.targets, *targets)
            self.b.run(Put(both, exp.at, (*exp.values, *values), exp.modes))

    def fold(self, stm: Let, exp: Fold | Scan) -> None:
        marks = self.marks(stm.outs)
        monoid = self.monoid(exp.monoid, marks)
        body = self.body(exp.body, marks)
        new = type(exp)(exp.var, exp.size, monoid, body)
        self.emit(Let((*stm.outs, *self.dots_of(stm.outs)), new, stm.loc))

    def monoid(self, m: Monoid, marks: Sequence[bool]) -> Monoid:
        """(l, l̇) ∘ (r, ṙ) = (l∘r, ∂(l∘r)·(l̇, ṙ)); the neutral element with its own tangent."""
        neutral = tuple(self.tangent(n) for n, w in zip(m.neutral, marks, strict=True) if w)
        left = tuple(self.new_dot(v) for v, w in zip(m.left, marks, strict=True) if w)
        right = tuple(self.new_dot(v) for v, w in zip(m.right, marks, strict=True) if w)
        body = self.body(m.body, marks)
        return Monoid(
            (*m.left, *left), (*m.right, *right), body, (*m.neutral, *neutral), m.commutative
        )
