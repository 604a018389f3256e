"""A walk that rewrites a program statement by statement, by the facts that hold at each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from functools import partial

from tapeless.analysis.enter import after, entered
from tapeless.analysis.facts import Facts
from tapeless.ir.syntax import Body, Exp, Fun, Let
from tapeless.ir.walk import map_bodies


class FactsRewriter(ABC):
    """Bodies inside a statement are rewritten before it. `changed`: whether anything was."""

    def __init__(self) -> None:
        self.facts = Facts()
        self.changed = False

    def run(self, fun: Fun) -> Fun:
        self.facts.params(fun.params)
        body = self.body(fun.body)
        return replace(fun, body=body) if self.changed else fun

    def body(self, body: Body) -> Body:
        out: list[Let] = []
        for stm in body.stms:
            exp = map_bodies(stm.exp, partial(self.inner, stm.exp))
            self.statement(Let(stm.outs, exp, stm.loc), out)
        return Body(tuple(out), body.results)

    def inner(self, exp: Exp, body: Body) -> Body:
        with entered(self.facts, exp, body):
            return self.body(body)

    @abstractmethod
    def statement(self, stm: Let, out: list[Let]) -> None:
        """Emit what takes the place of `stm`, whose bodies are rewritten already."""

    def emit(self, stm: Let, out: list[Let]) -> None:
        after(self.facts, stm)
        out.append(stm)
