"""Neighbours over the same box become one nest, if they read the same arrays or one reads the
other's elements at its own index.

    y = each (i < n) { return e }; s = each (j < n) with (a += 0) { x = y[j]; put a <- x }
      ⇒  y, s = each (i < n) with (a += 0) { put a <- e; return e }

The later one moves up to the earlier one, or the earlier down, past statements that do not mind.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from tapeless.analysis.lastuse import Uses
from tapeless.analysis.mentions import Mentions
from tapeless.core.names import Var
from tapeless.fuse.cost import length
from tapeless.ir.effects import consumed, is_pure_exp
from tapeless.ir.sizes import Sizes
from tapeless.ir.syntax import Body, Check, Each, Exp, Fun, If, Index, Iverson, Let, Prim
from tapeless.ir.types_of import size_of
from tapeless.ir.walk import Rewriter, bodies_of, map_bodies, statements, type_vars

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
        self.mentions = Mentions()
        self.known: dict[int, tuple[Exp, _Traits]] = {}
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
        if not isinstance(later, Each) or self.traits(later).has_nests:
            return
        between = _Between()
        for p in range(q - 1, -1, -1):
            earlier = stms[p].exp
            if isinstance(earlier, Each) and self.alike(earlier, later):
                moves_down = self.place(stms[p], stms[q], between)
                if moves_down is not None and self.mergeable(stms[p], stms[q]):
                    stms[q if moves_down else p] = merged(stms[p], stms[q])
                    del stms[p if moves_down else q]
                    self.changed = True
                    return
            between.add(stms[p], self.traits(earlier))

    def traits(self, exp: Exp) -> _Traits:
        known = self.known.get(id(exp))
        if known is None:
            known = self.known[id(exp)] = exp, self._traits(exp)
        return known[1]

    def _traits(self, exp: Exp) -> _Traits:
        taken = frozenset(v for v in consumed(exp) if isinstance(v, Var))
        has_nests, size = False, 0
        if isinstance(exp, Each):
            has_nests, size = _has_nests(exp), length(exp.body)
        mentions, reads = self.mentions.of(exp), self.uses.of(exp)
        return _Traits(mentions, reads, taken, is_pure_exp(exp), has_nests, size)

    def alike(self, a: Each, b: Each) -> bool:
        first, second = self.traits(a), self.traits(b)
        if len(a.sizes) != len(b.sizes) or first.has_nests:
            return False
        if first.length + second.length > LONGEST:
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
        reads_a, reads_b = self.traits(a).reads, self.traits(b).reads
        if self.traits(a).taken & reads_b or self.traits(b).taken & reads_a:
            return False
        taken = {i for acc in b.accs for i in acc.inits}
        forwarded = reads_b.intersection(first.outs[: len(a.body.results)]) - taken
        if set(first.outs) & (self.traits(b).mentions - forwarded):
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

    def place(self, first: Let, second: Let, between: _Between) -> bool | None:
        """Where both can stand: where the first is (False), if the second can move up; where the
        second is (True), if the first can move down. Nothing moves up past a check, on which its
        indices may rely."""
        a, b = self.traits(first.exp), self.traits(second.exp)
        needed = b.mentions.union(*(type_vars(o.type) for o in second.outs))
        if (
            between.is_pure
            and b.is_pure
            and between.made.isdisjoint(needed)
            and b.taken.isdisjoint(between.reads)
        ):
            return False
        if a.is_pure and between.mentions.isdisjoint(first.outs):
            return True if between.taken.isdisjoint(a.reads) else None
        return None


@dataclass(frozen=True, slots=True)
class _Traits:
    """Of one expression: variables it mentions, arrays it reads and consumes, whether it is pure;
    of a nest, whether there are nests inside, and how long its body is."""

    mentions: frozenset[Var]
    reads: frozenset[Var]
    taken: frozenset[Var]
    is_pure: bool
    has_nests: bool
    length: int


class _Between:
    """The same of the statements between two, which become more and more."""

    def __init__(self) -> None:
        self.made: set[Var] = set()
        self.mentions: set[Var] = set()
        self.reads: set[Var] = set()
        self.taken: set[Var] = set()
        self.is_pure = True

    def add(self, stm: Let, traits: _Traits) -> None:
        self.made.update(stm.outs)
        self.mentions |= traits.mentions
        self.reads |= traits.reads
        self.taken |= traits.taken
        self.is_pure = self.is_pure and traits.is_pure


def _has_nests(exp: Each) -> bool:
    return any(bodies_of(s.exp) and not _is_branch(s.exp) for s in statements(exp.body))


def _is_branch(exp: Exp) -> bool:
    return type(exp).__name__ in ("If", "Iverson")


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
