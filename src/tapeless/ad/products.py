"""Products are taken apart by whether there is a zero among their factors.

    each i with (y *= y₀) { put y <- e }
      ⇒  p, z = each i with (p *= y₀, z += 0) { put p <- e; put z <- (1 if e = 0 else 0) }
          y = p if z = 0 else (the product in sequence)

Without zeros the derivative is a division, to every order; a product in sequence never divides.
"""

from __future__ import annotations

from dataclasses import replace

from tapeless.ad.selections import find_sites, with_put
from tapeless.ad.sequential import in_sequence
from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import INDEX
from tapeless.ir.build import ONE, ZERO, Builder
from tapeless.ir.syntax import PROVED, Acc, Body, Each, If, Index, Let, Put
from tapeless.ir.types_of import atom_of
from tapeless.ir.walk import map_bodies, refresh


def products_by_zeros(stm: Let) -> list[Let]:
    if not isinstance(stm.exp, Each):
        return [stm]
    lets, outs, at = [stm], stm.outs, len(stm.exp.body.results)
    for acc in stm.exp.accs:
        if acc.op == "*" and acc.vars[0].dtype.is_float and find_sites(stm.exp, acc) is not None:
            lets = _apart(lets, stm.exp, acc, outs[at])
        at += len(acc.vars)
    return lets


def _apart(lets: list[Let], whole: Each, acc: Acc, out: Var) -> list[Let]:
    """`lets`, the first of which is a nest with `acc`, that binds `out`."""
    nest, *rest = lets
    assert isinstance(nest.exp, Each)
    fast, count, zeros = out.fresh(), Var(INDEX, "zeros"), Var(INDEX, "zeros")
    exp = _counting(nest.exp, acc.vars[0], count)
    outs = (*(fast if o is out else o for o in nest.outs), zeros)
    b = Builder()
    b.loc = nest.loc
    with b.scope() as after:
        none = b.prim("eq", b.prim("add", zeros, _zeros_at_start(b, acc)), ZERO)
        with b.scope():
            (slow,) = in_sequence(b, _alone(whole, acc))
            orelse = b.body((slow,))
        b.scopes[-1].append(Let((out,), If(none, Body((), (fast,)), orelse), nest.loc))
    return [Let(outs, exp, nest.loc), *after, *rest]


def _counting(exp: Each, var: Var, count: Var) -> Each:
    """The nest that also counts the zeros that it puts to `var`."""

    def counted(body: Body) -> Body:
        stms: list[Let] = []
        for stm in body.stms:
            stms.append(replace(stm, exp=map_bodies(stm.exp, counted)))
            if isinstance(stm.exp, Put) and stm.exp.targets[0] is var:
                b = Builder()
                b.put(count, (), _is_zero(b, stm.exp.values[0]), "")
                stms += b.scopes[0]
        return Body(tuple(stms), body.results)

    return replace(exp, accs=(*exp.accs, Acc((count,), (ZERO,), "+")), body=counted(exp.body))


def _is_zero(b: Builder, value: Atom) -> Atom:
    return b.prim("select", b.prim("eq", value, Const(0.0, value.dtype)), ONE, ZERO)


def _zeros_at_start(b: Builder, acc: Acc) -> Atom:
    (init,) = acc.inits
    if not isinstance(init, Var) or not init.is_array:
        return _is_zero(b, init)
    vars = tuple(Var(INDEX, "k") for _ in init.shape)
    total = Var(INDEX, "zeros")
    with b.scope():
        value = b.one(Index(init, vars, PROVED * len(vars)), init.hint)
        b.put(total, (), _is_zero(b, value), "")
        body = b.body(())
    return b.one(Each(vars, tuple(map(atom_of, init.shape)), (Acc((total,), (ZERO,), "+"),), body))


def _alone(exp: Each, acc: Acc) -> Each:
    """A copy of the nest for one accumulator."""
    body = with_put(exp.body, acc.vars[0], exp.vars, lambda put, _: [Let((), put)])
    whole = Each(exp.vars, exp.sizes, (acc,), Body(body.stms, ()))
    copy = refresh(Body((Let((Var(acc.vars[0].type, "y"),), whole),), ()))
    (stm,) = copy.stms
    assert isinstance(stm.exp, Each)
    return stm.exp
