"""Programs whose memory is measured: those of the benchmark that hold arrays of their own, and a
few that cannot but keep several at a time. Sizes are small: the prediction is the interpreter's."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

BENCHMARKS = {
    "chain": None, "histogram": None, "kmeans": (2000, 4, 6), "logsumexp": (2000, 10),
    "mandelbrot": None, "matmul": None, "nbody": None, "scan": None, "spmv": None, "stencil": None,
    "gmm": (200, 16, 12),
}  # fmt: skip


def normalised(x):
    y = np.cumsum(x)
    return y / y[-1]


def both_scans(x):
    a, b = np.cumsum(x), np.cumsum(x * x)
    return a[::-1] * b[-1] + b


def layers(x, v, w):
    h = np.tanh(x @ v)
    return h @ w


def cases() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """Functions with their arguments, by name."""
    rng = np.random.default_rng(0)
    found: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {}
    for name, dims in BENCHMARKS.items():
        program = importlib.import_module(f"benchmarks.programs.{name}").PROGRAM
        args = program.data("small") if dims is None else program.arguments(rng, *dims)
        found[name] = program.source, args
    x, a = rng.random(5000), rng.random((60, 50))
    found["normalised"] = normalised, (x,)
    found["both scans"] = both_scans, (x,)
    found["layers"] = layers, (a, a.T.copy(), a)
    return found
