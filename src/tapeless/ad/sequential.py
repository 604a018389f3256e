"""Nests that combine by an operator of the user become loops that carry what they combine into.

each i < n with (acc by ⊕) { put acc[k] <- e }   becomes   for i < n: acc[k] = acc[k] ⊕ e
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tapeless.ad.selections import find_sites, selection
from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import INDEX, Array, Scalar, Type
from tapeless.ir.build import ZERO, Builder
from tapeless.ir.syntax import (
    IGNORE,
    PROVED,
    Acc,
    Alloc,
    Body,
    Each,
    Exp,
    For,
    If,
    Index,
    Let,
    Loop,
    Monoid,
    Put,
    Update,
    While,
)  # fmt: skip
from tapeless.ir.types_of import atom_of
from tapeless.ir.walk import Rewriter, bodies_of, refresh, statements


def combining_as_loops(stm: Let) -> list[Let]:
    """A nest with an accumulator that has no rule of its own, as loops; all others as they are."""
    exp = stm.exp
    if not isinstance(exp, Each) or all(has_rule(exp, acc) for acc in exp.accs):
        return [stm]
    b = Builder()
    b.loc = stm.loc
    with b.scope() as stms:
        outs = in_sequence(b, exp)
        names = dict(zip(outs, stm.outs, strict=True))
    return [*named(stms, names)]


def in_sequence(b: Builder, exp: Each) -> tuple[Atom, ...]:
    """Emit a nest as loops; its results."""
    return _Carrying(b).nest(exp)


def has_rule(exp: Each, acc: Acc) -> bool:
    if acc.op in ("+", "=") or not any(v.dtype.is_float for v in acc.vars):
        return True
    known = not isinstance(acc.op, Monoid) or selection(acc.op) is not None
    return known and find_sites(exp, acc) is not None


def named(stms: Sequence[Let], names: Mapping[Atom, Var]) -> list[Let]:
    """The statements with results called `names`; results that are no variable of theirs stay."""
    rewriter = Rewriter({v: n for v, n in names.items() if isinstance(v, Var)}, fresh=False)
    out: list[Let] = []
    for stm in stms:
        exp = rewriter.exp(stm.exp)
        outs = tuple(names.get(o, o) for o in stm.outs)
        out.append(Let(outs, exp, stm.loc))
    return out


def zero_of(b: Builder, type: Type) -> Atom:
    if isinstance(type, Array):
        return b.one(Alloc("zeros", type.dtype, tuple(map(atom_of, type.shape))), "zeros")
    return Const(False if type.dtype.is_bool else 0, type.dtype)


class _Carrying:
    """`now`: the present value of each accumulator that is carried; `op` how it combines."""

    def __init__(self, b: Builder) -> None:
        self.b = b
        self.now: dict[Var, Atom] = {}
        self.acc: dict[Var, Acc] = {}

    def touched(self, exp: Exp) -> list[Var]:
        """Carried accumulators that `exp` puts to."""
        targets = (
            t
            for body in bodies_of(exp)
            for s in statements(body)
            if isinstance(s.exp, Put)
            for t in s.exp.targets
        )
        return [v for v in dict.fromkeys(targets) if v in self.acc]

    def nest(self, exp: Each) -> tuple[Atom, ...]:
        """The nest as loops; its results."""
        b = self.b
        homes = tuple(b.one(_empty(r.type, exp.sizes), _hint(r, "row")) for r in exp.body.results)
        own = [v for acc in exp.accs for v in acc.vars]
        self.acc.update((v, acc) for acc in exp.accs for v in acc.vars)
        self.now.update(
            (v, i) for acc in exp.accs for v, i in zip(acc.vars, acc.inits, strict=True)
        )
        outer = [v for v in self.touched(exp) if v not in own]
        carried = [*own, *outer]
        finals = self.level(exp, 0, homes, carried)
        rows, ends = finals[: len(homes)], finals[len(homes) :]
        self.now.update(zip(carried, ends, strict=True))
        return (*rows, *ends[: len(own)])

    def level(
        self, exp: Each, depth: int, homes: tuple[Atom, ...], carried: list[Var]
    ) -> tuple[Atom, ...]:
        """The loops from `depth` inwards over homes and accumulators."""
        if depth == len(exp.vars):
            return self.inside(exp, homes, carried)
        inits = (*homes, *(self.now[v] for v in carried))
        params = tuple(Var(i.type, _hint(i, "acc")) for i in inits)
        with self.b.scope():
            self.now.update(zip(carried, params[len(homes) :], strict=True))
            results = self.level(exp, depth + 1, params[: len(homes)], carried)
            body = self.b.body(results)
        return self.b.let(
            Loop(For(exp.vars[depth], exp.sizes[depth]), params, inits, body),
            *(p.hint for p in params),
        )

    def inside(self, exp: Each, homes: tuple[Atom, ...], carried: list[Var]) -> tuple[Atom, ...]:
        self.statements(exp.body)
        rows = []
        for home, result in zip(homes, exp.body.results, strict=True):
            assert isinstance(home, Var)
            rows.append(self.b.one(stored(home, exp.vars, result), home.hint))
        return (*rows, *(self.now[v] for v in carried))

    def statements(self, body: Body) -> None:
        for stm in body.stms:
            self.b.loc = stm.loc
            if isinstance(stm.exp, Put) and stm.exp.targets[0] in self.acc:
                self.combine(stm.exp)
                continue
            touched = self.touched(stm.exp)
            if touched:
                self.carry(stm, touched)
            else:
                self.b.scopes[-1].append(stm)

    def carry(self, stm: Let, touched: list[Var]) -> None:
        """A statement that puts inside, with the accumulators as further results."""
        match stm.exp:
            case If(cond, then, orelse):
                arms = []
                before = dict(self.now)
                for arm in (then, orelse):
                    self.now = dict(before)
                    arms.append(self.arm(arm, touched))
                outs = tuple(Var(before[v].type, v.hint) for v in touched)
                self.b.scopes[-1].append(Let((*stm.outs, *outs), If(cond, *arms), stm.loc))
            case Loop(form, params, inits, body, reverse):
                more = tuple(Var(self.now[v].type, v.hint) for v in touched)
                starts = tuple(self.now[v] for v in touched)
                self.now.update(zip(touched, more, strict=True))
                new = self.arm(body, touched)
                assert not isinstance(form, While) or not _puts(form.cond)
                outs = tuple(p.fresh() for p in more)
                loop = Loop(form, (*params, *more), (*inits, *starts), new, reverse)
                self.b.scopes[-1].append(Let((*stm.outs, *outs), loop, stm.loc))
            case Each():
                results = self.nest(stm.exp)
                names = dict(zip(results, stm.outs, strict=True))
                self.b.scopes[-1][:] = named(self.b.scopes[-1], names)
                self.now = {v: names.get(a, a) for v, a in self.now.items()}
                return
        self.now.update(zip(touched, outs, strict=True))

    def arm(self, body: Body, touched: list[Var]) -> Body:
        with self.b.scope():
            self.statements(body)
            return self.b.body((*body.results, *(self.now[v] for v in touched)))

    def combine(self, put: Put) -> None:
        """acc[k] = acc[k] ⊕ e; an index that may be ignored is tested first."""
        inside = self.in_range(put)
        if inside is None:
            news = self.combined(put)
        else:
            olds = tuple(self.now[t] for t in put.targets)
            with self.b.scope():
                then = self.b.body(self.combined(put))
            news = self.b.let(If(inside, then, Body((), olds)), *(t.hint for t in put.targets))
        self.now.update(zip(put.targets, news, strict=True))

    def in_range(self, put: Put) -> Atom | None:
        cond: Atom | None = None
        for a, m, n in zip(put.at, put.modes, put.targets[0].shape, strict=True):
            if m == IGNORE:
                b = self.b
                both = b.prim("and", b.prim("le", ZERO, a), b.prim("lt", a, atom_of(n)))
                cond = both if cond is None else b.prim("and", cond, both)
        return cond

    def combined(self, put: Put) -> tuple[Atom, ...]:
        modes = put.modes.replace(IGNORE, PROVED)
        olds = [self.cell(t, put.at, modes) for t in put.targets]
        values = self.joined(self.acc[put.targets[0]].op, olds, put.values)
        out: list[Atom] = []
        for target, value in zip(put.targets, values, strict=True):
            now = self.now[target]
            if target.is_array:
                assert isinstance(now, Var)
                out.append(self.b.one(Update(now, put.at, value, modes), target.hint))
            else:
                out.append(value)
        return tuple(out)

    def cell(self, target: Var, at: tuple[Atom, ...], modes: str) -> Atom:
        now = self.now[target]
        if not target.is_array:
            return now
        assert isinstance(now, Var)
        return self.b.one(Index(now, at, modes), target.hint)

    def joined(
        self, op: str | Monoid, olds: list[Atom], values: tuple[Atom, ...]
    ) -> tuple[Atom, ...]:
        match op:
            case Monoid(left, right, body):
                step = refresh(body, dict(zip((*left, *right), (*olds, *values), strict=True)))
                self.b.scopes[-1].extend(step.stms)
                return step.results
            case "=":
                return values
            case _:
                name = {"+": "add", "*": "mul", "min": "min", "max": "max"}[op]
                return tuple(self.b.prim(name, o, v) for o, v in zip(olds, values, strict=True))


def _puts(body: Body) -> bool:
    return any(isinstance(s.exp, Put) for s in statements(body))


def _hint(atom: Atom, otherwise: str) -> str:
    return atom.hint if isinstance(atom, Var) else otherwise


def _empty(type: Type, sizes: tuple[Atom, ...]) -> Alloc:
    shape = tuple(map(atom_of, type.shape)) if isinstance(type, Array) else ()
    return Alloc("empty", type.dtype, (*sizes, *shape))


def stored(home: Var, at: tuple[Atom, ...], value: Atom) -> Update | Each:
    """home[at] = value, a scalar or an array."""
    if not isinstance(value, Var) or not value.is_array:
        return Update(home, at, value, PROVED * len(at))
    vars = tuple(Var(INDEX, "k") for _ in value.shape)
    target, cell = home.fresh(), Var(Scalar(value.dtype), value.hint)
    where = (*at, *vars)
    body = Body(
        (
            Let((cell,), Index(value, vars, PROVED * len(vars))),
            Let((), Put((target,), where, (cell,), PROVED * len(where))),
        ),
        (),
    )
    return Each(vars, tuple(map(atom_of, value.shape)), (Acc((target,), (home,), "="),), body)
