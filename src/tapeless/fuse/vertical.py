"""Producers into consumers: an array that is made element by element to be read is not made.

    y = each (i < n) { return e(i) };  … y[k] …   ⇒   … e(k) …

if e has no effect, and each element is read at most once (by the dependence test), or costs next
to nothing. Slices, transposes and broadcasts vanish in the same way, as their index is composed.
What e reads must still be there: an array that is overwritten on the way keeps its producer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

from tapeless.analysis.accesses import Accesses
from tapeless.analysis.dependence import Dependence
from tapeless.analysis.enter import after, entered
from tapeless.analysis.facts import Facts
from tapeless.analysis.inplace import overwrites_safely
from tapeless.analysis.lastuse import Uses
from tapeless.analysis.mentions import Mentions
from tapeless.core.names import Atom, Var
from tapeless.core.types import Scalar
from tapeless.fuse.cost import cost, length
from tapeless.ir.effects import consumed, is_pure
from tapeless.ir.syntax import (
    Acc,
    Body,
    Each,
    Exp,
    Fun,
    Index,
    Let,
    all_proved,
)  # fmt: skip
from tapeless.ir.walk import Rewriter, bodies_of, free_vars, map_bodies, statements, type_vars, uses

REPEATABLE = 4  # cost of elements that may be computed at several reads
TRIVIAL = 1  # cost of elements that may be computed again in every pass of a loop
LONGEST = 300  # statements of a consumer


def run(fun: Fun) -> Fun:
    walk = _Fuser(fun)
    if not any(map(walk.producer, statements(fun.body))):
        return fun
    walk.facts.params(fun.params)
    body = walk.body(fun.body)
    return replace(fun, body=body) if walk.changed else fun


@dataclass(frozen=True, slots=True, eq=False)
class _Producer:
    outs: tuple[Var, ...]
    nest: Each
    reads: frozenset[Var]


class _Fuser:
    def __init__(self, fun: Fun) -> None:
        self.facts = Facts()
        self.uses = Uses()
        self.mentions = Mentions()
        self.changed = False
        self.counts = Counter(a for a in uses(fun.body) if isinstance(a, Var))
        self.reads = Counter(
            s.exp.array
            for s in statements(fun.body)
            if isinstance(s.exp, Index) and all_proved(s.exp.modes)
        )

    def body(self, body: Body) -> Body:
        stms = list(body.stms)
        k = 0
        while k < len(stms):
            producer = self.producer(stms[k])
            if producer is not None and self.fusable(producer, stms[k + 1 :]):
                rewritten = _Inline(producer, self.mentions).body(
                    Body(tuple(stms[k + 1 :]), body.results)
                )
                stms[k:], body = list(rewritten.stms), rewritten
                self.changed = True
                continue
            stm = stms[k]
            if bodies_of(stm.exp):
                exp = map_bodies(stm.exp, partial(self.inner, stm.exp))
                stms[k] = stm = Let(stm.outs, exp, stm.loc)
            after(self.facts, stm)
            k += 1
        return Body(tuple(stms), body.results)

    def inner(self, exp: Exp, body: Body) -> Body:
        with entered(self.facts, exp, body):
            return self.body(body)

    def producer(self, stm: Let) -> _Producer | None:
        """A pure map to scalars whose results are only read, at indices in range."""
        exp = stm.exp
        if not isinstance(exp, Each) or exp.accs or not is_pure(exp.body):
            return None
        if any(self.counts[o] != self.reads[o] or not self.reads[o] for o in stm.outs):
            return None
        if not all(isinstance(r.type, Scalar) for r in exp.body.results):
            return None
        if len(exp.vars) > 1 and any(isinstance(s.exp, Each) for s in exp.body.stms):
            return None  # a contraction stays whole
        reads = frozenset(v for v in free_vars(exp.body) if v.is_array)
        return _Producer(stm.outs, exp, reads)

    def fusable(self, producer: _Producer, rest: list[Let]) -> bool:
        users = [k for k, s in enumerate(rest) if not self.uses.of(s.exp).isdisjoint(producer.outs)]
        if not users or not self.inputs_live(producer, rest, users):
            return False
        price = cost(producer.nest.body)
        sites = sum(self.reads[o] for o in producer.outs)
        size = length(producer.nest.body) * sites
        if size + max(length_of(rest[k].exp) for k in users) > LONGEST:
            return False
        if price <= TRIVIAL:
            return True
        cheap = max(map(cost, results_of(producer.nest.body))) <= REPEATABLE
        if cheap and sites <= REPEATABLE * len(producer.outs):
            return self.wanted_once(producer, rest, at_each_site=True)
        return self.one_place(producer, rest) and self.wanted_once(producer, rest)

    def one_place(self, producer: _Producer, rest: list[Let]) -> bool:
        """Several results are made together only if they are read together."""
        if len(producer.outs) == 1:
            return True
        at: set[tuple[Atom, ...]] = set()
        homes = 0
        for k in statements_with(rest, producer.outs):
            homes += 1
            at |= k
        return homes == 1 and len(at) == 1

    def wanted_once(
        self, producer: _Producer, rest: list[Let], *, at_each_site: bool = False
    ) -> bool:
        """Whether no cell of any result is read twice, taking reads as writes."""
        facts = self.facts
        for out in producer.outs:
            mark = facts.mark()
            found = Accesses(facts, self.mentions, mark, out)
            complete = found.body(Body(tuple(rest), ()), (), ())
            facts.undo(mark)
            reads = [replace(a, writes=True) for a in found.accesses]
            groups = [[a] for a in reads] if at_each_site else [reads]
            if not complete or not all(map(Dependence(facts).independent, groups)):
                return False
        return True

    def inputs_live(self, producer: _Producer, rest: list[Let], users: list[int]) -> bool:
        """Whether nothing on the way to the last reader overwrites what the producer reads."""
        for k, stm in enumerate(rest[: users[-1] + 1]):
            taken = consumed(stm.exp) & producer.reads
            if not taken:
                continue
            exp = stm.exp
            if k != users[-1] or not isinstance(exp, Each) or len(taken) > 1:
                return False
            nest = _Inline(producer, self.mentions).exp(exp)
            assert isinstance(nest, Each)
            acc = next(a for a in nest.accs if taken.intersection(a.inits))
            if acc.op != "=" or not self.safe(rest[:k], nest, acc):
                return False
        return True

    def safe(self, before: list[Let], nest: Each, acc: Acc) -> bool:
        with self.facts.scope():
            for stm in before:
                after(self.facts, stm)
            return overwrites_safely(self.facts, nest, acc)


def results_of(body: Body) -> Iterator[Body]:
    """What makes each of the results alone."""
    for result in body.results:
        needed: set[Atom] = {result}
        stms: list[Let] = []
        for stm in reversed(body.stms):
            if not needed.isdisjoint(stm.outs):
                needed.update(uses(Body((stm,), ())))
                stms.insert(0, stm)
        yield Body(tuple(stms), (result,))


def length_of(exp: Exp) -> int:
    return sum(map(length, bodies_of(exp)))


def statements_with(
    stms: list[Let] | tuple[Let, ...], arrays: tuple[Var, ...]
) -> list[set[tuple[Atom, ...]]]:
    """For each body with reads of `arrays`, the indices that are read there."""
    here = {s.exp.at for s in stms if isinstance(s.exp, Index) and s.exp.array in arrays}
    out = [here] if here else []
    for stm in stms:
        for body in bodies_of(stm.exp):
            out += statements_with(body.stms, arrays)
    return out


class _Inline(Rewriter):
    """Reads of the producer's arrays become its body at their indices."""

    def __init__(self, producer: _Producer, mentions: Mentions) -> None:
        super().__init__(fresh=False)
        self.producer = producer
        self.mentions = mentions

    def body(self, body: Body) -> Body:
        stms: list[Let] = []
        made: dict[tuple[Atom, ...], tuple[Atom, ...]] = {}
        for stm in body.stms:
            stms += self.expanded(stm, made)
        return Body(tuple(stms), self.atoms(body.results))

    def expanded(self, stm: Let, made: dict[tuple[Atom, ...], tuple[Atom, ...]]) -> list[Let]:
        exp = stm.exp
        if not isinstance(exp, Index) or exp.array not in self.producer.outs:
            sizes = (v for o in stm.outs for v in type_vars(o.type))
            mentioned = self.mentions.of(exp).union(sizes)
            untouched = mentioned.isdisjoint(self.map) and mentioned.isdisjoint(self.producer.outs)
            return [stm if untouched else self.let(stm)]
        at = self.atoms(exp.at)
        stms: list[Let] = []
        if at not in made:
            nest = self.producer.nest
            copy = Rewriter(dict(zip(nest.vars, at, strict=True))).body(nest.body)
            stms += copy.stms
            made[at] = copy.results
        self.map[stm.outs[0]] = made[at][self.producer.outs.index(exp.array)]
        return stms
