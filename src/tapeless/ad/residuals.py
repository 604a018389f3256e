"""What a pass of a nest keeps for its return sweep.

    y = each i { t = dear(xᵢ); … }, …, x̄ = each i { t = dear(xᵢ); … }   ⇒
    y, ts = each i { t = dear(xᵢ); …, t }, …, x̄ = each i { t = tsᵢ; … }

Else innermost code would run once more for each nest around it. Inside a pass of another nest, what
is kept lives as long as that pass, so that it stays in the cache; elsewhere only numbers are kept
that a loop has made. What the return sweep does not read, or only for something else that is kept,
goes as dead code. What is cheap is computed again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tapeless.ad.tree import Plain
from tapeless.core.names import Atom, Var
from tapeless.core.prims import MATH_FLOPS, OPS
from tapeless.core.types import INDEX, Scalar
from tapeless.ir.effects import is_pure_exp
from tapeless.ir.syntax import (
    PROVED,
    Body,
    Call,
    Each,
    Fold,
    If,
    Index,
    Iverson,
    Let,
    Loop,
    Prim,
    Scan,
    Sort,
)  # fmt: skip
from tapeless.ir.types_of import atom_of, lift
from tapeless.ir.walk import bodies_of, bound, type_vars

DEAR = MATH_FLOPS  # operations for one value from which on keeping it costs less


def with_kept(
    item: Plain, copies: Mapping[Var, Atom], vars: tuple[Var, ...], body: Body, *, inside: bool
) -> Body:
    """`body`, which runs the nest of `item` again at `vars`, with what the forward nest is made to
    keep for it. `copies`: of variables of the forward sweep in `body`; `inside`: whether this is in
    a pass of another nest."""
    exp = nest_of(item)
    own = bound(exp.body)
    originals = {
        copies[v]: v for stm in exp.body.stms for v in stm.outs
        if v in copies and (inside or not v.is_array) and own.isdisjoint(type_vars(v.type))
    }  # fmt: skip
    stms: list[Let] = []
    for stm in body.stms:
        dear = [o for o in dear_results(stm) if o in originals]
        if not inside and isinstance(stm.exp, Prim):
            dear = []
        if len(dear) < len(stm.outs) and not isinstance(stm.exp, Each):
            dear = []
        if len(dear) < len(stm.outs) or not dear or not is_pure_exp(stm.exp):
            stms.append(replace(stm, outs=tuple(o.fresh() if o in dear else o for o in stm.outs)))
        stms += (_read(o, home_of(item, originals[o]), vars) for o in dear)
    return Body(tuple(stms), body.results)


def nest_of(item: Plain) -> Each:
    assert item.let is not None
    assert isinstance(item.let.exp, Each)
    return item.let.exp


def home_of(item: Plain, var: Var) -> Var:
    """Where the nest of `item` keeps the values that `var` has in its passes."""
    home, let, exp = item.kept.get(var), item.let, nest_of(item)
    if home is None and let is not None:
        home = item.kept[var] = Var(lift(var.type, exp.sizes), var.hint)
        count = len(exp.body.results)
        body = replace(exp.body, results=(*exp.body.results, var))
        outs = (*let.outs[:count], home, *let.outs[count:])
        item.let = Let(outs, replace(exp, body=body), let.loc)
    assert home is not None
    return home


def is_dear(exp: Each, atom: Atom) -> bool:
    """Whether a value of a pass is worth keeping."""
    return any(atom in dear_results(stm) for stm in exp.body.stms)


def dear_results(stm: Let) -> tuple[Var, ...]:
    """What is worth keeping of the results of a statement: all or nothing but of nests."""
    match stm.exp:
        case Prim() | If() | Iverson():
            return stm.outs if _is_dear(stm) else ()
        case Loop() | Fold() | Scan() | Call() | Sort():
            return stm.outs
        case Each(_, _, accs, body):
            rows = any(map(_is_dear, body.stms))
            sums = ((acc.op != "=" and not v.is_array) or rows for acc in accs for v in acc.vars)
            picks = (*(rows for _ in body.results), *sums)
            return tuple(o for o, dear in zip(stm.outs, picks, strict=True) if dear)
        case _:
            return ()


def _is_dear(stm: Let) -> bool:
    exp = stm.exp
    if isinstance(exp, Prim):
        return OPS[exp.op].flops >= DEAR
    return isinstance(exp, Loop | Fold | Scan | Call | Sort) or any(
        map(_is_dear, (s for body in bodies_of(exp) for s in body.stms))
    )


def _read(out: Var, home: Var, at: tuple[Var, ...]) -> Let:
    """What was kept in the pass `at`."""
    if not out.is_array:
        return Let((out,), Index(home, at, PROVED * len(at)))
    inner, cell = tuple(Var(INDEX, "k") for _ in out.shape), Var(Scalar(out.dtype), out.hint)
    read = Index(home, (*at, *inner), PROVED * (len(at) + len(inner)))
    row = Body((Let((cell,), read),), (cell,))
    return Let((out,), Each(inner, tuple(map(atom_of, out.shape)), (), row))
