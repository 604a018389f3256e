"""The command line: `tapeless demo | show FILE:FUNC | cache info|clear | doctor`."""

from __future__ import annotations

import argparse
import ast
import importlib.util
import platform
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from tapeless.api.annotations import ANY, array_hint
from tapeless.api.inspection import source
from tapeless.api.jit import Jitted, jit
from tapeless.demo import main as demo
from tapeless.errors import TapelessError
from tapeless.explain import explain
from tapeless.runtime import cache, threads
from tapeless.runtime.machine import LLVMLITE, host

STAGES = ("source", "explain", "core", "optimised", "loops", "llvm")
DEFAULT_SIZE = 8  # of dimensions that annotations leave open


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status."""
    options = parser().parse_args(argv)
    try:
        status: int = options.run(options)
    except (TapelessError, UsageError) as error:
        print(error, file=sys.stderr)
        return 1
    return status


class UsageError(Exception):
    """A command line that cannot be obeyed."""


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="tapeless", description="Ordinary numeric Python functions, compiled to native code."
    )
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable[[Any], int], help: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=help, description=help)
        made.set_defaults(run=run)
        return made

    command("demo", lambda _: demo(), "a tour, in under a minute")
    command("doctor", lambda _: doctor(), "what this machine offers, and whether all works")
    shown = command("show", show, "what a function becomes")
    shown.add_argument("target", metavar="FILE:FUNC")
    shown.add_argument(
        "args", nargs="*", metavar="ARG", help="arguments as Python expressions: 'np.zeros(9)' 3"
    )
    shown.add_argument("--stage", choices=STAGES, default="source")
    cached = command("cache", lambda o: caches(o.action), "the compiled code on disk")
    cached.add_argument("action", choices=("info", "clear"))
    return top


# show -------------------------------------------------------------------------------------------


def show(options: argparse.Namespace) -> int:
    function, names = found(options.target)
    args = [evaluated(text, names) for text in options.args] or examples(function)
    if options.stage == "source":
        print(source(function, *args), end="")
        return 0
    seen = explain(function, *args)
    print(seen if options.stage == "explain" else seen.stages[options.stage])
    return 0


def found(target: str) -> tuple[Any, dict[str, Any]]:
    """The function FILE:FUNC, and the names of its module."""
    file, _, name = target.rpartition(":")
    path = Path(file)
    if Path(target).is_file():
        raise UsageError(f"which function of {target}? Write {target}:FUNC")
    if not file or not path.is_file():
        raise UsageError(f"no file {file or target!r}; write FILE:FUNC, for instance model.py:loss")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent))
    spec.loader.exec_module(module)
    value: Any = module
    for part in name.split("."):
        value = getattr(value, part, None)
    if not callable(value):
        raise UsageError(f"{file} has no function {name!r}")
    return value, {"np": np, **vars(module)}


def evaluated(text: str, names: dict[str, Any]) -> Any:
    try:
        return eval(compile(ast.parse(text, mode="eval"), "ARG", "eval"), names)
    except Exception as error:  # noqa: BLE001  # whatever the user's expression raises
        raise UsageError(f"the argument {text!r}: {type(error).__name__}: {error}") from None


def examples(function: Any) -> list[Any]:
    """Arguments that the annotations describe."""
    compiled = function if isinstance(function, Jitted) else jit(function)
    out: list[Any] = []
    for name, parameter in compiled.bind.signature.parameters.items():
        hint = compiled.hints.get(name)
        array = array_hint(hint)
        if array is not None and array.element is not ANY:
            sizes = [s if isinstance(s, int) else DEFAULT_SIZE for s in array.sizes]
            out.append(np.zeros(sizes, array.element.dtype))
        elif hint in (int, float, bool, complex):
            out.append(hint(1))
        elif parameter.default is not parameter.empty:
            out.append(parameter.default)
        else:
            raise UsageError(
                f"what is '{name}'? Give arguments, for instance: 'np.zeros(100)' 3\n"
                f'  or annotate it: {name}: tp.f64["n"]'
            )
    return out


# cache, doctor ----------------------------------------------------------------------------------


def caches(action: str) -> int:
    if action == "clear":
        print(f"removed {cache.clear()} entries from {cache.directory()}")
        return 0
    info = cache.info()
    state = "" if info.enabled else " (switched off, or not writable)"
    print(f"directory  {info.directory}{state}")
    print(f"entries    {info.entries}")
    print(f"size       {info.bytes / 1e6:.1f} MB of at most {info.limit / 1e6:.0f} MB")
    return 0


def doctor() -> int:
    """What there is, and a function compiled and run."""
    here = host()
    openmp = threads.openmp_library()
    info = cache.info()
    versions = {"numpy": np.__version__, "scipy": scipy.__version__, "llvmlite": LLVMLITE}
    serial = "1: no OpenMP runtime found (install libgomp, or name one in TAPELESS_OPENMP)"
    lines = {
        "python": f"{platform.python_version()} on {platform.platform()}",
        "packages": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "processor": f"{here.cpu}, {here.vector_bits}-bit vectors ({here.registers} registers)",
        "threads": f"{threads.get_num_threads()} through {openmp}" if openmp else serial,
        "cache": str(info.directory) if info.enabled else "off, or not writable",
    }
    for name, text in lines.items():
        print(f"{name:<10} {text}")
    start = time.perf_counter()
    compiled = jit(_dot, cache=False)
    x = np.arange(1000.0)
    works = bool(compiled(x, x) == _dot(x, x))
    seconds = time.perf_counter() - start
    print(
        f"{'compiler':<10} {'works' if works else 'BROKEN'}, {seconds:.2f} s for a first function"
    )
    return 0 if works else 1


def _dot(x: Any, y: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total
