"""A walk that rewrites a program statement by statement, by the facts that hold at each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from functools import partial

from tapeless.analysis.enter import after, entered
from tapeless.analysis.facts import Facts
from tapeless.ir.syntax import Body, Exp, Fun, Let
from tapeless.ir.walk import LEAVES, bodies_of, map_bodies

NONE = -1


class FactsRewriter(ABC):
    """Bodies inside a statement are rewritten before it. `changed`: whether anything was.

    The walk goes only as far as there are statements of concern, since facts take longer to learn
    than anything else does here. `last`: the number of the last one of each body, or of the last
    one with one inside."""

    def __init__(self) -> None:
        self.facts = Facts()
        self.changed = False
        self.last: dict[int, int] = {}

    def run(self, fun: Fun) -> Fun:
        if self.scan(fun.body) == NONE:
            return fun
        self.facts.params(fun.params)
        body = self.body(fun.body)
        return replace(fun, body=body) if self.changed else fun

    @abstractmethod
    def concerns(self, exp: Exp) -> bool:
        """Whether a statement of `exp`, which has bodies, may be rewritten."""

    def scan(self, body: Body) -> int:
        last = NONE
        for k, stm in enumerate(body.stms):
            if type(stm.exp) not in LEAVES:
                inner = [self.scan(b) for b in bodies_of(stm.exp)]
                if self.concerns(stm.exp) or max(inner) != NONE:
                    last = k
        self.last[id(body)] = last
        return last

    def body(self, body: Body) -> Body:
        out: list[Let] = []
        end = self.last.get(id(body), len(body.stms)) + 1
        for stm in body.stms[:end]:
            exp = map_bodies(stm.exp, partial(self.inner, stm.exp))
            self.statement(Let(stm.outs, exp, stm.loc), out)
        out += body.stms[end:]
        return Body(tuple(out), body.results)

    def inner(self, exp: Exp, body: Body) -> Body:
        if self.last.get(id(body)) == NONE:
            return body
        with entered(self.facts, exp, body):
            return self.body(body)

    @abstractmethod
    def statement(self, stm: Let, out: list[Let]) -> None:
        """Emit what takes the place of `stm`, whose bodies are rewritten already."""

    def emit(self, stm: Let, out: list[Let]) -> None:
        after(self.facts, stm)
        out.append(stm)
