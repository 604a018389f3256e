"""What the scheduler takes trip counts to be."""

from __future__ import annotations

import pytest

from tapeless.core.names import Const, Var
from tapeless.core.types import BOOL, INDEX, i64
from tapeless.ir.syntax import Exp, Prim
from tapeless.lower.cost import UNKNOWN, Sizes

N, START, STOP, SIZE = (Var(INDEX, h) for h in ("n", "start", "stop", "size"))


def size_of_slice(start: int, stop: int) -> Sizes:
    """x[start:stop] of n elements, as slices are traced."""
    defs: dict[Var, Exp] = {
        STOP: Prim("min", (N, Const(stop, i64))),
        START: Prim("add", (STOP, Const(-start, i64))),
        SIZE: Prim("max", (START, Const(0, i64))),
    }
    return Sizes(defs)


@pytest.mark.parametrize(("start", "stop"), [(0, 3), (3, 6), (7, 9), (5, 2)])
def test_slices_are_as_long_as_their_ends_say(start: int, stop: int):
    assert size_of_slice(start, stop).of(SIZE) == max(stop - start, 0)


def test_a_nest_that_runs_or_does_not():
    choice = Prim("select", (Var(BOOL, "c"), Const(0, i64), Const(4, i64)))
    assert Sizes({SIZE: choice}).of(SIZE) == 4


def test_what_is_not_known_is_taken_to_be_long():
    assert Sizes({}).of(N) == UNKNOWN
    assert Sizes({}).of(Const(7, i64)) == 7
    assert Sizes({SIZE: Prim("mul", (N, N))}).of(SIZE) == UNKNOWN
    assert size_of_slice(0, 1 << 40).of(SIZE) == UNKNOWN
