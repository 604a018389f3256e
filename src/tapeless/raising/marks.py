"""Loops whose iterations the program calls independent (`tp.each`), where it takes a run to see it.

    loop (p = a) for i < n { … p with [k] = v … }
      ⇒  c, s = each (i < n) with (c += 0, s += 0) { put c[k] <- 1; put s[k] <- i }
         each (i < n) { check c[k]·i = s[k] }
         each (i < n) with (p = a) { put p[k] <- v }

c[k] counts the writes of a cell, s[k] sums who they are by. If the writers of a cell have the
numbers i₁ … i_c, then c·i = Σ i_j for each of them only if all are equal, and for a reader only if
it is the writer: so the check passes, at each write and each read, exactly if no iteration touches
a cell that another one writes (as c·n < 2⁶⁴). Where every iteration writes one cell, which none
reads, c[k] = 1 says the same.

The first nests read what the array held before the loop. That is what all iterations see up to the
first of them that is not independent, so that the nests find it. Where an iteration reads what it
wrote itself, the loop stays one; no index may then depend on what is read.
"""

from __future__ import annotations

from dataclasses import replace

from tapeless.analysis.dependence import Dependence
from tapeless.core.names import Atom, Const, Loc, Var
from tapeless.core.types import BOOL, INDEX, Array, Scalar, i64
from tapeless.ir.syntax import (
    IGNORE,
    Acc,
    Alloc,
    Body,
    Check,
    Each,
    Exp,
    For,
    Fun,
    Index,
    Let,
    Loop,
    Prim,
    Put,
    Reverse,
    all_proved,
)  # fmt: skip
from tapeless.ir.types_of import atom_of
from tapeless.ir.walk import Rewriter
from tapeless.raising.loops import Raise, Threaded
from tapeless.raising.races import may_depend
from tapeless.raising.steering import steers
from tapeless.raising.target import NotThreaded, Target

ONE = Const(1, i64)


def run(fun: Fun) -> Fun:
    return _Marked().run(fun)


class _Marked(Raise):
    def concerns(self, exp: Exp) -> bool:
        return isinstance(exp, Loop) and isinstance(exp.form, For) and not may_depend(exp)

    def statement(self, stm: Let, out: list[Let]) -> None:
        exp = stm.exp
        new = [stm]
        if isinstance(exp, Loop) and isinstance(exp.form, For) and not may_depend(exp):
            new = self.checked(stm, exp, exp.form) or new
        for s in new:
            self.emit(s, out)

    def checked(self, stm: Let, loop: Loop, form: For) -> list[Let]:
        """The loop behind the nests that check it; nothing if it cannot be checked."""
        found = self.summed(loop, form)
        if found is None or not isinstance(form.var.type, Scalar):
            return []
        dependence = Dependence(self.facts)
        meeting = found.conflicts(dependence)
        if any(self.must_race(found, t, dependence) for t in meeting):
            return []
        own = [t for t in meeting if not dependence.keep_order(found.accesses_to(t))]
        if own and steers(loop.body, [t.param for t in meeting], [t.param for t in own]):
            return []
        before = {t.source: i for t, i in zip(found.targets, loop.inits, strict=True)}
        whole = Rewriter({s: i for s, i in before.items() if isinstance(s, Var)})
        marks = [_mark(found, t, stm.loc) for t in meeting]
        stms = _checks(found, form, marks, whole.map, stm.loc)
        if own:
            last: Exp = replace(loop, reverse=Reverse("auto"))
        else:
            accs = tuple(
                Acc((t.acc,), (i,), t.op) for t, i in zip(found.targets, loop.inits, strict=True)
            )
            last = whole.exp(Each((form.var,), (form.size,), accs, found.body))
        self.changed = True
        return [*stms, Let(stm.outs, last, stm.loc)]

    def must_race(self, found: Threaded, target: Target, dependence: Dependence) -> bool:
        accesses = found.accesses_to(target)
        return any(
            dependence.surely_meet(a, b) for a in accesses if a.writes for b in accesses
        )  # fmt: skip

    def summed(self, loop: Loop, form: For) -> Threaded | None:
        """The loop with as many sums as there can be in the place of arrays whose cells meet."""
        own = replace(loop, inits=tuple(p.fresh() if p.is_array else i for p, i in _state(loop)))
        summed: set[Var] = set()
        while True:
            try:
                found = self.threaded(own, form, summed)
                break
            except NotThreaded as problem:
                if problem.sum is None or problem.sum in summed:
                    return None
                summed.add(problem.sum)
        for target in found.conflicts(Dependence(self.facts)):
            try:
                found = self.threaded(own, form, summed | {target.param})
                summed.add(target.param)
            except NotThreaded:
                continue
        if any(IGNORE in a.modes for a in found.accesses):
            return None
        return self.threaded(own, form, summed)


def _state(loop: Loop) -> zip[tuple[Var, Atom]]:
    return zip(loop.params, loop.inits, strict=True)


# Marks ------------------------------------------------------------------------------------------


