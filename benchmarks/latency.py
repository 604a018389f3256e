"""Compile times, call overhead, recompilation, memory: `python -m benchmarks.latency`."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import tapeless as tp
from benchmarks import memory as programs
from benchmarks.clock import race
from tools.measured_memory import peak_bytes

CHILD = """
import json, sys, time
start = time.perf_counter()
import tapeless as tp
imported = time.perf_counter() - start
from benchmarks.programs.gmm import PROGRAM
args = PROGRAM.data("small")
f = tp.jit(PROGRAM.source)
start = time.perf_counter()
value = f(*args)
first = time.perf_counter() - start
print(json.dumps({"import": imported, "first": first, "value": float(value)}))
"""

NUMBA_CHILD = """
import json, time
import numba
from benchmarks.programs.gmm import PROGRAM
args = PROGRAM.data("small")
f = numba.njit(PROGRAM.numba[0], fastmath=True)
start = time.perf_counter()
value = f(*args)
print(json.dumps({"first": time.perf_counter() - start, "value": float(value)}))
"""

DERIVATIVE_CHILD = """
import json, time
from benchmarks.gradients.program import load_examples
example = load_examples()[{name!r}]
args = example.data(example.small)
start = time.perf_counter()
example.derivative(*args)
print(json.dumps({{"first": time.perf_counter() - start}}))
"""
DERIVATIVES = {"gmm": "gmm gradient", "hand": "hand", "hand complicated": "hand complicated"}


# Python's bytecode is kept, as after an installation.
BYTECODE = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPATH": "src:."}
COLD, AGAIN = 7, 2  # processes with an empty cache, and processes after each with what it left


def run_child(code: str, cache: Path) -> dict[str, float]:
    environment = os.environ | BYTECODE | {"TAPELESS_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def compile_times() -> dict[str, float]:
    """Milliseconds: importing, compiling the GMM objective cold and from the cache, and Numba's."""
    cold, warm, imports, numba = [], [], [], []
    with tempfile.TemporaryDirectory() as folder:  # writes the bytecode
        run_child(CHILD, Path(folder))
    for _ in range(COLD):
        with tempfile.TemporaryDirectory() as folder:
            cold.append(run_child(CHILD, Path(folder))["first"])
            for _ in range(AGAIN):
                again = run_child(CHILD, Path(folder))
                warm.append(again["first"])
                imports.append(again["import"])
            numba.append(run_child(NUMBA_CHILD, Path(folder))["first"])
    rows = {
        "import ms": statistics.median(imports) * 1e3,
        "gmm cold ms": statistics.median(cold) * 1e3,
        "gmm from the disk cache ms": statistics.median(warm) * 1e3,
        "gmm numba cold ms": statistics.median(numba) * 1e3,
    }
    return rows | {"gmm cold, share of numba": rows["gmm cold ms"] / rows["gmm numba cold ms"]}


def derivatives() -> dict[str, float]:
    """Milliseconds: compiling derivatives cold."""
    rows = {}
    for name, shown in DERIVATIVES.items():
        taken = []
        for _ in range(COLD):
            with tempfile.TemporaryDirectory() as folder:
                child = DERIVATIVE_CHILD.format(name=name)
                taken.append(run_child(child, Path(folder))["first"])
        rows[f"{shown} cold ms"] = statistics.median(taken) * 1e3
    return rows


def call_overhead() -> dict[str, float]:
    """Nanoseconds of a call with three small arrays."""
    import numba  # noqa: PLC0415  # a peer that may be missing

    def axpy(x, y, out):
        for i in range(out.size):
            out[i] = 2.0 * x[i] + y[i]

    x, y, out = np.ones(3), np.ones(3), np.zeros(3)
    ours, theirs = tp.jit(axpy), numba.njit(axpy)
    seconds = race({"tapeless": lambda: ours(x, y, out), "numba": lambda: theirs(x, y, out)})
    empty = race({"empty": lambda: None})["empty"]
    return {f"call {name} ns": (taken - empty) * 1e9 for name, taken in seconds.items()}


def recompilations() -> dict[str, float]:
    """Compilations of one function over the sizes 2 … 200, and with size 1 too."""

    @tp.jit
    def total(x, y):
        return np.sum(x * y + 1.0)

    for n in range(2, 201):
        total(np.ones(n), np.ones(n))
    many = len(total.compilations)
    total(np.ones(1), np.ones(1))
    return {"compilations, sizes 2…200": many, "with size 1": len(total.compilations)}


def memory() -> dict[str, float]:
    """Bytes held at one time beside the arguments: as compiled code asks for them, as predicted."""
    rows: dict[str, float] = {}
    for name, (source, args) in programs.cases().items():
        compiled = tp.jit(source)
        rows[f"peak bytes, {name}"] = peak_bytes(compiled, *args)
        rows[f"predicted, {name}"] = tp.cost(compiled, *args).peak_bytes
    return rows


def main() -> None:
    start = time.perf_counter()
    rows = compile_times() | derivatives() | call_overhead() | recompilations() | memory()
    for name, value in rows.items():
        print(f"{name:32}{value:12.{1 if value % 1 else 0}f}")
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    (results / "latency.json").write_text(json.dumps(rows, indent=1) + "\n")
    print(f"measured in {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
