"""The verifier of Loop IR rejects kernels that break a rule, each for its own reason."""

from __future__ import annotations

import pytest

from tapeless.core.names import Const, Var
from tapeless.core.types import BOOL, INDEX, Scalar, f64, i64
from tapeless.loop import syntax as s
from tapeless.loop.print import show
from tapeless.loop.verify import InvalidLoop, verify

N = Var(INDEX, "n")
ZERO, HALF = Const(0, i64), Const(0.5, f64)


def buffer(hint: str = "x", space: str = s.GLOBAL) -> s.Buf:
    return s.Buf(f64, (N,), (Const(1, i64),), hint, space)


def proc(*stms: s.Stm, params: tuple[s.Name, ...] = (), results: tuple = ()) -> s.Proc:
    return s.Proc("p", (N, *params), s.Block(stms), results, (), ())


def loop(
    kind: str, body: s.Block, *, params: tuple = (), inits: tuple = (), reduces: tuple = ()
) -> s.For:
    outs = tuple(Var(p.type, p.hint) for p in params)
    return s.For(outs, Var(INDEX, "i"), ZERO, N, kind, params, inits, body, reduces)


def number(hint: str = "t") -> Var:
    return Var(Scalar(f64), hint)


X = buffer()
WIDE = s.Buf(f64, (N, N), (N, N))
T, P = number(), number("p")
LOAD = s.Load(T, X, (ZERO,))
SITE = s.Site("ValueError", "no", (), None)

GOOD = {
    "load": proc(LOAD, params=(X,), results=(T,)),
    "sum": proc(
        loop(s.SIMD, s.Block((), (P,)), params=(P,), inits=(HALF,), reduces=(s.Reduce((0,), "+"),))
    ),
    "result": proc(s.Alloc(X, result=0), results=(X,)),
    "scope": proc(s.Scope((), s.Block((s.Alloc(X),)))),
}

BAD = {
    "bound twice": proc(LOAD, LOAD, params=(X,)),
    "not in scope": proc(LOAD),
    "1 indices|2 indices": proc(s.Load(T, X, (ZERO, ZERO)), params=(X,)),
    "loaded from": proc(s.Load(Var(INDEX), X, (ZERO,)), params=(X,)),
    "value": proc(s.Store(X, (ZERO,), ZERO), params=(X,)),
    "index": proc(s.Load(T, X, (HALF,)), params=(X,)),
    "operands": proc(s.Op(T, "add", (HALF,))),
    "operand 0:i64 of add": proc(s.Op(T, "add", (HALF, ZERO))),
    "gives bool": proc(s.Op(T, "lt", (HALF, HALF))),
    "unknown kind": proc(loop("grid", s.Block(()))),
    "without reduction": proc(loop(s.SIMD, s.Block((), (P,)), params=(P,), inits=(HALF,))),
    "a parallel loop in a simd": proc(loop(s.SIMD, s.Block((loop(s.SIMD, s.Block(())),)))),
    "initial value": proc(loop(s.SEQ, s.Block((), (P,)), params=(P,), inits=())),
    "next value": proc(loop(s.SEQ, s.Block(()), params=(P,), inits=(HALF,))),
    "condition": proc(s.If((), ZERO, s.Block(()), s.Block(()))),
    "result": proc(s.If((T,), Const(True, BOOL.dtype), s.Block((), (HALF,)), s.Block(()))),
    "no site": proc(s.Check(Const(False, BOOL.dtype), 0)),
    "not among the foreign": proc(s.Call("f", (), Var(INDEX))),
    "not allocated as such": proc(results=(X,), params=(X,)),
    "allocated in a block": proc(s.Scope((), s.Block((s.Alloc(X, result=0),))), results=()),
    "leaves its scope": proc(s.Scope((buffer("y"),), s.Block((s.Alloc(X),), (X,)))),
    "unknown combination": proc(s.Combine("^", X, (ZERO,), HALF), params=(X,)),
    "copy of": proc(s.Copy(X, WIDE), params=(X, WIDE)),
}


@pytest.mark.parametrize("name", GOOD)
def test_good_kernels_pass(name: str):
    verify(GOOD[name])
    assert show(GOOD[name]).startswith("proc p(n: i64")


@pytest.mark.parametrize("problem", BAD)
def test_bad_kernels_are_rejected(problem: str):
    with pytest.raises(InvalidLoop, match=problem):
        verify(BAD[problem])
