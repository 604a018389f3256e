"""The inverse of a loop's pass, statement by statement.

    b = a + e  ⇒  a = b − e      b = a·c  ⇒  a = b/c      a[k] = f(a[k], e)  ⇒  a[k] = f⁻¹(a[k], e)

From the state behind the pass the state in front of it is solved for: a statement gives back its
one unknown operand if all else in it can be computed from what is known.
"""

from __future__ import annotations

from tapeless.core.names import Atom, Const, Loc, Var
from tapeless.errors import CompileError
from tapeless.ir.build import Builder
from tapeless.ir.effects import is_pure_exp
from tapeless.ir.syntax import (
    PROVED,
    Acc,
    Body,
    Each,
    For,
    Index,
    Let,
    Loop,
    Prim,
    Put,
    Update,
)  # fmt: skip
from tapeless.ir.walk import Rewriter, atoms_of, bodies_of, free_vars, map_bodies


class Inverse:
    def __init__(self, b: Builder, loop: Loop, loc: Loc | None) -> None:
        self.b = b
        self.loop = loop
        self.loc = loc

    def before(self, at: Atom, behind: tuple[Atom, ...]) -> tuple[Atom, ...]:
        """The state in front of pass `at`, for the state behind it."""
        loop = self.loop
        assert isinstance(loop.form, For)
        known: dict[Var, Atom] = {loop.form.var: at}
        solver = Solver(self.b, loop.body, {*loop.params, loop.form.var}, known)
        for result, value in zip(loop.body.results, behind, strict=True):
            if isinstance(result, Var):
                known.setdefault(result, value)
        solver.run()
        for param, result in zip(loop.params, loop.body.results, strict=True):
            if param not in known:
                raise self.stuck(param, result)
        return tuple(known[p] for p in loop.params)

    def stuck(self, param: Var, result: Atom) -> CompileError:
        changed = next((s.loc for s in self.loop.body.stms if result in s.outs and s.loc), self.loc)
        name = param.hint
        return CompileError(
            f"the loop cannot be run backwards: how '{name}' changes here has no inverse",
            changed,
            f"change it by += or -= of what does not depend on '{name}', or use reverse=\"store\"",
        )


