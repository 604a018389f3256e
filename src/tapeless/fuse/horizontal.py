"""Neighbours over the same box become one nest, if they read the same arrays or one reads the
other's elements at its own index.

    y = each (i < n) { return e }; s = each (j < n) with (a += 0) { x = y[j]; put a <- x }
      ⇒  y, s = each (i < n) with (a += 0) { put a <- e; return e }

The later one moves up to the earlier one, or the earlier down, past statements that do not mind.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from tapeless.analysis.lastuse import Uses
from tapeless.core.names import Var
from tapeless.fuse.cost import length
from tapeless.ir.effects import consumed, is_pure_exp
from tapeless.ir.sizes import Sizes
from tapeless.ir.syntax import Body, Check, Each, Exp, Fun, If, Index, Iverson, Let, Prim
from tapeless.ir.types_of import size_of
from tapeless.ir.walk import Rewriter, bodies_of, free_vars, map_bodies, statements, type_vars

LONGEST = 80  # statements of a merged body: what lives in it should stay in registers


def run(fun: Fun) -> Fun:
    walk = _Merger()
    body = walk.body(fun.body)
    return replace(fun, body=body) if walk.changed else fun


class _Merger:
    def __init__(self) -> None:
        self.sizes = Sizes()
        self.defs: dict[Var, Exp] = {}
        self.uses = Uses()
        self.changed = False

    def body(self, body: Body) -> Body:
        """Each statement with the ones before it, by the equalities that are checked before it."""
        mark = self.sizes.mark()
        stms: list[Let] = []
        for stm in body.stms:
            exp = map_bodies(stm.exp, partial(self.inner, stm.exp))
            stms.append(Let(stm.outs, exp, stm.loc))
            self.merge_into_earlier(stms)
            if isinstance(exp, Prim):
                self.defs[stm.outs[0]] = exp
            elif isinstance(exp, Check):
                self.sizes.learn(exp.cond, self.defs)
        self.sizes.undo(mark)
        return Body(tuple(stms), body.results)

    def inner(self, exp: Exp, body: Body) -> Body:
        mark = self.sizes.mark()
        if isinstance(exp, Iverson) or (isinstance(exp, If) and body is exp.then):
            self.sizes.learn(exp.cond, self.defs)
        new = self.body(body)
        self.sizes.undo(mark)
        return new

    def merge_into_earlier(self, stms: list[Let]) -> None:
        """Merge the last statement with an earlier one if possible."""
        later, q = stms[-1].exp, len(stms) - 1
        if not isinstance(later, Each) or _has_nests(later):
            return
        for p in range(q - 1, -1, -1):
            earlier = stms[p].exp
            if not isinstance(earlier, Each) or not self.alike(earlier, later):
                continue
            place = self.place(stms, p, q)
            if place is None or not self.mergeable(stms[p], stms[q]):
                continue
            stms[place] = merged(stms[p], stms[q])
            del stms[p + q - place]
            self.changed = True
            return

    def alike(self, a: Each, b: Each) -> bool:
        if len(a.sizes) != len(b.sizes) or _has_nests(a):
            return False
        if length(a.body) + length(b.body) > LONGEST:
            return False
        return all(
            self.sizes.same(size_of(m), size_of(n)) for m, n in zip(a.sizes, b.sizes, strict=True)
        )

    def mergeable(self, first: Let, second: Let) -> bool:
        """Whether the second reads the first's results only at its own index, neither overwrites
        what the other reads, and they have something in common."""
        a, b = first.exp, second.exp
        assert isinstance(a, Each)
        assert isinstance(b, Each)
        reads_a, reads_b = self.uses.of(a), self.uses.of(b)
        taken_a, taken_b = consumed(a), consumed(b)
        if taken_a & reads_b or taken_b & reads_a:
            return False
        taken = {i for acc in b.accs for i in acc.inits}
        forwarded = reads_b.intersection(first.outs[: len(a.body.results)]) - taken
        if set(first.outs) & (free_and_operands(b) - forwarded):
            return False
        if not forwarded.isdisjoint(b.body.results):
            return False
        for s in b.body.stms:
            if self.uses.of(s.exp).isdisjoint(forwarded):
                continue
            exp = s.exp
            if not isinstance(exp, Index) or exp.at != b.vars:
                return False
        return bool(forwarded) or bool(reads_a & reads_b)

    def place(self, stms: list[Let], p: int, q: int) -> int | None:
        """Where both can stand: at p, if the later one can move up; at q, if the earlier one can
        move down. Nothing moves up past a check, on which its indices may rely."""
        between = stms[p + 1 : q]
        first, second = stms[p], stms[q]
        made = {o for s in between for o in s.outs}
        needed = free_and_operands(second.exp).union(*(type_vars(o.type) for o in second.outs))
        pure_between = all(is_pure_exp(s.exp) for s in between)
        read_between = set().union(*(self.uses.of(s.exp) for s in between)) if between else set()
        taken_between = set().union(*(consumed(s.exp) for s in between)) if between else set()
        if (
            pure_between
            and is_pure_exp(second.exp)
            and not made & needed
            and not consumed(second.exp) & read_between
        ):
            return p
        mentioned: set[Var] = set()
        for s in between:
            mentioned |= free_and_operands(s.exp)
        if mentioned.intersection(first.outs) or not is_pure_exp(first.exp):
            return None
        return None if taken_between & self.uses.of(first.exp) else q


def _has_nests(exp: Each) -> bool:
    return any(bodies_of(s.exp) and not _is_branch(s.exp) for s in statements(exp.body))


def _is_branch(exp: Exp) -> bool:
    return type(exp).__name__ in ("If", "Iverson")


def free_and_operands(exp: Exp) -> set[Var]:
    return set(free_vars(Body((Let((), exp),), ())))


def merged(first: Let, second: Let) -> Let:
    """One nest for both, over the first one's indices."""
    a, b = first.exp, second.exp
    assert isinstance(a, Each)
    assert isinstance(b, Each)
    subst = dict(zip(b.vars, a.vars, strict=True))
    known = dict(zip(first.outs, a.body.results, strict=False))
    stms: list[Let] = []
    forwarded = {
        s.outs[0]: known[s.exp.array]
        for s in b.body.stms
        if isinstance(s.exp, Index) and s.exp.array in known
    }
    rewriter = Rewriter({**subst, **forwarded}, fresh=False)
    for s in b.body.stms:
        if not (isinstance(s.exp, Index) and s.exp.array in known):
            stms.append(rewriter.let(s))
    body = Body((*a.body.stms, *stms), (*a.body.results, *rewriter.atoms(b.body.results)))
    m, n = len(a.body.results), len(b.body.results)
    outs = (*first.outs[:m], *second.outs[:n], *first.outs[m:], *second.outs[n:])
    return Let(outs, Each(a.vars, a.sizes, (*a.accs, *b.accs), body), first.loc or second.loc)
