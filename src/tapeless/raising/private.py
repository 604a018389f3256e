"""Scratch arrays that a loop passes on although no pass looks at them belong to one pass.

    loop (z = z₀) for i < n { … z₁ = z with … ; … z₁[k] …; return z₁ }
      ⇒  loop for i < n { z = empty; … z₁ = z with …; … z₁[k] … }

where every cell is written in a pass before it is read there, and nobody reads the last contents.
Then the passes may be independent.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from tapeless.analysis.enter import entered
from tapeless.analysis.filled import scratch
from tapeless.analysis.rewriter import FactsRewriter
from tapeless.core.names import Var
from tapeless.ir.syntax import Alloc, Body, Exp, Fun, Let, Loop
from tapeless.ir.types_of import atom_of
from tapeless.ir.walk import type_vars, uses


def run(fun: Fun) -> Fun:
    return _Private(fun).run(fun)


class _Private(FactsRewriter):
    def __init__(self, fun: Fun) -> None:
        super().__init__()
        self.used = Counter(a for a in uses(fun.body) if isinstance(a, Var))

    def concerns(self, exp: Exp) -> bool:
        return isinstance(exp, Loop)

    def statement(self, stm: Let, out: list[Let]) -> None:
        self.emit(self.loop(stm, stm.exp) if isinstance(stm.exp, Loop) else stm, out)

    def loop(self, stm: Let, loop: Loop) -> Let:
        """The loop without state that is scratch."""
        sized = set(loop.params)
        dead = [
            p for p, out in zip(loop.params, stm.outs, strict=True)
            if p.is_array and not self.used[out] and sized.isdisjoint(type_vars(p.type))
        ]  # fmt: skip
        if not dead:
            return stm
        with entered(self.facts, loop, loop.body):
            found = scratch(self.facts, loop, dead)
        if not found:
            return stm
        self.changed = True
        allocs = tuple(
            Let((p,), Alloc("empty", p.dtype, tuple(map(atom_of, p.shape))), stm.loc)
            for p in loop.params
            if p in found
        )
        keep = [k for k, p in enumerate(loop.params) if p not in found]
        results = tuple(loop.body.results[k] for k in keep)
        new = replace(
            loop,
            params=tuple(loop.params[k] for k in keep),
            inits=tuple(loop.inits[k] for k in keep),
            body=Body((*allocs, *loop.body.stms), results),
        )
        return Let(tuple(stm.outs[k] for k in keep), new, stm.loc)
