"""Compare a lowered program with the reference interpreter."""

from __future__ import annotations

import re
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tapeless.ir.interp import interpret
from tapeless.ir.parse import parse
from tapeless.ir.syntax import Fun
from tapeless.ir.verify import verify
from tapeless.loop.syntax import Proc
from tapeless.loop.verify import verify as verify_loop
from tapeless.lower.kernel import lower

sys.path.insert(0, str(Path(__file__).parent))

from machine import run


def proc_of(fun: Fun, layouts: str | None = None, *, parallel: bool = True) -> Proc:
    arrays = sum(p.is_array for p in fun.params)
    proc = lower(fun, layouts or "C" * arrays, parallel=parallel)
    verify_loop(proc)
    return proc


def same(fun: Fun | str, *args: Any, layouts: str | None = None) -> tuple[Any, ...]:
    """Lower `fun`, run it, and demand what the interpreter gives; the results."""
    fun = parse(fun) if isinstance(fun, str) else fun
    verify(fun)
    results = ()
    wanted = outcome(lambda: interpret(fun, *args))
    for parallel, blocks in ((False, False), (True, False), (True, True)):
        proc = proc_of(fun, layouts, parallel=parallel)
        copies = [a.copy(order="K") if isinstance(a, np.ndarray) else a for a in args]
        if layouts and "S" in layouts:
            copies = [strided(a) if isinstance(a, np.ndarray) else a for a in copies]
        got = outcome(partial(run, proc, *copies, blocks=blocks))
        if isinstance(wanted, str) or isinstance(got, str):
            assert got == wanted, f"{got} != {wanted}"
            continue
        finals = [c for c, p in zip(copies, fun.params, strict=True) if p in fun.writes]
        order = [p for p in fun.params if p in fun.writes]
        finals = [finals[order.index(w)] for w in fun.writes]
        results = (*got, *finals)
        for g, w in zip(results, wanted, strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-12, atol=1e-300)
            assert np.asarray(g).dtype == np.asarray(w).dtype
        for c, a, p in zip(copies, args, fun.params, strict=True):
            if p.is_array and p not in fun.writes:
                np.testing.assert_array_equal(c, a)
    return results


def outcome(f: Any) -> Any:
    """Results, or the error as text."""
    try:
        return f()
    except (ArithmeticError, AssertionError, IndexError, ValueError) as e:
        if isinstance(e, AssertionError) and not re.fullmatch(r"[\w ]*", str(e)):
            raise
        return f"{type(e).__name__}: {e}"


def strided(array: np.ndarray) -> np.ndarray:
    """An equal array with gaps, backwards in its first axis."""
    big = np.zeros(tuple(2 * n + 1 for n in array.shape), array.dtype)
    view = big[tuple(slice(1, 2 * n + 1, 2) for n in array.shape)]
    view = view[::-1] if array.ndim else view
    view[...] = array
    return view
