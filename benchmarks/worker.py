"""One process with one number of threads: every program, every contender, as JSON lines."""

from __future__ import annotations

import argparse
import copy
import json
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import tapeless as tp
from benchmarks.clock import race
from benchmarks.peers import Compiled, c_versions, numba_versions
from benchmarks.program import Function, Program, load_programs

warnings.simplefilter("ignore")


def outcome(program: Program, function: Function, args: tuple[Any, ...]) -> list[np.ndarray]:
    """Results and written arguments of a call on copies."""
    own = copy.deepcopy(args)
    result = function(*own)
    results = result if isinstance(result, tuple) else () if result is None else (result,)
    return [np.asarray(r, dtype=float) for r in (*results, *(own[k] for k in program.writes))]


def agrees(got: list[np.ndarray], expected: list[np.ndarray], tol: float) -> bool:
    def distance(g: np.ndarray, e: np.ndarray) -> float:
        scale = max(float(np.mean(np.abs(e))), 1e-300)
        return float(np.mean(np.abs(g - e))) / scale

    return all(
        g.shape == e.shape and distance(g, e) <= tol for g, e in zip(got, expected, strict=True)
    )


def contenders(program: Program, peers: bool) -> dict[str, Function]:
    """Everything that can run the program, ours first."""
    found: dict[str, Function] = {
        "tapeless": tp.jit(program.source),
        "tapeless fast": tp.jit(program.source, fastmath=True),
    }
    if peers:
        found["numpy"] = program.numpy
        found |= dict(c_versions(program))
        found |= dict(numba_versions(program))
    return found


def measure(program: Program, size: str, functions: dict[str, Function]) -> dict[str, Any]:
    """Seconds per call of every contender whose result is right."""
    args = program.data(size)
    expected = outcome(program, program.numpy, args)
    calls: dict[str, Callable[[], object]] = {}
    wrong: dict[str, str] = {}
    for name, function in functions.items():
        try:
            right = agrees(outcome(program, function, args), expected, program.tol)
        except Exception as error:  # noqa: BLE001  # a peer's failure is a result
            wrong[name] = f"{type(error).__name__}: {str(error).splitlines()[0][:100]}"
            continue
        if not right:
            wrong[name] = "wrong result"
            continue
        calls[name] = _bind(function, copy.deepcopy(args))
    return {
        "program": program.name, "size": size, "seconds": race(calls), "failed": wrong,
        "exponential": program.exponential,
    }  # fmt: skip


def _bind(function: Function, args: tuple[Any, ...]) -> Callable[[], object]:
    return function.bind(args) if isinstance(function, Compiled) else lambda: function(*args)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--programs", nargs="*")
    options.add_argument("--sizes", nargs="*")
    options.add_argument("--no-peers", action="store_true")
    chosen = options.parse_args()
    tp.set_num_threads(chosen.threads)
    for program in load_programs().values():
        if chosen.programs and program.name not in chosen.programs:
            continue
        functions = contenders(program, not chosen.no_peers)
        for size in program.sizes:
            if chosen.sizes and size not in chosen.sizes:
                continue
            print(json.dumps(measure(program, size, functions)), flush=True)


if __name__ == "__main__":
    sys.exit(main())
