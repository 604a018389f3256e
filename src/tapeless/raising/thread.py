"""State that is threaded through a loop's body becomes Puts to accumulators.

    p₁ = p with [i] = v; … return p₁      ⇒  put acc[i] <- v; … return            ("=")
    x = p[i]; y = x + v; p₁ = p with [i] = y  ⇒  put acc[i] <- v                   ("+")
    s₁ = s + v; return s₁                 ⇒  put acc <- v                          ("+ * min max")
    s₁ = if c {s + v} else {s}            ⇒  if c { put acc <- v }

Reads of an array that is written go to its contents before the loop: whether that is what they
see is for `analysis.dependence` to say, from the accesses that are recorded here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from tapeless.analysis.dependence import Access, Level, access
from tapeless.analysis.enter import after, inside
from tapeless.analysis.facts import Facts
from tapeless.core.names import Atom, Var
from tapeless.ir.syntax import (
    PROVED,
    Acc,
    Body,
    Each,
    Exp,
    For,
    If,
    Index,
    Let,
    Loop,
    Prim,
    Put,
    Update,
    While,
    all_proved,
)  # fmt: skip
from tapeless.ir.walk import atoms_of, bodies_of, map_bodies
from tapeless.raising.sums import Term, term
from tapeless.raising.target import NotThreaded, Place, Target

EMPTY = Body((), ())


@dataclass(slots=True, eq=False)
class Threads:
    """Converts the body of one loop.

    `version`: which target a variable is a version of, and `made` after how many writes;
    `current`: the latest one. `counts`: uses of variables; `selected`: what selects and branches
    choose. `puts`: accumulators of inner nests that are ours, and whether what is put there is a
    term already. `pending`: values that are gone unless a Put takes their place."""

    facts: Facts
    mark: int
    place: Place
    counts: dict[Atom, int]
    selected: set[Atom]
    version: dict[Var, Target] = field(default_factory=dict)
    made: dict[Var, int] = field(default_factory=dict)
    current: dict[Target, Var] = field(default_factory=dict)
    puts: dict[Var, tuple[Target, bool]] = field(default_factory=dict)
    defs: dict[Var, Exp] = field(default_factory=dict)
    pending: set[Var] = field(default_factory=set)
    accesses: list[Access] = field(default_factory=list)
    clock: int = 0

    def start(self, param: Var, target: Target) -> None:
        self.version[param] = target
        self.current[target] = param
        self.made[param] = self.clock

    # bodies
    def body(self, body: Body, ends: dict[int, Target]) -> Body:
        """`body` with Puts; its results at the positions `ends` must be the final versions."""
        out = self.statements(body)
        if any(body.results[k] is not self.current[t] for k, t in ends.items()):
            raise NotThreaded
        rest = tuple(r for k, r in enumerate(body.results) if k not in ends)
        self.refuse(rest)
        return Body(out, rest)

    def statements(self, body: Body) -> tuple[Let, ...]:
        out: list[Let] = []
        for stm in body.stms:
            if len(stm.outs) == 1:
                self.defs[stm.outs[0]] = stm.exp
            self.statement(stm, out)
            after(self.facts, stm)
        return tuple(out)

    def refuse(self, atoms: Iterable[Atom]) -> None:
        if any(isinstance(a, Var) and (a in self.version or a in self.pending) for a in atoms):
            raise NotThreaded

    def statement(self, stm: Let, out: list[Let]) -> None:
        exp = stm.exp
        match exp:
            case Index(array) if array in self.version:
                self.refuse(exp.at)
                self.read(stm, exp, out)
            case Update(array) if array in self.version:
                self.write(stm, exp, out)
            case Prim():
                self.scalar(stm, exp, out)
            case If():
                self.branch(stm, exp, out)
            case Loop():
                self.loop(stm, exp, out)
            case Each():
                self.each(stm, exp, out)
            case Put((acc,), at, values, modes) if acc in self.puts:
                self.refuse(at)
                target, is_term = self.puts[acc]
                if is_term:
                    self.refuse(values)
                    self.put(target, at, values[0], modes, out, stm)
                else:
                    self.store(target, self.current[target], at, values[0], modes, out, stm)
            case _:
                self.refuse(atoms_of(exp))
                out.append(Let(stm.outs, self.reading(exp), stm.loc))

    def reading(self, exp: Exp) -> Exp:
        """Bodies that write nothing of ours: only reads are redirected."""
        return map_bodies(exp, lambda body: self.nested(exp, body)) if bodies_of(exp) else exp

    def nested(self, exp: Exp, body: Body) -> Body:
        mark, level = self.facts.mark(), Level(None, len(self.facts.vars), settled=True)
        inside(self.facts, exp, body)
        outer, self.place = self.place, self.place.inside(level)
        new = self.body(body, {})
        self.place = outer
        self.facts.undo(mark)
        return new

    # arrays
    def read(self, stm: Let, exp: Index, out: list[Let]) -> None:
        target = self.version[exp.array]
        if target.op != "=":
            # Read only to be added to; what is smaller is also compared with it.
            self.postpone(stm.outs[0], 2)
            return
        source = target.source
        assert isinstance(source, Var)
        self.record(target, exp.at, exp.modes, self.made[exp.array], writes=False)
        out.append(Let(stm.outs, Index(source, exp.at, exp.modes), stm.loc))

    def write(self, stm: Let, exp: Update, out: list[Let]) -> None:
        target = self.version[exp.array]
        self.refuse(exp.at)
        if exp.array is not self.current[target]:
            raise NotThreaded
        self.store(target, exp.array, exp.at, exp.value, exp.modes, out, stm)
        self.new_version(target, stm.outs[0])

    def store(
        self, target: Target, array: Var, at: tuple[Atom, ...], value: Atom, modes: str,
        out: list[Let], stm: Let,
    ) -> None:  # fmt: skip
        """Assign `value`, or add what `value` adds to the old one."""
        if target.op != "=":
            found, checks = self.added(array, at, value)
            if found.cond is not None and not all_proved(checks):
                raise NotThreaded
            modes = "".join(m if c == PROVED else c for c, m in zip(checks, modes, strict=True))
            self.put_term(target, at, found, modes, out, stm)
            return
        self.refuse((value,))
        self.record(target, at, modes, self.clock + 1, writes=True)
        self.put(target, at, value, modes, out, stm)

    def record(
        self, target: Target, at: tuple[Atom, ...], modes: str, order: int, *, writes: bool
    ) -> None:
        place = (self.place.levels, self.place.arms)
        if target.op == "=":
            self.accesses.append(
                access(self.facts, self.mark, target.param, at, modes, place, order, writes)
            )

    def added(self, array: Var, at: tuple[Atom, ...], value: Atom) -> tuple[Term, str]:
        """What `a with [i] = a[i] + v` adds, and how the read, which goes, is checked."""
        total = self.defs.get(value) if isinstance(value, Var) else None
        if isinstance(total, Prim) and value in self.pending:
            for old in total.args:
                read = self.defs.get(old) if isinstance(old, Var) else None
                if isinstance(read, Index) and read.array is array and read.at == at:
                    found = term(total, old, self.defs)
                    if found is not None and self.uses(total, old) == self.counts[old]:
                        kept = found.operands()
                        self.pending -= {value, *(a for a in total.args if a not in kept)}
                        self.refuse(kept)
                        return found, read.modes
        raise NotThreaded

    def uses(self, exp: Prim, old: Atom) -> int:
        """How often `old` occurs in an expression that goes, postponed operands included."""
        inner = (self.defs[a] for a in exp.args if isinstance(a, Var) and a in self.pending)
        return exp.args.count(old) + sum(self.uses(e, old) for e in inner if isinstance(e, Prim))

    def postpone(self, var: Var, most: int = 1) -> None:
        """`var` is not computed any more: its uses must turn into a Put."""
        if not 1 <= self.counts.get(var, 0) <= most:
            raise NotThreaded
        self.pending.add(var)

    # scalars
    def scalar(self, stm: Let, exp: Prim, out: list[Let]) -> None:
        (result,) = stm.outs
        if any(a in self.pending for a in exp.args) and not any(
            a in self.version for a in exp.args
        ):
            self.postpone(result)
            return
        used = [a for a in exp.args if isinstance(a, Var) and a in self.version]
        if not used:
            out.append(stm)
            return
        target = self.version[used[0]]
        now = self.current[target]
        found = term(exp, now, self.defs) if now in exp.args else None
        if found is not None and (exp.op == "select" or not self.is_guarded(result, now)):
            kept = found.operands()
            self.pending -= {a for a in exp.args if isinstance(a, Var) and a not in kept}
            self.refuse(kept)
            self.put_term(target, (), found, "", out, stm)
            self.new_version(target, result)
        else:
            self.postpone(result)

    def is_guarded(self, result: Var, now: Var) -> bool:
        """Whether s + v is only one side of `c ? s + v : s`."""
        once = self.counts.get(now, 0) == 2 and self.counts.get(result, 0) == 1
        return once and result in self.selected

    # versions
    def new_version(self, target: Target, var: Var) -> None:
        self.clock += 1
        self.version[var] = target
        self.current[target] = var
        self.made[var] = self.clock

    def put_term(
        self,
        target: Target,
        at: tuple[Atom, ...],
        found: Term,
        modes: str,
        out: list[Let],
        stm: Let,
    ) -> None:
        if target.op not in ("?", found.op):
            raise NotThreaded
        target.op = found.op
        inner = list(found.first)
        self.put(target, at, found.value, modes, inner, stm)
        if found.cond is None:
            out.extend(inner)
            return
        self.refuse((found.cond,))
        arm = Body(tuple(inner), ())
        arms = (arm, EMPTY) if found.when else (EMPTY, arm)
        out.append(Let((), If(found.cond, *arms), stm.loc))

    def put(
        self,
        target: Target,
        at: tuple[Atom, ...],
        value: Atom,
        modes: str,
        out: list[Let],
        stm: Let,
    ) -> None:
        target.sites += 1
        target.repeated |= self.place.loops > 0
        out.append(Let((), Put((target.acc,), at, (value,), modes), stm.loc))

    # constructs
    def branch(self, stm: Let, exp: If, out: list[Let]) -> None:
        """Versions that both arms end with are one version of the whole."""
        self.refuse((exp.cond,))
        start, outer = dict(self.current), self.place
        arms: list[tuple[tuple[Let, ...], Body, dict[Target, Var]]] = []
        for body, which in ((exp.then, True), (exp.orelse, False)):
            self.current = dict(start)
            self.place = replace(outer, arms=(*outer.arms, (exp, which)))
            mark = self.facts.mark()
            inside(self.facts, exp, body)
            arms.append((self.arm(body, stm), body, self.current))
            self.facts.undo(mark)
        self.place, self.current = outer, start
        ends: dict[int, Target] = {}
        for k, pair in enumerate(zip(exp.then.results, exp.orelse.results, strict=True)):
            target = self.version.get(pair[0]) if isinstance(pair[0], Var) else None
            if target and all(now[target] is r for r, (_, _, now) in zip(pair, arms, strict=True)):
                ends[k] = target
            else:
                self.refuse(pair)
        changed = {t for t in start for _, _, now in arms if now[t] is not start[t]}
        if not changed <= set(ends.values()) or len(set(ends.values())) < len(ends):
            raise NotThreaded
        for k, target in ends.items():
            self.new_version(target, stm.outs[k])
        kept = tuple(o for k, o in enumerate(stm.outs) if k not in ends)
        new = [
            Body(stms, tuple(r for k, r in enumerate(body.results) if k not in ends))
            for stms, body, _ in arms
        ]
        if kept or new[0].stms or new[1].stms:
            out.append(Let(kept, If(exp.cond, new[0], new[1]), stm.loc))

    def arm(self, body: Body, stm: Let) -> tuple[Let, ...]:
        """Statements of an arm; a sum that it only chooses, `c ? s + v : s`, is made there."""
        out = list(self.statements(body))
        for result in body.results:
            exp = self.defs.get(result) if isinstance(result, Var) else None
            if not (isinstance(result, Var) and isinstance(exp, Prim) and result in self.pending):
                continue
            for now in exp.args:
                target = self.version.get(now) if isinstance(now, Var) else None
                found = term(exp, now, self.defs) if target else None
                if target and found and now is self.current[target]:
                    kept = found.operands()
                    self.pending -= {result, *(a for a in exp.args if a not in kept)}
                    self.put_term(target, (), found, "", out, stm)
                    self.new_version(target, result)
                    break
        return tuple(out)

    def loop(self, stm: Let, exp: Loop, out: list[Let]) -> None:
        ends: dict[int, Target] = {}
        for k, init in enumerate(exp.inits):
            target = self.version.get(init) if isinstance(init, Var) else None
            if target is not None:
                if init is not self.current[target] or target in ends.values():
                    raise NotThreaded
                ends[k] = target
        held = {t: v for t, v in self.current.items() if t not in ends.values()}
        for k, target in ends.items():
            self.start(exp.params[k], target)
        mark, base, outer = self.facts.mark(), len(self.facts.vars), self.place
        form = exp.form
        if isinstance(form, For):
            self.refuse((form.size,))
        else:
            form = While(self.nested(exp, form.cond))
        inside(self.facts, exp, exp.body)
        counter = form.var if isinstance(form, For) else None
        self.place = outer.inside(Level(counter, base), loops=1)
        body = self.body(exp.body, ends)
        self.place = outer
        self.facts.undo(mark)
        if any(self.current[t] is not v for t, v in held.items()):
            raise NotThreaded
        for k, target in ends.items():
            self.new_version(target, stm.outs[k])
        keep = [k for k in range(len(exp.params)) if k not in ends]
        new = Loop(
            form, tuple(exp.params[k] for k in keep), tuple(exp.inits[k] for k in keep), body,
            exp.reverse,
        )  # fmt: skip
        out.append(Let(tuple(stm.outs[k] for k in keep), new, stm.loc))

    def each(self, stm: Let, exp: Each, out: list[Let]) -> None:
        """Accumulators of an inner nest that start from a version of ours are ours."""
        self.refuse(exp.sizes)
        at = len(exp.body.results)
        outs = list(stm.outs[:at])
        accs: list[Acc] = []
        ends: list[tuple[Target, Var]] = []
        for acc in exp.accs:
            init = acc.inits[0]
            if isinstance(init, Var) and init in self.version:
                target = self.merged(acc, init)
                self.puts[acc.vars[0]] = target, acc.op != "="
                ends.append((target, stm.outs[at]))
            else:
                self.refuse(acc.inits)
                accs.append(acc)
                outs += stm.outs[at : at + len(acc.vars)]
            at += len(acc.vars)
        held = dict(self.current)
        body = self.nested(exp, exp.body)
        if self.current != held:
            raise NotThreaded
        for target, var in ends:
            self.new_version(target, var)
        out.append(Let(tuple(outs), Each(exp.vars, exp.sizes, tuple(accs), body), stm.loc))

    def merged(self, acc: Acc, init: Var) -> Target:
        target = self.version[init]
        if init is not self.current[target] or len(acc.vars) > 1 or not isinstance(acc.op, str):
            raise NotThreaded
        if acc.op != "=":
            if target.op not in ("?", acc.op):
                raise NotThreaded(target.param if target.op == "=" else None)
            target.op = acc.op
        return target
