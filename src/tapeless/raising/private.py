"""Scratch arrays that a loop passes on although every pass writes them anew belong to one pass.

    loop (z = z₀) for i < n { y = each (r < m) with (p = z) { put p[r] <- e }; … return y }
      ⇒  loop for i < n { z = empty; y = each (r < m) with (p = z) { put p[r] <- e }; … }

where the array has m cells and nobody looks at what it holds before: it is only written, or handed
on to places where it is only written. The state dies with that (`simplify.dead`), so that passes
may be independent.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from tapeless.analysis.enter import after, entered
from tapeless.analysis.facts import Facts
from tapeless.analysis.rewriter import FactsRewriter
from tapeless.core.names import Atom, Var
from tapeless.ir.syntax import (
    Acc,
    Alloc,
    Body,
    Each,
    Fun,
    If,
    Let,
    Loop,
    Put,
    Update,
    all_proved,
)
from tapeless.ir.types_of import atom_of
from tapeless.ir.walk import atoms_of, bodies_of, free_vars, statements


def run(fun: Fun) -> Fun:
    if not any(isinstance(s.exp, Loop) for s in statements(fun.body)):
        return fun
    return _Private(Seen(fun)).run(fun)


class Seen:
    """Which arrays' contents may be looked at: `flows[v]` are those that hold what v held."""

    def __init__(self, fun: Fun) -> None:
        self.facts = Facts()
        self.facts.params(fun.params)
        self.flows: dict[Var, set[Var]] = defaultdict(set)
        self.read: set[Var] = set()
        self.filled: set[Var] = set()  # accumulators that overwrite all that they start from
        self.look(fun.body.results)
        self.body(fun.body)
        self.close()

    def __contains__(self, array: Var) -> bool:
        return array in self.read

    def look(self, atoms: tuple[Atom, ...]) -> None:
        self.read.update(a for a in atoms if isinstance(a, Var) and a.is_array)

    def flow(self, source: Atom, *to: Var) -> None:
        if isinstance(source, Var) and source.is_array:
            self.flows[source].update(to)

    def close(self) -> None:
        """What holds the same as something that is read is read."""
        sources: dict[Var, list[Var]] = defaultdict(list)
        for source, targets in self.flows.items():
            for target in targets:
                sources[target].append(source)
        todo = list(self.read)
        while todo:
            for source in sources[todo.pop()]:
                if source not in self.read:
                    self.read.add(source)
                    todo.append(source)

    def body(self, body: Body) -> None:
        for stm in body.stms:
            self.statement(stm)
            for inner in bodies_of(stm.exp):
                with entered(self.facts, stm.exp, inner):
                    self.body(inner)
            after(self.facts, stm)

    def statement(self, stm: Let) -> None:
        exp = stm.exp
        match exp:
            case Update(array, at, value):
                self.flow(array, stm.outs[0])
                self.look((*at, value))
            case Put(_, at, values):
                self.look((*at, *values))
            case Loop(_, params, inits, body):
                for param, init, result, out in zip(
                    params, inits, body.results, stm.outs, strict=True
                ):
                    self.flow(init, param, out)
                    self.flow(result, param, out)
            case If(_, then, orelse):
                for out, one, two in zip(stm.outs, then.results, orelse.results, strict=True):
                    self.flow(one, out)
                    self.flow(two, out)
            case Each():
                self.nest(stm, exp)
            case _:
                self.look(tuple(atoms_of(exp)))
                for body in bodies_of(exp):
                    self.look(body.results)

    def nest(self, stm: Let, exp: Each) -> None:
        self.look(exp.body.results)
        at = len(exp.body.results)
        for acc in exp.accs:
            if fills(self.facts, exp, acc):
                self.filled.add(acc.vars[0])
            else:
                for init, var, out in zip(acc.inits, acc.vars, stm.outs[at:], strict=False):
                    self.flow(init, var, out)
            at += len(acc.vars)


def fills(facts: Facts, exp: Each, acc: Acc) -> bool:
    """Whether each cell of the accumulator is assigned, and nothing looks at what it held."""
    (var, *_), (init, *_) = acc.vars, acc.inits
    if acc.op != "=" or init in free_vars(exp.body):
        return False
    puts = [s.exp for s in statements(exp.body) if isinstance(s.exp, Put) and var in s.exp.targets]
    top = {id(s.exp) for s in exp.body.stms}
    if len(puts) != 1 or puts[0].at != exp.vars or id(puts[0]) not in top:
        return False
    whole = all(facts.same(n, s) for n, s in zip(exp.sizes, var.shape, strict=True))
    return whole and all_proved(puts[0].modes)


class _Private(FactsRewriter):
    def __init__(self, seen: Seen) -> None:
        super().__init__()
        self.seen = seen

    def statement(self, stm: Let, out: list[Let]) -> None:
        exp = stm.exp
        if isinstance(exp, Each) and exp.accs:
            exp = replace(exp, accs=tuple(self.own(acc, stm, out) for acc in exp.accs))
            stm = Let(stm.outs, exp, stm.loc)
        self.emit(stm, out)

    def own(self, acc: Acc, stm: Let, out: list[Let]) -> Acc:
        """The accumulator, in memory of its own if what it starts from is of no interest."""
        init, var = acc.inits[0], acc.vars[0]
        if var not in self.seen.filled or not isinstance(init, Var) or init in self.seen:
            return acc
        if isinstance(self.facts.defs.get(init), Alloc):
            return acc
        self.changed = True
        fresh = init.fresh()
        alloc = Let((fresh,), Alloc("empty", init.dtype, tuple(map(atom_of, init.shape))), stm.loc)
        after(self.facts, alloc)
        out.append(alloc)
        return replace(acc, inits=(fresh,))
