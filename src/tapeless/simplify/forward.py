"""One walk from the top: folding, copies, common subexpressions, known conditions, bounds.

x = op(a…)   ⇒  an atom or a simpler operator          (laws; equal affine integers are one)
x = e; y = e ⇒  x = e, and y is x                      (pure e, in scopes that x reaches)
if c {A} {B} ⇒  A where c is known to hold, B where it is known not to
a[i]~        ⇒  a[i]? ⇒ a[i] where facts prove 0 ≤ i, i < size; checks that must hold vanish
loop (p = a) {… return a or p} ⇒ p is a                (state that does not change)
loop (k = a) for i {… return k + c} ⇒ k is a + c·i     (integers that count along)
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from tapeless.analysis import poly
from tapeless.analysis.enter import after, entered, prove_modes
from tapeless.analysis.facts import Facts
from tapeless.analysis.operators import chosen
from tapeless.core.names import Atom, Const, Loc, Var
from tapeless.core.prims import COMMUTATIVE
from tapeless.core.types import INDEX, Scalar
from tapeless.ir.build import ZERO
from tapeless.ir.syntax import (
    Body,
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
    Prim,
    Put,
    Scan,
    Update,
    While,
)  # fmt: skip
from tapeless.ir.walk import Rewriter, type_vars
from tapeless.simplify.laws import law
from tapeless.simplify.memory import same_body, stored


def run(fun: Fun) -> Fun:
    walk = _Forward()
    walk.facts.params(fun.params)
    return replace(fun, body=walk.body(fun.body))


class _Forward(Rewriter):
    """`out` collects the statements of the current body; `seen` finds expressions again."""

    def __init__(self) -> None:
        super().__init__(fresh=False)
        self.facts = Facts()
        self.seen: dict[Hashable, Var] = {}
        self.trail: list[Hashable] = []
        self.out: list[Let] = []
        self.numbers: dict[Var, int] = {}

    # bodies
    def body(self, body: Body) -> Body:
        outer, self.out = self.out, []
        mark = len(self.trail)
        with self.facts.scope():
            self.statements(body)
            result = Body(tuple(self.out), self.atoms(body.results))
        self.out = outer
        while len(self.trail) > mark:
            del self.seen[self.trail.pop()]
        return result

    def under(self, exp: Exp, body: Body) -> Body:
        with entered(self.facts, exp, body):
            return self.body(body)

    def statements(self, body: Body) -> None:
        for stm in body.stms:
            self.step(stm)

    def step(self, stm: Let) -> None:
        match stm.exp:
            case Prim(op, args):
                self.prim(stm, op, self.atoms(args))
            case Index():
                self.index(stm, stm.exp)
            case Update(array, at, value, modes):
                array, at = self.var(array), self.atoms(at)
                at, modes = prove_modes(self.facts, at, array.shape, modes)
                self.emit(stm, Update(array, at, self.atom(value), modes))
            case Put(targets, at, values, modes):
                targets, at = tuple(map(self.var, targets)), self.atoms(at)
                at, modes = prove_modes(self.facts, at, targets[0].shape, modes)
                self.emit(stm, Put(targets, at, self.atoms(values), modes))
            case Check(cond):
                if self.facts.decide(self.atom(cond)) is not True:
                    self.emit(stm, self.exp(stm.exp))
            case If():
                self.branch(stm, stm.exp)
            case Iverson():
                self.iverson(stm, stm.exp)
            case Loop():
                self.loop_statement(stm, stm.exp)
            case Each():
                self.each(stm, stm.exp)
            case Fold() | Scan():
                self.fold(stm, stm.exp)
            case _:
                self.emit(stm, self.exp(stm.exp))

    def emit(self, stm: Let, exp: Exp) -> None:
        new = Let(self.binds(stm.outs), exp, stm.loc)
        self.out.append(new)
        after(self.facts, new)

    def alias(self, stm: Let, atoms: tuple[Atom, ...]) -> None:
        for out, atom in zip(stm.outs, atoms, strict=True):
            self.map[out] = atom

    def define(self, exp: Exp, hint: str, loc: Loc | None) -> Atom:
        """The value of a new statement."""
        assert isinstance(exp, Prim)
        out = Var(INDEX, hint, loc)
        self.prim(Let((out,), exp, loc), exp.op, exp.args)
        return self.atom(out)

    # scalars
    def prim(self, stm: Let, op: str, args: tuple[Atom, ...]) -> None:
        (out,) = stm.outs
        facts = self.facts
        while True:
            known = law(op, args, facts.defs)
            if not isinstance(known, Prim):
                break
            op, args = known.op, known.args
        if known is None and stm.outs[0].dtype.is_bool:
            truth = facts.decide_prim(op, args)
            known = None if truth is None else Const(truth, out.dtype)
        if known is None:
            known = chosen(facts, op, args)
        if known is not None:
            self.map[out] = known
            return
        if self.find(stm, (op, self.operands(op, args))):
            return
        self.emit(stm, Prim(op, args))
        if out.type == INDEX:
            self.affine(self.out[-1])

    def find(self, stm: Let, key: Hashable) -> bool:
        """Use the earlier result of an equal expression; else remember this one."""
        old = self.seen.get(key)
        if old is not None:
            self.map[stm.outs[0]] = self.atom(old)
            return True
        self.seen[key] = stm.outs[0]
        self.trail.append(key)
        return False

    def operands(self, op: str, args: tuple[Atom, ...]) -> Hashable:
        """The same for operands that give the same in any order."""
        return frozenset(args) if op in COMMUTATIVE and len(args) == 2 else args

    def affine(self, stm: Let) -> None:
        """Integers with equal polynomials are equal."""
        (out,) = stm.outs
        value = self.facts.value(out)
        number = poly.constant_of(value)
        same: Atom | None = None
        if number is not None:
            same = Const(number, out.dtype)
        elif len(value) == 1:
            ((monomial, c),) = value.items()
            if c == 1 and len(monomial) == 1:
                same = self.facts.vars[monomial[0]]
        if same is not None and same is not out:
            self.out.pop()
            self.map[out] = same
        elif same is None and self.find(stm, ("value", poly.key(value))):
            self.out.pop()

    # memory
    def index(self, stm: Let, exp: Index) -> None:
        array, at = self.var(exp.array), self.atoms(exp.at)
        at, modes = prove_modes(self.facts, at, array.shape, exp.modes)
        value = stored(self.facts, array, at, modes)
        if value is not None:
            self.map[stm.outs[0]] = value
        elif not self.find(stm, ("index", array, at)):
            self.emit(stm, Index(array, at, modes))

    # branches
    def branch(self, stm: Let, exp: If) -> None:
        cond = self.atom(exp.cond)
        truth = self.facts.decide(cond)
        if truth is not None:
            self.inline(stm, exp.then if truth else exp.orelse)
            return
        new = If(cond, exp.then, exp.orelse)
        then, orelse = self.under(new, exp.then), self.under(new, exp.orelse)
        same = [a == b for a, b in zip(then.results, orelse.results, strict=True)]
        scalars = all(isinstance(out.type, Scalar) for out in stm.outs)
        if scalars and not then.stms and not orelse.stms:
            for out, a, b in zip(stm.outs, then.results, orelse.results, strict=True):
                self.prim(Let((out,), exp, stm.loc), "select", (cond, a, b))
            return
        outs = []
        for out, equal, a in zip(stm.outs, same, then.results, strict=True):
            if equal:
                self.map[out] = a
            else:
                outs.append(out)
        keep = [k for k, equal in enumerate(same) if not equal]
        then, orelse = (Body(b.stms, tuple(b.results[k] for k in keep)) for b in (then, orelse))
        if outs or then.stms or orelse.stms:
            self.emit(Let(tuple(outs), exp, stm.loc), If(cond, then, orelse))

    def inline(self, stm: Let, body: Body) -> None:
        """The body in the place of the statement."""
        self.statements(body)
        self.alias(stm, self.atoms(body.results))

    def iverson(self, stm: Let, exp: Iverson) -> None:
        cond = self.atom(exp.cond)
        truth = self.facts.decide(cond)
        if truth is True:
            self.inline(stm, exp.body)
        elif truth is False and all(isinstance(o.type, Scalar) for o in stm.outs):
            self.alias(stm, tuple(Const(0, o.dtype) for o in stm.outs))
        else:
            new = Iverson(cond, exp.body)
            self.emit(stm, Iverson(cond, self.under(new, exp.body)))

    # loops
    def loop_statement(self, stm: Let, exp: Loop) -> None:
        inits = self.atoms(exp.inits)
        if isinstance(exp.form, For):
            form = For(exp.form.var, self.atom(exp.form.size))
            if isinstance(form.size, Const) and form.size.value <= 1:
                self.at_most_once(stm, exp, form, inits)
                return
            exp = replace(exp, form=form)
        stm, exp = self.fixed_state(stm, exp, inits)
        if isinstance(exp.form, For):
            stm, exp = self.counters(stm, exp)
        inits = self.atoms(exp.inits)
        params = self.binds(exp.params)
        exp = replace(exp, params=params, inits=inits)
        new_form = exp.form
        if isinstance(new_form, While):
            new_form = While(self.under(exp, new_form.cond))
        body = self.under(exp, exp.body)
        self.emit(stm, Loop(new_form, params, inits, body, exp.reverse))

    def at_most_once(self, stm: Let, exp: Loop, form: For, inits: tuple[Atom, ...]) -> None:
        """A loop of no pass is its initial state, one of a single pass is its body."""
        if isinstance(form.size, Const) and form.size.value <= 0:
            self.alias(stm, inits)
            return
        self.map[form.var] = ZERO
        for param, init in zip(exp.params, inits, strict=True):
            self.map[param] = init
        self.inline(stm, exp.body)

    def fixed_state(self, stm: Let, exp: Loop, inits: tuple[Atom, ...]) -> tuple[Let, Loop]:
        """Without the state whose next value is itself or its initial value."""
        results = self.atoms(exp.body.results)
        keep: list[int] = []
        for k, (param, init, result) in enumerate(zip(exp.params, inits, results, strict=True)):
            if result is param or result == init:
                self.map[param] = init
                self.map[stm.outs[k]] = init
            else:
                keep.append(k)
        if len(keep) == len(inits):
            return stm, exp
        return _restricted(stm, exp, keep)

    def counters(self, stm: Let, exp: Loop) -> tuple[Let, Loop]:
        """Without integer state that grows by the same amount in every pass of a For."""
        assert isinstance(exp.form, For)
        defs = {s.outs[0]: s.exp for s in exp.body.stms if len(s.outs) == 1}
        held = {o for s in exp.body.stms for o in s.outs}.union(exp.params)
        sizes = {s for p in exp.params for s in type_vars(p.type)}
        keep: list[int] = []
        var, size = exp.form.var, self.atom(exp.form.size)
        top: list[Let] = []
        for k, (param, result) in enumerate(zip(exp.params, exp.body.results, strict=True)):
            step = _step(param, result, defs)
            if step is None or step in held or step is var or param in sizes:
                keep.append(k)
                continue
            step, init = self.atom(step), self.atom(exp.inits[k])
            trips = size
            if not self.facts.nonnegative(size):
                trips = self.define(Prim("max", (size, ZERO)), "trips", stm.loc)
            moved = self.define(Prim("mul", (trips, step)), "moved", stm.loc)
            self.map[stm.outs[k]] = self.define(Prim("add", (init, moved)), param.hint, stm.loc)
            now = Var(INDEX, param.hint, param.loc)
            top.append(Let((now,), Prim("mul", (var, step)), stm.loc))
            top.append(Let((param,), Prim("add", (init, now)), stm.loc))
        if len(keep) == len(exp.params):
            return stm, exp
        stm, exp = _restricted(stm, exp, keep)
        body = Body((*top, *exp.body.stms), exp.body.results)
        return stm, replace(exp, body=body)

    # nests
    def each(self, stm: Let, exp: Each) -> None:
        sizes = self.atoms(exp.sizes)
        vars = self.binds(exp.vars)
        accs = tuple(self.acc(a) for a in exp.accs)
        exp = Each(vars, sizes, accs, exp.body)
        body = self.under(exp, exp.body)
        new = Each(vars, sizes, accs, body)
        copied = same_body(self.facts, new)
        if copied is not None:
            self.alias(stm, (copied,))
        else:
            self.emit(stm, new)

    def fold(self, stm: Let, exp: Fold | Scan) -> None:
        size, monoid = self.atom(exp.size), self.monoid(exp.monoid)
        exp = type(exp)(self.bind(exp.var), size, monoid, exp.body)
        self.emit(stm, replace(exp, body=self.under(exp, exp.body)))


def _restricted(stm: Let, exp: Loop, keep: list[int]) -> tuple[Let, Loop]:
    """The loop with part of its state."""
    body = Body(exp.body.stms, tuple(exp.body.results[k] for k in keep))
    new = replace(
        exp, params=tuple(exp.params[k] for k in keep), inits=tuple(exp.inits[k] for k in keep),
        body=body,
    )  # fmt: skip
    return Let(tuple(stm.outs[k] for k in keep), new, stm.loc), new


def _step(param: Var, result: Atom, defs: dict[Var, Exp]) -> Atom | None:
    """c if the result is param + c, an i64."""
    match defs.get(result) if isinstance(result, Var) else None:
        case Prim("add", (a, b)) if param.type == INDEX:
            return b if a is param else a if b is param else None
        case Prim("sub", (a, Const(value=c))) if param.type == INDEX and a is param:
            return Const(-c, INDEX.dtype)
        case _:
            return None
