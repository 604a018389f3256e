"""Core to a smaller Core, before storage is planned: what nests and loops can already say.

fold  i < n by op of e          ⇒  each (i < n) with (s = neutral by op) { put s <- e }
fold/scan of arrays             ⇒  loop with arrays in its state
sort  a[at]                     ⇒  a bottom-up merge sort of indices (`lower.sorting`)
"""

from __future__ import annotations

from dataclasses import replace

from tapeless.core.names import Atom, Var
from tapeless.core.types import INDEX
from tapeless.ir.build import Builder
from tapeless.ir.syntax import (
    PROVED,
    Acc,
    Alloc,
    Body,
    Each,
    Exp,
    Fold,
    For,
    Fun,
    Index,
    Let,
    Loop,
    Monoid,
    Put,
    Scan,
    Sort,
    Update,
)  # fmt: skip
from tapeless.ir.types_of import atom_of, lift
from tapeless.ir.walk import Rewriter, map_bodies
from tapeless.lower.sorting import merge_sort
from tapeless.lower.unroll import unroll


def desugar(fun: Fun) -> Fun:
    """`fun` without Fold, Sort, Scan of arrays, and sums of a few terms."""
    return replace(fun, body=unroll(_body(fun.body)))


def _body(body: Body) -> Body:
    stms: list[Let] = []
    for stm in body.stms:
        exp = map_bodies(stm.exp, _body)
        stms += _statement(Let(stm.outs, exp, stm.loc))
    return Body(tuple(stms), body.results)


def _statement(stm: Let) -> list[Let]:
    match stm.exp:
        case Fold(_, _, monoid, _) | Scan(_, _, monoid, _) if any(v.is_array for v in monoid.left):
            return _fold_of_arrays(stm, stm.exp)
        case Fold(var, size, monoid, body):
            return [Let(stm.outs, _fold_as_each(var, size, monoid, body, stm), stm.loc)]
        case Sort(array, at):
            b = Builder()
            b.loc = stm.loc
            merge_sort(b, array, at)
            *before, last = b.scopes[0]
            return [*before, Let((stm.outs[0], *last.outs[1:]), last.exp, last.loc)]
        case _:
            return [stm]


def _fold_as_each(var: Var, size: Atom, monoid: Monoid, body: Body, stm: Let) -> Each:
    accs = tuple(v.fresh() for v in monoid.left)
    put = Let((), Put(accs, (), body.results, ""), stm.loc)
    acc = Acc(accs, monoid.neutral, monoid)
    return Each((var,), (size,), (acc,), Body((*body.stms, put), ()))


def _fold_of_arrays(stm: Let, exp: Fold | Scan) -> list[Let]:
    """The operator on arrays, one element after the other."""
    m = exp.monoid
    join = Rewriter(dict(zip(m.right, exp.body.results, strict=True)), fresh=False).body(m.body)
    stms = (*exp.body.stms, *join.stms)
    if isinstance(exp, Fold):
        loop = Loop(For(exp.var, exp.size), m.left, m.neutral, Body(stms, join.results))
        return [Let(stm.outs, loop, stm.loc)]
    b = Builder()
    b.loc = stm.loc
    starts = [_empty(b, v, exp.size) for v in m.left]
    params = tuple(s.fresh() for s in starts)
    with b.scope() as inner:
        inner += stms
        nexts = tuple(_store(b, p, exp.var, r) for p, r in zip(params, join.results, strict=True))
        body = b.body((*join.results, *nexts))
    finals = tuple(v.fresh() for v in m.left)
    loop = Loop(For(exp.var, exp.size), (*m.left, *params), (*m.neutral, *starts), body)
    return [*b.scopes[0], Let((*finals, *stm.outs), loop, stm.loc)]


def _empty(b: Builder, element: Var, size: Atom) -> Var:
    shape = lift(element.type, (size,)).shape
    return b.one(Alloc("empty", element.dtype, tuple(map(atom_of, shape))), element.hint)


def _store(b: Builder, array: Var, at: Var, value: Atom) -> Var:
    """`array` with cell or row `at` replaced."""
    if not (isinstance(value, Var) and value.is_array):
        return b.one(Update(array, (at,), value, PROVED), array.hint)
    rank = len(value.shape)
    index = tuple(_index() for _ in range(rank))
    acc = array.fresh()
    with b.scope():
        element = b.one(Index(value, index, PROVED * rank))
        b.put(acc, (at, *index), element, PROVED * (rank + 1))
        body = b.body(())
    each: Exp = Each(index, tuple(map(atom_of, value.shape)), (Acc((acc,), (array,), "="),), body)
    return b.one(each, array.hint)


def _index() -> Var:
    """A new index variable."""
    return Var(INDEX, "i")
