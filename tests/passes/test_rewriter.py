"""The walk by facts goes only as far as there is something that a pass may rewrite."""

from __future__ import annotations

from tapeless.analysis.rewriter import FactsRewriter
from tapeless.ir.parse import parse
from tapeless.ir.print import show
from tapeless.ir.syntax import Each, Exp, Fold, Let, Loop

PROGRAM = """
fun f(n: i64, x: f64[n]) {
  a: f64[n] = each (i < n) {
    v: f64 = x[i]
    w: f64 = v * v
    return w
  }
  b: f64 = loop (s: f64 = 0.0) for j < n {
    u: f64 = a[j]
    t: f64 = s + u
    return t
  }
  c: f64[n] = each (k < n) {
    p: f64 = x[k]
    q: f64 = p + b
    return q
  }
  d: f64 = exp(b)
  return c, d
}
"""


class Visits(FactsRewriter):
    def __init__(self, kind: type[Exp]) -> None:
        super().__init__()
        self.kind = kind
        self.seen: list[str] = []

    def concerns(self, exp: Exp) -> bool:
        return isinstance(exp, self.kind)

    def statement(self, stm: Let, out: list[Let]) -> None:
        self.seen += [v.hint for v in stm.outs]
        self.emit(stm, out)


def visits(kind: type[Exp]) -> list[str]:
    """The statements that a walk concerned with `kind` comes to; it gives back
    the program."""
    fun = parse(PROGRAM)
    walk = Visits(kind)
    assert walk.run(fun) is fun
    seen = list(walk.seen)
    walk.changed = True
    assert show(walk.run(fun)) == show(fun)
    return seen


def test_the_walk_ends_at_the_last_statement_of_concern():
    assert visits(Loop) == ["a", "b"]
    assert visits(Each) == ["a", "b", "c"]


def test_what_has_nothing_of_concern_is_not_walked():
    assert visits(Fold) == []
