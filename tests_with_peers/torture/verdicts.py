"""What JAX and PyTorch make of programs of the torture suite, beside their truths.

`python -m tests_with_peers.torture.verdicts` writes `verdicts.json`, from which docs/torture.md
takes its columns; a test says whether it is up to date.
"""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
import torch

from tests.ad.torture import all_programs
from tests.ad.torture.program import Program
from tests_with_peers.torture import in_jax, in_torch

FILE = Path(__file__).with_name("verdicts.json")
TOLERANCE = 1e-6
# Where several answers are right: a tie, or a corner.
CONVENTIONS = frozenset({
    "ties_of_min_and_max", "tie_of_the_greatest", "kink_of_abs", "sorted_with_ties",
    "xlogy_at_zero",
})  # fmt: skip


def gradients_in_jax(f: Callable[..., Any], case: Program) -> tuple[np.ndarray, ...]:
    jax.config.update("jax_enable_x64", True)

    def of_picked(*picked: Any) -> Any:
        args = [jax.numpy.asarray(a) if isinstance(a, np.ndarray) else a for a in case.args]
        for k, x in zip(case.wrt, picked, strict=True):
            args[k] = x
        return f(*args)

    count = tuple(range(len(case.wrt)))
    picked = [jax.numpy.asarray(case.args[k]) for k in case.wrt]
    return tuple(np.asarray(g) for g in jax.jit(jax.grad(of_picked, count))(*picked))


def gradients_in_torch(f: Callable[..., Any], case: Program) -> tuple[np.ndarray, ...]:
    torch.set_default_dtype(torch.float64)
    args = [torch.from_numpy(a.copy()) if isinstance(a, np.ndarray) else a for a in case.args]
    leaves = [torch.as_tensor(np.array(case.args[k])).requires_grad_() for k in case.wrt]
    for k, leaf in zip(case.wrt, leaves, strict=True):
        args[k] = leaf.clone()  # a leaf may not be written
    return tuple(g.numpy() for g in torch.autograd.grad(f(*args), leaves))


SYSTEMS = {"JAX": (in_jax, gradients_in_jax), "PyTorch": (in_torch, gradients_in_torch)}


def verdict(run: Callable[..., Any], f: Callable[..., Any], case: Program) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = run(f, case)
    except Exception:  # noqa: BLE001  # a refusal is a result
        return "refuses"
    pairs = list(zip(found, case.gradient, strict=True))
    if all(close(g, truth) for g, truth in pairs):
        return "right"
    if case.run.__name__ in CONVENTIONS:
        return "another convention"
    return "**wrong** (nan)" if any(np.isnan(g).any() for g, _ in pairs) else "**wrong**"


def close(found: np.ndarray, truth: np.ndarray) -> bool:
    size = 1.0 + np.max(np.abs(truth), initial=0.0)
    return found.shape == truth.shape and bool(np.all(np.abs(found - truth) <= TOLERANCE * size))


def verdicts() -> Mapping[str, Mapping[str, str]]:
    """By name of the program and of the system."""
    found: dict[str, dict[str, str]] = {}
    for case in all_programs():
        name = case.run.__name__
        of_case = {
            system: verdict(run, getattr(module, name), case)
            for system, (module, run) in SYSTEMS.items() if hasattr(module, name)
        }  # fmt: skip
        if of_case:
            found[name] = of_case
    return found


def versions(module: Any) -> set[str]:
    """The programs that a module has."""
    found = inspect.getmembers(module, inspect.isfunction)
    names = {name for name, f in found if f.__module__ == module.__name__}
    return names - {"each", "folded"}


if __name__ == "__main__":
    FILE.write_text(json.dumps(verdicts(), indent=1) + "\n")
