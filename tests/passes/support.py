"""Programs in the text form of Core, run before and after the passes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tapeless.core.types import INDEX
from tapeless.ir.interp import interpret
from tapeless.ir.parse import parse
from tapeless.ir.syntax import Exp, Fun
from tapeless.ir.verify import verify
from tapeless.ir.walk import statements
from tapeless.pipeline import optimise


def arguments(fun: Fun, size: int, seed: int = 0) -> list[object]:
    """Random arguments: i64 scalars are `size`, arrays follow."""
    rng = np.random.default_rng(seed)
    sizes = {p: size for p in fun.params if p.type == INDEX}
    out: list[object] = []
    for p in fun.params:
        if p.type == INDEX:
            out.append(size)
        elif not p.is_array:
            out.append(rng.standard_normal())
        else:
            shape = [s if isinstance(s, int) else sizes[s] for s in p.shape]
            if p.dtype.is_float:
                out.append(rng.uniform(-2, 2, shape).astype(p.dtype.numpy))
            else:
                out.append(rng.integers(0, max(size, 1), shape).astype(p.dtype.numpy))
    return out


def outcome(fun: Fun, args: list[object]) -> object:
    """The results, or the exception's type."""
    try:
        return interpret(fun, *args)
    except (IndexError, ValueError, ZeroDivisionError) as error:
        return type(error)


def check_same(fun: Fun, new: Fun, sizes: tuple[int, ...] = (0, 1, 2, 3, 5)) -> None:
    for size in sizes:
        args = arguments(fun, size)
        old, now = outcome(fun, args), outcome(new, args)
        if isinstance(old, type) or isinstance(now, type):
            assert old is now, f"size {size}: {old} before, {now} after"
            continue
        assert len(old) == len(now)
        for a, b in zip(old, now, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-12, atol=1e-12, err_msg=f"size {size}")


def optimised(text: str) -> Fun:
    """The program after all passes, which mean the same and keep the rules of Core."""
    fun = parse(text)
    verify(fun)
    new = optimise(fun, verify=True)
    check_same(fun, new)
    return new


def kinds(fun: Fun) -> list[str]:
    """Names of the constructs with bodies, outer before inner."""
    wanted = ("Loop", "Each", "Fold", "Scan", "If", "Iverson")
    return [n for n in (type(e).__name__ for e in exps(fun)) if n in wanted]


def exps(fun: Fun) -> Iterator[Exp]:
    return (s.exp for s in statements(fun.body))


def modes(fun: Fun) -> set[str]:
    """All index modes that are left."""
    return {m for e in exps(fun) for m in getattr(e, "modes", "")}
