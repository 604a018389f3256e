"""Folds and scans by operators of the user, before a program is differentiated in reverse.

What selects one operand is a nest. Of all others the elements are made first, in parallel; what is
left is the operator alone, in sequence: s = s ⊕ eᵢ, whose return sweep is the linear recurrence

    s̄ᵢ₋₁ += ∂₁(sᵢ₋₁ ⊕ eᵢ)ᵀ·s̄ᵢ;   ēᵢ = ∂₂(sᵢ₋₁ ⊕ eᵢ)ᵀ·s̄ᵢ

so that the derivative of the elements is a nest again.
"""

from __future__ import annotations

from dataclasses import replace

from tapeless.ad.selections import selection
from tapeless.ad.sequential import stored
from tapeless.core.names import Atom, Var
from tapeless.ir.syntax import (
    PROVED,
    Acc,
    Alloc,
    Body,
    Each,
    Fold,
    For,
    Index,
    Let,
    Loop,
    Monoid,
    Put,
    Scan,
    all_proved,
)  # fmt: skip
from tapeless.ir.types_of import atom_of, lift
from tapeless.ir.walk import refresh


def folds_as_nests(stm: Let) -> list[Let]:
    """fold i < n by ⊕ of e  becomes  each i < n with (a by ⊕) { put a <- e }  if ⊕ selects."""
    match stm.exp:
        case Fold(var, size, monoid, body) if selection(monoid) is not None:
            accs = tuple(v.fresh() for v in monoid.left)
            put = Let((), Put(accs, (), body.results, ""), stm.loc)
            nest = Body((*body.stms, put), ())
            exp = Each((var,), (size,), (Acc(accs, monoid.neutral, monoid),), nest)
            return [replace(stm, exp=exp)]
        case _:
            return [stm]


def elements_apart(stm: Let) -> list[Let]:
    """fold i < n by ⊕ of f(i)  becomes  e = each i < n: f(i);  fold i < n by ⊕ of e[i]"""
    exp = stm.exp
    if not isinstance(exp, Fold | Scan) or not _is_worth_it(exp):
        return [stm]
    made = tuple(Var(lift(r.type, (exp.size,)), "element") for r in exp.body.results)
    nest = Each((exp.var,), (exp.size,), (), exp.body)
    at = exp.var.fresh()
    cells = tuple(Var(r.type, "element") for r in exp.body.results)
    reads = tuple(
        Let((c,), Index(array, (at,), PROVED), stm.loc)
        for c, array in zip(cells, made, strict=True)
    )
    fold = type(exp)(at, exp.size, exp.monoid, Body(reads, cells))
    return [Let(made, nest, stm.loc), Let(stm.outs, fold, stm.loc)]


def _is_worth_it(exp: Fold | Scan) -> bool:
    """Whether elements are floats that are computed, and not only read."""
    scalars = not any(v.is_array for v in exp.monoid.left)
    is_read = all(isinstance(s.exp, Index) and all_proved(s.exp.modes) for s in exp.body.stms)
    return scalars and not is_read and any(r.dtype.is_float for r in exp.body.results)


def folds_as_loops(stm: Let) -> list[Let]:
    """fold i < n by ⊕ of e  becomes  a = e⁰; for i < n: a = a ⊕ e(i); a scan stores each a."""
    match stm.exp:
        case Fold(var, size, monoid, body):
            params = tuple(v.fresh() for v in monoid.left)
            stms, results = _combined(monoid, params, body)
            loop = Loop(For(var, size), params, monoid.neutral, Body(stms, results))
            return [replace(stm, exp=loop)]
        case Scan():
            return _scan_as_loop(stm, stm.exp)
        case _:
            return [stm]


def _combined(
    monoid: Monoid, params: tuple[Var, ...], body: Body
) -> tuple[tuple[Let, ...], tuple[Atom, ...]]:
    names = dict(zip((*monoid.left, *monoid.right), (*params, *body.results), strict=True))
    step = refresh(monoid.body, names)
    return (*body.stms, *step.stms), step.results


def _scan_as_loop(stm: Let, exp: Scan) -> list[Let]:
    params = tuple(v.fresh() for v in exp.monoid.left)
    stms, results = _combined(exp.monoid, params, exp.body)
    homes = tuple(o.fresh() for o in stm.outs)
    allocs = [
        Let((h,), Alloc("empty", h.dtype, tuple(map(atom_of, h.shape))), stm.loc) for h in homes
    ]
    rows = tuple(h.fresh() for h in homes)
    news = tuple(
        Let((h.fresh(),), stored(row, (exp.var,), r), stm.loc)
        for h, row, r in zip(homes, rows, results, strict=True)
    )
    body = Body((*stms, *news), (*results, *(n.outs[0] for n in news)))
    loop = Loop(For(exp.var, exp.size), (*params, *rows), (*exp.monoid.neutral, *homes), body)
    last = tuple(v.fresh() for v in params)
    return [*allocs, Let((*last, *stm.outs), loop, stm.loc)]
