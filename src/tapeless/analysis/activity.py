"""Which variables a derivative touches: *varied* ones depend on what it is taken of, *useful* ones
influence what it is taken of; *active* is both.

One graph of dependence between float variables answers both questions, by reachability forward and
backward. Integers, bools, sizes and indices are no part of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tapeless.core.names import Atom, Var
from tapeless.ir.syntax import (
    Append,
    Body,
    Call,
    Each,
    Fold,
    Given,
    If,
    Index,
    Iverson,
    Let,
    Loop,
    Monoid,
    Prim,
    Put,
    Scan,
    Update,
    View,
)  # fmt: skip
from tapeless.ir.walk import atoms_of, bodies_of

FLAT_OPS = frozenset({"floor", "ceil", "trunc", "rint", "sign", "floordiv", "from_bits"})


class Dependence:
    """Edges from a float variable to those computed from it by differentiable steps."""

    def __init__(self, body: Body) -> None:
        self.after: dict[Var, set[Var]] = {}
        self.before: dict[Var, set[Var]] = {}
        self._body(body)

    def varied(self, start: Iterable[Var]) -> set[Var]:
        """All that depends on `start`."""
        return _reach(start, self.after)

    def useful(self, ends: Iterable[Atom]) -> set[Var]:
        """All that `ends` depend on."""
        return _reach((a for a in ends if isinstance(a, Var)), self.before)

    def _edge(self, source: Atom, target: Var) -> None:
        if isinstance(source, Var) and source.dtype.is_float and target.dtype.is_float:
            self.after.setdefault(source, set()).add(target)
            self.before.setdefault(target, set()).add(source)

    def _body(self, body: Body) -> None:
        for stm in body.stms:
            for source, target in steps(stm):
                self._edge(source, target)
            for inner in bodies_of(stm.exp):
                self._body(inner)


def steps(stm: Let) -> Iterator[tuple[Atom, Var]]:
    """(operand, result) pairs of one statement through which a derivative may flow; those of the
    statements in its bodies are not among them."""
    exp, outs = stm.exp, stm.outs
    match exp:
        case Prim(op, args):
            if op not in FLAT_OPS:
                yield from ((a, outs[0]) for a in args)
        case Index(array):
            yield array, outs[0]
        case Update(array, _, value) | Append(array, value):
            yield array, outs[0]
            yield value, outs[0]
        case If(_, then, orelse):
            yield from zip(then.results, outs, strict=True)
            yield from zip(orelse.results, outs, strict=True)
        case Iverson(_, body):
            yield from zip(body.results, outs, strict=True)
        case Loop(_, params, inits, body):
            yield from zip(inits, params, strict=True)
            yield from zip(body.results, params, strict=True)
            yield from zip(params, outs, strict=True)
        case Each():
            yield from _nest(exp, outs)
        case Fold(_, _, monoid, body) | Scan(_, _, monoid, body):
            yield from zip(body.results, monoid.right, strict=True)
            yield from _monoid(monoid, outs)
        case Put(targets, _, values):
            yield from zip(values, targets, strict=True)
        case Call(Given() as rule, args):
            sources = args[rule.outs : rule.outs + rule.wrt + rule.free]
            yield from ((a, o) for a in sources if not isinstance(a, View) for o in outs)
        case Call():
            yield from ((a, o) for a in atoms_of(exp) for o in outs)


def _nest(exp: Each, outs: tuple[Var, ...]) -> Iterator[tuple[Atom, Var]]:
    count = len(exp.body.results)
    yield from zip(exp.body.results, outs[:count], strict=True)
    at = count
    for acc in exp.accs:
        finals = outs[at : at + len(acc.vars)]
        at += len(acc.vars)
        yield from zip(acc.inits, acc.vars, strict=True)
        yield from zip(acc.vars, finals, strict=True)
        if isinstance(acc.op, Monoid):
            yield from zip(acc.vars, acc.op.right, strict=True)
            yield from _monoid(acc.op, finals)


def _monoid(monoid: Monoid, outs: tuple[Var, ...]) -> Iterator[tuple[Atom, Var]]:
    """Results become left operands of later combinations, and right ones in a tree."""
    yield from zip(monoid.neutral, outs, strict=True)
    for operands in (monoid.left, monoid.right, outs):
        yield from zip(monoid.body.results, operands, strict=True)


def _reach(start: Iterable[Var], edges: Mapping[Var, set[Var]]) -> set[Var]:
    found: set[Var] = set()
    front = [v for v in start if v.dtype.is_float]
    while front:
        var = front.pop()
        if var not in found:
            found.add(var)
            front.extend(edges.get(var, ()))
    return found


class Active(set[Var]):
    """Variables that have a cotangent; `unused`: those whose cotangent may be 0 because a choice
    leaves them unused."""

    def __init__(self, vars: Iterable[Var], unused: set[Var]) -> None:
        super().__init__(vars)
        self.unused = unused

    def follow(self, var: Var, new: Var) -> None:
        """`new` is `var` in a copy of the program."""
        if var in self:
            self.add(new)
        if var in self.unused:
            self.unused.add(new)


def active(body: Body, wrt: Iterable[Var], results: Iterable[Atom]) -> set[Var]:
    """Variables on some way from `wrt` to `results`."""
    graph = Dependence(body)
    return graph.varied(wrt) & graph.useful(results)
