"""Random programs of Core: passes keep the rules and the meaning, lowering and machine code too."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from tapeless import pipeline
from tapeless.ir.interp import interpret
from tapeless.ir.syntax import Fun
from tapeless.ir.verify import verify
from tapeless.loop.verify import verify as verify_loops
from tapeless.lower.kernel import lower
from tests.ir.generate import arguments, program

sys.path.insert(0, str(Path(__file__).parents[1] / "lower"))

from machine import run

SIZES = ((5, 4), (1, 3), (0, 2), (20, 1))
CHUNK = 20
ERRORS = (IndexError, ValueError, ZeroDivisionError)


def outcome(f):
    """Results, or the type of the error."""
    try:
        return f()
    except ERRORS as error:
        return type(error)


def assert_same(got, wanted, what: str) -> None:
    if isinstance(got, type) or isinstance(wanted, type):
        assert got is wanted, what
        return
    for g, w in zip(got, wanted, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-6, atol=1e-6, err_msg=what)


def lowered(fun: Fun, args: tuple, blocks: bool):
    """Results and final contents of written arrays, on memory that is checked."""
    proc = lower(fun, "C" * sum(p.is_array for p in fun.params))
    verify_loops(proc)
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in args]

    def call():
        results = run(proc, *copies, blocks=blocks)
        contents = dict(zip(fun.params, copies, strict=True))
        return (*results, *(contents[w] for w in fun.writes))

    return outcome(call)


def check(seed: int) -> None:
    fun = program(seed)
    verify(fun)
    runs = [arguments(seed, *sizes) for sizes in SIZES]
    wanted = [outcome(lambda a=a: interpret(fun, *a)) for a in runs]
    last = fun
    for step, last in pipeline.stages(fun):
        verify(last)
        for args, want in zip(runs, wanted, strict=True):
            got = outcome(lambda a=args, f=last: interpret(f, *a))
            assert_same(got, want, f"seed {seed} after {step.__module__}")
    for k, (args, want) in enumerate(zip(runs, wanted, strict=True)):
        for what, version in (("as made", fun), ("optimised", last)):
            got = lowered(version, args, blocks=k % 2 == 0)
            assert_same(got, want, f"seed {seed} lowered {what}")


def check_chunk(chunk: int) -> None:
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        check(seed)


@pytest.mark.parametrize("chunk", range(3))
def test_random_core(chunk: int):
    check_chunk(chunk)


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(3, 30))
def test_more_random_core(chunk: int):
    check_chunk(chunk)