class _Mark:
    """The counts (and sums) of the writers of an array's cells: `sums` is None where each
    iteration writes one cell and none reads. Accumulators, and what they end with."""

    def __init__(self, target: Target, loc: Loc | None, *, is_single: bool) -> None:
        type = Array(i64, target.param.shape)
        self.target = target
        self.counts = Var(type, "writes", loc), Var(type, "writes", loc)
        self.sums = None if is_single else (Var(type, "writers", loc), Var(type, "writers", loc))

    def pairs(self) -> list[tuple[Var, Var]]:
        return [self.counts, *([self.sums] if self.sums else [])]


def _mark(found: Threaded, target: Target, loc: Loc | None) -> _Mark:
    one_write = len(found.accesses_to(target)) == 1 and not target.repeated
    return _Mark(target, loc, is_single=one_write)


def _checks(
    found: Threaded, form: For, marks: list[_Mark], whole: dict[Var, Atom], loc: Loc | None
) -> list[Let]:
    """The nest that marks, and the nest that checks."""
    out: list[Let] = []
    accs: list[Acc] = []
    for acc, _ in (p for m in marks for p in m.pairs()):
        zeros = acc.fresh()
        out.append(Let((zeros,), Alloc("zeros", i64, tuple(map(atom_of, acc.shape))), loc))
        accs.append(Acc((acc,), (zeros,), "+"))
    finals = tuple(final for m in marks for _, final in m.pairs())
    box, sizes = (form.var,), (form.size,)
    marking = Each(box, sizes, tuple(accs), _Marking(found, form, marks, whole).body(found.body))
    checking = Each(box, sizes, (), _Checking(found, form, marks, whole).body(found.body))
    out.append(Let(finals, Rewriter().exp(marking), loc))
    out.append(Let((), Rewriter().exp(checking), loc))
    return out


class _Skeleton(Rewriter):
    """A body without what it puts; indices are checked as they would be."""

    def __init__(
        self, found: Threaded, form: For, marks: list[_Mark], whole: dict[Var, Atom]
    ) -> None:
        super().__init__(whole, fresh=False)
        self.counter = form.var
        self.writes = {m.target.acc: m for m in marks}
        self.reads = {m.target.source: m for m in marks}
        self.ours = {t.acc: t for t in found.targets}

    def body(self, body: Body) -> Body:
        out: list[Let] = []
        for stm in body.stms:
            self.statement(stm, out)
        return Body(tuple(out), self.atoms(body.results))

    def statement(self, stm: Let, out: list[Let]) -> None:
        match stm.exp:
            case Put((acc,), at, _, modes) if acc in self.ours:
                at = self.atoms(at)
                if acc in self.writes:
                    self.touch(self.writes[acc], at, modes, stm.loc, out)
                elif not all_proved(modes):
                    array = self.var(_array(self.ours[acc]))
                    cell = Var(Scalar(array.dtype), array.hint, stm.loc)
                    out.append(Let((cell,), Index(array, at, modes), stm.loc))
            case Index(array, at, modes) if array in self.reads:
                out.append(self.let(stm))
                self.read(self.reads[array], self.atoms(at), modes, stm.loc, out)
            case _:
                out.append(self.let(stm))

    def touch(
        self, mark: _Mark, at: tuple[Atom, ...], modes: str, loc: Loc | None, out: list[Let]
    ) -> None:
        raise TypeError("one of the walks")

    def read(
        self, mark: _Mark, at: tuple[Atom, ...], modes: str, loc: Loc | None, out: list[Let]
    ) -> None:
        pass


def _array(target: Target) -> Var:
    assert isinstance(target.source, Var)
    return target.source


class _Marking(_Skeleton):
    def touch(
        self, mark: _Mark, at: tuple[Atom, ...], modes: str, loc: Loc | None, out: list[Let]
    ) -> None:
        values: tuple[Atom, Atom] = (ONE, self.counter)
        for (acc, _), value in zip(mark.pairs(), values, strict=False):
            out.append(Let((), Put((acc,), at, (value,), modes), loc))


class _Checking(_Skeleton):
    def touch(
        self, mark: _Mark, at: tuple[Atom, ...], modes: str, loc: Loc | None, out: list[Let]
    ) -> None:
        def let(type: Scalar, exp: Exp) -> Var:
            var = Var(type, "alone", loc)
            out.append(Let((var,), exp, loc))
            return var

        count = let(INDEX, Index(mark.counts[1], at, modes))
        if mark.sums is None:
            alone = let(BOOL, Prim("eq", (count, ONE)))
        else:
            total = let(INDEX, Index(mark.sums[1], at, modes))
            product = let(INDEX, Prim("mul", (count, self.counter)))
            alone = let(BOOL, Prim("eq", (product, total)))
        cell = ", ".join(f"{{{k}}}" for k in range(len(at)))
        message = f"an iteration of this tp.each uses the element [{cell}] that another one writes"
        out.append(Let((), Check(alone, "RuntimeError", message, at), loc))

    read = touch