class Solver:
    """`known`: variables of a body with what stands for them; grows as statements are solved."""

    def __init__(self, b: Builder, body: Body, bound: set[Var], known: dict[Var, Atom]) -> None:
        self.b = b
        self.stms = body.stms
        self.known = known
        self.defs = {o: s for s in body.stms for o in s.outs}
        self.bound = bound | set(self.defs)

    def run(self) -> None:
        """Solve statements, the last ones first, until no more is found."""
        size = -1
        while size != len(self.known):
            size = len(self.known)
            for stm in reversed(self.stms):
                self.solve(stm)

    def get(self, atom: Atom) -> Atom | None:
        """What stands for an atom; computed again if all that it needs is known."""
        if not isinstance(atom, Var) or atom not in self.bound:
            return atom
        if atom in self.known:
            return self.known[atom]
        stm = self.defs.get(atom)
        if stm is None or not is_pure_exp(stm.exp):
            return None
        needs = list(atoms_of(stm.exp))
        needs += [v for body in bodies_of(stm.exp) for v in free_vars(body)]
        needs += [s for o in stm.outs for s in o.shape if isinstance(s, Var)]
        if any(self.get(n) is None for n in needs):
            return self.later(stm)
        rewriter = Rewriter({v: a for v, a in self.known.items() if v in set(needs)})
        new = rewriter.let(stm)
        self.b.scopes[-1].append(new)
        self.known.update(zip(stm.outs, new.outs, strict=True))
        return self.known[atom]

    def later(self, stm: Let) -> Atom | None:
        """An element of an array that is not known yet, from what it became elsewhere."""
        if not isinstance(stm.exp, Index):
            return None
        places = [self.get(a) for a in stm.exp.at]
        now = self.newer(stm.exp.array, stm.exp.at)
        if now is None or None in places:
            return None
        where = tuple(p for p in places if p is not None)
        self.learn(stm.outs[0], self.b.one(Index(now, where, PROVED * len(where)), "now"))
        return self.known[stm.outs[0]]

    def newer(self, array: Var, at: tuple[Atom, ...]) -> Var | None:
        """A known array that holds what `array` holds at `at`."""
        for stm in self.stms:
            match stm.exp:
                case Update(old, other, _, _) if old is array and self.differ(other, at):
                    known = self.known.get(stm.outs[0])
                    return known if isinstance(known, Var) else self.newer(stm.outs[0], at)
        return None

    def learn(self, atom: Atom, value: Atom) -> None:
        if isinstance(atom, Var) and atom in self.bound:
            self.known.setdefault(atom, value)

    def solve(self, stm: Let) -> None:
        match stm.exp:
            case Prim(op, args) if stm.outs[0] in self.known:
                self.prim(op, args, self.known[stm.outs[0]])
            case Update(array, at, value, modes) if stm.outs[0] in self.known:
                self.update(array, at, value, modes, self.known[stm.outs[0]])
            case Each():
                self.each(stm, stm.exp)

    def prim(self, op: str, args: tuple[Atom, ...], out: Atom) -> None:
        """The unknown operand, if there is one and the operator gives it back."""
        values = [self.get(a) for a in args]
        if sum(v is None for v in values) != 1:
            return
        k = values.index(None)
        other = values[1 - k] if len(args) == 2 else None
        found = self.inverse(op, k, other, out)
        if found is not None:
            self.learn(args[k], found)

    def inverse(self, op: str, k: int, other: Atom | None, out: Atom) -> Atom | None:
        b = self.b
        match op, k:
            case "neg", _:
                return b.prim("neg", out)
            case "add", _:
                assert other is not None
                return b.prim("sub", out, other)
            case "sub", 0:
                assert other is not None
                return b.prim("add", out, other)
            case "sub", 1:
                assert other is not None
                return b.prim("sub", other, out)
            case "mul", _ if isinstance(other, Const) and other.value and other.dtype.is_float:
                return b.prim("div", out, other)
            case "div", 0 if isinstance(other, Const) and other.value:
                return b.prim("mul", out, other)
            case "xor", _:
                assert other is not None
                return b.prim("xor", out, other)
            case _:
                return None

    def update(self, array: Var, at: tuple[Atom, ...], value: Atom, modes: str, now: Atom) -> None:
        """b = a with [k] = v: v is b[k]; once the old a[k] is found from v, a is b with it at k."""
        assert isinstance(now, Var)
        places = [self.get(a) for a in at]
        if any(p is None for p in places):
            return
        where = tuple(p for p in places if p is not None)
        if isinstance(value, Var) and value not in self.known:
            self.learn(value, self.b.one(Index(now, where, modes), "now"))
        for old in self.reads(array, at):
            if old in self.known:
                back = Update(now, where, self.known[old], modes)
                self.learn(array, self.b.one(back, array.hint))
                return

    def reads(self, array: Var, at: tuple[Atom, ...]) -> list[Var]:
        """Variables that hold array[at], read from it or from what it was made of elsewhere."""
        found = [
            s.outs[0] for s in self.stms
            if isinstance(s.exp, Index) and s.exp.array is array and s.exp.at == at
        ]  # fmt: skip
        made = self.defs.get(array)
        if made is not None and isinstance(made.exp, Update) and self.differ(made.exp.at, at):
            found += self.reads(made.exp.array, at)
        return found

    def differ(self, a: tuple[Atom, ...], b: tuple[Atom, ...]) -> bool:
        """Whether two cells are surely not the same."""
        pairs = [(self.offset(x), self.offset(y)) for x, y in zip(a, b, strict=True)]
        return any(x[0] == y[0] and x[1] != y[1] for x, y in pairs)

    def offset(self, atom: Atom) -> tuple[Atom | None, int]:
        """An index as what it counts from, and a known number."""
        if isinstance(atom, Const):
            return None, int(atom.value)
        stm = self.defs.get(atom)
        match None if stm is None else stm.exp:
            case Prim("add", (base, Const(value=shift))) | Prim("add", (Const(value=shift), base)):
                return base, int(shift)
            case Prim("sub", (base, Const(value=shift))):
                return base, -int(shift)
        return atom, 0

    def each(self, stm: Let, exp: Each) -> None:
        """A nest that changes each cell of some arrays by what does not depend on other cells."""
        if exp.accs and not exp.body.results and all(acc.op == "+" for acc in exp.accs):
            self.sums(stm, exp)
            return
        unknown = [
            v for v in free_vars(exp.body)
            if v.is_array and v in self.bound and v not in self.known and self.get(v) is None
        ]  # fmt: skip
        if not unknown or not any(o in self.known for o in stm.outs):
            return
        inner = {v for s in exp.body.stms for body in bodies_of(s.exp) for v in free_vars(body)}
        reads = {v: [s for s in exp.body.stms if v in atoms_of(s.exp)] for v in unknown}
        needs = [v for v in free_vars(exp.body) if v not in unknown and v in self.bound]
        accs = {v for acc in exp.accs for v in acc.vars}
        if (
            any(len(r) != 1 or not isinstance(r[0].exp, Index) for r in reads.values())
            or not inner.isdisjoint(unknown)
            or any(acc.op != "=" for acc in exp.accs)
            or any(self.get(v) is None for v in (*needs, *exp.sizes) if v not in accs)
        ):
            return
        outside = {v: self.known[v] for v in needs if v in self.known}
        Cells(self, stm, exp, {v: r[0] for v, r in reads.items()}, outside).solve()

    def sums(self, stm: Let, exp: Each) -> None:
        """a += e  ⇒  a −= e, at the same cells."""
        accs = {v for acc in exp.accs for v in acc.vars}
        needs = [v for v in free_vars(exp.body) if v in self.bound and v not in accs]
        news = [self.known.get(o) for o in stm.outs]
        if any(n is None for n in news) or any(self.get(v) is None for v in (*needs, *exp.sizes)):
            return
        copy = Rewriter({v: self.known[v] for v in needs if v in self.known})
        vars = copy.binds(exp.vars)
        homes = tuple(
            Acc(copy.binds(acc.vars), tuple(n for n in news[k : k + 1] if n is not None), "+")
            for k, acc in enumerate(exp.accs)
        )
        body = _subtracting(copy.body(exp.body), {v for acc in homes for v in acc.vars})
        outs = self.b.let(Each(vars, self.sizes(exp), homes, body), "before")
        for acc, out in zip(exp.accs, outs, strict=True):
            self.learn(acc.inits[0], out)

    def sizes(self, exp: Each) -> tuple[Atom, ...]:
        found = tuple(self.get(s) for s in exp.sizes)
        return tuple(s for s in found if s is not None)


