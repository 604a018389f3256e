"""Traversals of Core, written once: atoms, bodies, bound variables, substitution, renaming."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from tapeless.core.names import Atom, Var
from tapeless.core.types import Array, Type
from tapeless.ir.syntax import (
    Acc,
    Alloc,
    Append,
    Body,
    Call,
    Check,
    Each,
    Exp,
    Fold,
    For,
    Fun,
    If,
    Index,
    Iverson,
    Let,
    Loop,
    Monoid,
    Prim,
    Put,
    Reverse,
    Scan,
    Sort,
    Update,
    View,
    While,
)  # fmt: skip

Subst = Mapping[Var, Atom]

# Expressions without nested bodies: most are.
LEAVES = frozenset({Prim, Index, Update, Alloc, Append, Put, Check, Sort, Call})


def atoms_of(exp: Exp) -> tuple[Atom, ...]:
    """Operands of `exp` itself, not those of its nested bodies; targets of Put are not operands."""
    match exp:
        case Prim():  # the most frequent ones first: this is asked more often than anything else
            return exp.args
        case Index():
            return (exp.array, *exp.at)
        case Update():
            return (exp.array, *exp.at, exp.value)
        case If() | Iverson():
            return (exp.cond,)
        case Put():
            return (*exp.at, *exp.values)
        case Each(_, sizes, accs, _):
            return (*sizes, *(a for acc in accs for a in _starts(acc)))
        case Loop(form, _, inits, _, reverse):
            size = (form.size,) if isinstance(form, For) else ()
            return (*size, *inits, *(a for a in (reverse.slots, reverse.memory) if a is not None))
        case Alloc():
            return exp.shape
        case Check(cond, _, _, args):
            return (cond, *args)
        case Sort(array, at):
            return (array, *at)
        case Append(array, value, size):
            return (array, value, size)
        case Fold(_, size, monoid, _) | Scan(_, size, monoid, _):
            return (size, *monoid.neutral)
        case Call(_, args):
            return tuple(a for arg in args for a in _operands(arg))
    raise AssertionError(exp)


def _starts(acc: Acc) -> tuple[Atom, ...]:
    return (*acc.inits, *acc.op.neutral) if isinstance(acc.op, Monoid) else acc.inits


def _operands(arg: Atom | View) -> tuple[Atom, ...]:
    """Those of an argument of a Call."""
    if isinstance(arg, View):
        return (arg.array, *arg.at, *(size for _, size, _ in arg.dims))
    return (arg,)


def bodies_of(exp: Exp) -> tuple[Body, ...]:
    """Nested bodies of `exp`."""
    if type(exp) in LEAVES:
        return ()
    match exp:
        case If(_, then, orelse):
            return (then, orelse)
        case Iverson(_, body):
            return (body,)
        case Loop(form, _, _, body):
            return (form.cond, body) if isinstance(form, While) else (body,)
        case Each(_, _, accs, body):
            return (*(a.op.body for a in accs if isinstance(a.op, Monoid)), body)
        case Fold(_, _, monoid, body) | Scan(_, _, monoid, body):
            return (monoid.body, body)
        case _:
            return ()


def binders_of(exp: Exp) -> tuple[Var, ...]:
    """Variables that `exp` binds for its nested bodies."""
    if type(exp) in LEAVES:
        return ()
    match exp:
        case Loop(form, params):
            return (form.var, *params) if isinstance(form, For) else params
        case Each(vars, _, accs, _):
            monoids = (a.op for a in accs if isinstance(a.op, Monoid))
            return (
                *vars,
                *(v for a in accs for v in a.vars),
                *(v for m in monoids for v in (*m.left, *m.right)),
            )
        case Fold(var, _, monoid, _) | Scan(var, _, monoid, _):
            return (var, *monoid.left, *monoid.right)
        case _:
            return ()


def type_vars(type: Type) -> Iterator[Var]:
    """Size variables that a type mentions."""
    if isinstance(type, Array):
        yield from (s for s in type.shape if isinstance(s, Var))


def statements(body: Body) -> Iterator[Let]:
    """All statements of a body, outer before inner."""
    for stm in body.stms:
        yield stm
        if type(stm.exp) not in LEAVES:
            for inner in bodies_of(stm.exp):
                yield from statements(inner)


def uses(body: Body) -> Iterator[Atom]:
    """Every occurrence of an atom in a body and below it, Put targets and sizes of types too."""
    for stm in statements(body):
        exp = stm.exp
        yield from atoms_of(exp)
        if isinstance(exp, Put):
            yield from exp.targets
        for var in stm.outs:
            yield from type_vars(var.type)
        if type(exp) not in LEAVES:
            for var in binders_of(exp):
                yield from type_vars(var.type)
            for inner in bodies_of(exp):
                yield from inner.results
    yield from body.results


def bound(body: Body) -> set[Var]:
    """Variables bound anywhere inside a body."""
    out: set[Var] = set()
    for stm in statements(body):
        out.update(stm.outs)
        out.update(binders_of(stm.exp))
    return out


def free_vars(body: Body) -> dict[Var, None]:
    """Variables used in a body but bound outside it, in order of first use."""
    inside = bound(body)
    return {a: None for a in uses(body) if isinstance(a, Var) and a not in inside}


# Rewriting -------------------------------------------------------------------------------------


class Rewriter:
    """Rebuilds expressions under a substitution, giving every binder a new name.

    `fresh` false keeps binders (for substitutions that cannot capture).
    """

    def __init__(self, subst: Subst | None = None, *, fresh: bool = True) -> None:
        self.map: dict[Var, Atom] = dict(subst or {})
        self.fresh = fresh

    def atom(self, atom: Atom) -> Atom:
        return self.map.get(atom, atom) if isinstance(atom, Var) else atom

    def var(self, var: Var) -> Var:
        new = self.map.get(var, var)
        assert isinstance(new, Var), f"{var} must stay a variable"
        return new

    def type(self, type: Type) -> Type:
        if isinstance(type, Array) and any(s in self.map for s in type_vars(type)):
            sizes = (self.atom(s) if isinstance(s, Var) else s for s in type.shape)
            return Array(
                type.dtype, tuple(s if isinstance(s, int | Var) else int(s.value) for s in sizes)
            )
        return type

    def bind(self, var: Var) -> Var:
        type = self.type(var.type)
        if not self.fresh and type is var.type:
            return var
        new = var.fresh(type)
        self.map[var] = new
        return new

    def binds(self, vars: tuple[Var, ...]) -> tuple[Var, ...]:
        return tuple(self.bind(v) for v in vars)

    def atoms(self, atoms: tuple[Atom, ...]) -> tuple[Atom, ...]:
        return tuple(self.atom(a) for a in atoms)

    def body(self, body: Body) -> Body:
        stms = tuple(self.let(stm) for stm in body.stms)
        return Body(stms, self.atoms(body.results))

    def let(self, stm: Let) -> Let:
        exp = self.exp(stm.exp)
        return Let(self.binds(stm.outs), exp, stm.loc)

    def monoid(self, m: Monoid) -> Monoid:
        neutral = self.atoms(m.neutral)
        left, right = self.binds(m.left), self.binds(m.right)
        return Monoid(left, right, self.body(m.body), neutral, m.commutative)

    def exp(self, exp: Exp) -> Exp:
        match exp:
            case Prim(op, args):
                return Prim(op, self.atoms(args))
            case Index(array, at, modes):
                return Index(self.var(array), self.atoms(at), modes)
            case Update(array, at, value, modes):
                return Update(self.var(array), self.atoms(at), self.atom(value), modes)
            case Alloc(kind, dtype, shape):
                return Alloc(kind, dtype, self.atoms(shape))
            case Append(array, value, size):
                return Append(self.var(array), self.atom(value), self.atom(size))
            case If(cond, then, orelse):
                return If(self.atom(cond), self.body(then), self.body(orelse))
            case Iverson(cond, body):
                return Iverson(self.atom(cond), self.body(body))
            case Loop(form, params, inits, body, reverse):
                return self.loop(form, params, inits, body, reverse)
            case Each(vars, sizes, accs, body):
                sizes = self.atoms(sizes)
                vars = self.binds(vars)
                accs = tuple(self.acc(a) for a in accs)
                return Each(vars, sizes, accs, self.body(body))
            case Fold(var, size, monoid, body) | Scan(var, size, monoid, body):
                size, monoid = self.atom(size), self.monoid(monoid)
                return type(exp)(self.bind(var), size, monoid, self.body(body))
            case Put(targets, at, values, modes):
                return Put(tuple(map(self.var, targets)), self.atoms(at), self.atoms(values), modes)
            case Check(cond, error, message, args):
                return Check(self.atom(cond), error, message, self.atoms(args))
            case Sort(array, at):
                return Sort(self.var(array), self.atoms(at))
            case Call(callee, args):
                return Call(callee, tuple(self.operand(a) for a in args))

    def loop(
        self, form: For | While, params: tuple[Var, ...], inits: tuple[Atom, ...], body: Body,
        reverse: Reverse,
    ) -> Loop:  # fmt: skip
        size = self.atom(form.size) if isinstance(form, For) else None
        inits = self.atoms(inits)
        options = replace(
            reverse,
            slots=None if reverse.slots is None else self.atom(reverse.slots),
            memory=None if reverse.memory is None else self.atom(reverse.memory),
        )
        params = self.binds(params)
        new: For | While
        if isinstance(form, For):
            assert size is not None
            new = For(self.bind(form.var), size)
        else:
            new = While(self.body(form.cond))
        return Loop(new, params, inits, self.body(body), options)

    def acc(self, acc: Acc) -> Acc:
        inits = self.atoms(acc.inits)
        op = self.monoid(acc.op) if isinstance(acc.op, Monoid) else acc.op
        return Acc(self.binds(acc.vars), inits, op)

    def operand(self, arg: Atom | View) -> Atom | View:
        if isinstance(arg, View):
            dims = tuple((axis, self.atom(size), step) for axis, size, step in arg.dims)
            return View(self.var(arg.array), self.atoms(arg.at), dims)
        return self.atom(arg)


def refresh(body: Body, subst: Subst | None = None) -> Body:
    """A copy of `body` with new binders, under a substitution."""
    return Rewriter(subst).body(body)


def refresh_fun(fun: Fun) -> Fun:
    rewriter = Rewriter()
    params = rewriter.binds(fun.params)
    writes = tuple(rewriter.var(v) for v in fun.writes)
    return Fun(fun.name, params, rewriter.body(fun.body), writes)


def map_bodies(exp: Exp, f: Callable[[Body], Body]) -> Exp:
    """`exp` with `f` applied to each of its nested bodies (binders and operands stay)."""
    if type(exp) in LEAVES:
        return exp
    match exp:
        case If(cond, then, orelse):
            return If(cond, f(then), f(orelse))
        case Iverson(cond, body):
            return Iverson(cond, f(body))
        case Loop(form, params, inits, body, reverse):
            form = While(f(form.cond)) if isinstance(form, While) else form
            return Loop(form, params, inits, f(body), reverse)
        case Each(vars, sizes, accs, body):
            accs = tuple(
                Acc(a.vars, a.inits, replace(a.op, body=f(a.op.body)))
                if isinstance(a.op, Monoid) else a
                for a in accs
            )  # fmt: skip
            return Each(vars, sizes, accs, f(body))
        case Fold(var, size, monoid, body) | Scan(var, size, monoid, body):
            return type(exp)(var, size, replace(monoid, body=f(monoid.body)), f(body))
        case _:
            return exp