class Cells:
    """One nest to undo: `reads` says where each unknown array is read, once."""

    def __init__(
        self, solver: Solver, stm: Let, exp: Each, reads: dict[Var, Let], outside: dict[Var, Atom]
    ) -> None:
        self.solver = solver
        self.b = solver.b
        self.stm = stm
        self.exp = exp
        self.vars = tuple(v.fresh() for v in exp.vars)
        names = {**outside, **dict(zip(exp.vars, self.vars, strict=True))}
        copy = Rewriter(names)
        self.body = copy.body(exp.body)
        self.olds = {v: copy.map[r.outs[0]] for v, r in reads.items()}
        self.cells = {v: copy.atoms(r.exp.at) for v, r in reads.items()
                      if isinstance(r.exp, Index)}  # fmt: skip

    def solve(self) -> None:
        """Emit a nest that writes what each unknown array held."""
        count = len(self.exp.body.results)
        inits = {a.vars[0]: (a.inits[0], o) for a, o in
                 zip(self.exp.accs, self.stm.outs[count:], strict=True)}  # fmt: skip
        homes: list[tuple[Var, Acc]] = []
        rows: list[tuple[Var, Atom]] = []
        with self.b.scope():
            known: dict[Var, Atom] = {}
            inner = Solver(self.b, self.body, set(self.olds), known)
            self.results(inner)
            self.puts(inner, inits)
            inner.run()
            for array, old in self.olds.items():
                if not isinstance(old, Var) or old not in known:
                    return
                acc = next((v for v, (i, _) in inits.items() if i is array), None)
                if acc is None:
                    rows.append((array, known[old]))
                    continue
                now = self.solver.known.get(inits[acc][1])
                assert isinstance(now, Var)
                home = Var(now.type, array.hint)
                where = tuple(a for c in self.cells[array] if (a := inner.get(c)) is not None)
                self.b.put(home, where, known[old], PROVED * len(where))
                homes.append((array, Acc((home,), (now,), "=")))
            if any(self.cells[array] != self.vars for array, _ in rows):
                return
            body = self.b.body(tuple(value for _, value in rows))
        nest = Each(self.vars, self.solver.sizes(self.exp), tuple(a for _, a in homes), body)
        outs = self.b.let(nest, "before")
        for (array, _), out in zip([*rows, *homes], outs, strict=True):
            self.solver.learn(array, out)

    def results(self, inner: Solver) -> None:
        """Element results are known where their arrays are."""
        for out, value in zip(self.stm.outs, self.body.results, strict=False):
            now = self.solver.known.get(out)
            if isinstance(now, Var):
                inner.learn(
                    value, self.b.one(Index(now, self.vars, PROVED * len(self.vars)), "now")
                )

    def puts(self, inner: Solver, inits: dict[Var, tuple[Atom, Var]]) -> None:
        """What was put to an array is known where the array is, if it was read there before."""
        for stm in self.body.stms:
            if isinstance(stm.exp, Put):
                target = stm.exp.targets[0]
                init, out = inits[target]
                now = self.solver.known.get(out)
                where = [inner.get(a) for a in stm.exp.at]
                if not isinstance(init, Var) or self.cells.get(init) != stm.exp.at:
                    continue
                if isinstance(now, Var) and None not in where:
                    cell = Index(now, tuple(a for a in where if a is not None), stm.exp.modes)
                    inner.learn(stm.exp.values[0], self.b.one(cell, "now"))


def _subtracting(body: Body, accs: set[Var]) -> Body:
    """The body with the negative of what it puts to `accs`."""
    stms: list[Let] = []
    for stm in body.stms:
        exp = stm.exp
        if isinstance(exp, Put) and not accs.isdisjoint(exp.targets):
            less = Var(exp.values[0].type, "less")
            stms.append(Let((less,), Prim("neg", exp.values), stm.loc))
            exp = Put(exp.targets, exp.at, (less,), exp.modes)
        else:
            exp = map_bodies(exp, lambda b: _subtracting(b, accs))
        stms.append(Let(stm.outs, exp, stm.loc))
    return Body(tuple(stms), body.results)
